"""What ``mshgnn explain`` writes, as a user calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

from mshgnn.cli import main
from mshgnn.predictor.ensemble import Ensemble

Trained = tuple[Ensemble, Path]


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["mshgnn", "explain", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    seen = capsys.readouterr()
    return int(caught.value.code or 0), seen.out, seen.err


def test_a_folder_gets_page_pictures_and_data(
    toxic: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "why"
    asked = ("--row", 1, "--id", "m4", "--method", "occlusion", "-o", out)
    code, said, _ = run(monkeypatch, capsys, toxic[0].folder, toxic[1], *asked)
    assert code == 0
    assert "row 1 " in said
    assert "Occlusion: fidelity" in said
    assert sorted(path.name for path in out.iterdir()) == ["explained.html", "explained.json", "m4.png", "row-1.png"]
    page = (out / "explained.html").read_text()
    assert len(page) < 400_000
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count("<img ") == page.count('alt="') == 2
    data = json.loads((out / "explained.json").read_text())["explanations"]
    assert [entry["item"] for entry in data] == ["row 1", "m4"]
    (method,) = data[0]["methods"]
    assert len(method["node_importance"]) == len(data[0]["nodes"])
    assert len(method["link_importance"]) == len(data[0]["links"])
    picture = imread(out / "row-1.png")
    assert picture.std() > 0.02  # something is drawn


def test_a_graph_is_drawn_too(
    house: tuple[Ensemble, Path, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for ending in ("html", "png", "json"):
        out = tmp_path / "made" / f"why.{ending}"
        assert run(monkeypatch, capsys, house[0].folder, house[1], "--row", 0, "--method", "energy", "-o", out)[0] == 0
        assert out.stat().st_size > 1000
    assert imread(tmp_path / "made" / "why.png").std() > 0.02


def test_wrong_places_are_refused_in_one_line(
    toxic: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        ((tmp_path / "none", toxic[1], "--row", 0), "no trained model"),
        ((toxic[0].folder, toxic[1], "--row", 0, "-o", tmp_path / "why.pdf"), "end in .html, .png or .json"),
        ((toxic[0].folder, toxic[1], "--row", 0, "--row", 1, "-o", tmp_path / "w.png"), "a .png holds one row"),
        ((toxic[0].folder, toxic[1], "--row", 0, "-o", "/proc/no/w.png"), "cannot be written"),
        ((toxic[0].folder, toxic[1], "--row", 500), "has 80 rows"),
        ((toxic[0].folder, toxic[1], "--row", 0, "--device", "tpu"), "device must be cpu, cuda or auto, got 'tpu'"),
    ):
        code, _, err = run(monkeypatch, capsys, *arguments)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1

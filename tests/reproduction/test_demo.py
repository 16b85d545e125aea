from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mshgnn.cli import main


def test_the_demo_trains_and_predicts_then_prints_the_table_and_draws_both_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)  # outside the repository
    options = ["--out", str(tmp_path)]
    options += ["--set", "training.epochs=1", "--set", "training.warmup_epochs=0"]
    monkeypatch.setattr(sys, "argv", ["mshgnn", "demo", *options])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    out = capsys.readouterr().out
    for word in ("6,238", "6,494", "7,182", "msh-stable", "inference, ms", "peak memory, MB", "test accuracy"):
        assert word in out
    typed = [line for line in out.splitlines() if line.startswith("$ mshgnn")]
    assert [line.split()[2] for line in typed] == ["data", "train", "data", "predict", "evaluate", "explain", "report"]
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 21
    for page in (tmp_path / "report.html", tmp_path / "explained.html"):
        assert str(page) in out
        assert page.is_file()
    for name in ("learning-curves.png", "embeddings.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    costs = json.loads((tmp_path / "costs.json").read_text())
    assert {name: cost["parameters"] for name, cost in costs.items()}["joint-gcn"] == 6238
    assert all(cost["inference_ms"] > 0 and cost["peak_mb"] >= 0 for cost in costs.values())

"""Figures 1 and 2 of the paper: their numbers are those of the layers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mshgnn.cli import main
from mshgnn.reproduction.layer_shapes import layer_steps
from mshgnn.reproduction.stars import FIRST, SECOND, compare_stars

pytestmark = pytest.mark.usefixtures("reference_backend")


def test_equal_attention_confuses_the_stars_and_the_harmonic_message_never_does() -> None:
    assert (
        sum(x for x, _ in FIRST) == sum(x for x, _ in SECOND) == sum(y for _, y in FIRST) == sum(y for _, y in SECOND)
    )
    equal, drawn, printed, default = (reader.differences for reader in compare_stars(20).readers)
    assert max(equal) < 1e-12
    assert min(drawn) > 0  # attention as it is drawn tells them apart, if only a little
    assert min(*printed, *default) > 0.05


def test_the_shapes_of_the_layer_follow_from_its_widths() -> None:
    steps, caption = layer_steps(channels=8, num_projections=4, graph_channels=5)
    assert [step.shape for step in steps] == [
        (34, 8),
        (34, 4, 8),
        (156, 4),
        (156, 24),
        (156, 8),
        (34, 8),
        (156,),
        (1, 5),
    ]
    assert caption.startswith("34 nodes, 156 directed edges")


@pytest.mark.parametrize("name", ["responses", "embedding"])
def test_figures_of_the_joint_task_train_its_models(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.cli.figure.RESPONSE_EPOCHS", 3)
    monkeypatch.setattr("mshgnn.cli.figure.EPOCHS", 3)
    monkeypatch.setattr("mshgnn.reproduction.layout.JOINT_SEEN", ["structure-frequency-fixed/joint-gcn"])
    out = tmp_path / "figure.png"
    monkeypatch.setattr(sys, "argv", ["mshgnn", "figure", name, "--out", str(out)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "ending", "begins"), [("stars", "png", b"\x89PNG"), ("layer", "svg", b"<?xml")])
def test_figures_are_drawn_by_name(
    name: str, ending: str, begins: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / f"figure.{ending}"
    monkeypatch.setattr(sys, "argv", ["mshgnn", "figure", name, "--out", str(out)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert out.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["star", "--out", "a.png"], "unknown figure 'star'; did you mean 'stars'?"),
        (["stars", "--out", "a.gif"], "must end in .png, .svg or .pdf"),
        (["stars", "--out", "/proc/no/a.png"], "cannot be written"),
        (["stars", "--model", "m", "--out", "a.png"], "only the figure responses takes one, not stars"),
        (["responses", "--model", "m", "--out", "a.png"], "--model m: is no folder of 'mshgnn train'"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mshgnn", "figure", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err

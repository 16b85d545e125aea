from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from mshgnn.report.figures import PALETTE, learning_curves, shades_of, tsne
from mshgnn.training.curves import CURVE_NAMES, Curves


def fold(epochs: int, level: float, validation: int = 1) -> Curves:
    rising = level * np.linspace(0.1, 1, epochs)
    return Curves(**dict.fromkeys(CURVE_NAMES, rising), sizes=(8, validation, 1), higher_is_better=True)


def share_of(picture: np.ndarray, colour: str) -> float:
    """The share of pixels that have exactly this colour."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.rint(picture[..., :3] * 255) == wanted).all(axis=-1).mean())


def test_every_run_is_drawn_in_its_own_colour(tmp_path: Path) -> None:
    runs = {"GCN": [fold(9, 0.6), fold(5, 0.5)], "MSH-GNN": [fold(9, 0.9)]}
    picture = imread(learning_curves(runs, tmp_path / "curves.png", title="Two runs"))
    assert picture.shape[0] > 500
    assert picture.shape[1] > 1000
    assert all(share_of(picture, colour) > 1e-4 for colour in PALETTE[:2])
    assert share_of(picture, PALETTE[2]) == 0
    assert share_of(picture, "#FFFFFF") > 0.8


def test_a_higher_curve_is_drawn_higher(tmp_path: Path) -> None:
    runs = {"low": [fold(20, 0.2)], "high": [fold(20, 0.9)]}
    picture = imread(learning_curves(runs, tmp_path / "curves.png", title=""))
    panel = np.rint(picture[: picture.shape[0] * 4 // 5, picture.shape[1] // 2 :, :3] * 255)
    heights = []
    for colour in PALETTE[:2]:
        wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        heights.append(np.nonzero((panel == wanted).all(axis=-1))[0].mean())
    low, high = heights
    assert high < low  # rows of a picture are counted from the top


def test_one_epoch_of_one_fold_can_be_seen(tmp_path: Path) -> None:
    picture = imread(learning_curves({"GCN": [fold(1, 0.6)]}, tmp_path / "curves.png", title="One epoch"))
    assert share_of(picture, PALETTE[0]) > 1e-4


def test_a_diverged_run_is_drawn_as_far_as_it_goes(tmp_path: Path) -> None:
    half = np.full(4, 0.5)
    loss = np.array([1.0, 2.0, np.inf, np.nan])
    run = Curves(loss, loss, loss, half, half, half, sizes=(8, 1, 1))
    assert learning_curves({"GCN": [run, run]}, tmp_path / "curves.png", title="Diverged").stat().st_size > 1000


def test_a_run_without_validation_has_no_validation_line(tmp_path: Path) -> None:
    with_validation, without = (
        imread(learning_curves({"GCN": [fold(9, 0.6, size)]}, tmp_path / f"{size}.png", title="")) for size in (1, 0)
    )
    # The dashed training line and the key remain; the solid line was most of the colour.
    assert 0 < share_of(without, PALETTE[0]) < 0.5 * share_of(with_validation, PALETTE[0])


def test_runs_without_folds_are_refused(tmp_path: Path) -> None:
    empty: list[dict[str, list[Curves]]] = [{}, {"GCN": []}]
    for nothing in empty:
        with pytest.raises(ValueError, match="at least one"):
            learning_curves(nothing, tmp_path / "curves.png", title="")
    with pytest.raises(ValueError, match="8 runs apart, not 9"):
        learning_curves({str(i): [fold(2, 0.5)] for i in range(9)}, tmp_path / "curves.png", title="")


def clusters(per_class: int) -> tuple[np.ndarray, list[str], list[int]]:
    random = np.random.default_rng(0)
    structures = [family for family in ("chain", "ring") for _ in range(2 * per_class)]
    modes = [mode for _ in range(2) for mode in (1, 4) for _ in range(per_class)]
    centre = np.array([[10.0 * (s == "ring"), 5.0 * (m == 4), 0.0] for s, m in zip(structures, modes, strict=True)])
    return centre + random.normal(size=centre.shape), structures, modes


def test_tsne_draws_two_models_side_by_side_and_a_third_below(tmp_path: Path) -> None:
    embedding, structures, modes = clusters(8)
    one, two, three = (
        imread(tsne(dict.fromkeys(names, embedding), structures, modes, tmp_path / f"{names}.png", title="Models"))
        for names in ("a", "ab", "abc")
    )
    assert two.shape[1] > 1.9 * one.shape[1]
    assert two.shape[0] == one.shape[0]
    assert three.shape[1] == two.shape[1]
    assert three.shape[0] > 1.6 * two.shape[0]


def test_tsne_colours_every_structure_and_mode_apart(tmp_path: Path) -> None:
    embedding, structures, modes = clusters(8)
    picture = imread(tsne({"GCN": embedding}, structures, modes, tmp_path / "one.png", title="One model"))
    for colour in PALETTE[:2]:
        pale, dark = shades_of(colour, 2)
        assert share_of(picture, pale) > 1e-4
        assert share_of(picture, dark) > 1e-4
    assert share_of(picture, shades_of(PALETTE[2], 2)[0]) == 0


def test_shades_darken_from_first_to_last() -> None:
    lightness = [sum(int(shade[i : i + 2], 16) for i in (1, 3, 5)) for shade in shades_of(PALETTE[0], 10)]
    assert lightness == sorted(lightness, reverse=True)
    assert shades_of(PALETTE[0], 1) == [PALETTE[0]]


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    embedding, structures, modes = clusters(4)
    files = [
        tsne({"GCN": embedding}, structures, modes, tmp_path / f"{name}.png", title="Again", seed=3)
        for name in ("first", "second")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_odd_embeddings(tmp_path: Path) -> None:
    _, structures, modes = clusters(2)
    for strange in (np.zeros((8, 3)), np.arange(8.0)[:, None]):
        assert tsne({"GCN": strange}, structures, modes, tmp_path / "odd.png", title="Odd").exists()


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (np.zeros((7, 3)), r"GCN must have shape \[8, D\], not \[7, 3\]"),
        (np.zeros(8), r"must have shape \[8, D\]"),
        (np.full((8, 3), np.nan), "not finite"),
    ],
)
def test_wrong_embeddings_are_refused(tmp_path: Path, embedding: np.ndarray, message: str) -> None:
    _, structures, modes = clusters(2)
    with pytest.raises(ValueError, match=message):
        tsne({"GCN": embedding}, structures, modes, tmp_path / "wrong.png", title="")


def test_other_mistakes_are_refused(tmp_path: Path) -> None:
    embedding, structures, modes = clusters(2)
    with pytest.raises(ValueError, match="at least one embedding"):
        tsne({}, structures, modes, tmp_path / "wrong.png", title="")
    with pytest.raises(ValueError, match="as many, got 8 and 7"):
        tsne({"GCN": embedding}, structures, modes[:-1], tmp_path / "wrong.png", title="")
    with pytest.raises(ValueError, match="at least 4 graphs"):
        tsne({"GCN": embedding[:3]}, structures[:3], modes[:3], tmp_path / "wrong.png", title="")


def test_drawing_needs_no_pyplot() -> None:
    program = "import sys, mshgnn.report.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

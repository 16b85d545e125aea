from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from data_helpers import SMALL, write_tu
from torch_geometric.data import Data

from mshgnn.data import DataError, StructureFrequencyDataset, from_graphs, load_own
from mshgnn.data.plots import plot, plot_classes
from mshgnn.data.target_plots import draw_targets


def test_one_picture_of_every_class(tmp_path: Path) -> None:
    from matplotlib.image import imread

    path = tmp_path / "pictures" / "classes.png"
    plot_classes(StructureFrequencyDataset(12, 1).generate(), path)
    picture = imread(path)
    assert picture.shape[1] > picture.shape[0] > 300
    assert float(picture[..., :3].std()) > 0.05  # something is drawn


def test_names_of_the_classes_are_in_the_picture(tmp_path: Path) -> None:
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        plot_classes(StructureFrequencyDataset(12, 1).generate(), tmp_path / "a.svg")
        plot_classes(load_own(write_tu(tmp_path, SMALL)), tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert all(f"{family}, k = 9" in text for family in ("ring", "chain", "perturbed"))
    assert "class 7" in (tmp_path / "b.svg").read_text()


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    graph = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1]))
    with pytest.raises(DataError, match="only sets of graphs"):
        plot_classes(from_graphs([graph], task="node"), tmp_path / "a.png")
    with pytest.raises(DataError, match=r"must end in .png"):
        plot_classes(StructureFrequencyDataset(12, 1).generate(), tmp_path / "a.doc")


def test_histograms_hold_every_known_value_of_the_first_twelve_targets(tmp_path: Path) -> None:
    values = torch.randn(30, 14)
    values[:4, 1], values[:, 2] = float("nan"), 7e30
    dataset = from_graphs([ring(y=row[None]) for row in values])
    figure, cut = draw_targets(dataset)
    assert cut == "the first 12 of 14 targets"
    assert figure.get_suptitle().endswith(cut)
    assert [axis.get_title() for axis in figure.axes] == [f"target_{number}" for number in range(12)]
    for number, axis in enumerate(figure.axes):
        counts, edges, _ = axis.patches[0].get_data()  # type: ignore[attr-defined]
        known = values[~values[:, number].isnan(), number].double().numpy()
        assert counts.tolist() == np.histogram(known, edges)[0].tolist()
        assert counts.sum() == len(known)
    assert figure.axes[1].get_xlabel() == "26 values, 4 blank"
    assert plot(dataset, tmp_path / "a.png") == cut
    assert plot(from_graphs([ring(y=row[None, :3]) for row in values]), tmp_path / "b.png") == ""


def test_labels_have_the_shares_of_1_0_and_blank() -> None:
    blank = float("nan")
    rows = [[1.0, 0.0], [0.0, 0.0], [1.0, blank], [1.0, blank]]
    dataset = from_graphs([ring(y=torch.tensor([row])) for row in rows], target_names=("toxic", "$wet$"))
    (axis,) = draw_targets(dataset)[0].axes
    widths = [bar.get_width() for bar in axis.patches]  # type: ignore[attr-defined]
    assert widths == [75, 25, 0, 0, 50, 50]
    assert [text.get_text() for text in axis.texts] == ["75.0 % of 4 are 1", "0.0 % of 2 are 1"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["toxic", "$wet$"]


def test_classes_of_nodes_have_their_shares_and_names_are_no_formulas(tmp_path: Path) -> None:
    graph = Data(x=torch.ones(50, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.arange(50) % 45)
    names = ("$\\x$", *(f"class {number}" for number in range(1, 45)))
    dataset = from_graphs([graph], task="node", class_names=names, objective="classify")
    figure, cut = draw_targets(dataset)
    (axis,) = figure.axes
    assert (cut, len(axis.patches)) == ("the first 40 of 45 classes", 40)
    assert [text.get_text() for text in axis.texts][4:6] == ["2 (4.0 %)", "1 (2.0 %)"]
    assert plot(dataset, tmp_path / "a.png") == cut, "$\\x$ would not be drawn as a formula"


def ring(y: torch.Tensor) -> Data:
    return Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), y=y)

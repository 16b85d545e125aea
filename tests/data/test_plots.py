from __future__ import annotations

from pathlib import Path

import pytest
import torch
from data_helpers import SMALL, write_tu
from torch_geometric.data import Data

from mshgnn.data import DataError, StructureFrequencyDataset, from_graphs, load_own
from mshgnn.data.plots import plot_classes


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

"""A model that asks for structure is given it in every batch, computed once for the data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from mshgnn.data import Split, from_graphs
from mshgnn.errors import UserError
from mshgnn.nn import StructuredModel
from mshgnn.nn.model import Graphs, Task
from mshgnn.nn.readout import pool_nodes
from mshgnn.structure import Ragged, Structure
from mshgnn.training.loop import train_fold
from mshgnn.training.settings import TrainingSettings

CALLS: list[int] = []
SETTINGS = TrainingSettings(epochs=2, batch_size=2, weight_average=0.5)
PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def degrees(graph: Data) -> dict[str, Ragged]:
    assert set(graph.keys()) == {"edge_index", "num_nodes"}, "no feature and no target"
    CALLS.append(graph.num_nodes)
    return {"degree": Ragged(torch.bincount(graph.edge_index[1], minlength=graph.num_nodes).float(), "node")}


class DegreeModel(StructuredModel):
    """A linear map of the degree."""

    def __init__(self, task: Task) -> None:
        super().__init__(1, task, (Structure("degrees", degrees),))
        self.head = nn.Linear(1, 2)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        degree = structure["degree"]
        assert torch.equal(degree, torch.bincount(edge_index[1], minlength=len(x)).float())
        return degree.view(-1, 1) if self.task == "node" else pool_nodes(degree.view(-1, 1), *graphs, "sum")


@pytest.mark.parametrize("task", ["graph", "node"])
def test_it_is_computed_once_for_all_folds(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path))
    y = [torch.tensor([n % 2]) for n in range(6)] if task == "graph" else [torch.tensor([0, 1, 0, 1, 0, 1])]
    graphs = [
        Data(x=torch.ones(3 if task == "graph" else 6, 1), edge_index=PATH[:, : 4 - n % 3], y=y[n])
        for n in range(len(y))
    ]
    dataset = from_graphs(graphs, task=task)
    CALLS.clear()
    first, second, third = torch.split(torch.arange(6), 2)
    for split in (Split(first, second, third), Split(third, first, second)):
        train_fold(DegreeModel(task), dataset, split, SETTINGS, seed=0)
    assert len(CALLS) == len(graphs)


def test_alone_the_model_computes_it_in_the_call() -> None:
    model, x = DegreeModel("graph"), torch.ones(6, 1)
    edge_index = torch.cat([PATH, PATH + 3], dim=1).flip(1)
    assert model(x, edge_index, torch.tensor([0, 0, 0, 1, 1, 1])).shape == (2, 2)
    with pytest.raises(UserError, match="structure is empty, but the model needs degrees"):
        model(x, edge_index, structure={})

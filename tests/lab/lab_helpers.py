"""A tiny data set behind the lab's door, so that most tests need neither files nor processes."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.data import Split, Splits, from_graphs
from mshgnn.lab.experiment import Experiment, check_experiment
from mshgnn.lab.setup import LoadedData


def make_data(graphs: int = 40, folds: int = 3) -> LoadedData:
    generator = torch.Generator().manual_seed(0)
    made = []
    for index in range(graphs):
        nodes = 3 + index % 3
        x = torch.randn(nodes, 4, generator=generator)
        x[:, 0] += 2.0 * (index % 2) - 1.0
        ring = torch.arange(nodes)
        edge_index = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
        made.append(Data(x=x, edge_index=edge_index, y=torch.tensor([index % 2])))
    order = torch.randperm(graphs, generator=generator)
    parts = []
    for fold in range(folds):
        turned = order.roll(fold * graphs // folds)
        cuts = turned[: graphs // 2], turned[graphs // 2 : 3 * graphs // 4], turned[3 * graphs // 4 :]
        parts.append(Split(*cuts))
    return LoadedData(from_graphs(made, name="tiny"), Splits("tiny", parts, "splits-checksum", "own"))


def make_experiment(**changes: object) -> Experiment:
    content: dict[str, object] = {
        "name": "tiny-gcn",
        "dataset": {"name": "tiny"},
        "model": {"name": "gcn", "hidden_channels": 8, "num_layers": 1},
        "training": {"epochs": 3},
    }
    return check_experiment(content | changes, "test")


def use_tiny_data(monkeypatch: pytest.MonkeyPatch) -> LoadedData:
    """Whatever data set an experiment names, it gets the tiny one."""
    data = make_data()
    monkeypatch.setattr("mshgnn.lab.runner.load_data", lambda experiment: data)
    return data

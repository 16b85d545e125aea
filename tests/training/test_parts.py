from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mshgnn.data import GraphDataset, Split, load_splits
from mshgnn.data.neighbour_distribution import NeighbourDistribution
from mshgnn.models import build
from mshgnn.training.loop import predict
from mshgnn.training.parts import prepare
from mshgnn.training.settings import TrainingSettings


def small_union() -> tuple[GraphDataset, Split]:
    dataset = NeighbourDistribution(graphs=10, nodes=12, degrees=(2, 4)).generate()
    return dataset, load_splits(dataset).folds[0]


def test_a_union_trains_on_some_of_its_graphs_at_a_time() -> None:
    dataset, split = small_union()
    fold = prepare(dataset, split, TrainingSettings(batch_size=4))
    steps = list(fold.steps(torch.Generator().manual_seed(0)))
    assert [step.batch.num_graphs for step in steps] == [3, 3]
    seen = torch.cat([step.target for step in steps])
    assert torch.equal(rows(seen), rows(dataset.labels()[split.train]))


@pytest.mark.parametrize("model_name", ["gcn", "msh-stable"])
def test_a_union_is_measured_as_its_whole_graph(model_name: str) -> None:
    dataset, split = small_union()
    model = build(model_name, 1, 5, task="node", options={"hidden_channels": 8}).eval()
    joined = dataset.graphs[0]
    whole = model(joined.x, joined.edge_index)
    for part, nodes in zip(prepare(dataset, split, TrainingSettings(batch_size=2)).parts, split, strict=True):
        torch.testing.assert_close(predict(model, part.batches), whole[nodes], rtol=1e-4, atol=1e-5)
        assert torch.equal(part.target, dataset.labels()[nodes])


def test_nodes_of_another_part_have_no_target_in_a_graph_that_parts_share() -> None:
    dataset, split = small_union()
    half = Split(split.train[::2], split.train[1::2], split.test)
    parts = prepare(dataset, half, TrainingSettings()).parts
    assert len(parts.train.target) == len(parts.validation.target) == len(split.train)
    assert torch.equal(parts.train.target.isnan(), ~parts.validation.target.isnan())


def rows(values: Tensor) -> Tensor:
    return torch.unique(values, dim=0)

from __future__ import annotations

import torch
from torch_geometric.data import Data

from mshgnn.baselines import build
from mshgnn.benchmarks.overhead import harness_overhead
from mshgnn.data import Split, from_graphs


def test_the_three_kinds_of_epoch_are_measured() -> None:
    """How small the ratio is belongs to ``mshgnn bench harness``; here: that it is measured, on graphs like MUTAG's."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for index in range(188):
        nodes = 10 + index % 17
        ends = torch.randint(0, nodes, (2, 20), generator=generator)
        x = torch.randn(nodes, 7, generator=generator)
        graphs.append(Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], dim=1), y=torch.tensor([index % 2])))
    dataset = from_graphs(graphs)
    order = torch.arange(188)
    split = Split(order[:150], order[150:169], order[169:])  # type: ignore[arg-type]
    model = build("gcn", 7, 2, task="graph")
    overhead = harness_overhead(model, dataset, split, epochs=2, repeats=3)
    assert overhead.pure > 0
    assert overhead.ratio == overhead.harness / overhead.pure
    assert overhead.evaluation_ratio == overhead.evaluated / overhead.pure

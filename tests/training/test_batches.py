from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph


@st.composite
def graph_lists(draw: st.DrawFn) -> list[Data]:
    """Graphs of any size, one node and no edges included, each edge with an attribute that names it."""
    graphs = []
    for index in range(draw(st.integers(1, 8))):
        nodes = draw(st.integers(1, 5))
        pairs = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=8))
        edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()
        attr = (edge_index[0] * 100 + edge_index[1] + 10_000 * index).float().view(-1, 1)
        x = torch.arange(nodes * 2).float().view(nodes, 2) + 1000 * index
        graphs.append(Data(x=x, edge_index=edge_index, edge_attr=attr, y=torch.tensor([index])))
    return graphs


def edges(edge_index: Tensor, edge_attr: Tensor) -> list[tuple[int, int, float]]:
    return sorted(zip(*edge_index.tolist(), edge_attr.view(-1).tolist(), strict=True))


def assert_same(batch: GraphBatch, graphs: list[Data]) -> None:
    """PyG's own collater is the truth; only the order of the edges may differ."""
    truth = Batch.from_data_list(graphs)
    assert torch.equal(batch.x, truth.x)
    assert batch.batch is not None
    assert torch.equal(batch.batch, truth.batch)
    assert torch.equal(batch.y, truth.y)
    assert batch.num_graphs == len(graphs)
    assert batch.edge_attr is not None
    assert edges(batch.edge_index, batch.edge_attr) == edges(truth.edge_index, truth.edge_attr)
    assert bool((batch.edge_index[1].diff() >= 0).all()), "edges must be sorted by receiver"


@given(graph_lists(), st.data())
@settings(deadline=None)
def test_batches_equal_those_of_pyg(graphs: list[Data], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=12))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(chosen)), max_size=3)) | {len(chosen)})
    bounds = [0, *cuts]
    packed = PackedGraphs.pack(graphs).take(torch.tensor(chosen))
    for batch, first, last in zip(packed.batches(bounds), bounds, cuts, strict=False):
        assert_same(batch, [graphs[index] for index in chosen[first:last]])


@given(graph_lists(), st.integers(1, 5))
@settings(deadline=None)
def test_evaluation_covers_every_graph_in_order(graphs: list[Data], batch_size: int) -> None:
    batches = PackedGraphs.pack(graphs).evaluation_batches(batch_size)
    assert torch.cat([batch.y for batch in batches]).tolist() == list(range(len(graphs)))


@given(st.integers(1, 90), st.integers(1, 20), st.integers(0, 99))
@settings(deadline=None)
def test_an_epoch_visits_every_graph_once_in_batches_of_almost_one_size(count: int, size: int, seed: int) -> None:
    graphs = [
        Data(x=torch.zeros(1, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([index]))
        for index in range(count)
    ]
    packed = PackedGraphs.pack(graphs)
    batches = list(packed.shuffled_batches(size, torch.Generator().manual_seed(seed)))
    sizes = [batch.num_graphs for batch in batches]
    assert sorted(torch.cat([batch.y for batch in batches]).tolist()) == list(range(count))
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_several_targets_stay_rows_of_their_graphs() -> None:
    graphs = [
        Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([[float(index), float("nan")]]))
        for index in range(4)
    ]
    packed = PackedGraphs.pack(graphs).take(torch.tensor([3, 1, 0]))
    assert len(packed) == 3
    first, last = packed.batches([0, 2, 3])
    torch.testing.assert_close(first.y, torch.tensor([[3.0, torch.nan], [1.0, torch.nan]]), equal_nan=True)
    torch.testing.assert_close(last.y, torch.tensor([[0.0, torch.nan]]), equal_nan=True)
    nodes = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.arange(6.0).view(2, 3))
    assert torch.equal(whole_graph(nodes, sparse=False).y, nodes.y)


@given(graph_lists())
@settings(deadline=None)
def test_a_batch_moves_to_a_device_as_a_whole(graphs: list[Data]) -> None:
    packed = PackedGraphs.pack(graphs)
    (batch,) = packed.batches([0, len(packed)])
    assert batch.to(torch.device("cpu")) is batch
    moved = batch.to(torch.device("meta"))
    for name in ("x", "edge_index", "edge_attr", "batch", "y"):
        assert getattr(moved, name).is_meta
        assert getattr(moved, name).shape == getattr(batch, name).shape
    assert moved.num_graphs == batch.num_graphs
    bare = whole_graph(Data(x=torch.ones(1, 1), edge_index=torch.zeros(2, 0).long(), y=torch.ones(1)), sparse=False)
    assert bare.to(torch.device("meta")).batch is None


def test_large_sets_are_evaluated_in_several_batches() -> None:
    graph = Data(x=torch.zeros(3000, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([0]))
    assert [b.num_graphs for b in PackedGraphs.pack([graph] * 7).evaluation_batches(1)] == [2, 2, 2, 1]
    assert [b.num_graphs for b in PackedGraphs.pack([graph] * 7).evaluation_batches(4)] == [4, 3]
    assert PackedGraphs.pack([graph]).take(torch.tensor([], dtype=torch.long)).evaluation_batches(4) == []


def test_wide_features_become_sparse_only_when_asked_and_mostly_zero() -> None:
    x = torch.zeros(40, 200)
    x[0, 3] = 2.0
    graph = Data(x=x, edge_index=torch.tensor([[1, 0], [0, 1]]), y=torch.zeros(40, dtype=torch.long))
    sparse = whole_graph(graph, sparse=True).x
    assert sparse.layout == torch.sparse_csr
    assert torch.equal(sparse.to_dense(), x)
    assert whole_graph(graph, sparse=False).x.layout == torch.strided
    for dense in (torch.ones(40, 200), torch.zeros(40, 20)):
        graph.x = dense
        assert whole_graph(graph, sparse=True).x.layout == torch.strided


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.data())
@settings(deadline=None)
def test_sparse_batches_hold_the_features_of_dense_ones(sizes: list[int], data: st.DataObject) -> None:
    graphs = []
    for index, nodes in enumerate(sizes):
        x = torch.zeros(nodes, 150)
        x[torch.arange(0, nodes, 2), (index * 31 + torch.arange(0, nodes, 2) * 7) % 150] = index + 1.0
        empty = torch.zeros(2, 0, dtype=torch.long)
        graphs.append(Data(x=x, edge_index=empty, y=torch.tensor([index])))
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=8)))
    cut = data.draw(st.integers(0, len(chosen)))
    packed = [PackedGraphs.pack(graphs, sparse=sparse).take(chosen) for sparse in (True, False)]
    for sparse, dense in zip(*(p.batches([0, cut, len(chosen)]) for p in packed), strict=True):
        assert sparse.x.layout == torch.sparse_csr
        assert torch.equal(sparse.x.to_dense(), dense.x)

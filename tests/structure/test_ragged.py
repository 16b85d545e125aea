"""Structure laid end to end, chosen, cut into batches and cut again is the structure of the graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data import from_graphs
from mshgnn.data.structure import structure_of
from mshgnn.errors import UserError
from mshgnn.structure import Cost, Ragged, Structure, owners, structure_of_batch
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph

CALLS: list[int] = []


def compute(graph: Data) -> dict[str, Ragged]:
    """One tensor of every sort, whose values tell which node, edge or triple they are of."""
    CALLS.append(graph.num_nodes)
    assert "y" not in graph
    nodes, (sender, receiver) = graph.num_nodes, graph.edge_index
    code = sender * 100 + receiver
    walks = [[a, b] for a in range(sender.numel()) for b in range(sender.numel()) if receiver[a] == sender[b]]
    walk = torch.tensor(walks, dtype=torch.long).reshape(-1, 2)
    first = [next((w for w in range(len(walk)) if walk[w, 0] == e), -1) for e in range(len(sender))]
    return {
        "degree": Ragged(torch.bincount(receiver, minlength=nodes), "node"),
        "code": Ragged(code, "edge"),
        "size": Ragged(torch.tensor([[nodes, len(sender)]]), "graph"),
        "walk": Ragged(walk, "walk", points_to="edge"),
        "walk_end": Ragged(receiver[walk[:, 1]], "walk", points_to="node"),
        "first_walk": Ragged(torch.tensor(first, dtype=torch.long).view(-1, 1), "edge", points_to="walk"),
        "product": Ragged(torch.outer(torch.arange(nodes), torch.arange(nodes)).flatten(), "pair"),
    }


KIND = Structure("everything", compute)


@st.composite
def graph_lists(draw: st.DrawFn) -> list[Data]:
    graphs = []
    for index in range(draw(st.integers(1, 6))):
        nodes = draw(st.integers(0, 4))
        node = st.integers(0, max(nodes - 1, 0))
        pairs = draw(st.lists(st.tuples(node, node), max_size=6 if nodes else 0))
        edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t().contiguous()
        graphs.append(Data(x=torch.full((nodes, 1), float(index)), edge_index=edge_index, y=torch.tensor([index % 2])))
    return graphs


def names_of_walks(edge_index: Tensor, structure: Mapping[str, Tensor]) -> list[tuple[int, ...]]:
    """Every walk by its nodes, followed through the pointers."""
    sender, receiver = edge_index
    walk, end = structure["walk"], structure["walk_end"]
    assert torch.equal(receiver[walk[:, 1]], end)
    return sorted(zip(sender[walk[:, 0]].tolist(), receiver[walk[:, 0]].tolist(), end.tolist(), strict=True))


def walks_of(graph: Data, shift: int) -> list[tuple[int, ...]]:
    """The walks of one graph alone, its nodes counted from ``shift``."""
    alone = {name: ragged.values for name, ragged in compute(KIND.bare(graph)).items()}
    return [tuple(node + shift for node in walk) for walk in names_of_walks(graph.edge_index, alone)]


def assert_is_structure_of(batch: GraphBatch, graphs: list[Data]) -> None:
    """Cut by hand into its graphs, the batch has the structure of each."""
    made = dict(batch.structure)
    assert batch.batch is not None
    assert torch.equal(made["degree"], torch.bincount(batch.edge_index[1], minlength=len(batch.batch)))
    nodes = torch.tensor([0, *(g.num_nodes for g in graphs)]).cumsum(0)
    local = batch.edge_index - nodes[batch.batch[batch.edge_index[1]]] if batch.edge_index.numel() else batch.edge_index
    assert torch.equal(made["code"], local[0] * 100 + local[1])
    assert made["size"].tolist() == [[g.num_nodes, g.num_edges] for g in graphs]
    walks = [walks_of(graph, int(nodes[i])) for i, graph in enumerate(graphs)]
    assert names_of_walks(batch.edge_index, made) == sorted(walk for part in walks for walk in part)
    first = made["first_walk"].flatten()
    has = first >= 0
    assert torch.equal(made["walk"][first[has], 0], torch.arange(len(first))[has])
    assert owners(made["walk_ptr"]).tolist() == [i for i, w in enumerate(walks) for _ in w]
    products = [torch.outer(torch.arange(g.num_nodes), torch.arange(g.num_nodes)).flatten() for g in graphs]
    assert torch.equal(made["product"], torch.cat(products))
    assert made["pair_ptr"].diff().tolist() == [g.num_nodes**2 for g in graphs]


@given(graph_lists(), st.data())
@settings(deadline=None)
def test_batches_have_the_structure_of_their_graphs(graphs: list[Data], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=8))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(chosen)), max_size=3)) | {len(chosen)})
    bounds = [0, *cuts]
    packed = PackedGraphs.pack(graphs, structure=KIND.of_graphs(graphs)).take(torch.tensor(chosen))
    for batch, first, last in zip(packed.batches(bounds), bounds, cuts, strict=False):
        assert_is_structure_of(batch, [graphs[index] for index in chosen[first:last]])


@given(graph_lists())
@settings(deadline=None)
def test_a_batch_without_structure_gets_the_same(graphs: list[Data]) -> None:
    (batch,) = PackedGraphs.pack(graphs, structure=KIND.of_graphs(graphs)).batches([0, len(graphs)])
    assert batch.batch is not None
    made = structure_of_batch([KIND], batch.x, batch.edge_index, batch.batch, batch.num_graphs)
    computed = GraphBatch(batch.x, batch.edge_index, None, batch.batch, batch.num_graphs, batch.y, made)
    assert_is_structure_of(computed, graphs)


@given(graph_lists(), st.integers(0, 99))
@settings(deadline=None)
def test_any_order_of_nodes_and_edges_is_followed(graphs: list[Data], seed: int) -> None:
    (batch,) = PackedGraphs.pack(graphs).batches([0, len(graphs)])
    assert batch.batch is not None
    generator = torch.Generator().manual_seed(seed)
    nodes = torch.randperm(len(batch.x), generator=generator)
    edges = torch.randperm(batch.edge_index.size(1), generator=generator)
    name = nodes.argsort()
    edge_index, owner = name[batch.edge_index[:, edges]], batch.batch[nodes]
    made = structure_of_batch([KIND], batch.x[nodes], edge_index, owner, batch.num_graphs)
    plain = structure_of_batch([KIND], batch.x, batch.edge_index, batch.batch, batch.num_graphs)
    assert torch.equal(made["degree"], plain["degree"][nodes])
    assert torch.equal(made["degree"], torch.bincount(edge_index[1], minlength=len(nodes)))
    renamed = [tuple(name[list(walk)].tolist()) for walk in names_of_walks(batch.edge_index, plain)]
    assert names_of_walks(edge_index, made) == sorted(renamed)


def test_no_graph_at_all_has_structure_of_the_right_shape() -> None:
    nothing = torch.empty(0, dtype=torch.long)
    made = structure_of_batch([KIND], torch.empty(0, 1), torch.empty(2, 0, dtype=torch.long), nothing, 0)
    assert made["walk"].shape == (0, 2)
    assert made["size"].shape == (0, 2)
    assert made["pair_ptr"].tolist() == [0]


def test_an_edge_between_two_graphs_is_refused() -> None:
    with pytest.raises(UserError, match="an edge between two graphs"):
        structure_of_batch([KIND], torch.ones(2, 1), torch.tensor([[0], [1]]), torch.tensor([0, 1]), 2)


def test_two_kinds_that_share_a_name_are_a_bug() -> None:
    graphs = [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)]
    with pytest.raises(RuntimeError, match="two structures are called 'code'"):
        KIND.of_graphs(graphs) | KIND.of_graphs(graphs)


def test_rows_that_are_not_one_per_node_are_a_bug() -> None:
    wrong = Structure("wrong", lambda graph: {"degree": Ragged(torch.zeros(3), "node")})
    with pytest.raises(RuntimeError, match="degree: not one row per node"):
        wrong.of_graphs([Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)])


def test_an_empty_tensor_of_another_type_is_a_bug() -> None:
    kind = Structure("numbers", lambda graph: {"number": Ragged(torch.tensor([*range(graph.num_nodes)]), "node")})
    edgeless = torch.zeros(2, 0, dtype=torch.long)
    with pytest.raises(RuntimeError, match=r"number: torch\.float32 in one graph, torch\.int64 in another"):
        kind.of_graphs([Data(edge_index=edgeless, num_nodes=n) for n in (2, 0)])


def test_too_much_memory_is_refused_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(graph: Data) -> dict[str, Ragged]:
        raise AssertionError("computed")

    kind = Structure("pairs", never, cost=lambda nodes, edges: Cost(8 * nodes**2, 16 * nodes**2))
    graphs = [Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=1000)] * 3
    monkeypatch.setenv("MSHGNN_MEMORY", "39999999")
    expected = r"pairs of 1,000 nodes at most, 3 graphs needs 0\.0 GB .* MSHGNN_MEMORY=40000000"
    with pytest.raises(UserError, match=expected):
        kind.of_graphs(graphs)
    monkeypatch.setenv("MSHGNN_MEMORY", "4e7")
    with pytest.raises(AssertionError, match="computed"):
        kind.of_graphs(graphs)


def test_a_data_set_is_computed_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path))
    graphs = [
        Data(x=torch.ones(n, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n % 2])) for n in (2, 3, 4)
    ]
    dataset = from_graphs(graphs, task="graph")
    CALLS.clear()
    first, second = (structure_of(dataset, [KIND]) for _ in range(2))
    assert CALLS == [2, 3, 4]
    assert first.tensors.keys() == second.tensors.keys()
    for name, ragged in first.tensors.items():
        assert torch.equal(ragged.values, second.tensors[name].values)
        assert (ragged.rows, ragged.points_to) == (second.tensors[name].rows, second.tensors[name].points_to)
    # Another target or feature is the same structure; another number of nodes is not.
    relabelled = [Data(x=graph.x * 2, edge_index=graph.edge_index, y=1 - graph.y) for graph in dataset.graphs]
    structure_of(from_graphs(relabelled, task="graph"), [KIND])
    assert CALLS == [2, 3, 4]
    larger = [Data(x=torch.ones(9, 1), edge_index=graph.edge_index, y=graph.y) for graph in dataset.graphs]
    structure_of(from_graphs(larger, task="graph"), [KIND])
    assert CALLS == [2, 3, 4, 9, 9, 9]


def test_the_one_graph_of_a_node_task_has_its_structure() -> None:
    graph = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 2, 1], [2, 1, 0]]), y=torch.zeros(3).long())
    batch = whole_graph(graph, sparse=False, structure=KIND.of_graphs([graph]))
    assert torch.equal(batch.structure["code"], batch.edge_index[0] * 100 + batch.edge_index[1])

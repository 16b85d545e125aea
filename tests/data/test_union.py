from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mshgnn.data import from_graphs
from mshgnn.data.splits import load_splits
from mshgnn.data.union import is_union, pieces, union


def some_graphs(sizes: list[int], seed: int) -> list[Data]:
    generator = torch.Generator().manual_seed(seed)
    return [
        Data(
            x=torch.randn(n, 2, generator=generator),
            edge_index=torch.randint(n, (2, 3 * n), generator=generator),
            y=torch.randn(n, 3, generator=generator),
        )
        for n in sizes
    ]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 7), min_size=3, max_size=8), st.integers(0, 99))
def test_the_pieces_of_a_union_are_the_graphs_it_was_made_of(sizes: list[int], seed: int) -> None:
    graphs = some_graphs(sizes, seed)
    parts = ["train", "val", "test", *["train"] * (len(sizes) - 3)]
    dataset = from_graphs([union(graphs, parts)], task="node", objective="regress")
    assert is_union(dataset)
    for piece, graph in zip(pieces(dataset).graphs, graphs, strict=True):
        for key in ("x", "edge_index", "y"):
            assert torch.equal(piece[key], graph[key])


def test_the_masks_of_a_union_divide_it_by_whole_graphs() -> None:
    dataset = from_graphs([union(some_graphs([2, 3, 4], 0), ["test", "train", "val"])], task="node", metric="mse")
    (fold,) = load_splits(dataset).folds
    assert [part.tolist() for part in fold] == [[2, 3, 4], [5, 6, 7, 8], [0, 1]]


def test_edge_features_stay_with_their_edges() -> None:
    joined = union(some_graphs([3, 4], 1), ["train", "test"])
    order = torch.randperm(joined.edge_index.size(1), generator=torch.Generator().manual_seed(0))
    joined.edge_index = joined.edge_index[:, order]
    joined.edge_attr = joined.x[joined.edge_index[0], :1]
    for graph in pieces(from_graphs([joined], task="node", objective="regress")).graphs:
        assert torch.equal(graph.edge_attr, graph.x[graph.edge_index[0], :1])

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph, from_networkx

from mshgnn.errors import UserError
from mshgnn.models.pairs import Pairs
from mshgnn.models.ppgn import PPGN, Block, Suffix
from mshgnn.testing import assert_batch_consistent
from support.graphs import BICYCLOPENTYL, DECALIN, ROOK, SHRIKHANDE


def twice(graph: nx.Graph) -> nx.Graph:
    return nx.disjoint_union(graph, graph)


def gap(one: nx.Graph, other: nx.Graph, seed: int) -> float:
    torch.manual_seed(seed)
    model = PPGN(1, 2, hidden_channels=16).double().eval()

    def run(graph: nx.Graph) -> Tensor:
        edges = from_networkx(nx.convert_node_labels_to_integers(graph)).edge_index
        return model.embed(torch.ones(len(graph), 1).double(), edges)

    first, second = run(one), run(other)
    return float((first - second).detach().abs().max() / first.abs().max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (nx.cycle_graph(6), twice(nx.cycle_graph(3))),
        (nx.cycle_graph(8), twice(nx.cycle_graph(4))),
        (nx.cycle_graph(10), twice(nx.cycle_graph(5))),
        (DECALIN, BICYCLOPENTYL),
    ],
)
def test_it_tells_apart_what_1_wl_does_not(one: nx.Graph, other: nx.Graph, seed: int) -> None:
    assert gap(one, other, seed) > 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_it_does_not_tell_apart_what_3_wl_does_not(seed: int) -> None:
    assert not nx.is_isomorphic(ROOK, SHRIKHANDE)
    assert gap(ROOK, SHRIKHANDE, seed) < 1e-12


def test_a_block_is_its_formula() -> None:
    block, t = Block(3, 2, depth=2).double(), torch.randn(1, 5, 5, 3).double()
    u, v = block.left(t), block.right(t)
    product = torch.stack([u[0, :, :, c] @ v[0, :, :, c] for c in range(2)], dim=-1)
    expected = block.skip(torch.cat([t[0], product], dim=-1)).relu()
    torch.testing.assert_close(block(t, Pairs(torch.ones(1, 5, dtype=torch.bool)))[0], expected)


def test_maxima_of_powers_of_the_adjacency_count_triangles() -> None:
    adjacency = torch.from_numpy(nx.to_numpy_array(twice(nx.cycle_graph(3))))
    cubed = torch.linalg.matrix_power(adjacency, 3)[None, :, :, None]
    assert Pairs(torch.ones(1, 6, dtype=torch.bool)).maxima(cubed)[0, 0] == 2


def test_maxima_skip_padding_and_see_negative_numbers() -> None:
    t = torch.full((2, 3, 3, 1), 9.0)
    t[0, :2, :2, 0] = torch.tensor([[-3.0, -1.0], [-2.0, -4.0]])
    t[1, 0, 0] = -5.0
    maxima = Pairs(torch.tensor([[True, True, False], [True, False, False]])).maxima(t)
    assert maxima.tolist() == [[-3.0, -1.0], [-5.0, 0.0]]


@pytest.mark.parametrize("suffix", ["each", "last"])
def test_a_graph_alone_is_the_graph_beside_a_larger_one(suffix: Suffix) -> None:
    model = PPGN(3, 2, hidden_channels=16, suffix=suffix).double().eval()
    torch.nn.init.normal_(model.blocks[0].get_submodule("skip").get_parameter("bias"))
    torch.nn.init.normal_(model.blocks[0].get_submodule("left.0").get_parameter("bias"))
    graphs = [Data(x=torch.randn(n, 3).double(), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 15, 1)]
    assert_batch_consistent(model, graphs)


@pytest.mark.parametrize(
    ("width", "depth", "suffix", "parameters"),
    [(400, 2, "each", 2_420_406), (400, 2, "last", 2_957_554), (256, 3, "each", 1_390_854)],
)
def test_it_has_the_parameters_of_the_authors_three_versions(
    width: int, depth: int, suffix: Suffix, parameters: int
) -> None:
    """On MUTAG. A linear map of all maxima has one bias where the authors add up three maps, with three."""
    model = PPGN(7, 2, hidden_channels=width, depth=depth, suffix=suffix)
    assert model.num_parameters + (4 if suffix == "each" else 0) == parameters


def test_a_graph_too_large_is_refused_before_anything_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "16e9")
    with pytest.raises(UserError, match=r"PPGN on a graph of 3,782 nodes needs 68\d\.\d GB"):
        PPGN(1, 2, hidden_channels=400)(torch.ones(3782, 1), torch.empty(2, 0, dtype=torch.long))

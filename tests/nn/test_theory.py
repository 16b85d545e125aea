"""What the method can and cannot tell apart, on graphs that nobody here made."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv

from mshgnn.nn import MSHGNN, MSHConv

pytestmark = pytest.mark.usefixtures("reference_backend")


def as_data(graph: nx.Graph) -> Data:
    one_way = torch.tensor(list(graph.edges), dtype=torch.int64).reshape(-1, 2).t()
    x = torch.ones(graph.number_of_nodes(), 1, dtype=torch.float64)
    return Data(x=x, edge_index=torch.cat([one_way, one_way.flip(0)], dim=1))


def weisfeiler_leman_classes(graphs: list[nx.Graph], rounds: int) -> Tensor:
    """Class of every graph under colour refinement, all graphs refined together so that colours compare."""
    colours = [dict.fromkeys(graph, 0) for graph in graphs]
    for _ in range(rounds):
        names: dict[tuple[int, tuple[int, ...]], int] = {}
        colours = [
            {v: names.setdefault((colour[v], tuple(sorted(colour[u] for u in graph[v]))), len(names)) for v in graph}
            for graph, colour in zip(graphs, colours, strict=True)
        ]
    classes: dict[tuple[int, ...], int] = {}
    return torch.tensor([classes.setdefault(tuple(sorted(colour.values())), len(classes)) for colour in colours])


@pytest.fixture(scope="module")
def atlas() -> tuple[Batch, Tensor]:
    graphs = graph_atlas_g()[1:]  # the first has no nodes
    assert len(graphs) == 1252
    return Batch.from_data_list([as_data(graph) for graph in graphs]), weisfeiler_leman_classes(graphs, rounds=7)


@pytest.mark.parametrize(
    ("preset", "options"),
    # A scale of one: at 0.3 the first phases are so small that high orders of their sines drown in rounding.
    [("stable", {"phase_scale": 1.0}), ("paper", {"readout_reduce": "sum"}), ("paper", {"readout": "sum"})],
    ids=["stable", "paper, frequency-aware sum", "paper, sum of states"],
)
def test_separates_exactly_what_1wl_separates(
    preset: str, options: dict[str, Any], atlas: tuple[Batch, Tensor], capsys: pytest.CaptureFixture[str]
) -> None:
    batch, classes = atlas
    model = MSHGNN.from_preset(preset, 1, 2, hidden_channels=16, num_projections=8, num_layers=8, **options).double()
    model.eval()
    with torch.no_grad():
        embedding = model.embed(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
    sizes = batch.ptr.diff()
    alike = apart = 0
    largest_alike, smallest_apart = 0.0, float("inf")
    for size in range(2, 8):
        members = (sizes == size).nonzero().view(-1)
        first, second = torch.triu_indices(members.numel(), members.numel(), 1)
        rows = embedding[members] / embedding[members].abs().max()
        distance = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")[first, second]
        same = classes[members][first] == classes[members][second]
        alike, apart = alike + int(same.sum()), apart + int((~same).sum())
        largest_alike = max([largest_alike, *distance[same].tolist()])
        smallest_apart = min(smallest_apart, float(distance[~same].min()))
    report = (
        f"atlas, {preset} {options}: 1-WL separates {apart} pairs (smallest distance {smallest_apart:.2g}) "
        f"and leaves {alike} (largest distance {largest_alike:.2g})"
    )
    with capsys.disabled():
        print(f"\n{report}")
    assert alike + apart == 557_159, report
    assert largest_alike < 1e-13, report
    assert smallest_apart > 100 * largest_alike, report
    assert alike == 26, report


def two_copies(data: Data) -> Data:
    n = data.x.size(0)
    return Data(x=data.x.repeat(2, 1), edge_index=torch.cat([data.edge_index, data.edge_index + n], dim=1))


@pytest.mark.parametrize(
    ("options", "tells_apart"),
    [
        ({"readout": "frequency", "readout_reduce": "mean"}, False),
        ({"readout": "frequency", "readout_reduce": "sum"}, True),
        ({"readout": "mean"}, False),
        ({"readout": "sum"}, True),
    ],
)
def test_a_mean_cannot_tell_a_graph_from_two_copies_of_it(options: dict[str, Any], tells_apart: bool) -> None:
    graph = as_data(nx.petersen_graph())
    model = MSHGNN(1, 2, hidden_channels=8, **options).double().eval()
    once = model.embed(graph.x, graph.edge_index)
    twice = two_copies(graph)
    difference = float((model.embed(twice.x, twice.edge_index) - once).detach().abs().max())
    assert difference > 1e-3 if tells_apart else difference < 1e-12


def test_stars_with_equal_neighbour_means_look_alike_to_gat_and_not_to_us() -> None:
    """The paper's appendix: centre [0, 0], three neighbours, the same mean [2/3, 2/3], another arrangement.

    GAT's attention depends on the neighbour, so it is blind to the arrangement just when the scores are equal: with
    its vectors at zero it is the mean. The neighbours below are also chosen so that a sum of a linear map is the same.
    """
    edges = torch.tensor([[1, 2, 3], [0, 0, 0]])
    first = torch.tensor([[0, 0], [0, 0], [1, 1], [1, 1]], dtype=torch.float64)
    second = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
    torch.testing.assert_close(first[1:].mean(0), second[1:].mean(0))
    gat = GATConv(2, 4, add_self_loops=False).double()
    torch.nn.init.zeros_(gat.att_src)
    torch.testing.assert_close(gat(first, edges)[0], gat(second, edges)[0], rtol=0, atol=1e-14)
    conv = MSHConv(2, 4, normalize=False, phase_scale=None, root_weight=False).double()
    assert float((conv(first, edges)[0] - conv(second, edges)[0]).detach().abs().max()) > 1e-2


def test_the_kernel_of_a_receiver_is_positive_semidefinite() -> None:
    """``k_v(u, u') = psi(p_vu) . psi(p_vu')`` over the senders of one receiver."""
    conv = MSHConv(3, 4, 5, phase_scale=None, normalize=False).double()
    x = torch.randn(20, 3, dtype=torch.float64)
    to_first = torch.stack([torch.arange(20), torch.zeros(20, dtype=torch.int64)])
    phases = conv.edge_phases(x, to_first).detach()
    encoded = conv.encoding(phases)
    gram = encoded @ encoded.t()
    shift = phases.unsqueeze(0) - phases.unsqueeze(1)
    torch.testing.assert_close(gram, sum((w * shift).cos().sum(-1) for w in (1, 2, 4)), rtol=0, atol=1e-10)
    assert float(torch.linalg.eigvalsh(gram).min()) > -1e-10

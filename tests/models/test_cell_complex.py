"""SIN, CIN and PIN: one network on three complexes."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.models.cell_complex import CellConv, CellForm, CellNetwork
from mshgnn.models.cin import CIN
from mshgnn.models.pin import PIN
from mshgnn.models.sin import SIN
from mshgnn.structure import structure_of_batch
from mshgnn.structure.cells import clique_complex
from mshgnn.testing import assert_batch_consistent


@pytest.mark.parametrize("coboundaries", [True, False])
def test_the_sum_over_cells_above_is_the_sum_over_pairs_of_faces(coboundaries: bool) -> None:
    edges = nx.gnp_random_graph(8, 0.7, seed=1).edges
    graph = Data(edge_index=torch.tensor(list(edges)).t(), num_nodes=8)
    found = {name: ragged.values for name, ragged in clique_complex(2).compute(graph).items()}
    conv = CellConv(4, 4, CellForm(coboundaries), is_top=False).double()
    cell, face = found["face2_cell"], found["face2_of"]
    h, above = torch.randn(len(edges), 4).double(), torch.randn(len(found["cell2_size"]), 4).double()

    def message(tau: int, delta: int) -> Tensor:
        if not coboundaries:
            return h[tau]
        assert conv.message is not None
        return conv.message(torch.cat([h[tau], above[delta]]))

    expected = torch.zeros_like(h)
    for delta in range(len(above)):
        members = face[cell == delta].tolist()
        for sigma in members:
            for tau in members:
                if tau != sigma:
                    expected[sigma] += message(tau, delta)
    assert expected.any()
    torch.testing.assert_close(conv.heard_above(h, above, cell, face), expected)


def test_a_layer_is_its_formula_cell_by_cell() -> None:
    """A square with a diagonal: four nodes, five edges, two triangles."""
    graph = Data(edge_index=torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]]), num_nodes=4)
    found = {name: ragged.values for name, ragged in clique_complex(2).compute(graph).items()}
    h = [torch.randn(cells, 4).double() for cells in (4, 5, 2)]
    faces = [
        [],
        *([found[f"face{p}_of"][found[f"face{p}_cell"] == c].tolist() for c in range(len(h[p]))] for p in (1, 2)),
    ]
    for p in range(3):
        conv = CellConv(4, 4, CellForm(coboundaries=True), is_top=p == 2).double().eval()
        below, above = h[p].clone(), h[p].clone()
        for cell in range(len(h[p])):
            for face in faces[p][cell] if p else []:
                below[cell] += h[p - 1][face]
            for delta, members in enumerate(faces[p + 1] if p < 2 else []):
                for tau in members if cell in members else []:
                    if tau != cell and conv.message is not None:
                        above[cell] += conv.message(torch.cat([h[p][tau], h[p + 1][delta]]))
        expected = conv.combine(torch.cat([conv.above(above), conv.faces(below)], dim=1))
        torch.testing.assert_close(conv(h, p, found), expected)


@pytest.mark.parametrize("coboundaries", [True, False])
def test_cin_with_triangles_alone_is_sin(coboundaries: bool) -> None:
    cin = CIN(3, 2, hidden_channels=8, largest_ring=3, coboundaries=coboundaries).eval()
    sin = SIN(3, 2, hidden_channels=8, dimension=2, coboundaries=coboundaries).eval()
    sin.load_state_dict(cin.state_dict())
    x, edges = torch.randn(10, 3), erdos_renyi_graph(10, 0.5)
    torch.testing.assert_close(cin(x, edges), sin(x, edges))


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (SIN(1, 2, norm=False), 373_122),
        # Without the messages through cells above the rings, which the release keeps though there are none.
        (CIN(7, 2), 457_725 - (105 + 3 * 8256)),
        (PIN(37, 2, hidden_channels=32, num_layers=2, longest_path=7), 126_594),
        (
            PIN(3, 2, hidden_channels=16, longest_path=2, update_relu=False, combine_relu=False, head_layers=2),
            15_970,
        ),
        (PIN(65, 2, hidden_channels=16, num_layers=4, longest_path=2, update_layers=1), 20_610),
    ],
    ids=["sin on REDDIT-B", "cin on MUTAG", "pin on NCI1", "pin on PROTEINS", "pin on IMDB-B"],
)
def test_they_have_the_authors_parameters(model: CellNetwork, parameters: int) -> None:
    assert model.num_parameters == parameters


@pytest.mark.parametrize(("jump", "weights"), [(True, 4 * 2 * 8), (False, 4 * 8 + 8)])
def test_the_readout_of_pin_has_a_norm_and_of_all_layers_no_bias(jump: bool, weights: int) -> None:
    """Two layers of width 4 on nodes and edges; the maps go to width 8, and the norm has a scale and a shift."""
    model = PIN(3, 2, hidden_channels=4, num_layers=2, longest_path=1, jump=jump)
    parts = [sum(weight.numel() for weight in to_sum.parameters()) for to_sum in model.maps]
    assert parts == [weights + 2 * 8] * 2
    with torch.no_grad():
        for path, weight in model.maps.named_parameters():
            weight.fill_(float(path.endswith("1.module.bias")))
    nodes_alone = model.eval().embed(torch.ones(2, 3), torch.empty(2, 0, dtype=torch.long))
    torch.testing.assert_close(nodes_alone, torch.full((1, 8), 2.0))  # edges, which there are none of, add their shift


@pytest.mark.parametrize("model", [SIN(3, 2), CIN(3, 2), PIN(3, 2, longest_path=4)], ids=["sin", "cin", "pin"])
def test_graphs_without_higher_cells_change_nothing_for_their_batch(model: CellNetwork) -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, share)) for n, share in ((6, 0.6), (9, 0.2))]
    lonely = Data(x=torch.randn(2, 3), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert_batch_consistent(model.eval(), [lonely, *graphs, lonely])


@pytest.mark.parametrize("name", ["sin", "cin", "pin"])
def test_a_batch_whose_cells_would_not_fit_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x, edges = build(name, 3, 2, task="graph"), torch.randn(10, 3), erdos_renyi_graph(10, 0.8)
    computed = structure_of_batch(model.structure, x, edges, torch.zeros(10, dtype=torch.long), 1)
    monkeypatch.setenv("MSHGNN_MEMORY", "1e5")
    with pytest.raises(UserError, match=r"a batch of [\d,]+ cells with [\d,]+ faces needs"):
        model(x, edges, structure=computed)


def test_first_states_of_cells_are_those_of_their_nodes() -> None:
    x = torch.tensor([[1.0], [2.0], [6.0]])
    graph = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    found = {name: ragged.values for name, ragged in clique_complex(2).compute(graph).items()}
    for reduce, edges, triangle in (("sum", [3.0, 7.0, 8.0], 9.0), ("mean", [1.5, 3.5, 4.0], 3.0)):
        states = SIN(1, 2, cell_features=reduce).first_states(x, found)  # type: ignore[arg-type]
        assert [state.flatten().tolist() for state in states[1:]] == [edges, [triangle]]

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GATConv, GINConv, GraphConv, LEConv, ResGatedGraphConv, SAGEConv, TAGConv

from mshgnn.errors import UserError
from mshgnn.nn import GraphModel
from mshgnn.nn.update import UPDATES, UpdateName
from mshgnn.testing import assert_gradients, assert_permutation_equivariant, assert_permutation_invariant

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])
CONVS: tuple[type[nn.Module], ...] = (GATConv, GraphConv, LEConv, ResGatedGraphConv, SAGEConv, TAGConv)
MESSAGES: dict[str, Callable[[int], nn.Module]] = {
    "GINConv": lambda channels: GINConv(nn.Linear(channels, channels)),
    **{conv.__name__: partial(lambda conv, channels: conv(channels, channels), conv) for conv in CONVS},
}


def features() -> Tensor:
    return torch.randn(5, 3, dtype=torch.float64)


@pytest.mark.parametrize("message", MESSAGES)
def test_any_convolution_of_pyg_is_a_message(message: str) -> None:
    for task, holds in (("graph", assert_permutation_invariant), ("node", assert_permutation_equivariant)):
        model = GraphModel(3, 2, MESSAGES[message], task=task, hidden_channels=4).double()  # type: ignore[arg-type]
        assert_gradients(model, features(), EDGES)
        holds(model, features(), EDGES)


def test_a_message_of_ones_own_may_be_any_module() -> None:
    class Everybody(nn.Module):
        """The sum over all nodes, whatever the edges."""

        def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
            return h.sum(0, keepdim=True).expand_as(h)

    model = GraphModel(3, 2, lambda channels: Everybody(), hidden_channels=4).double()
    assert_permutation_invariant(model, features(), EDGES)


@pytest.mark.parametrize("update", get_args(UpdateName))
def test_states_are_what_the_updates_formula_says(update: UpdateName) -> None:
    shape = {"task": "node", "num_layers": 2, "hidden_channels": 4}
    model = GraphModel(3, 2, MESSAGES["GraphConv"], update=update, embed_norm=False, **shape)  # type: ignore[arg-type]
    model = model.double().eval()
    x = features()
    assert model.encoder is not None
    h = x @ model.encoder.weight.T + model.encoder.bias
    for layer in model.layers:
        assert type(layer.update) is UPDATES[update]
        own: Any = layer.update
        m = layer.message(h, EDGES)  # type: ignore[operator]
        first, _, _, second = own.mlp
        if update == "residual":
            h = h + second(first(own.norm(h @ own.root.weight.T + m).relu()).relu())
        elif update == "mlp":
            h = second(first(h + m).relu())
        else:
            h = own.norm(second(first(torch.cat([h, m], dim=1)).relu())).relu()
    torch.testing.assert_close(model.embed(x, EDGES), h)


def test_updates_are_those_of_the_name() -> None:
    assert set(UPDATES) == set(get_args(UpdateName))


@pytest.mark.parametrize("message", ["GINConv", "SAGEConv"])
def test_an_explainers_mask_weighs_the_edges_of_a_sparse_product_too(message: str) -> None:
    model, x = GraphModel(3, 2, MESSAGES[message], hidden_channels=4).double().eval(), features()
    plain = model(x, EDGES)
    set_masks(model, torch.ones(6, dtype=torch.float64), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(model(x, EDGES), plain)
    only_first = torch.tensor([1.0, 0, 0, 0, 0, 0], dtype=torch.float64)
    set_masks(model, only_first, EDGES, apply_sigmoid=False)
    masked = model(x, EDGES)
    clear_masks(model)
    if message == "GINConv":  # a mean divides by the edges that are masked as well
        torch.testing.assert_close(masked, model(x, EDGES[:, :1]))
    assert model(x, EDGES).equal(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layer": 2}, "GraphModel has no option 'num_layer'; did you mean 'num_layers'"),
        ({"num_layers": 1001}, "num_layers must be an integer from 1 to 1,000, got 1001"),
        ({"hidden_channels": 10**6}, "hidden_channels must be an integer from 1 to 100,000, got 1000000"),
        ({"task": "edge"}, "task must be one of graph, node, got 'edge'"),
        ({"edge_dim": 0}, "edge_dim must be an integer from 1 to 100,000 or None, got 0"),
        ({"readout": "frequency"}, "readout 'frequency' reads messages one by one, which MSHConv alone gives"),
        ({"in_channels": 2.5}, "in_channels must be an integer from 1 to 100,000, got 2.5"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    arguments = {"in_channels": 3, "out_channels": 2, "make_message": MESSAGES["GraphConv"], **options}
    with pytest.raises(UserError, match=message):
        GraphModel(**arguments)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (torch.tensor([[0], [7]]), "node index 7"),
        (torch.tensor([[-1], [0]]), "-1"),
        (torch.tensor([0, 1]), r"edge_index must have shape \[2, num_edges\]"),
        (EDGES.float(), "edge_index must be int32 or int64"),
        (None, "edge_index must be a tensor"),
    ],
)
@pytest.mark.parametrize("message_name", ["GraphConv", "GINConv"])
def test_bad_edges_are_refused_whatever_the_message(message_name: str, edges: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        GraphModel(3, 2, MESSAGES[message_name])(torch.randn(5, 3), edges)


def test_numbers_of_numpy_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    model = GraphModel(np.int64(3), np.int32(2), MESSAGES["GraphConv"], dropout=np.float32(0.5))
    assert model.options["in_channels"] == 3
    assert type(model.options["in_channels"]) is int
    assert type(model.options["dropout"]) is float

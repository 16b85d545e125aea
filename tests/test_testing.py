from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINEConv, global_mean_pool

from mshgnn.testing import (
    assert_batch_consistent,
    assert_gradients,
    assert_permutation_equivariant,
    assert_permutation_invariant,
)

EDGES = torch.tensor([[0, 1, 2, 3, 0, 4], [1, 2, 0, 0, 3, 4]])


class AddsNodeNumber(nn.Module):
    """Not equivariant: the name of a node enters its output."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x + torch.arange(x.size(0)).unsqueeze(-1)


class WeighsEdgesByPlace(nn.Module):
    """Not equivariant: the place of an edge in the list enters the output."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        weight = torch.arange(edge_index.size(1), dtype=x.dtype).unsqueeze(-1)
        return x.index_add(0, edge_index[1], weight * x[edge_index[0]])


class Pooled(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        pooled: Tensor = global_mean_pool(self.layer(x, edge_index), batch)
        return pooled


class MixesTheBatch(nn.Module):
    """Not batch consistent: every node is centred over the whole batch."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return x - x.mean(0)


class ForgetsTheBatch(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return x.mean(0, keepdim=True)


class WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.sin()

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        return gradients[0] * 1.5


class WithWrongBackward(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = WrongBackward.apply(x)  # type: ignore[no-untyped-call]
        return out


class SquareRoot(nn.Module):
    """Its gradient is infinite at zero."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.abs().sqrt() + 1


class UnusedWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.spare = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.sin()


def features(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(5, 3, dtype=dtype)


def graphs(sizes: tuple[int, ...] = (5, 1, 7)) -> list[Data]:
    return [Data(x=torch.randn(n, 3), edge_index=torch.randint(0, n, (2, 2 * n))) for n in sizes]


def test_good_layers_pass() -> None:
    layer = GCNConv(3, 4)
    assert_permutation_equivariant(layer, features(), EDGES)
    assert_permutation_equivariant(layer.double(), features(torch.float64), EDGES)
    assert_gradients(layer.float(), features(), EDGES)
    assert_permutation_invariant(Pooled(layer), features(), EDGES)
    assert_permutation_invariant(Pooled(layer), features(), EDGES, torch.tensor([0, 0, 0, 0, 1]))
    assert_batch_consistent(Pooled(layer), graphs())


def test_edge_features_are_renamed_with_their_edges() -> None:
    layer = GINEConv(nn.Linear(3, 4), edge_dim=2)
    edge_attr = torch.randn(6, 2)
    assert_permutation_equivariant(layer, features(), EDGES, edge_attr=edge_attr)
    assert_gradients(GINEConv(nn.Linear(3, 4), edge_dim=2), features(), EDGES, edge_attr=edge_attr)


@pytest.mark.parametrize("layer", [AddsNodeNumber(), WeighsEdgesByPlace()])
def test_a_layer_that_sees_names_or_places_is_caught(layer: nn.Module) -> None:
    with pytest.raises(AssertionError, match=r"not permutation equivariant: largest relative difference \d"):
        assert_permutation_equivariant(layer, features(), EDGES)


def test_a_model_that_sees_places_is_caught() -> None:
    # The sum over nodes hides which node got what, so only weighted edges show.
    with pytest.raises(AssertionError, match="not permutation invariant"):
        assert_permutation_invariant(Pooled(WeighsEdgesByPlace()), features(), EDGES)
    assert_permutation_invariant(Pooled(AddsNodeNumber()), features(), EDGES)


def test_a_model_that_mixes_graphs_is_caught() -> None:
    with pytest.raises(AssertionError, match="one by one: largest relative difference"):
        assert_batch_consistent(MixesTheBatch(), graphs())
    with pytest.raises(ValueError, match="at least two graphs, got 1"):
        assert_batch_consistent(MixesTheBatch(), graphs((4,)))


def test_wrong_gradients_are_caught() -> None:
    with pytest.raises(AssertionError, match="differ from finite differences"):
        assert_gradients(WithWrongBackward(), features(), EDGES)
    x = features()
    x[0, 0] = 0
    with pytest.raises(AssertionError, match="gradient of x has 1 of 15 entries that are not finite"):
        assert_gradients(SquareRoot(), x, EDGES)
    with pytest.raises(AssertionError, match="spare has no gradient"):
        assert_gradients(UnusedWeight(), features(), EDGES)


def test_nan_and_wrong_shapes_are_caught() -> None:
    x = features()
    x[0, 0] = float("nan")
    with pytest.raises(AssertionError, match="difference nan"):
        assert_permutation_equivariant(GCNConv(3, 4), x, EDGES)
    with pytest.raises(AssertionError, match=r"shape \[1, 3\] instead of \[3, 3\]"):
        assert_batch_consistent(ForgetsTheBatch(), graphs())


def test_the_mode_of_every_part_is_put_back() -> None:
    layer, frozen = GCNConv(3, 4), nn.Dropout(0.5).eval()
    layer.add_module("frozen", frozen)
    assert_permutation_equivariant(layer, features(), EDGES)
    assert layer.training
    assert not frozen.training


def test_dropout_does_not_disturb() -> None:
    class Dropped(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return nn.functional.dropout(x, training=self.training)

    assert_permutation_equivariant(Dropped(), features(), EDGES)

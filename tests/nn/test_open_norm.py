"""The default layer sees magnitudes: what a layer norm on its input hides, it is told."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from mshgnn.nn import MSHConv

NODES, EDGES = 2000, 8000


class LayerNormAlone(nn.Module):
    """What the layer had before :class:`OpenNorm`: the two numbers it hands on are zero."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.pad(nn.functional.layer_norm(x, x.shape[1:]), (0, 2))


def scalar_task() -> tuple[Tensor, Tensor, Tensor]:
    """One normal number per node; the class of a node is the sign of the sum of its neighbours' numbers."""
    x, edges = torch.randn(NODES, 1), torch.randint(NODES, (2, EDGES))
    total = torch.zeros(NODES).index_add(0, edges[1], x[edges[0], 0])
    return x, edges, (total > 0).long()


def accuracy_on_an_unseen_graph(conv: nn.Module, steps: int = 250) -> float:
    (x, edges, y), (other, other_edges, truth) = scalar_task(), scalar_task()
    optimizer = torch.optim.Adam(conv.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(conv(x, edges), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    conv.eval()
    with torch.no_grad():
        heard = torch.bincount(other_edges[1], minlength=NODES) > 0  # nobody knows the sign of nothing
        return float((conv(other, other_edges).argmax(1) == truth)[heard].float().mean())


def test_the_sign_of_a_sum_of_scalars_is_told() -> None:
    blind = MSHConv(1, 2)
    blind.sender_norm = LayerNormAlone()  # type: ignore[assignment]
    assert accuracy_on_an_unseen_graph(MSHConv(1, 2)) > 0.97
    assert accuracy_on_an_unseen_graph(SAGEConv(1, 2, aggr="sum")) > 0.97
    assert accuracy_on_an_unseen_graph(blind) < 0.65


@pytest.mark.parametrize("width", [1, 4, 512])
def test_a_louder_neighbour_is_heard(width: int) -> None:
    conv, x = MSHConv(width, 8, root_weight=False), torch.randn(6, width)
    louder = x.clone()
    louder[3] *= 10
    edges = torch.tensor([[3, 1, 2, 0], [0, 2, 1, 3]])
    assert float((conv(x, edges) - conv(louder, edges))[0].detach().abs().max()) > 1e-2


@pytest.mark.parametrize("width", [1, 2, 64, 512])
def test_one_node_alone_and_evaluation_mode_work_at_any_width(width: int) -> None:
    conv = MSHConv(width, 8)
    assert conv(torch.randn(1, width), torch.tensor([[0], [0]])).isfinite().all()
    conv(torch.randn(20, width), torch.randint(20, (2, 50)))
    conv.eval()
    x = torch.randn(5, width)
    whole, alone = conv(x, torch.tensor([[1], [0]])), conv(x[:2], torch.tensor([[1], [0]]))
    torch.testing.assert_close(whole[:2], alone)

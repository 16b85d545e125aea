"""Rows of senders, made once, give the receivers of any part of the edges what the whole pass gives them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mshgnn.models import build
from mshgnn.nn import MSHConv

pytestmark = pytest.mark.usefixtures("reference_backend")

SENDERS, RECEIVERS, EDGES = 9, 6, 30


@pytest.mark.parametrize("rank", [None, 0, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"edge_dim": 2, "aggr": "mean"},
        {"phase": False, "aggr": "sqrt_degree", "root_weight": False},
        {"normalize": False, "phase_scale": None},
        {"centered": True},
        {"frequencies": "none"},
    ],
    ids=str,
)
@pytest.mark.parametrize("bipartite", [False, True])
def test_from_rows_is_the_pass_of_these_receivers(rank: int | None, options: dict[str, Any], bipartite: bool) -> None:
    conv = MSHConv((4, 5) if bipartite else 4, 3, 2, rank=rank, **options).double()
    senders = torch.randn(SENDERS, 4, dtype=torch.float64)
    receivers = torch.randn(RECEIVERS, 5 if bipartite else 4, dtype=torch.float64)
    edges = torch.stack([torch.randint(SENDERS, (EDGES,)), torch.randint(RECEIVERS, (EDGES,))])
    edge_attr = torch.randn(EDGES, 2, dtype=torch.float64) if "edge_dim" in options else None
    conv.eval()
    truth, rows = conv((senders, receivers), edges, edge_attr), conv.sender_rows(senders)
    torch.testing.assert_close(conv.from_rows(rows, receivers, edges, edge_attr), truth)
    some = edges[1] < 3
    part = conv.from_rows(rows, receivers[:3], edges[:, some], None if edge_attr is None else edge_attr[some])
    torch.testing.assert_close(part, truth[:3])


def test_rows_are_no_wider_than_the_phases_need() -> None:
    conv = MSHConv(64, 64, 4, rank=1)
    assert conv.sender_rows(torch.randn(7, 64)).shape == (7, 8)


@pytest.mark.parametrize(("name", "options"), [("gat", {}), ("msh-stable", {"self_loops": True})])
def test_messages_that_need_the_states_have_no_rows(name: str, options: dict[str, Any]) -> None:
    model: Any = build(name, 5, 3, task="node", options={"hidden_channels": 8, **options})
    assert model.sender_rows(0, torch.randn(4, 8)) is None

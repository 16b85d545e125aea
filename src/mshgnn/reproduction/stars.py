"""The numbers of the paper's figure 1, by the layers themselves."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from mshgnn.nn import MSHConv
from mshgnn.report.stars import Reader, Stars

FIRST = ((0.0, 0.0), (1.0, 1.0), (1.0, 1.0))
SECOND = ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
"""Neighbours with the mean [2/3, 2/3], as the appendix asks for; it names no values."""
DRAWS = 100
WIDTH = 16


def compare_stars(draws: int = DRAWS) -> Stars:
    """How far apart each message puts the centres, for draws of its weights.

    The paper says that GAT cannot tell the stars apart. That holds just when all neighbours get equal attention, so GAT
    is here twice: with its attention vectors at zero, and as it is drawn.
    """
    readers = {
        "GAT, equal attention": _equal_gat,
        "GAT, attention as drawn": _gat,
        "harmonic message,\nequations as printed": _printed,
        "harmonic message,\ndefault layer": lambda: MSHConv(2, WIDTH, root_weight=False),
    }
    return Stars(FIRST, SECOND, tuple(Reader(name, _differences(make, draws)) for name, make in readers.items()))


def _gat() -> GATConv:
    return GATConv(2, WIDTH, add_self_loops=False, bias=False)


def _equal_gat() -> GATConv:
    gat = _gat()
    nn.init.zeros_(gat.att_src)
    return gat


def _printed() -> MSHConv:
    return MSHConv(2, WIDTH, rank=None, normalize=False, phase_scale=None, root_weight=False)


@torch.no_grad()
def _differences(make: Callable[[], nn.Module], draws: int) -> tuple[float, ...]:
    edges = torch.tensor([[1, 2, 3], [0, 0, 0]])
    found = []
    with torch.random.fork_rng(devices=[]):
        for seed in range(draws):
            torch.manual_seed(seed)
            layer = make().double()
            one, other = (layer(_star(points), edges)[0] for points in (FIRST, SECOND))
            found.append(float((one - other).norm() / (0.5 * (one.norm() + other.norm()))))
    return tuple(found)


def _star(points: tuple[tuple[float, float], ...]) -> Tensor:
    return torch.tensor([(0.0, 0.0), *points], dtype=torch.float64)

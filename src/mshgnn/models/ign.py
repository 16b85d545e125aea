r"""IGN: linear maps between tensors over pairs of nodes that commute with renaming (Maron et al., 2019).

A layer is ReLU of a linear map of :math:`T \in \mathbb{R}^{n \times n}` per pair of channels. Fifteen maps span them
all. With row sums ``r``, column sums ``c``, diagonal ``g``, trace ``t`` and total ``a``:

.. math::
    \text{on the diagonal: } g_i, \tfrac{t}{n}, \tfrac{r_i}{n}, \tfrac{c_i}{n}, \tfrac{a}{n^2}; \qquad
    \text{at } (i, j)\text{: } \tfrac{c_i}{n}, \tfrac{r_i}{n}, \tfrac{c_j}{n}, \tfrac{r_j}{n}, T_{ij}, T_{ji}, g_i, g_j,
    \tfrac{t}{n}, \tfrac{a}{n^2}

and two biases, for all cells and for the diagonal. Three layers, then the maximum over the diagonal and over the rest,
and a head of three maps. All of it is ours. The fifteen are never made: the layer is

.. math::
    Y_{ij} = T_{ij} A + T_{ji} B + u_i + v_j + s + \delta_{ij} w_i

with ``u``, ``v``, ``w``, ``s`` linear in ``g``, ``r``, ``c``, ``t``, ``a`` (exact, and a fifteenth of the memory).
Batches are padded and masked, where the authors put graphs of equal size together, and large ones are computed in
groups. A graph of one node has no cell off the diagonal and gets 0 there; the released code gives it a shifted
diagonal. The authors sum the loss over a batch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.pairs import Pairs, read_pairs
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.options import Width, checked, options_of

OPERATIONS = 15


class EquivariantLinear(nn.Module):
    """All linear maps from ``[B, n, n, in]`` to ``[B, n, n, out]`` that commute with renaming nodes, with bias."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(OPERATIONS, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(2, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As the authors: normal weights of variance ``2 / (in + out)``, no bias."""
        nn.init.normal_(self.weight, std=(2 / (self.weight.size(1) + self.weight.size(2))) ** 0.5)
        nn.init.zeros_(self.bias)

    def forward(self, t: Tensor, pairs: Pairs) -> Tensor:
        """The contracted form; padded cells of ``t`` must be zero, those of the result are."""
        w = self.weight
        n = pairs.sizes.unsqueeze(-1).to(t.dtype)
        g = t.diagonal(dim1=1, dim2=2).transpose(1, 2)
        r, c = t.sum(2) / n, t.sum(1) / n
        trace, total = g.sum(1, keepdim=True) / n, r.sum(1, keepdim=True) / n
        loop = g @ w[0] + trace @ w[1] + r @ w[2] + c @ w[3] + total @ w[4] + self.bias[1]
        here = c @ w[5] + r @ w[6] + g @ w[11] + trace @ w[13] + total @ w[14] + self.bias[0]
        there = c @ w[7] + r @ w[8] + g @ w[12]
        y = t @ w[9] + t.transpose(1, 2) @ w[10] + here.unsqueeze(2) + there.unsqueeze(1)
        return pairs.only(y + torch.diag_embed(loop.transpose(1, 2)).movedim(1, -1))


class IGN(Model):
    """Three equivariant layers, the maximum over the diagonal and over the rest, a head of three maps.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the last layer; the two before have an eighth and a sixteenth of it.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 256,
    ) -> None:
        super().__init__(in_channels, task)
        d = hidden_channels
        self.widths = [in_channels + 1, max(1, d // 16), max(1, d // 8), d]
        self.layers = nn.ModuleList(EquivariantLinear(before, after) for before, after in pairwise(self.widths))
        self.head = nn.Sequential(
            nn.Linear(2 * d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, out_channels)
        )

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        # Backward wants every layer's input, and its result before and after ReLU; the last once more, for its maximum.
        kept = self.widths[0] + 2 * sum(self.widths[1:]) + self.widths[-1]
        return read_pairs(self._read, x, edge_index, graphs, model="IGN", channels=kept)

    def _read(self, t: Tensor, pairs: Pairs) -> Tensor:
        for layer in self.layers:
            t = layer(t, pairs).relu()
        return pairs.maxima(t)


MODELS = {
    "ign": ModelBuilder(
        "IGN",
        "Maron et al., 2019",
        "ours, contracted; graphs are padded, theirs of one size per batch",
        IGN,
        options_of(IGN),
        tasks=("graph",),
    )
}

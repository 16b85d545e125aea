r"""PPGN: matrix products over pairs of nodes, as strong as 3-WL (Maron et al., 2019, "provably powerful").

A block takes :math:`T \in \mathbb{R}^{n \times n \times d}`, maps every cell twice and multiplies per channel:

.. math::
    U = m_1(T), \quad V = m_2(T), \quad M_{\cdot \cdot c} = U_{\cdot \cdot c} V_{\cdot \cdot c}, \qquad
    T' = \mathrm{ReLU}(W [T \| M] + b)

:math:`m_1, m_2` are perceptrons with ReLU after every map. After each block (``suffix="each"``) or the last one
(``"last"``) the maximum over the diagonal and over the rest is read off; logits are a linear map of all of them, or a
head of three maps of the last.

All of it is ours, after the authors' TensorFlow code, which gave the figures; their port has no ReLU on :math:`T'`.
Batches are padded, where the authors put graphs of equal size together: ``U`` and ``V`` are masked before the product,
the maxima skip padded cells, and large batches are computed in groups. The authors' versions are 1 (width 400, two
maps, each), 2 (400, 2, last) and 3 (256, 3, each); their tables print the best of the three per data set. The default
width here is 64, for the work grows with its square.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.pairs import Pairs, read_pairs
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.options import Depth, Width, checked, options_of

Suffix = Literal["each", "last"]
HEAD = (512, 256)


class Block(nn.Module):
    """One block: ``[B, n, n, in] -> [B, n, n, out]``."""

    def __init__(self, in_channels: int, out_channels: int, depth: int) -> None:
        super().__init__()
        self.left = self._perceptron(in_channels, out_channels, depth)
        self.right = self._perceptron(in_channels, out_channels, depth)
        self.skip = nn.Linear(in_channels + out_channels, out_channels)
        self.reset_parameters()

    @staticmethod
    def _perceptron(in_channels: int, out_channels: int, depth: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for layer in range(depth):
            layers += [nn.Linear(out_channels if layer else in_channels, out_channels), nn.ReLU()]
        return nn.Sequential(*layers)

    def reset_parameters(self) -> None:
        """As the authors: Xavier's uniform weights, no bias."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, t: Tensor, pairs: Pairs) -> Tensor:
        """Biases fill padded cells, and the product would carry them into the others: ``U`` and ``V`` are masked."""
        u, v = (pairs.only(m(t)).movedim(-1, 1) for m in (self.left, self.right))
        result: Tensor = self.skip(torch.cat([t, (u @ v).movedim(1, -1)], dim=-1))
        return result.relu()


class PPGN(Model):
    """Blocks, the maximum over the diagonal and over the rest, a head.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the blocks; the authors have 400 or 256.
        num_layers: number of blocks.
        depth: linear maps in each of a block's two perceptrons.
        suffix: what is read: the maxima after ``"each"`` block, by a linear map, or after the ``"last"``, by three.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 64,
        num_layers: Depth = 3,
        depth: Depth = 2,
        suffix: Suffix = "each",
    ) -> None:
        super().__init__(in_channels, task)
        d = hidden_channels
        self.suffix = suffix
        self.blocks = nn.ModuleList(Block(d if layer else in_channels + 1, d, depth) for layer in range(num_layers))
        # Per pair of nodes and block backward wants the results of all maps, the two masked factors, their product
        # beside the input, and the result, also masked for its maximum.
        self.kept = in_channels + 1 + num_layers * (2 * depth + 6) * d
        if suffix == "each":
            self.head = nn.Linear(2 * d * num_layers, out_channels)
        else:
            wide, narrow = HEAD
            self.head = nn.Sequential(
                nn.Linear(2 * d, wide), nn.ReLU(), nn.Linear(wide, narrow), nn.ReLU(), nn.Linear(narrow, out_channels)
            )

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        return read_pairs(self._read, x, edge_index, graphs, model="PPGN", channels=self.kept)

    def _read(self, t: Tensor, pairs: Pairs) -> Tensor:
        found = []
        for block in self.blocks:
            t = block(t, pairs)
            if self.suffix == "each" or block is self.blocks[-1]:
                found.append(pairs.maxima(t))
        return torch.cat(found, dim=-1)


MODELS = {
    "ppgn": ModelBuilder(
        "PPGN",
        "Maron et al., 2019",
        "ours; width 64, theirs 256 or 400; graphs are padded",
        PPGN,
        options_of(PPGN),
        tasks=("graph",),
    )
}

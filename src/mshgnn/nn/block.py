"""One layer of the model: the harmonic message and what becomes of it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from mshgnn.nn.checks import check_choice
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.norm import batch_norm

Update = Literal["mlp", "concat", "residual"]
UPDATES = ("mlp", "concat", "residual")


class HarmonicBlock(nn.Module):
    r"""A harmonic layer with its update.

    ==========  =======================================================  ==============
    ``update``  :math:`h'_v`                                             used by
    ==========  =======================================================  ==============
    mlp         :math:`\mathrm{MLP}(h_v + m_v)`                          ``paper``
    concat      :math:`\mathrm{relu}(\mathrm{BN}(\mathrm{MLP}([h_v \| m_v])))`  ``released``
    residual    :math:`h_v + \mathrm{MLP}(\mathrm{relu}(\mathrm{BN}(W_r h_v + m_v)))`  ``stable``
    ==========  =======================================================  ==============

    ``conv`` makes :math:`m_v` (with :math:`W_r h_v` inside for ``residual``) and keeps the width of ``h``.
    ``update=None`` leaves the states as they are: the last layer under a readout of messages, whose next states nobody
    reads.
    """

    def __init__(self, conv: MSHConv, update: Update | None, dropout: float) -> None:
        super().__init__()
        if update is not None:
            check_choice("update", update, UPDATES)
        channels = conv.out_channels
        self.conv = conv
        self.update = update
        self.norm = batch_norm(channels) if update in ("concat", "residual") else None
        self.mlp = nn.Sequential()
        if update is not None:
            self.mlp.append(nn.Linear(2 * channels if update == "concat" else channels, channels))
            self.mlp.extend([nn.ReLU(), nn.Dropout(dropout), nn.Linear(channels, channels)])

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        gate: Tensor | None,
        gate_activation: str,
    ) -> tuple[Tensor, Tensor | None]:
        """The next states ``[N, d]`` and, with a gate, ``sum_u alpha Psi [N, d]``."""
        gated: Tensor | None = None
        if gate is None:
            m = self.conv(h, edge_index, edge_attr)
        else:
            m, gated = self.conv.forward_gated(h, edge_index, edge_attr, gate, gate_activation)
        if self.update is None:
            return h, gated
        if self.update == "mlp":
            return self.mlp(h + m), gated
        assert self.norm is not None
        if self.update == "concat":
            return self.norm(self.mlp(torch.cat([h, m], dim=-1))).relu(), gated
        return h + self.mlp(self.norm(m).relu()), gated

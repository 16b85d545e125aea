"""How much of a message's energy lies in each frequency band."""

from __future__ import annotations

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.nn.msh_conv import MSHConv


def frequency_response(
    conv: MSHConv,
    x: Tensor | tuple[Tensor, Tensor],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
) -> Tensor:
    r"""Share of every edge message's energy that each band carries.

    .. math::
        r_{vu,k} = \frac{\lVert W_o^{(k)} \psi_k(p_{vu}) \rVert^2}{\sum_j \lVert W_o^{(j)} \psi_j(p_{vu}) \rVert^2}

    with :math:`W_o^{(k)}` the columns of :math:`W_o` that read band ``k``.

    Returns:
        ``[M, K]`` in the order of ``edge_index``; rows sum to one.
    """
    energy = band_energy(conv, x, edge_index, edge_attr)
    return energy / energy.sum(-1, keepdim=True).clamp(min=torch.finfo(energy.dtype).tiny)


def band_energy(
    conv: MSHConv,
    x: Tensor | tuple[Tensor, Tensor],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
) -> Tensor:
    r"""Energy :math:`\lVert W_o^{(k)} \psi_k(p_{vu}) \rVert^2` of every edge and band, ``[M, K]``, as above."""
    bands = conv.encoding.num_bands
    if bands == 0:
        raise UserError("frequency_response needs frequencies; the layer was made with frequencies='none'")
    psi = conv.encoding(conv.edge_phases(x, edge_index, edge_attr)).to(conv.output.weight.dtype)
    width = 2 * conv.num_projections
    weight = conv.output.weight.view(-1, bands, width)
    return torch.einsum("mkf,okf->mko", psi.view(-1, bands, width), weight).square().sum(-1)

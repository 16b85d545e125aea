"""What the sum over a sample of the senders says of the sum over all of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from mshgnn.nn.msh_conv import MSHConv


def scale_of_sample(message: nn.Module, degree: Tensor, receiver: Tensor) -> Tensor | None:
    r"""What the message of a sample is multiplied by, ``[receivers, 1]``; ``None``: nothing.

    A receiver of ``degree`` senders that hears :math:`k` of them drawn alike has, under the sum, the expected message
    of all when what it hears counts :math:`\mathrm{degree} / k` times; under ``sqrt_degree``, which divides by
    :math:`\sqrt k` instead of :math:`\sqrt{\mathrm{degree}}`, the square root of that; under the mean, once. What other
    libraries' convolutions do inside is theirs: they are given the sample as it is.

    Args:
        message: of a layer.
        degree: senders of every receiver in the whole graph ``[receivers]``.
        receiver: of every edge of the sample ``[M]``.
    """
    if not isinstance(message, MSHConv) or message.aggregation == "mean":
        return None
    heard = torch.bincount(receiver, minlength=degree.numel()).clamp(min=1)
    share = degree.clamp(min=1).to(message.output.weight.dtype) / heard
    return (share.sqrt() if message.aggregation == "sqrt_degree" else share).unsqueeze(-1)


def reads_senders_degree(message: nn.Module) -> bool:
    """Whether a message weighs a sender by the number of its edges, which a part around the receiver does not have."""
    return isinstance(message, GCNConv) or (isinstance(message, MSHConv) and message.sender_weight != "one")

"""Normalisation of a layer's input that hides nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mshgnn.ops.normalize import Standardize, open_norm

MOMENTUM = 0.1
EXTRA_CHANNELS = 2


class OpenNorm(nn.Module):
    r"""Layer norm without weights that hands on what it removes, see :func:`mshgnn.ops.normalize.open_norm`.

    The mean and the log variance of every node follow its normalised features, standardised over the nodes of the
    batch; in evaluation mode, and for a batch of one node, over those seen in training. The linear maps that read the
    result have the weights.

    Shapes: ``[N, d]`` to ``[N, d + 2]``.
    """

    mean: Tensor
    variance: Tensor
    over_all: Standardize | None = None
    """How to standardise over the nodes of all workers; set while several of them train together."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(EXTRA_CHANNELS))
        self.register_buffer("variance", torch.ones(EXTRA_CHANNELS))

    def reset_parameters(self) -> None:
        """Forget what was seen."""
        self.mean.zero_()
        self.variance.fill_(1.0)

    def forward(self, x: Tensor) -> Tensor:
        """The open features ``[N, d + 2]``."""
        # A compiled layer must not depend on the number of nodes; one node has no spread, which gives zeros there.
        alone = not torch.compiler.is_compiling() and x.size(0) < 2 and self.over_all is None
        if not self.training or alone:
            return open_norm(x, self.mean.to(x.dtype), self.variance.to(x.dtype))[0]
        features, mean, variance = open_norm(x, over_all=self.over_all)
        self.mean.lerp_(mean.to(self.mean.dtype), MOMENTUM)
        self.variance.lerp_(variance.to(self.variance.dtype), MOMENTUM)
        return features

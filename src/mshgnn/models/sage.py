"""GraphSAGE: the mean of the neighbours beside the node itself."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import SAGEConv

from mshgnn.models.builder import around


def sage_message(channels: int) -> nn.Module:
    """The mean alone: the node's own term is the update's."""
    return SAGEConv(channels, channels, root_weight=False, bias=False)


MODELS = {"sage": around("GraphSAGE", "Hamilton et al., 2017", sage_message)}

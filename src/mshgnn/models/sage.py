r"""GraphSAGE: the mean of the neighbours beside the node itself (Hamilton et al., 2017).

.. math::
    m_v = \frac{1}{d_v} \sum_{u \in N(v)} W h_u

PyG's ``SAGEConv`` without the node's own term, which the shell's update adds. All neighbours are read; the authors draw
some of them, and have other aggregations too.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import SAGEConv

from mshgnn.models.builder import around


def sage_message(channels: int) -> nn.Module:
    """The mean alone: the node's own term is the update's."""
    return SAGEConv(channels, channels, root_weight=False, bias=False)


MODELS = {"sage": around("GraphSAGE", "Hamilton et al., 2017", "PyG's `SAGEConv` as a message", sage_message)}

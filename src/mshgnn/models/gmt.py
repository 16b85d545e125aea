r"""GMT: a graph is a set of nodes that attention pools to a few seeds and then to one (Baek, Kang & Hwang, 2021).

.. math::
    H = [H_1 \| \dots \| H_L], \quad H_l = \mathrm{ReLU}(\mathrm{GCN}(H_{l-1})), \qquad
    z = W \, \mathrm{MAB}(s, Z), \quad Z = \mathrm{MAB}(Z_1, Z_1), \quad Z_1 = \mathrm{MAB}_\mathrm{GCN}(S, H)

    \mathrm{MAB}(Q, Y) = O + \mathrm{ReLU}(O W_o + b_o), \qquad O = q + \mathrm{softmax}(q k^\top / \sqrt{d}) \, v

with :math:`q = Q W_q + b_q`, ``k`` and ``v`` linear maps of ``Y``, or graph convolutions in the first pool.

``GCNConv`` and ``to_dense_batch`` are PyG's, the block and the stack are ours. PyG's ``GraphMultisetTransformer`` is
another layer: its keys and values are linear, it scales by the width of a head, projects the output and starts the
residual from ``Q``. As in the authors' published runs the softmax goes over the seeds (``attention="seeds"``): every
node spreads itself over them. The paper writes it over the nodes (``"nodes"``).

Differences from the released code: the number of seeds, there a quarter of the mean size in the whole data set, is
a quarter of that of the training graphs, or the option ``num_seeds``. With one seed the softmax over seeds is 1, the
last pool is a plain sum, and the keys of the authors' last pool get no gradient: here it has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.dense import graph_by_graph, padded
from mshgnn.models.gat import head_width
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.options import Depth, Share, Width, checked, options_of

Over = Literal["seeds", "nodes"]


class AttentionBlock(nn.Module):
    """``MAB(Q, Y)`` from given keys and values.

    Args:
        in_channels: width of the queries.
        out_channels: width of keys, values and result.
        heads: number of heads, which share the width.
        over: axis of the softmax, the queries (``"seeds"``) or the keys (``"nodes"``).
        norm: normalise both sums, as the authors do on MUTAG.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int, over: Over, norm: bool) -> None:
        super().__init__()
        head_width(out_channels, heads)
        self.heads, self.over = heads, over
        self.query = nn.Linear(in_channels, out_channels)
        self.output = nn.Linear(out_channels, out_channels)
        self.norms = nn.ModuleList(nn.LayerNorm(out_channels) if norm else nn.Identity() for _ in range(2))

    def forward(self, queries: Tensor, keys: Tensor | None, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """``[B, k, out_channels]`` from queries ``[B, k, in_channels]`` and keys and values ``[B, n, out_channels]``.

        Values must be zero where ``mask [B, n]`` is false. Without keys every query takes the sum of all values.
        """
        q = self.query(queries)
        if keys is None:
            heard = values.sum(dim=1, keepdim=True)
        else:
            heard = self._merge(self.weights(q, keys, mask) @ self._split(values))
        o = self.norms[0](q + heard)
        result: Tensor = self.norms[1](o + self.output(o).relu())
        return result

    def weights(self, q: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention ``[B, heads, k, n]`` of projected queries."""
        # The authors divide by the root of the full width, not of one head's.
        scores = self._split(q) @ self._split(keys).transpose(-1, -2) / math.sqrt(q.size(-1))
        if self.over == "nodes" and mask is not None:
            # Finite, for a graph without nodes has nothing else to look at.
            scores = scores.masked_fill(~mask[:, None, None], -1e9)
        return scores.softmax(dim=-2 if self.over == "seeds" else -1)

    def _split(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.heads, rows.size(-1) // self.heads).transpose(1, 2)

    def _merge(self, rows: Tensor) -> Tensor:
        return rows.transpose(1, 2).flatten(2)


class GMT(Model):
    """Graph convolutions, a pool to ``num_seeds`` seeds, attention among them, a pool to one, a head of three maps.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the convolutions.
        num_layers: number of convolutions, whose states are put side by side.
        num_seeds: seeds of the first pool; the authors take a quarter of the mean number of nodes.
        heads: heads of attention.
        attention: axis of the softmax, ``"seeds"`` (the published runs) or ``"nodes"`` (the paper).
        norm: layer norm in the attention blocks.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 128,
        num_layers: Depth = 3,
        num_seeds: Width = 8,
        heads: Width = 2,
        attention: Over = "seeds",
        norm: bool = False,
        dropout: Share = 0.5,
    ) -> None:
        super().__init__(in_channels, task)
        d, wide = hidden_channels, hidden_channels * num_layers
        widths = [in_channels, *[d] * num_layers]
        self.convs = nn.ModuleList(GCNConv(before, after) for before, after in pairwise(widths))
        self.keys, self.values = GCNConv(wide, wide), GCNConv(wide, wide)
        self.seeds = nn.Parameter(torch.empty(1, num_seeds, wide))
        self.pool = AttentionBlock(wide, wide, heads=heads, over=attention, norm=norm)
        self.seed_keys, self.seed_values = nn.Linear(wide, d), nn.Linear(wide, d)
        self.among = AttentionBlock(wide, d, heads=heads, over=attention, norm=norm)
        self.last_keys = None if attention == "seeds" else nn.Linear(d, d)
        self.last_values = nn.Linear(d, d)
        self.last_seed = nn.Parameter(torch.empty(1, 1, d))
        self.last_pool = AttentionBlock(d, d, heads=heads, over=attention, norm=norm)
        self.output = nn.Linear(d, d)
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), make_head(d, math.ceil(d / 2), out_channels, 2, dropout))
        self._reset_seeds()

    def _reset_seeds(self) -> None:
        nn.init.xavier_uniform_(self.seeds)
        nn.init.xavier_uniform_(self.last_seed)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        self._reset_seeds()

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        size = graphs[1]
        h, edges, batch = graph_by_graph(x, edge_index, graphs)
        states = []
        for conv in self.convs:
            h = conv(h, edges).relu()
            states.append(h)
        h = torch.cat(states, dim=-1)
        # Convolved before padding: the values of padded rows are zero, and no bias fills them.
        keys, mask = padded(self.keys(h, edges), batch, size)
        values, _ = padded(self.values(h, edges), batch, size)
        z = self.pool(self.seeds.expand(size, -1, -1), keys, values, mask)
        z = self.among(z, self.seed_keys(z), self.seed_values(z))
        last = None if self.last_keys is None else self.last_keys(z)
        z = self.last_pool(self.last_seed.expand(size, -1, -1), last, self.last_values(z))
        embedding: Tensor = self.output(z.squeeze(1))
        return embedding


def quarter_of_the_nodes(graphs: Sequence[Data]) -> dict[str, object]:
    """The authors' number of seeds, a quarter of the mean size, of the training graphs alone."""
    mean = sum(int(graph.num_nodes) for graph in graphs) / len(graphs)
    return {"num_seeds": max(1, math.ceil(math.ceil(mean) / 4))}


MODELS = {
    "gmt": ModelBuilder(
        "GMT",
        "Baek et al., 2021",
        "PyG's `GCNConv`, attention ours; as many seeds as the training graphs ask for, theirs as all do",
        GMT,
        options_of(GMT),
        tasks=("graph",),
        measure=quarter_of_the_nodes,
    )
}

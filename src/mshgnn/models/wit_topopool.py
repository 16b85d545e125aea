r"""Wit-TopoPool: nodes kept by the shape of their random images, beside a witness complex (Chen & Gel, 2023).

.. math::
    P = \hat A X W_s \in \mathbb{R}^{n \times 5 \times 2}, \qquad s_u = - \text{length of the spanning tree of } P_u

The half of the nodes with the largest :math:`s` is kept. GIN layers on the graph between them give
:math:`H = [X' \| h_1 \| \dots]`, read as :math:`g = H^\top (H w + b)`. Beside it stands what the whole graph shows:
:math:`\hat A X W_g` puts every node in the plane, the nodes of largest degree are landmarks, and two of them are joined
at the height

.. math::
    \alpha_{ab} = \min_w \big( \max(d^2_{wa}, d^2_{wb}) - \min_l d^2_{wl} \big)

over all nodes ``w``. The heights below 1 at which components merge are the deaths of the strong witness complex in
dimension 0; all births are 0. Its persistence image is a linear map's second input.

``GINConv``, the propagation and the choice of the top half are PyG's, the rest is ours, without a library of topology:
total persistence of five points is the length of their spanning tree, and deaths are its edges. In the released code
:math:`W_s, W_g` never get a gradient, as nothing but an order of nodes and a diagram depend on them; here they are
random and constant, and no parameters. The columns of the authors' 5 x 5 image are equal, since births are: one is
kept. Like theirs its pixels span the deaths, and dropout acts on the logits. Unconnected landmarks leave infinities in
their image, which here are left out. Ties of degree go by place in the plane. Ties of the score, as between nodes that
look alike, are broken by number, so renaming nodes can change what is kept.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import APPNP, GINConv
from torch_geometric.nn.pool.select.topk import topk
from torch_geometric.utils import scatter, subgraph

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.dense import graph_by_graph
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes

POINTS, PLANE = 5, 2
PIXELS = 5
HIGHEST = 1.0
"""Landmarks that are joined no lower stay apart."""


def spanning_tree_edges(lengths: Tensor) -> Tensor:
    """The edges of a least spanning tree of every ``[B, n, n]`` complete graph, ``[B, n - 1]`` (Prim's way)."""
    near = lengths[:, 0].clone()
    inside = torch.zeros_like(near, dtype=torch.bool)
    inside[:, 0] = True
    edges = []
    for _ in range(lengths.size(1) - 1):
        edge, new = near.masked_fill(inside, torch.inf).min(dim=1)
        edges.append(edge)
        inside = inside.scatter(1, new.unsqueeze(1), True)
        near = torch.minimum(near, lengths[torch.arange(len(lengths), device=lengths.device), new])
    return torch.stack(edges, dim=1) if edges else lengths.new_zeros(len(lengths), 0)


def join_heights(place: Tensor, landmarks: Tensor, batch: Tensor, batch_size: int) -> Tensor:
    """At which height every two landmarks are joined, ``[B, L, L]``; infinity where a graph has fewer.

    Args:
        place: of every node in the plane, ``[N, 2]``.
        landmarks: nodes, ``[B, L]``, -1 where there are fewer.
        batch: graph of every node, ``[N]``.
        batch_size: number of graphs.
    """
    missing, size = landmarks < 0, landmarks.size(1)
    if not len(place):
        return place.new_full((batch_size, size, size), torch.inf)
    seen = place[landmarks.clamp(min=0)]
    distance = (place.unsqueeze(1) - seen[batch]).square().sum(-1).masked_fill(missing[batch], torch.inf)
    nearest = distance.amin(dim=1)[:, None, None]
    heights = torch.maximum(distance.unsqueeze(1), distance.unsqueeze(2)) - nearest
    lowest = scatter(heights.flatten(1), batch, dim_size=batch_size, reduce="min").view(batch_size, size, size)
    return lowest.masked_fill(missing.unsqueeze(1) | missing.unsqueeze(2), torch.inf)


def persistence_image(deaths: Tensor) -> Tensor:
    """``sum |death| exp(-(y - death)^2)`` at five heights ``y`` from the first death to the last: ``[B, 5]``.

    Deaths ``[B, n]`` from ``HIGHEST`` on are none; without any the image is 0.
    """
    real = deaths < HIGHEST
    low = deaths.masked_fill(~real, torch.inf).amin(dim=1, keepdim=True)
    high = deaths.masked_fill(~real, -torch.inf).amax(dim=1, keepdim=True)
    known = deaths.masked_fill(~real, 0.0)
    low, high = (edge.masked_fill(~edge.isfinite(), 0.0) for edge in (low, high))
    y = low + (high - low) * torch.linspace(0, 1, PIXELS, dtype=deaths.dtype, device=deaths.device)
    bumps = (-(y.unsqueeze(2) - known.unsqueeze(1)).square()).exp()
    return (known.unsqueeze(1) * bumps).sum(dim=2)


class WitTopoPool(Model):
    """Half of the nodes, GIN on them, second-order read-out, and the image of the witness complex.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the GIN layers.
        num_layers: number of GIN layers.
        kept: share of the nodes that is kept.
        landmarks: nodes of largest degree that the complex has at most.
        image_channels: width of the map of the image.
        dropout: share of the logits dropped.
    """

    score_weight: Tensor
    place_weight: Tensor

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 32,
        num_layers: Depth = 4,
        kept: Annotated[float, Between(0.01, 1)] = 0.5,
        landmarks: Annotated[int, Between(2, 200)] = 10,
        image_channels: Width = 16,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task)
        self.kept, self.landmarks = kept, landmarks
        self.spread = APPNP(K=1, alpha=0.0)  # the normalised adjacency with loops, without weights
        self.register_buffer("score_weight", torch.empty(in_channels, POINTS * PLANE))
        self.register_buffer("place_weight", torch.empty(in_channels, PLANE))
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.convs = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(before, after), batch_norm(after), nn.ReLU(), nn.Linear(after, after)))
            for before, after in pairwise(widths)
        )
        self.norms = nn.ModuleList(batch_norm(hidden_channels) for _ in self.convs)
        self.attention = nn.Linear(sum(widths), 1)
        self.image = nn.Linear(PIXELS, image_channels)
        self.head = nn.Sequential(nn.Linear(sum(widths) + image_channels, out_channels), nn.Dropout(dropout))
        self._draw_projections()

    def reset_parameters(self) -> None:
        """Draw all parameters and projections anew."""
        super().reset_parameters()
        self._draw_projections()

    def _draw_projections(self) -> None:
        nn.init.xavier_uniform_(self.score_weight)
        nn.init.xavier_uniform_(self.place_weight)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        size = graphs[1]
        x, edges, batch = graph_by_graph(x, edge_index, graphs)
        with torch.no_grad():
            nodes = topk(self.scores(x, edges), self.kept, batch).sort().values if len(x) else batch
            deaths = self.deaths(x, edges, batch, size)
        between, _ = subgraph(nodes, edges, relabel_nodes=True, num_nodes=len(x))
        h, batch = x[nodes], batch[nodes]
        states = [h]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = norm(conv(h, between)).relu()
            states.append(h)
        h = torch.cat(states, dim=-1)
        pooled = pool_nodes(h * self.attention(h), batch, size, "sum")
        return torch.cat([pooled, self.image(persistence_image(deaths))], dim=-1)

    def scores(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """``s [N]``: minus the length of the spanning tree of each node's five points."""
        points = self.spread(x @ self.score_weight, edge_index).view(-1, POINTS, PLANE)
        return -spanning_tree_edges(torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")).sum(1)

    def deaths(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        """The heights at which the landmarks of each graph become connected, ``[B, L - 1]``."""
        place = self.spread(x @ self.place_weight, edge_index)
        marks = self.top_degrees(place, edge_index, batch, batch_size)
        return spanning_tree_edges(join_heights(place, marks, batch, batch_size))

    def top_degrees(self, place: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        """The ``L`` nodes of largest degree of each graph, ``[B, L]``, -1 where there are fewer."""
        degree = torch.bincount(edge_index[1], minlength=len(place))
        order = torch.arange(len(place), device=place.device)
        for key in (place[:, 1], place[:, 0], -degree, batch):  # the last counts most
            order = order[key[order].argsort(stable=True)]
        sizes = torch.bincount(batch, minlength=batch_size)
        rank = torch.arange(len(place), device=place.device) - (sizes.cumsum(0) - sizes)[batch[order]]
        first = rank < self.landmarks
        marks = torch.full((batch_size, self.landmarks), -1, device=place.device)
        marks[batch[order][first], rank[first]] = order[first]
        return marks


MODELS = {
    "wit-topopool": ModelBuilder(
        "Wit-TopoPool",
        "Chen & Gel, 2023",
        "PyG's `GINConv` and `APPNP`, the complex ours in closed form; what never learns is no parameter",
        WitTopoPool,
        options_of(WitTopoPool),
        tasks=("graph",),
    )
}

"""What is explained: one number that a model says of one graph or node, and what it says when parts are taken away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import k_hop_subgraph, subgraph

from mshgnn.data.dataset import Objective
from mshgnn.nn import Model

MOST_ELEMENTS = 20_000
"""Nodes plus edges that are computed at once."""


class Score(nn.Module):
    r"""A model that says one number of one item: the higher, the more it is sure of what it predicts.

    For a class its log-odds, :math:`z_c - \log \sum_{j \ne c} e^{z_j}`; for a label its logit, times ``sign``; for a
    number its output.

    Args:
        model: gives outputs ``[items, C]``.
        objective: what the outputs are.
        output: the class, label or target asked about.
        sign: -1 turns the question round: what speaks against a label.
        node: the item of a node task, ``None`` for the whole graph.
    """

    def __init__(self, model: Model, objective: Objective, output: int, sign: int, node: int | None) -> None:
        super().__init__()
        self.model, self.objective, self.output, self.sign, self.node = model, objective, output, sign, node

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """The score ``[1]``."""
        outputs = self.model(x, edge_index, edge_attr=edge_attr)
        return self.of_outputs(outputs[[self.node or 0]])

    def of_outputs(self, outputs: Tensor) -> Tensor:
        """Scores ``[n]`` of outputs ``[n, C]``."""
        asked = outputs[:, self.output]
        if self.objective in ("classify", "rank"):
            others = torch.cat([outputs[:, : self.output], outputs[:, self.output + 1 :]], dim=1)
            asked = asked - others.logsumexp(dim=1)
        return self.sign * asked


@dataclass(frozen=True)
class Question:
    """One model, one graph as the model takes it, and what is asked.

    ``edge_index`` has every edge both ways where the graph is undirected; a *link* is a pair of nodes with an edge. The
    graph stays on the processor, as do all results; ``placed`` is where the model computes.
    """

    model: Model
    graph: Data
    objective: Objective
    output: int
    sign: int = 1
    node: int | None = None

    @cached_property
    def score(self) -> Score:
        """The model as a function that gives the score."""
        return Score(self.model, self.objective, self.output, self.sign, self.node).eval()

    @property
    def num_nodes(self) -> int:
        """Nodes of the graph."""
        return int(self.graph.x.size(0))

    @cached_property
    def links(self) -> Tensor:
        """Pairs of nodes with an edge, ``[2, L]``, the smaller number first."""
        return self._paired[0]

    @property
    def link_of_edge(self) -> Tensor:
        """``[M]``."""
        return self._paired[1]

    @cached_property
    def _paired(self) -> tuple[Tensor, Tensor]:
        ends = self.graph.edge_index.sort(dim=0).values
        links, place = torch.unique(ends, dim=1, return_inverse=True)
        return links, place

    def per_link(self, of_edges: Tensor) -> Tensor:
        """What edges ``[M]`` have, summed over both ways: ``[L]``."""
        return of_edges.new_zeros(self.links.size(1)).index_add(0, self.link_of_edge, of_edges)

    @cached_property
    def placed(self) -> Data:
        """The graph on the model's device."""
        return on_device_of(self.model, self.graph)

    @property
    def arguments(self) -> dict[str, Tensor]:
        """What the score takes beside features and edges, on the model's device."""
        attributes = self.placed.get("edge_attr")
        return {} if attributes is None else {"edge_attr": attributes}

    @cached_property
    def masks_reach(self) -> bool:
        """Whether the model's messages heed PyG's edge masks."""
        edges = self.placed.edge_index
        if edges.size(1) == 0 or not any(isinstance(module, MessagePassing) for module in self.model.modules()):
            return False
        mask = torch.ones(edges.size(1), device=edges.device, requires_grad=True)
        with masked(self.score, mask, edges), torch.enable_grad():
            said = self.score(self.placed.x, edges, **self.arguments)
            (gradient,) = torch.autograd.grad(said.sum(), mask, allow_unused=True)
        return gradient is not None and bool(gradient.any())

    @torch.no_grad()
    def scores_with(self, kept: Sequence[Tensor]) -> Tensor:
        """The scores ``[n]`` when only these nodes are there, each a mask ``[N]``; with them go their edges."""
        return self._scores(map(self._with, kept))

    def _with(self, nodes: Tensor) -> tuple[Data, int]:
        """The graph of these nodes alone, and the place of the item in it."""
        edges, attributes = subgraph(
            nodes, self.graph.edge_index, self.graph.get("edge_attr"), relabel_nodes=True, num_nodes=self.num_nodes
        )
        item = 0 if self.node is None else int(nodes[: self.node].sum())
        return Data(x=self.graph.x[nodes], edge_index=edges, edge_attr=attributes), item

    @torch.no_grad()
    def scores_without_link(self) -> Tensor:
        """The score ``[L]`` when one link is missing."""
        return self._scores(map(self._without_link, range(self.links.size(1))))

    def _without_link(self, link: int) -> tuple[Data, int]:
        there = self.link_of_edge != link
        attributes = self.graph.get("edge_attr")
        left = None if attributes is None else attributes[there]
        return Data(x=self.graph.x, edge_index=self.graph.edge_index[:, there], edge_attr=left), self.node or 0

    def _scores(self, graphs: Iterable[tuple[Data, int]]) -> Tensor:
        """Of graphs with the place of the item in each; they are made when it is their turn."""
        found = []
        for piece in _pieces(graphs):
            batch = on_device_of(self.model, Batch.from_data_list([graph for graph, _ in piece]))
            outputs = self.model.eval()(
                batch.x, batch.edge_index, batch.batch, edge_attr=batch.get("edge_attr"), batch_size=len(piece)
            ).cpu()
            if self.node is not None:
                outputs = outputs[batch.ptr[:-1].cpu() + torch.tensor([item for _, item in piece])]
            found.append(self.score.of_outputs(outputs))
        return torch.cat(found) if found else torch.empty(0)


def around_node(models: Sequence[Model], graphs: Sequence[Data], node: int) -> tuple[list[Data], int, Tensor]:
    """The part of a graph that decides a node's output, the node's place in it, and the old numbers of its nodes.

    That is what the messages reach, and one step more for the degrees; the whole graph where an output would change.
    The graph comes as each model takes it.
    """
    nodes, edges, place, there = k_hop_subgraph(
        node, max(map(_depth, models)) + 1, graphs[0].edge_index, relabel_nodes=True, num_nodes=graphs[0].num_nodes
    )
    parts = []
    for graph in graphs:
        attributes = graph.get("edge_attr")
        part = Data(x=graph.x[nodes], edge_index=edges)
        if attributes is not None:
            part.edge_attr = attributes[there]
        parts.append(part)
    for model, graph, part in zip(models, graphs, parts, strict=True):
        small, whole = _output(model, part, int(place)), _output(model, graph, node)
        if not torch.allclose(small, whole, rtol=1e-3, atol=1e-4):
            return list(graphs), node, torch.arange(graphs[0].x.size(0))
    return parts, int(place), nodes


@torch.no_grad()
def _output(model: Model, graph: Data, node: int) -> Tensor:
    placed = on_device_of(model, graph)
    outputs: Tensor = model.eval()(placed.x, placed.edge_index, edge_attr=placed.get("edge_attr"))
    return outputs[node].cpu()


def on_device_of(model: nn.Module, graph: Data) -> Data:
    """A copy of the graph where the model's weights are; the graph itself where it is there already."""
    device = next(model.parameters()).device
    return graph if graph.x.device == device else graph.clone().to(device)


def _depth(model: Model) -> int:
    """How many messages a node's output is made of at most, one after the other."""
    return sum(isinstance(module, MessagePassing) for module in model.modules())


@contextmanager
def masked(model: nn.Module, mask: Tensor, edge_index: Tensor) -> Iterator[None]:
    """Within, every message is multiplied by the mask ``[M]`` of its edge."""
    for module in model.modules():
        # Once an explainer has registered a mask as a parameter, PyG would put a copy in the place of ours.
        module._parameters.pop("_edge_mask", None)
    try:
        set_masks(model, mask, edge_index, apply_sigmoid=False)
        yield
    finally:
        clear_masks(model)


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Within, no parameter of the model asks for a gradient."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        for parameter in trained:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)


def _pieces(graphs: Iterable[tuple[Data, int]]) -> Iterator[list[tuple[Data, int]]]:
    """Some graphs at a time: ``MOST_ELEMENTS`` at most, or one graph."""
    piece: list[tuple[Data, int]] = []
    size = 0
    for graph, item in graphs:
        more = int(graph.x.size(0)) + int(graph.edge_index.size(1))
        if piece and size + more > MOST_ELEMENTS:
            yield piece
            piece, size = [], 0
        piece.append((graph, item))
        size += more
    if piece:
        yield piece

"""What the layers of a trained model do with test graphs: energy by band, and weights of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.schema import Schema
from mshgnn.nn import MSHGNN, MSHConv, frequency_response
from mshgnn.nn.graph_model import GraphModel
from mshgnn.nn.readout import FrequencyAwarePooling
from mshgnn.predictor.coding import recoded
from mshgnn.predictor.member import Member
from mshgnn.report.page.contents import Response

MOST_GRAPHS = 64
MOST_EDGES = 20_000
"""Edges of graphs that responses are measured on; more would say the same."""


class _Call(NamedTuple):
    """What a layer was called with."""

    conv: MSHConv
    h: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None


def responses(member: Member, dataset: GraphDataset, schema: Schema, items: Sequence[int]) -> tuple[Response, ...]:
    """For each harmonic layer the share of energy in its bands, over the edges of some test graphs."""
    if not _is_harmonic(member.model) or not items:
        return ()
    graphs = [0] if dataset.task == "node" else list(items[:MOST_GRAPHS])
    return responses_on(member.model, _encoded(member, dataset, schema, graphs))


def responses_on(model: Any, graphs: Sequence[Data]) -> tuple[Response, ...]:
    """The same for a model of harmonic layers and graphs as it takes them, up to ``MOST_EDGES`` edges."""
    shares: dict[int, list[Tensor]] = {}
    seen = 0
    for graph in graphs:
        if seen and seen + graph.edge_index.size(1) > MOST_EDGES:
            break
        seen += graph.edge_index.size(1)
        for layer, call in enumerate(_calls(model, graph)):
            if call.conv.encoding.num_bands and call.edge_index.size(1):
                edges, features = call.edge_index[:, :MOST_EDGES], call.edge_attr
                with torch.no_grad():
                    found = frequency_response(
                        call.conv, call.h, edges, None if features is None else features[:MOST_EDGES]
                    )
                shares.setdefault(layer, []).append(found)
    return tuple(_response(torch.cat(found), model.messages[layer]) for layer, found in sorted(shares.items()))


def edge_weights(
    member: Member, dataset: GraphDataset, schema: Schema, items: Sequence[int]
) -> tuple[str, list[tuple[Tensor, list[Tensor]]]]:
    """What the weights are, and for each graph its edges ``[2, M]`` with weights ``[M]``, layer by layer.

    The gate of a frequency-aware readout where there is one, else the strength of the harmonic messages.
    """
    model = member.model
    if not _is_harmonic(model):
        return "", []
    made: list[tuple[Tensor, list[Tensor]]] = []
    gated = isinstance(model, MSHGNN) and isinstance(model.readout, FrequencyAwarePooling)
    for graph in _encoded(member, dataset, schema, items):
        edges = graph.edge_index
        with torch.no_grad():
            if gated:
                found = model.edge_attention(graph.x, edges, edge_attr=graph.get("edge_attr"))  # type: ignore[operator]
            else:
                found = [c.conv.edge_messages(c.h, c.edge_index, c.edge_attr).norm(dim=1) for c in _calls(model, graph)]
        made.append((edges, [weights[: edges.size(1)] for weights in found]))  # loops come last
    return "the readout's gate α" if gated else "the strength of their harmonic messages", made


def _is_harmonic(model: object) -> bool:
    return isinstance(model, GraphModel) and all(isinstance(message, MSHConv) for message in model.messages)


def _encoded(member: Member, dataset: GraphDataset, schema: Schema, items: Sequence[int]) -> list[Data]:
    """Graphs as the member takes them."""
    if not items:
        return []
    takes_edges = member.model.edge_dim is not None
    chosen = dataset[list(items)]
    return list(recoded(chosen, schema, member.schema, edge_features=takes_edges).graphs)


def _calls(model: Any, graph: Data) -> list[_Call]:
    """One pass over a graph, and what each layer was given on the way."""
    calls: list[_Call] = []

    def see(layer: Any, arguments: tuple[Any, ...]) -> None:
        calls.append(_Call(layer.message, arguments[0], arguments[1], arguments[2]))

    hooks = [layer.register_forward_pre_hook(see) for layer in model.layers]
    try:
        with torch.no_grad():
            model.eval().embed(graph.x, graph.edge_index, edge_attr=graph.get("edge_attr"))
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _response(shares: Tensor, conv: Any) -> Response:
    frequencies = conv.encoding.frequencies.tolist()
    quartiles = torch.quantile(shares, torch.tensor([0.25, 0.75]), dim=0)
    rounded = [tuple(round(value, 4) for value in row.tolist()) for row in (shares.mean(dim=0), *quartiles)]
    return Response(tuple(f"ω = {frequency:.3g}" for frequency in frequencies), *rounded)

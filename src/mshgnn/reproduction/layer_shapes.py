"""The shapes of the paper's figure 2, read off a real call of the layer and its readout."""

from __future__ import annotations

import networkx as nx
import torch
from torch_geometric.utils import from_networkx

from mshgnn.nn import FrequencyAwarePooling, MSHConv
from mshgnn.nn.generator import FullGenerator
from mshgnn.report.layer import Step


@torch.no_grad()
def layer_steps(
    channels: int = 64, num_projections: int = 16, graph_channels: int = 16
) -> tuple[tuple[Step, ...], str]:
    """Every tensor on the way from node states to a graph's embedding, and what it was computed on."""
    graph = nx.karate_club_graph()
    edges = from_networkx(nx.Graph(graph.edges)).edge_index
    conv = MSHConv(channels, channels, num_projections, rank=None, normalize=False, phase_scale=None)
    pooling = FrequencyAwarePooling(channels, graph_channels, 1)
    h = torch.randn(len(graph), channels)
    assert isinstance(conv.generator, FullGenerator)
    projections = conv.generator.projection(h).view(len(graph), num_projections, channels)
    phases = conv.edge_phases(h, edges)
    psi = conv.encoding(phases)
    messages = conv.edge_messages(h, edges)
    alpha = pooling.attention(0, messages, edges, len(graph))
    out, gated = conv.forward_gated(h, edges, None, pooling.gate_weight(0))
    embedding = pooling([gated], torch.zeros(len(graph), dtype=torch.long), 1)
    steps = (
        Step("node states", "$h$", tuple(h.shape), "node", None),
        Step("projections", r"$F_v = W_f h_v + b_f$", tuple(projections.shape), "node", 0),
        Step("phase", r"$p_{vu} = F_v h_u + \phi_v$", tuple(phases.shape), "edge", 1),
        Step("harmonics", r"$\psi = [\sin\omega_k p \,|\, \cos\omega_k p]$", tuple(psi.shape), "edge", 2),
        Step("message", r"$\Psi_{vu} = W_o \psi(p_{vu})$", tuple(messages.shape), "edge", 3),
        Step("next states", r"$W_r h_v + \sum_u \Psi_{vu}$", tuple(out.shape), "node", 4),
        Step("gate", r"$\alpha_{vu} = \sigma(W_1 \Psi_{vu})$", tuple(alpha.shape), "edge", 4),
        Step("graph", r"$\mathrm{mean}_v \sum_u \alpha_{vu} W_2 \Psi_{vu}$", tuple(embedding.shape), "graph", 6),
    )
    frequencies = ", ".join(f"{value:g}" for value in conv.encoding.initial)
    caption = f"{len(graph)} nodes, {edges.size(1)} directed edges, frequencies {frequencies}"
    return steps, caption

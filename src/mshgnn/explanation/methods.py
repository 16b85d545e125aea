"""The methods by name: each gives every node and every link of a graph a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import AttentionExplainer, Explainer, Explanation, GNNExplainer, ModelConfig
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.nn import GATConv, GATv2Conv, TransformerConv

from mshgnn.explanation.gradients import IntegratedGradients
from mshgnn.explanation.question import Question, frozen
from mshgnn.nn import MSHGNN, FrequencyAwarePooling

MOST_COPIES = 4_000_000
"""Nodes and edges, over all copies of a graph with one part missing, up to which ``occlusion`` is tried."""


@dataclass(frozen=True)
class Importance:
    """A number for every node ``[N]`` and every link ``[L]``, either side of 0 where ``signed``, else from 0 on."""

    nodes: Tensor
    links: Tensor


@dataclass(frozen=True)
class Method:
    """A way to explain. ``obstacle`` says why it cannot for a question, ``None`` where it can."""

    title: str
    says: str
    """What its numbers mean, in a sentence."""
    signed: bool
    obstacle: Callable[[Question], str | None]
    compute: Callable[[Question], Importance]


def _occlusion(question: Question) -> Importance:
    """What the score loses when one node, or one link, is taken away; a node task's own node stays."""
    count = question.num_nodes
    removable = [node for node in range(count) if node != question.node and count > 1]
    everything = torch.ones(count, dtype=torch.bool)
    kept = [everything, *(everything.index_fill(0, torch.tensor([node]), False) for node in removable)]
    scores = question.scores_with(kept)
    nodes = torch.zeros(count).index_copy(0, torch.tensor(removable, dtype=torch.long), scores[0] - scores[1:])
    return Importance(nodes, scores[0] - question.scores_without_link())


def _occlusion_obstacle(question: Question) -> str | None:
    copies = question.num_nodes + question.links.size(1)
    if copies * (question.num_nodes + question.graph.edge_index.size(1)) > MOST_COPIES:
        return f"too slow for {question.num_nodes:,} nodes and {question.links.size(1):,} links"
    return None


def _gnn_explainer(question: Question) -> Importance:
    """Masks between 0 and 1, trained to keep the prediction with as little as possible."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the masks start at random
        # With PyG's own price of an edge's indecision the first gradients decide, and motifs rank last.
        algorithm = GNNExplainer(epochs=100, lr=0.1, edge_size=0.02, edge_ent=0.1)
        found = _explained(question, algorithm, "object", relative=True)
    return _of_masks(question, found.node_mask.view(-1), found.get("edge_mask"))


def _gradients(question: Question) -> Importance:
    """Each node's own features with half of its links: together they are the score less that of nothing."""
    found = _explained(question, IntegratedGradients(), "attributes")
    of_nodes, of_edges = found.node_mask.sum(dim=1), found.get("edge_mask")
    if of_edges is None:
        return _of_masks(question, of_nodes, None)
    links = question.per_link(of_edges)
    return Importance(of_nodes + 0.5 * _at_ends(question, links), links)


def _attention(question: Question) -> Importance:
    """PyG's: the largest attention over layers, the mean over heads."""
    return _of_edges(question, _explained(question, AttentionExplainer("max"), None).edge_mask)


def _explained(
    question: Question, algorithm: ExplainerAlgorithm, node_mask: str | None, *, relative: bool = False
) -> Explanation:
    """By PyG's Explainer; ``relative`` to the score, so that the price of a mask means the same for every model.

    A score is a number whatever the objective: as a probability it would be saturated, and a mask free to shrink.
    """
    graph, score = question.placed, question.score
    with torch.no_grad():
        said = float(score(graph.x, graph.edge_index, **question.arguments))
    explainer = Explainer(
        _Relative(score, max(abs(said), 1.0)).eval() if relative else score,
        algorithm,
        explanation_type="model",
        model_config=ModelConfig(mode="regression", task_level="graph", return_type="raw"),
        node_mask_type=node_mask,
        edge_mask_type="object" if question.masks_reach else None,
    )
    with frozen(question.model):
        return explainer(graph.x, graph.edge_index, **question.arguments).to("cpu")


class _Relative(nn.Module):
    """A score in units of itself."""

    def __init__(self, score: nn.Module, unit: float) -> None:
        super().__init__()
        self.score, self.unit = score, unit

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return self.score(x, edge_index, edge_attr) / self.unit


def _alpha(question: Question) -> Importance:
    """The mean over layers of the readout's gate."""
    model = question.model
    assert isinstance(model, MSHGNN)
    return _of_edges(question, _mean_over_layers(question, model.edge_attention))


def _energy(question: Question) -> Importance:
    """The mean over layers of the norm of what an edge says, all bands together."""
    return _of_edges(question, energy_by_band(question).sum(dim=1).sqrt())


@torch.no_grad()
def energy_by_band(question: Question) -> Tensor:
    """The energy of every edge's message in every band, mean over layers: ``[M, K]``."""
    model = question.model
    assert isinstance(model, MSHGNN)
    return _mean_over_layers(question, model.band_energy)


@torch.no_grad()
def _mean_over_layers(question: Question, compute: Callable[..., list[Tensor]]) -> Tensor:
    layers = compute(question.placed.x, question.placed.edge_index, **question.arguments)
    found = torch.stack(layers).mean(dim=0).cpu()
    return found[: question.graph.edge_index.size(1)]  # loops that a model adds come last


def _of_edges(question: Question, of_edges: Tensor) -> Importance:
    links = question.per_link(of_edges.detach())
    return Importance(_at_ends(question, links), links)


def _of_masks(question: Question, nodes: Tensor, of_edges: Tensor | None) -> Importance:
    """Where edge masks do not reach the model, a link is as important as its two nodes on average."""
    links = nodes[question.links].mean(dim=0) if of_edges is None else question.per_link(of_edges)
    return Importance(nodes, links)


def _at_ends(question: Question, links: Tensor) -> Tensor:
    """What the links of a node have together, ``[N]``."""
    zeros = links.new_zeros(question.num_nodes)
    return zeros.index_add(0, question.links[0], links).index_add(0, question.links[1], links)


def _never(question: Question) -> str | None:
    return None


def _no_edges(question: Question) -> str | None:
    return None if question.links.size(1) else "the graph has no edges"


def _attention_obstacle(question: Question) -> str | None:
    kinds: tuple[Any, ...] = (GATConv, GATv2Conv, TransformerConv)
    if not any(isinstance(module, kinds) for module in question.model.modules()):
        return "the model has no attention over edges"
    if not question.masks_reach:
        return "the model's attention is not open to PyG's explainers"
    return _no_edges(question)


def _alpha_obstacle(question: Question) -> str | None:
    if not isinstance(question.model, MSHGNN) or not isinstance(question.model.readout, FrequencyAwarePooling):
        return "alpha belongs to MSH-GNN with readout: frequency"
    return _no_edges(question)


def energy_obstacle(question: Question) -> str | None:
    """Why the messages have no bands, ``None`` where they do."""
    if not isinstance(question.model, MSHGNN) or question.model.options["frequencies"] == "none":
        return "energy belongs to MSH-GNN with frequencies"
    return _no_edges(question)


METHODS: dict[str, Method] = {
    "occlusion": Method(
        "Occlusion",
        "what the prediction loses when the part is taken away",
        True,
        _occlusion_obstacle,
        _occlusion,
    ),
    "gradients": Method(
        "Integrated gradients",
        "what the part adds on the way from an empty graph to this one",
        True,
        _never,
        _gradients,
    ),
    "gnnexplainer": Method(
        "GNNExplainer",
        "how much of the part a trained mask keeps so that the prediction stays",
        False,
        _never,
        _gnn_explainer,
    ),
    "attention": Method(
        "Attention",
        "the weight that the layers give to the edge",
        False,
        _attention_obstacle,
        _attention,
    ),
    "alpha": Method(
        "Gate alpha",
        "how far the readout opens for the edge's message",
        False,
        _alpha_obstacle,
        _alpha,
    ),
    "energy": Method(
        "Message energy",
        "how loud the edge's message is, all bands together",
        False,
        energy_obstacle,
        _energy,
    ),
}

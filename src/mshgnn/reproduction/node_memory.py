"""What attention between all nodes needs on the node sets, computed and measured, beside what the paper prints."""

from __future__ import annotations

from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import MODELS, NODE_SETS, OURS
from mshgnn.reproduction.published import printed_entries
from mshgnn.reproduction.results import Results

ATTENDING = {"graphormer": "Graphormer", "san": "SAN", "gps": "GraphGPS", "specformer": "Specformer"}
"""Models whose attention spans the whole graph, as the paper calls them."""


def node_memory(results: Results) -> str:
    """Each model on each set: the paper's entry, all attention weights at once, what is needed here, a run's peak."""
    rows = []
    for dataset, title in NODE_SETS.items():
        for model, name in {OURS: "MSH-GNN", **ATTENDING}.items():
            computed = _computed(model, dataset) if model in ATTENDING else ["–", "–"]
            rows.append(
                [
                    f"{title}, {MODELS[model]}",
                    printed_entries("node", name).get(dataset, "–"),
                    *computed,
                    _peak(results, model, dataset),
                ]
            )
    return markdown(["GB", "the paper, %", "all weights at once", "structure here", "peak of a run here"], rows)


def _computed(model: str, dataset: str) -> list[str]:
    """By the formulas with which the models refuse what is too large, at their default sizes."""
    from mshgnn.data.catalogue import find  # with torch, which no record needs
    from mshgnn.machine import MEMORY_LIMIT
    from mshgnn.models import build, resolve
    from mshgnn.models.attention import weights_bytes

    size = find(dataset).expected
    assert size is not None
    nodes, edges = int(size.nodes), int(2 * size.edges)
    options = resolve(model)
    layers = 1 if model == "specformer" else options["num_layers"]  # its one attention is between eigenvalues
    costs = [kind.cost(nodes, edges) for kind in build(model, 1, 2, task="node").structure if kind.cost is not None]
    structure = sum(cost.kept + cost.work for cost in costs)
    refused = " (refused)" if structure > MEMORY_LIMIT else ""
    return [_gb(weights_bytes(options["heads"] * nodes**2, layers)), (_gb(structure) if costs else "–") + refused]


def _peak(results: Results, model: str, dataset: str) -> str:
    record = results.records.get((dataset, model)) or results.first_folds.get((dataset, model))
    return "–" if record is None else _gb(record.peak_memory_mb * 2**20)


def _gb(number: float) -> str:
    return f"{number / 1e9:,.1f}"

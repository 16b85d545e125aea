"""An explanation in words, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mshgnn.explanation.explain import Explanation, Finding
from mshgnn.explanation.methods import METHODS

MOST_PARTS = 4


def in_words(explanation: Explanation) -> Iterator[str]:
    """Lines for a terminal."""
    truth = f"; the file says {explanation.truth}" if explanation.truth else ""
    yield f"{explanation.title} ({explanation.where}): {explanation.prediction}{truth}"
    for finding in explanation.findings:
        score = "" if finding.fidelity is None else f" fidelity {finding.fidelity.score:.2f},"
        yield f"  {METHODS[finding.method].title}:{score} {finding.verdict}"
        for name, value in leading(explanation, finding):
            yield f"    {value:>+9.3g}  {name}"
    if explanation.bands:
        shares = ", ".join(f"frequency {key:g}: {100 * value:.0f} %" for key, value in explanation.bands.items())
        yield f"  energy of the messages by band: {shares}"
    if explanation.left_out:
        yield "  left out: " + "; ".join(f"{name} ({reason})" for name, reason in explanation.left_out.items())


def leading(explanation: Explanation, finding: Finding) -> list[tuple[str, float]]:
    """The substructures that matter most, each with its sum; the nodes themselves where there are none."""
    found = [(part.group.name, part.importance) for part in finding.substructures]
    if not found:
        values = finding.importance.nodes.tolist()
        found = [(f"node {name}", value) for name, value in zip(explanation.node_names, values, strict=True)]
    return sorted(found, key=lambda part: -abs(part[1]))[:MOST_PARTS]


def as_data(explanation: Explanation) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "item": explanation.title,
        "where": explanation.where,
        "prediction": explanation.prediction,
        "truth": explanation.truth or None,
        "smiles": explanation.smiles,
        "nodes": list(explanation.node_names),
        "links": explanation.links.t().tolist(),
        "energy_by_frequency": {f"{key:g}": round(value, 4) for key, value in explanation.bands.items()},
        "left_out": explanation.left_out,
        "methods": [_finding(finding) for finding in explanation.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    fidelity = finding.fidelity
    return {
        "method": finding.method,
        "meaning": METHODS[finding.method].says,
        "fidelity": None
        if fidelity is None
        else {
            "score": round(fidelity.score, 4),
            "necessity": round(fidelity.necessity, 4),
            "sufficiency": round(fidelity.sufficiency, 4),
        },
        "verdict": finding.verdict,
        "node_importance": [float(f"{value:.5g}") for value in finding.importance.nodes.tolist()],
        "link_importance": [float(f"{value:.5g}") for value in finding.importance.links.tolist()],
        "substructures": [
            {"name": part.group.name, "nodes": list(part.group.nodes), "importance": float(f"{part.importance:.5g}")}
            for part in finding.substructures
        ],
    }

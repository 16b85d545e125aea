"""The goals of the comparison: bounds on ratios measured in one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mshgnn.benchmarks.contenders import FULL, OURS, PARTS

TRAINING_STEP = {
    "GATConv": {"COLLAB": 0.10, "Physics": 0.40, "molecules": 0.80},
    "GCNConv": {"COLLAB": 0.20, "Physics": 0.50, "molecules": 1.2, "ten nodes": 1.5},
    "PNAConv": {"COLLAB": 0.02, "Physics": 0.07, "molecules": 0.15},
    FULL: {"COLLAB": 0.20, "Physics": 0.20, "molecules": 0.20},
}
PEAK_MEMORY = {"GCNConv": {"COLLAB": 0.5, "Physics": 0.5, "molecules": 1.2}}
FORWARD_OVER_BOUND = {"Physics": 2.5}


class Goal(NamedTuple):
    """One line of the table of goals: what was asked, what was measured; the smaller, the better."""

    text: str
    measured: float
    bound: float
    parts: float | None = None
    """The same ratio for the layer's products and kernels alone, in time: what nothing around them can improve."""

    @property
    def met(self) -> bool:
        """Is the measured figure within its bound?"""
        return self.measured <= self.bound


def goals(shapes: dict[str, Any]) -> Iterator[Goal]:
    """The goals that can be read off the measured shapes."""
    for contender, bounds in TRAINING_STEP.items():
        for shape, bound in bounds.items():
            if shape in shapes:
                found = {name: row["training"] for name, row in shapes[shape]["contenders"].items()}
                parts = sum(found[part]["seconds"]["middle"] for part in PARTS)
                yield Goal(
                    f"{shape}: training step over {contender}",
                    found[contender]["ours_over_it"]["middle"],
                    bound,
                    parts / found[contender]["seconds"]["middle"],
                )
    for contender, bounds in PEAK_MEMORY.items():
        for shape, bound in bounds.items():
            contenders = shapes.get(shape, {}).get("contenders", {})
            if "peak_bytes" in contenders.get(OURS, {}):
                ratio = contenders[OURS]["peak_bytes"] / max(contenders[contender]["peak_bytes"], 1.0)
                yield Goal(f"{shape}: peak memory over {contender}", ratio, bound)
    for shape, bound in FORWARD_OVER_BOUND.items():
        if shape in shapes:
            over = shapes[shape]["bound"]["forward_over_bound"]["middle"]
            yield Goal(f"{shape}: forward over its physical bound", over, bound)

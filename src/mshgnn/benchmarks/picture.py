"""Where each contender stands in time and memory, for one picture."""

from __future__ import annotations

from typing import Any

from mshgnn.benchmarks.contenders import PARTS


def title(run: dict[str, Any]) -> str:
    """What the picture of a run shows."""
    conditions = run["environment"]
    count = int(conditions["threads"])
    threads = f"{count} thread{'s' if count > 1 else ''}"
    return f"A training step beside PyG's layers: {threads}, freed memory {conditions['freed_memory']}"


def places(run: dict[str, Any]) -> dict[str, dict[str, tuple[float, float]]]:
    """Memory in MB and time in ms of every contender, by graph; a graph without a measured memory is left out."""
    found = {
        name: {
            contender: (row.get("peak_bytes", 0) / 2**20, 1e3 * row["training"]["seconds"]["middle"])
            for contender, row in shape["contenders"].items()
            if contender not in PARTS
        }
        for name, shape in run["shapes"].items()
    }
    return {name: panel for name, panel in found.items() if all(memory > 0 for memory, _ in panel.values())}

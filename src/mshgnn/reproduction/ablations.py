"""The paper's figure 3: what the records of the suite ``ablation`` hold, variant by variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mshgnn.errors import UserError
from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import load_suite
from mshgnn.report.boxes import Panel, draw_boxes
from mshgnn.reproduction.layout import SETS

SUITE = "ablation"
STABLE = "stable"


@dataclass(frozen=True)
class Ablation:
    """A panel of the figure: its title, and the suite's variants with their labels in the order they are drawn."""

    title: str
    labels: Mapping[str, str]


ABLATIONS = {
    "ablation-encoding": Ablation(
        "Encoding of an edge",
        {
            "encoding-none": "none",
            "encoding-lappe": "LapPE",
            "encoding-rwpe": "RWPE",
            "rank-0": "rank 0",
            "rank-1": "rank 1",
            STABLE: "rank 2",
            "rank-full": "full",
        },
    ),
    "ablation-frequencies": Ablation(
        "Frequencies",
        {
            "frequency-none": "none",
            "frequency-1": "only 1",
            "frequency-2": "only 2",
            "frequency-linear": "linear",
            "frequency-learned": "learned",
            STABLE: "exponential",
        },
    ),
    "ablation-readout": Ablation(
        "Readout",
        {"readout-mean": "mean", STABLE: "sum", "readout-max": "max", "readout-frequency": "frequency-aware"},
    ),
}


def draw_ablation(name: str, results: Path, out: Path) -> Path:
    """Box plots over folds and seeds of the variants that have records."""
    ablation = ABLATIONS[name]
    return draw_boxes(
        ablation_panels(name, results),
        out,
        title=f"{ablation.title}, one change of stable at a time",
        label="test accuracy, %",
        ours=ablation.labels[STABLE],
    )


def ablation_panels(name: str, results: Path) -> dict[str, Panel]:
    """By data set and label the headline of every fold of every seed, in percent; what was not run is left out."""
    records = load_suite(results / SUITE)
    panels: dict[str, Panel] = {}
    for dataset in dict.fromkeys(dataset for dataset, _ in records):
        found = {
            label: [100 * value for value in records[dataset, variant].rules[HEADLINE].per_fold]
            for variant, label in ABLATIONS[name].labels.items()
            if (dataset, variant) in records
        }
        if len(found) > 1:
            panels[SETS.get(dataset, dataset)] = found
    if not panels:
        raise UserError(f"{results / SUITE}: no records of two variants of {name}; run 'mshgnn reproduce figure-3'")
    return panels

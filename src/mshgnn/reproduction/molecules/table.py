"""The comparison as tables: mean and deviation over seeds, and time against chemprop's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from mshgnn.report.markdown import markdown
from mshgnn.reproduction.molecules.plan import SETS, SPLITS, SYSTEMS
from mshgnn.reproduction.molecules.record import MoleculeRecord
from mshgnn.training.metrics import KNOWN_METRICS

FOLDER = "molecules"
TIMED = ("msh-stable", "gine", "morgan-forest")
"""Whose time is shown against chemprop's."""


def records_of(measurements: Mapping[str, Any]) -> list[MoleculeRecord]:
    """The records among everything that was measured, by path."""
    found = sorted((name, values) for name, values in measurements.items() if name.startswith(f"{FOLDER}/"))
    return [MoleculeRecord.of(values, name) for name, values in found]


def accuracy(measurements: Mapping[str, Any]) -> str:
    """The test metric of every system; the best mean of a row in bold, a dash where nothing was run."""
    records = records_of(measurements)
    rows = []
    for name, of in SETS.items():
        metric = KNOWN_METRICS[of.metric]
        for split in SPLITS:
            found = {system: _of(records, name, split, system) for system in SYSTEMS}
            means = {system: _mean(runs) for system, runs in found.items() if runs}
            best = (max if metric.higher_is_better else min)(means.values()) if len(means) > 1 else None
            texts = [_text(runs, of.metric, bold=bool(runs) and _mean(runs) == best) for runs in found.values()]
            rows.append([f"{name}, {split} ({metric.words})", *texts])
    return markdown(["test", *SYSTEMS.values()], rows)


def times(measurements: Mapping[str, Any]) -> str:
    """Seconds of chemprop, and the share of them that the others take over the same seeds: wall (processor)."""
    records = records_of(measurements)
    rows = []
    for name in SETS:
        for split in SPLITS:
            theirs = _of(records, name, split, "chemprop")
            shares = [_share(_of(records, name, split, system), theirs) for system in TIMED]
            rows.append([f"{name}, {split}", _seconds(theirs), *shares])
    return markdown(["whole command", "chemprop, s", *(f"{SYSTEMS[system]}, share" for system in TIMED)], rows)


def _of(records: Sequence[MoleculeRecord], name: str, split: str, system: str) -> list[MoleculeRecord]:
    return [r for r in records if (r.set, r.split, r.system) == (name, split, system)]


def _mean(runs: Sequence[MoleculeRecord]) -> float:
    return mean(run.value for run in runs)


def _text(runs: Sequence[MoleculeRecord], metric: str, *, bold: bool) -> str:
    """``0.612 ± 0.021``; shares in percent. One run has no deviation."""
    if not runs:
        return "–"
    known = KNOWN_METRICS[metric]
    scale, digits = (100, 1) if known.is_share else (1, 3 if metric == "rmse" else 5)
    text = f"{scale * _mean(runs):.{digits}f}"
    if len(runs) > 1:
        text += f" ± {scale * stdev(run.value for run in runs):.{digits}f}"
    return f"**{text}**" if bold else text


def _seconds(runs: Sequence[MoleculeRecord]) -> str:
    if not runs:
        return "–"
    return f"{mean(run.seconds for run in runs):,.0f} ({mean(run.processor_seconds for run in runs):,.0f})"


def _share(ours: Sequence[MoleculeRecord], theirs: Sequence[MoleculeRecord]) -> str:
    """Over the seeds that both have."""
    both = {run.seed for run in ours} & {run.seed for run in theirs}
    if not both:
        return "–"
    pairs = [[run for run in runs if run.seed in both] for runs in (ours, theirs)]
    wall, processor = (
        sum(getattr(run, key) for run in pairs[0]) / sum(getattr(run, key) for run in pairs[1])
        for key in ("seconds", "processor_seconds")
    )
    return f"{wall:.2f} ({processor:.2f})"

"""The tables of README and docs, made from the committed records and from nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mshgnn.baselines.controls import CONTROLS
from mshgnn.data import StructureFrequencyDataset
from mshgnn.evaluation.rules import HEADLINE, RULES, extended
from mshgnn.lab.record import Record
from mshgnn.lab.store import FoldKey
from mshgnn.report.published import paper_figures
from mshgnn.report.results import Results, cell

GRAPH_SETS = {
    "MUTAG": "MUTAG",
    "PTC": "PTC",
    "PROTEINS": "PROTEINS",
    "NCI1": "NCI1",
    "IMDB-BINARY": "IMDB-B",
    "IMDB-MULTI": "IMDB-M",
    "REDDIT-BINARY": "REDDIT-B",
    "COLLAB": "COLLAB",
}
NODE_SETS = {
    "AmazonPhoto": "Photo",
    "AmazonComputers": "Computers",
    "CoauthorPhysics": "Physics",
    "Minesweeper": "Minesweeper",
}
JOINT_SETS = {
    "structure-frequency-fixed": "fixed",
    "structure-frequency-varied": "varied",
    "structure-frequency-wellposed": "wellposed",
}
SETS = GRAPH_SETS | NODE_SETS | JOINT_SETS
MODELS = {
    "msh-stable": "**MSH-GNN `stable`**",
    "msh-paper": "MSH-GNN `paper`",
    "msh-released": "MSH-GNN `released`",
    "msh-shared": "MSHConv, shared shell",
    "gcn": "GCN",
    "gat": "GAT",
    "gatv2": "GATv2",
    "sage": "GraphSAGE",
    "gin": "GIN",
    "film": "FiLM",
    "joint-gcn": "GCN",
    "joint-gat": "GAT",
    "mlp": "MLP on summed features",
    "knn": "5-NN on degree and Rayleigh statistics",
    "wl-lookup": "1-WL lookup table",
    "majority": "majority class",
}


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def models_by_set(results: Results, sets: dict[str, str]) -> str:
    """``best_validation`` of every model that was run on any of the sets; the best mean of several in bold.

    Means that read alike are bold alike. Nothing is bold where controls alone were run: they are there to be beaten.
    """
    models = [model for model in MODELS if any((dataset, model) in results.records for dataset in sets)]
    means = {
        dataset: [value for model in models if (value := results.mean(dataset, model)) is not None] for dataset in sets
    }
    learned = {dataset for dataset, model in results.records if model not in CONTROLS}
    best = {dataset: max(found) if len(found) > 1 and dataset in learned else None for dataset, found in means.items()}
    rows = []
    for model in models:
        cells = []
        for dataset in sets:
            text = results.cell(dataset, model)
            value = results.mean(dataset, model)
            cells.append(f"**{text}**" if value is not None and value == best[dataset] else text)
        rows.append([MODELS[model], *cells])
    return markdown(["test, %", *sets.values()], rows)


def graph_models(results: Results) -> str:
    """Graph classification: all models, headline rule."""
    return models_by_set(results, GRAPH_SETS)


def node_models(results: Results) -> str:
    """Node classification: all models, headline rule."""
    return models_by_set(results, NODE_SETS)


def graph_differences(results: Results) -> str:
    """`stable` minus each other network, fold by fold: the mean in points and its standard error."""
    rows = []
    for model in ("gcn", "gat", "gin", "film"):
        pairs = [(results.records.get((name, "msh-stable")), results.records.get((name, model))) for name in GRAPH_SETS]
        rows.append([f"`stable` - {MODELS[model]}", *(_paired_difference(*pair) for pair in pairs)])
    return markdown(["points", *GRAPH_SETS.values()], rows)


def _paired_difference(ours: Record | None, other: Record | None) -> str:
    """Mean and standard error over folds; a dash unless both models were given the same ones."""
    if ours is None or other is None or _folds_given(ours) != _folds_given(other):
        return "–"
    return _mean_difference(100 * (_accuracies_by_fold(ours) - _accuracies_by_fold(other)), digits=1)


def _mean_difference(folds: NDArray[np.float64], digits: int) -> str:
    """The mean with its sign, and its standard error."""
    error = folds.std(ddof=1) / math.sqrt(len(folds))
    return f"{round(folds.mean(), digits) + 0.0:+.{digits}f} ± {error:.{digits}f}"  # adding zero turns -0.0 into +0.0


def _accuracies_by_fold(record: Record) -> NDArray[np.float64]:
    return np.array(record.rules[HEADLINE].per_fold)


def graph_losses(results: Results) -> str:
    """Test loss at the epoch of each fold's lowest validation loss; in brackets how much more than `stable`'s."""
    rows = []
    for model in ("msh-stable", "gcn", "gat", "gin", "film", "mlp"):
        pairs = [(results.records.get((name, "msh-stable")), results.records.get((name, model))) for name in GRAPH_SETS]
        rows.append([MODELS[model], *(_test_loss(*pair) for pair in pairs)])
    return markdown(["test loss", *GRAPH_SETS.values()], rows)


def _test_loss(ours: Record | None, other: Record | None) -> str:
    """The other's mean, and the paired difference with its standard error unless the other is ours."""
    if other is None:
        return "–"
    theirs = _losses_by_fold(other)
    if ours is None or ours is other or _folds_given(ours) != _folds_given(other):
        return f"{theirs.mean():.3f}"
    return f"{theirs.mean():.3f} ({_mean_difference(theirs - _losses_by_fold(ours), digits=3)})"


def _losses_by_fold(record: Record) -> NDArray[np.float64]:
    """The test loss of every fold at the epoch whose validation loss is lowest: nothing is chosen on test."""
    folds = [result.curves for result in record.run.results]
    return np.array([fold.test_loss[np.nanargmin(fold.validation_loss)] for fold in folds])


def _folds_given(record: Record) -> tuple[str, list[FoldKey]]:
    """Which splits a run had, and which seeds and folds of them."""
    return record.run.info.splits_checksum, [result.key for result in record.run.results]


def rules_by_set(results: Results) -> str:
    """MSH-GNN `stable` under all five rules beside the paper's number and the 1-WL ceiling."""
    ceilings = results.measurements.get("ceilings", {})
    paper = paper_figures()
    rows = []
    for dataset, title in GRAPH_SETS.items():
        ceiling = f"{ceilings[dataset]:.1f}" if dataset in ceilings else "–"
        cells = [results.cell(dataset, "msh-stable", rule) for rule in RULES]
        rows.append([title, *cells, str(paper[dataset]), ceiling])
    marked = [f"`{rule}`" for rule in RULES]
    return markdown(["MSH-GNN `stable`, %", *marked, "paper prints", "1-WL ceiling"], rows)


def joint(results: Results) -> str:
    """The joint structure-frequency task: accuracy of the three variants, parameters, inference time and memory."""
    costs = results.measurements.get("joint-cost", {})
    models = [model for model in MODELS if any((dataset, model) in results.records for dataset in JOINT_SETS)]
    rows = []
    for model in models:
        record = next(results.records[key] for key in results.records if key[1] == model and key[0] in JOINT_SETS)
        cost = costs.get(model)
        rows.append(
            [
                MODELS[model],
                f"{record.parameters:,}" if record.parameters else "–",
                *(results.cell(dataset, model) for dataset in JOINT_SETS),
                f"{cost['inference_ms']:.1f}" if cost else "–",
                f"{cost['peak_mb']:.1f}" if cost else "–",
            ]
        )
    ceilings = [f"{100 * StructureFrequencyDataset.variant(title).ceiling():.1f}" for title in JOINT_SETS.values()]
    rows.append(["*ceiling of the task*", "", *ceilings, "", ""])
    return markdown(["test accuracy, %", "parameters", *JOINT_SETS.values(), "inference, ms", "peak memory, MB"], rows)


def capacity(results: Results) -> str:
    """What a long run without regularisation memorises, under the rule behind the paper's numbers."""
    paper = paper_figures()
    rows = []
    for dataset, title in GRAPH_SETS.items():
        record = results.capacity.get((dataset, "msh-stable"))
        if record is None:
            continue
        folds = record.run.results
        trained = sum(fold.curves.train_metric.max() for fold in folds) / len(folds)
        rows.append(
            [
                f"{title} ({_runs(record)})",
                f"{100 * trained:.1f}",
                cell(record, "whole_set_best"),
                cell(results.capacity.get((dataset, "wl-lookup")), "whole_set_best"),
                str(paper[dataset]),
            ]
        )
    header = ["%", "training graphs", "all graphs", "1-WL lookup table", "paper prints"]
    return markdown(header, rows)


def _runs(record: Record) -> str:
    """``10 folds``, or ``5 seeds`` where there is one fold alone."""
    results = record.run.results
    kind = "seed" if len({result.key.fold for result in results}) < len(results) else "fold"
    return f"{len(results)} {kind}" + ("" if len(results) == 1 else "s")


def trials(results: Results, question: str) -> str:
    """Trials of one question by change (the experiment's ``about``) and data set: ``metric (loss)``, on validation.

    The metric is the best of each fold, averaged. The loss is that of all folds together, at its best epoch.
    """
    found: dict[str, dict[str, str]] = {}
    for record in results.trials.get(question, []):
        experiment = record.run.info.experiment
        folds = [fold.curves for fold in record.run.results]
        best = mean(float(fold.validation_metric.max()) for fold in folds)
        longest = max(fold.epochs for fold in folds)
        losses = sum(extended(fold.validation_loss, longest) for fold in folds) / len(folds)
        column = f"{SETS[experiment.dataset.name]} ({_runs(record)})"
        found.setdefault(experiment.about, {})[column] = f"{100 * best:.1f} ({np.min(losses):.3f})"
    columns = list(dict.fromkeys(column for row in found.values() for column in row))
    rows = [[change, *(values.get(column, "–") for column in columns)] for change, values in found.items()]
    return markdown(["best validation, % (lowest loss)", *columns], rows)


def bench(results: Results) -> str:
    """The goals of the speed comparison, and what each committed run of it measured, one column a run."""
    runs = [run for name, run in sorted(results.measurements.items()) if name.startswith("bench-compare")]
    goals = {goal["text"]: goal for run in runs for goal in run["goals"]}
    measured = [{goal["text"]: goal for goal in run["goals"]} for run in runs]
    rows = [
        [
            text,
            f"{'at least' if goal['at_least'] else 'at most'} {goal['bound']:g}",
            *(_reached(run.get(text)) for run in measured),
        ]
        for text, goal in goals.items()
    ]
    return markdown(["ratio in one run", "goal", *(_machine(run["environment"]) for run in runs)], rows)


def _reached(goal: dict[str, Any] | None) -> str:
    """What was measured for a goal, and whether that misses it; a dash where a run left it out."""
    if goal is None:
        return "–"
    return f"{goal['measured']:.2f}" + ("" if goal["met"] else " (missed)")


def _machine(environment: dict[str, Any]) -> str:
    """The processor, and what malloc did with freed memory where it was told."""
    processor = str(environment["processor"]).replace("(R)", "").removesuffix(" Processor")
    return processor + (", freed memory kept" if environment.get("freed_memory") == "kept" else "")


TRIAL_QUESTIONS = ("options", "hubs", "head", "dropout", "depth", "joint", "phase")
"""What trials were run for: single options of ``stable``, sets with hubs, layers of the head, dropout on small sets,
depth on node sets, the joint task within its parameter budget, how receivers condition phases."""

TABLES: dict[str, Callable[[Results], str]] = {
    "graph-models": graph_models,
    "graph-differences": graph_differences,
    "graph-losses": graph_losses,
    "graph-rules": rules_by_set,
    "node-models": node_models,
    "joint": joint,
    "capacity": capacity,
    **{f"trials-{question}": partial(trials, question=question) for question in TRIAL_QUESTIONS},
    "bench": bench,
}

_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, results: Results) -> str:
    """``text`` with every ``<!-- table: NAME -->`` block made anew."""

    def fill(block: re.Match[str]) -> str:
        name = block["name"]
        if name not in TABLES:
            raise ValueError(f"there is no table {name!r}; known: {', '.join(TABLES)}")
        return f"{block[1]}{TABLES[name](results)}\n{block[3]}"

    return _BLOCK.sub(fill, text)


def stale(pages: Sequence[Path], results: Results) -> list[Path]:
    """The pages whose tables differ from what the records say."""
    return [
        page for page in pages if filled(page.read_text(encoding="utf-8"), results) != page.read_text(encoding="utf-8")
    ]

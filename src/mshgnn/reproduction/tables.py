"""The tables of README and docs, made from the committed records and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mshgnn.evaluation.rules import HEADLINE, RULES
from mshgnn.files import read_text
from mshgnn.report.markdown import fill_tables, markdown
from mshgnn.reproduction import scale
from mshgnn.reproduction.authors import authors
from mshgnn.reproduction.exported import exported
from mshgnn.reproduction.goals import goals
from mshgnn.reproduction.layout import CONTROLS, GRAPH_SETS, JOINT_SETS, MODELS, NODE_SETS, TUNED
from mshgnn.reproduction.memorised import as_released, capacity
from mshgnn.reproduction.missing import Missing
from mshgnn.reproduction.molecules import table as molecule_tables
from mshgnn.reproduction.node_memory import node_memory
from mshgnn.reproduction.noise import graph_noise
from mshgnn.reproduction.paired import MESSAGES, graph_differences, graph_losses
from mshgnn.reproduction.printed import graph_printed, node_printed
from mshgnn.reproduction.published import held_out_figures, paper_figures
from mshgnn.reproduction.results import WORTH_SUITES, Results, cell, runs
from mshgnn.reproduction.selection_bias import selection_bias
from mshgnn.reproduction.trials import TRIAL_QUESTIONS, trials
from mshgnn.reproduction.worth import worth, worth_costs


def models_by_set(results: Results, sets: dict[str, str], shown: Iterable[str] = MODELS) -> str:
    """``best_validation`` of the models shown that were run on any of the sets; the best mean of several in bold.

    Means that read alike are bold alike. Nothing is bold where controls alone were run: they are there to be beaten. A
    dash says why where there is a reason.
    """
    models = [model for model in shown if any((dataset, model) in results.records for dataset in sets)]
    means = {
        dataset: [value for model in models if (value := results.mean(dataset, model)) is not None] for dataset in sets
    }
    learned = {dataset for dataset, model in results.records if model not in CONTROLS}
    best = {dataset: max(found) if len(found) > 1 and dataset in learned else None for dataset, found in means.items()}
    missing = Missing(results)
    rows = []
    for model in models:
        cells = []
        for dataset in sets:
            value = results.mean(dataset, model)
            text = missing.dash(dataset, model) if value is None else results.cell(dataset, model)
            cells.append(f"**{text}**" if value is not None and value == best[dataset] else text)
        rows.append([MODELS[model], *cells])
    return markdown(["test, %", *sets.values()], rows)


def graph_models(results: Results) -> str:
    """Graph classification: all models, headline rule."""
    return models_by_set(results, GRAPH_SETS)


def readme(results: Results) -> str:
    """Graph classification in five rows: ours, the two usual messages, no message, no model."""
    return models_by_set(results, GRAPH_SETS, ("msh-stable", "gcn", "gin", "mlp", "majority"))


def node_models(results: Results) -> str:
    """Node classification: all models, headline rule."""
    return models_by_set(results, NODE_SETS)


def node_tuned(results: Results) -> str:
    """Recipes of others run here, beside what was published for them and beside `stable`, by two rules.

    Each is also shown with its epochs chosen on test: how far above the headline that alone brings a figure.
    """
    rules = (HEADLINE, "best_test_per_fold")
    rows = []
    for dataset, title in NODE_SETS.items():
        for model, name in TUNED.items():
            record = results.records.get((dataset, model))
            if record is not None:
                published = held_out_figures(f"tuned {name}").get(dataset, "–")
                here = [cell(record, rule) for rule in rules]
                ours = [results.cell(dataset, "msh-stable", rule) for rule in rules]
                rows.append([f"{title}, {name} ({runs(record)})", str(published), *here, *ours])
    by_rule = [f"{who}, `{rule}`" for who in ("the same recipe here", "MSH-GNN `stable`") for rule in rules]
    return markdown(["test, %", "published", *by_rule], rows)


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
    limits = results.measurements.get("joint-limits", {})
    for title, limit in (("what family, size and eigenvalue tell", "eigenvalue"), ("ceiling of the task", "ceiling")):
        cells = [f"{limits[dataset][limit]:.1f}" if dataset in limits else "–" for dataset in JOINT_SETS]
        rows.append([f"*{title}*", "", *cells, "", ""])
    return markdown(["test accuracy, %", "parameters", *JOINT_SETS.values(), "inference, ms", "peak memory, MB"], rows)


def joint_rules(results: Results) -> str:
    """The joint structure-frequency task under all five rules, one row a network and variant."""
    networks = [model for model in MODELS if model not in CONTROLS]
    rows = [
        [f"{MODELS[model]}, {title}", *(results.cell(dataset, model, rule) for rule in RULES)]
        for model in networks
        for dataset, title in JOINT_SETS.items()
        if (dataset, model) in results.records
    ]
    return markdown(["accuracy, %", *(f"`{rule}`" for rule in RULES)], rows)


def bench(results: Results) -> str:
    """The goals of the speed comparison, and what each committed run of it measured, one column per run."""
    measured = [run for name, run in sorted(results.measurements.items()) if name.startswith("bench/")]
    by_text = [{goal["text"]: goal for goal in run["goals"]} for run in measured]
    goals = {text: goal for run in by_text for text, goal in run.items()}
    rows = [
        [
            text,
            f"{goal['bound']:g}",
            *(_reached(run.get(text)) for run in by_text),
        ]
        for text, goal in goals.items()
    ]
    return markdown(["ratio in one run", "at most", *(_conditions(run["environment"]) for run in measured)], rows)


def _reached(goal: dict[str, Any] | None) -> str:
    """What was measured for a goal, and where it is missed what the layer's parts alone would reach."""
    if goal is None:
        return "–"
    missed = "(missed)" if goal.get("parts") is None else f"(missed; parts {goal['parts']:.2g})"
    return f"{goal['measured']:.2g}" + ("" if goal["met"] else f" {missed}")


def _conditions(environment: dict[str, Any]) -> str:
    """Threads, and what malloc did with freed memory."""
    threads = int(environment["threads"])
    return f"{threads} thread{'s' if threads > 1 else ''}, freed memory {environment['freed_memory']}"


def bench_scale(results: Results) -> str:
    """A full-batch training step as the graph grows, beside the same work without what bounds it."""
    found = results.measurements.get("bench-scale", {"rows": [], "local_rows": [], "kept_rows": []})
    kept = {row["edges"]: f"{row['step_seconds']:.3g}" for row in found["kept_rows"]}
    rows = [
        [
            f"{row['edges']:,}",
            f"{row['nodes']:,}",
            f"{row['step_seconds']:.3g}",
            f"{twin['step_seconds']:.3g}",
            kept.get(row["edges"], "–"),
            f"{row['peak_bytes'] / 1e9:.1f}",
        ]
        for row, twin in zip(found["rows"], found["local_rows"], strict=True)
    ]
    heads = ["step, s", "senders in the cache, s", "freed memory kept, s", "peak memory, GB"]
    return markdown(["directed edges", "nodes", *heads], rows)


def fuzz(results: Results) -> str:
    """What the last run of ``make fuzz`` tried, one row per kind of cases."""
    rows = [
        [kind, entry["promise"], f"{entry['cases']:,}", str(entry["failures"]), str(entry["seed"]), entry["date"]]
        for kind, entry in results.measurements.get("fuzz", {}).items()
    ]
    return markdown(["generated cases", "promise", "run", "failed", "seed", "date"], rows)


def molecules(results: Results) -> str:
    """Own data: tables of molecules, every system on the same splits."""
    return molecule_tables.accuracy(results.measurements)


def molecule_times(results: Results) -> str:
    """What the same commands cost."""
    return molecule_tables.times(results.measurements)


def models(results: Results, tasks: tuple[str, ...]) -> str:
    """The models of the registry for these tasks."""
    from mshgnn.reproduction.models_table import models_table  # with torch, which no record needs

    return models_table(tasks)


def model_origins(results: Results) -> str:
    """Whose code the models are."""
    from mshgnn.reproduction.models_table import origins_table

    return origins_table()


def who_separates(results: Results) -> str:
    """Which models tell which graphs apart."""
    from mshgnn.reproduction import separation  # with torch, too

    return separation.who_separates()


TABLES: dict[str, Callable[[Results], str]] = {
    "readme": readme,
    "graph-models": graph_models,
    "graph-printed": graph_printed,
    "graph-differences": graph_differences,
    "message-differences": partial(graph_differences, models=MESSAGES),
    "graph-noise": graph_noise,
    "graph-losses": graph_losses,
    "graph-rules": rules_by_set,
    "node-models": node_models,
    "node-tuned": node_tuned,
    "node-memory": node_memory,
    "node-printed": node_printed,
    "goals": goals,
    "joint": joint,
    "joint-rules": joint_rules,
    "capacity": capacity,
    "as-released": as_released,
    "selection-bias": selection_bias,
    **{f"trials-{question}": partial(trials, question=question) for question in TRIAL_QUESTIONS},
    **{f"worth-{suite}": partial(worth, suite=suite) for suite in WORTH_SUITES},
    **{f"costs-{suite}": partial(worth_costs, suite=suite) for suite in WORTH_SUITES},
    "bench": bench,
    "bench-scale": bench_scale,
    "molecules": molecules,
    "exported": exported,
    "molecule-times": molecule_times,
    "models-graph-node": partial(models, tasks=("graph", "node")),
    "models-graph": partial(models, tasks=("graph",)),
    "models-node": partial(models, tasks=("node",)),
    "models-origins": model_origins,
    "models-authors": authors,
    "fuzz": fuzz,
    "scale-accuracy": scale.accuracy,
    "scale-whole": scale.whole,
    "scale-huge": scale.huge,
    "scale-million": scale.million,
    "scale-costs": scale.costs,
    "scale-steps": scale.steps,
    "scale-machines": scale.machines,
    "workers": scale.workers,
    "who-separates": who_separates,
}


def filled(text: str, results: Results) -> str:
    """``text`` with every table that it names made from the records."""
    return fill_tables(text, {name: partial(table, results) for name, table in TABLES.items()})


def stale(pages: Sequence[Path], results: Results) -> list[Path]:
    """The pages whose tables differ from what the records say."""
    return [page for page in pages if filled(text := read_text(page), results) != text]

"""``mshgnn explain``: rows of a file, asked one by one why the model says what it says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.readers.asked import Row
from mshgnn.errors import UserError, did_you_mean
from mshgnn.explanation.fidelity import Fidelity, Ruler
from mshgnn.explanation.methods import METHODS, Importance, energy_by_band, energy_obstacle
from mshgnn.explanation.question import Question, around_node
from mshgnn.explanation.rows import Chosen, choose_rows
from mshgnn.explanation.substructures import Substructure, in_graph, in_molecule, ranked
from mshgnn.predictor.ensemble import Ensemble


@dataclass(frozen=True)
class Finding:
    """What one method says. Where signed, the numbers of a regression are in the units of its target."""

    method: str
    importance: Importance
    fidelity: Fidelity | None
    """``None`` for a graph of too few nodes."""
    substructures: tuple[Substructure, ...]

    @property
    def verdict(self) -> str:
        """Whether to believe it, in words."""
        return "too few nodes to say whether to believe it" if self.fidelity is None else self.fidelity.verdict


@dataclass(frozen=True)
class Explanation:
    """One item, what the model says of it, and what each method makes of that, the most faithful first."""

    title: str
    where: str
    prediction: str
    truth: str
    """As the file has it, empty where it does not."""
    smiles: str | None
    links: Tensor
    """``[2, L]``."""
    node_names: tuple[str, ...]
    node: int | None
    """The node that is asked about, on a node task."""
    findings: tuple[Finding, ...]
    left_out: dict[str, str]
    """Why a method has nothing to say."""
    bands: dict[float, float]
    """The share of the messages' energy by frequency; empty for a model without bands."""


def explain_file(
    model: Ensemble,
    path: Path,
    *,
    rows: Sequence[int] = (),
    ids: Sequence[str] = (),
    target: str | None = None,
    class_name: str | None = None,
    methods: Sequence[str] = (),
) -> list[Explanation]:
    """Explain rows of a file, counted from 0, or the items with these ids.

    Args:
        model: as ``mshgnn train`` wrote it; of an ensemble the members' explanations are averaged.
        path: of a file that ``mshgnn predict`` takes.
        rows: which rows; on a node task which nodes.
        ids: the same by the cells of the id column.
        target: which of several targets.
        class_name: why this class, and not the one that is predicted.
        methods: names among ``METHODS``; all that the model admits where none is named.
    """
    for name in methods:
        if name not in METHODS:
            raise UserError(f"--method: unknown method {name!r}{did_you_mean(name, METHODS)}")
    place = _target(model, target)
    given = None if class_name is None else _class(model, class_name)
    return [_explain(model, item, place, given, methods) for item in choose_rows(model, path, rows, ids)]


def _target(model: Ensemble, name: str | None) -> int:
    names = model.target_names
    if name is None:
        if len(names) > 1:
            raise UserError(f"--target: the model has {len(names)} targets, name one{did_you_mean('', names)}")
        return 0
    if name not in names:
        raise UserError(f"--target: the model has no target {name!r}{did_you_mean(name, names)}")
    return names.index(name)


def _class(model: Ensemble, name: str) -> int:
    if model.schema.objective not in ("classify", "rank"):
        raise UserError(f"--class {name}: the model predicts no classes ({model.schema.objective})")
    return model.schema.class_number(name, "--class")


def _explain(model: Ensemble, item: Chosen, target: int, given: int | None, methods: Sequence[str]) -> Explanation:
    schema = model.schema
    encoded = model.encode(item.graph, item.row.where)
    values = model.predict([encoded]).values[item.node or 0]
    classes = schema.objective in ("classify", "rank")
    output = (int(values.argmax()) if given is None else given) if classes else target
    against = schema.objective == "multilabel" and float(values[output]) <= 0.5
    graphs, node, numbers = _part_that_counts(model, encoded, item.node)
    questions = tuple(
        Question(member.model, graph, schema.objective, output, -1 if against else 1, node)
        for member, graph in zip(model.members, graphs, strict=True)
    )
    names = tuple(item.node_names[number] for number in numbers.tolist())
    unit = schema_unit(model, target)
    ruler = Ruler(questions)
    findings, left_out = [], {}
    for method in methods or METHODS:
        reason = METHODS[method].obstacle(questions[0])
        if reason is not None:
            left_out[method] = reason
            continue
        findings.append(_find(method, questions, ruler, unit, names, item.smiles))
    if not findings:
        raise UserError(f"{item.row.where}: " + "; ".join(f"{name}: {reason}" for name, reason in left_out.items()))
    findings.sort(key=lambda finding: -(finding.fidelity.score if finding.fidelity else 0.0))
    name = model.target_names[target]
    return Explanation(
        item.title,
        item.row.where,
        _said(model, name, values, output),
        _truth(item.row, name),
        item.smiles,
        questions[0].links,
        names,
        node,
        tuple(findings),
        left_out,
        _bands(questions),
    )


def _part_that_counts(
    model: Ensemble, encoded: tuple[Data, ...], node: int | None
) -> tuple[Sequence[Data], int | None, Tensor]:
    if node is None:
        return encoded, None, torch.arange(encoded[0].x.size(0))
    return around_node([member.model for member in model.members], encoded, node)


def schema_unit(model: Ensemble, target: int) -> float:
    """What a score of the model is worth in the units of the file."""
    deviations = model.members[0].schema.target_std
    return deviations[target] if deviations else 1.0


def _find(
    method: str, questions: tuple[Question, ...], ruler: Ruler, unit: float, names: Sequence[str], smiles: str | None
) -> Finding:
    signed = METHODS[method].signed
    each = [METHODS[method].compute(question) for question in questions]
    nodes, links = (torch.stack(values).mean(dim=0) for values in zip(*((i.nodes, i.links) for i in each), strict=True))
    fidelity = None
    if ruler.obstacle is None:
        # A class or label is lost when its score falls; a number may move either way.
        fidelity = ruler.measure(nodes, signed=signed or questions[0].objective != "regress")
    groups = in_graph(questions[0].links, links, names) if smiles is None else in_molecule(smiles)
    scale = unit if signed else 1.0
    importance = Importance(scale * nodes, scale * links)
    return Finding(method, importance, fidelity, tuple(ranked(groups, importance.nodes)))


def _said(model: Ensemble, name: str, values: Tensor, output: int) -> str:
    value = float(values[output])
    if model.schema.objective == "regress":
        return f"{name} = {value:.4g}"
    if model.schema.objective == "multilabel":
        return f"{name} = {int(value > 0.5)} (probability of 1: {value:.3g})"
    best = int(values.argmax())
    if output != best:
        return f"why {name} = {model.schema.class_names[output]} (probability {value:.3g})"
    return f"{name} = {model.schema.class_names[best]} (probability {value:.3g})"


def _truth(row: Row, name: str) -> str:
    value = row.targets.get(name)
    return "" if value is None else str(value).strip()


def _bands(questions: Iterable[Question]) -> dict[float, float]:
    """The share of the energy by band, over all edges and members."""
    shares: dict[float, list[float]] = {}
    for question in questions:
        if energy_obstacle(question) is not None:
            continue
        energy = energy_by_band(question).sum(dim=0)
        message = question.model.get_submodule("layers.0.message")
        for frequency, share in zip(message.encoding.frequencies.tolist(), energy / energy.sum(), strict=True):  # type: ignore[union-attr, operator]
            shares.setdefault(round(frequency, 3), []).append(float(share))
    return {frequency: sum(values) / len(values) for frequency, values in shares.items()}

"""What was learnt of the data besides the weights: vocabulary, classes, columns, degree cap, scaling.

A schema is made from the training part alone, saved as JSON beside a model, and given to the reader of any later file,
so that every label finds its own column and every class its own number again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import METRICS, DataError, GraphDataset, Metric, Objective, Task
from mshgnn.data.limits import FLOAT, check_file, check_growth, check_limit
from mshgnn.data.mapped import MAPPED
from mshgnn.errors import did_you_mean
from mshgnn.files import parse_json

Label = int | str
Unseen = Literal["other", "error"]
VERSION = 1


@dataclass(frozen=True)
class Schema:
    """Everything that decides which column and which number a thing of a file becomes.

    Args:
        task: graph or node.
        objective: what the targets ask for.
        metric: what they are measured by.
        target_names: target columns, in the order of a model's outputs.
        class_names: classes, in the order of a model's outputs.
        node_labels: labels in the order of their one-hot columns, which are the last; ``unseen="other"`` has one more.
        feature_names: columns of numbers that are node features.
        edge_names: columns of numbers that are edge features.
        edge_labels: labels of edges in the order of their one-hot columns, after any numbers; another is refused.
        columns: the other columns by their role: ``smiles``, ``id``, ``split``.
        degree_cap: degrees from here on share the last column, where degrees are the features; else ``None``.
        unseen: a label that is not in ``node_labels`` goes to the ``other`` column, or is an ``error``.
        feature_mean: subtracted from the node features, and
        feature_std: they are divided by it; both empty for none.
        target_mean: of the training targets, for a model that learns them in units of
        target_std: their standard deviation; targets themselves are never scaled here.
    """

    task: Task
    objective: Objective
    metric: Metric
    target_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    node_labels: tuple[Label, ...] = ()
    feature_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()
    edge_labels: tuple[Label, ...] = ()
    columns: Mapping[str, str] | None = None
    degree_cap: int | None = None
    unseen: Unseen = "error"
    feature_mean: tuple[float, ...] = ()
    feature_std: tuple[float, ...] = ()
    target_mean: tuple[float, ...] = ()
    target_std: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a schema that contradicts itself."""
        if self.task not in get_args(Task) or self.objective not in METRICS or self.unseen not in get_args(Unseen):
            raise DataError(f"schema: task {self.task!r}, objective {self.objective!r} or unseen {self.unseen!r}")
        if self.metric not in METRICS[self.objective]:
            valid = ", ".join(METRICS[self.objective])
            raise DataError(f"schema: metric {self.metric!r} is not one of {self.objective!r}; valid: {valid}")
        for key in ("target_names", "class_names", "node_labels", "feature_names", "edge_names", "edge_labels"):
            if len(set(getattr(self, key))) != len(getattr(self, key)):
                raise DataError(f"schema: {key} holds a name twice")
        for mean, std in ((self.feature_mean, self.feature_std), (self.target_mean, self.target_std)):
            if len(mean) != len(std) or not all(map(math.isfinite, (*mean, *std))) or any(value <= 0 for value in std):
                raise DataError("schema: means and deviations must be finite, as many of each, deviations positive")

    @property
    def label_columns(self) -> int:
        """How many of the last node features are one-hot labels."""
        return len(self.node_labels) + (self.unseen == "other") if self.node_labels else 0

    def one_hot(self, labels: Sequence[Label], where: str | Path) -> Tensor:
        """Labels as float32 ``[n, vocabulary]``, with the ``other`` column last; an unseen one is never mistaken."""
        width = self.label_columns
        check_limit("columns", width, f"{where}: different node labels")
        check_limit("memory", FLOAT * width * len(labels), where)
        place = {label: index for index, label in enumerate(self.node_labels)}
        codes = [place.get(label, -1) for label in labels]
        if self.unseen == "error" and -1 in codes:
            label = labels[codes.index(-1)]
            raise DataError(f"{where}: node label {label!r} was not in the training data (unseen='other' takes it)")
        rows = torch.zeros(len(labels), width)
        rows[torch.arange(len(labels)), torch.tensor(codes, dtype=torch.long) % width] = 1.0  # -1 is the last
        return rows

    def degrees(self, edge_index: Tensor, num_nodes: int, where: str | Path) -> Tensor:
        """One-hot degrees, ``degree_cap + 1`` columns."""
        cap = self.degree_cap or 0
        check_limit("memory", FLOAT * num_nodes * (cap + 1), where)
        check_growth(FLOAT * num_nodes * (cap + 1), edge_index.nbytes, where)  # nodes without edges cost a file nothing
        counts = torch.bincount(edge_index[1], minlength=num_nodes).clamp(max=cap)
        return torch.nn.functional.one_hot(counts, cap + 1).to(torch.float32)

    def features(self, raw: Data, where: str | Path) -> Tensor:
        """The columns of a graph as it stands in a file: ``x`` as numbers, or ``labels``, or both, or neither."""
        x: Tensor | None = raw.get("x")
        labels: Sequence[Label] | None = raw.get("labels")
        if self.node_labels:
            if labels is None:
                raise DataError(f"{where}: no node_labels, which the model was trained on")
            coded = self.one_hot(labels, where)
            return coded if x is None else torch.cat([self.scaled(x, where), coded], dim=1)
        if self.degree_cap is not None:
            if x is not None or labels is not None:
                raise DataError(f"{where}: nodes with features or labels; the model was trained on degrees alone")
            return self.degrees(raw.edge_index, int(raw.num_nodes), where)
        if x is None:
            raise DataError(f"{where}: no node features, which the model was trained on")
        return self.scaled(x, where)

    def class_number(self, name: str, where: str) -> int:
        """The number of a class; one that was not in the training data is refused with those that were."""
        try:
            return self.class_names.index(name)
        except ValueError as error:
            hint = did_you_mean(name, self.class_names)
            raise DataError(f"{where}: class {name!r} was not in the training data{hint}") from error

    def scaled(self, x: Tensor, where: str | Path) -> Tensor:
        """Node features in the units of the training part."""
        if not self.feature_mean:
            return x
        if x.shape[1] != len(self.feature_mean):
            raise DataError(f"{where}: {x.shape[1]} node features, the model was trained on {len(self.feature_mean)}")
        return (x - torch.tensor(self.feature_mean)) / torch.tensor(self.feature_std)

    def from_training(self, dataset: GraphDataset, train: Tensor, *, unseen: Unseen = "other") -> Schema:
        """The schema of a whole file, cut down to what its training part shows.

        Args:
            dataset: what a reader made with this schema, features unscaled.
            train: indices of the training part.
            unseen: what becomes of labels that only the rest has.
        """
        targets = dataset.labels()[train]
        changes: dict[str, Any] = {"unseen": unseen}
        if MAPPED not in dataset.graphs[0]:  # a graph on the disk keeps its features as they are
            changes |= self._features_of(_training_rows(dataset, train))
        if self.objective == "regress":
            changes["target_mean"], changes["target_std"] = _moments(targets)
        elif self.class_names:
            there = set(targets.tolist())
            changes["class_names"] = tuple(name for number, name in enumerate(self.class_names) if number in there)
        return replace(self, **changes)

    def _features_of(self, rows: Sequence[Tensor]) -> dict[str, Any]:
        """Labels, highest degree and scaling of the training part's node features, a block ``[n, d]`` per graph."""
        if self.degree_cap is not None:
            return {"degree_cap": max(int(block.argmax(dim=1).max()) for block in rows)}
        changes: dict[str, Any] = {}
        numbers = rows[0].shape[1] - self.label_columns
        if self.node_labels:
            seen = torch.stack([block[:, numbers:].ne(0).any(dim=0) for block in rows]).any(dim=0).tolist()
            changes["node_labels"] = tuple(label for label, there in zip(self.node_labels, seen, strict=False) if there)
        two = [((block[:, :numbers] == 0) | (block[:, :numbers] == 1)).all(dim=0) for block in rows]
        amounts = (~torch.stack(two).all(dim=0)).nonzero().flatten()
        if len(amounts):  # columns of 0 and 1 stay as they are: a rare 1 would become a large number
            mean, std = torch.zeros(numbers, dtype=torch.float64), torch.ones(numbers, dtype=torch.float64)
            found = _moments(torch.cat([block[:, amounts] for block in rows]))
            mean[amounts], std[amounts] = (torch.tensor(part, dtype=torch.float64) for part in found)
            changes["feature_mean"], changes["feature_std"] = tuple(mean.tolist()), tuple(std.tolist())
        return changes

    def to_json(self) -> str:
        """The schema as text; ``from_json`` gives an equal one."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str | Path = "schema") -> Schema:
        """Read and check; one of another version, an unknown key or a value of another kind is refused."""
        try:
            content = parse_json(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error})") from error
        if not isinstance(content, dict) or "version" not in content:
            raise DataError(f"{where}: not a schema of version {VERSION}")
        if (version := content.pop("version")) != VERSION:
            raise DataError(
                f"{where}: a schema of version {str(version)[:40]}, written by another mshgnn; this one reads version "
                f"{VERSION}: train again, or use that one"
            )
        known = {field.name: field for field in fields(cls)}
        for key in content:
            if key not in known:
                raise DataError(f"{where}: unknown key {key!r}{did_you_mean(key, known)}")
        missing = [key for key in ("task", "objective", "metric") if key not in content]
        if missing:
            raise DataError(f"{where}: missing key {missing[0]!r}")
        return cls(**{key: _plain(key, value, where) for key, value in content.items()})

    @classmethod
    def load(cls, path: Path) -> Schema:
        """Read a file that ``to_json`` wrote."""
        check_file(path)
        check_limit("line", path.stat().st_size, path)
        try:
            return cls.from_json(path.read_text(encoding="utf-8"), path)
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not UTF-8 text (byte {error.start + 1})") from error


def _training_rows(dataset: GraphDataset, train: Tensor) -> list[Tensor]:
    """The node features ``[n, d]`` of each training graph, or of the training nodes of the one graph."""
    if dataset.task == "graph":
        return [dataset.graphs[index].x for index in train.tolist()]
    return [dataset.graphs[0].x[train]]


def _moments(values: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of every column, blanks left out; a constant column is only centred."""
    mean, std = [], []
    for column in values.double().unbind(dim=1):
        there = column[column.isfinite()]
        mean.append(float(there.mean()) if len(there) else 0.0)
        spread = float(there.std()) if len(there) > 1 else 0.0
        std.append(spread if spread > 1e-12 * max(1.0, abs(mean[-1])) else 1.0)
    return tuple(mean), tuple(std)


def _plain(key: str, value: Any, where: str | Path) -> Any:
    """A value of JSON as the schema holds it, its kind checked."""
    wrong = DataError(f"{where}: {key} has a value of the wrong kind: {str(value)[:40]!r}")
    if key in ("feature_mean", "feature_std", "target_mean", "target_std"):
        if not isinstance(value, list) or not all(isinstance(entry, int | float) for entry in value):
            raise wrong
        return tuple(float(entry) for entry in value)
    if key.endswith(("_names", "_labels")):
        kinds = int | str if key.endswith("_labels") else str
        if not isinstance(value, list) or not all(isinstance(entry, kinds) for entry in value):
            raise wrong
        return tuple(value)
    if key == "columns":
        if value is not None and not (
            isinstance(value, dict) and all(isinstance(name, str) for name in value.values())
        ):
            raise wrong
    elif key == "degree_cap":
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise wrong
    elif not isinstance(value, str):
        raise wrong
    return value

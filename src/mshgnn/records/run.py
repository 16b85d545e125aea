"""A run as plain data: what it is of, and its finished folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mshgnn.evaluation.rules import RuleResult, applicable, evaluate
from mshgnn.records.codec import checksum
from mshgnn.training.curves import Curves

NUMBERS_VERSION = 1
"""Counts up whenever a change of the code moves the numbers of any experiment: folds of two versions are not mixed."""

CUT_DEGREES_VERSION = 2
"""Instead of it for runs in which a training part lacks degrees that the whole set has: version 1 gave its model
columns for them. All other runs kept their numbers and go on. The next :data:`NUMBERS_VERSION`, for all, is 3."""


class FoldKey(NamedTuple):
    """Which fold of which seed."""

    seed: int
    fold: int

    def __str__(self) -> str:
        """The stem of the fold's file."""
        return f"seed{self.seed}-fold{self.fold:02d}"


@dataclass(frozen=True)
class FoldResult:
    """A finished fold: its curves, what it took, and where it was computed."""

    key: FoldKey
    curves: Curves
    seconds: float
    peak_memory_mb: float
    parameters: int
    environment: Mapping[str, str]

    @property
    def version(self) -> str:
        """The version of the package that computed it."""
        return package_version(self.environment)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "seed": self.key.seed,
            "fold": self.key.fold,
            "curves": self.curves.to_dict(),
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_memory_mb,
            "parameters": self.parameters,
            "environment": dict(self.environment),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FoldResult:
        """The inverse of :meth:`to_json`."""
        return cls(
            key=FoldKey(values["seed"], values["fold"]),
            curves=Curves.from_dict(values["curves"]),
            seconds=float(values["seconds"]),
            peak_memory_mb=float(values["peak_memory_mb"]),
            parameters=int(values["parameters"]),
            environment=dict(values["environment"]),
        )


@dataclass(frozen=True)
class RunInfo:
    """What a run is of: fixed when its folder is made, checked whenever it is continued."""

    experiment: Mapping[str, Any]
    """The whole experiment, defaults included, as plain JSON values."""
    keys: tuple[FoldKey, ...]
    task: str
    metric: str
    dataset_checksum: str
    splits_name: str
    splits_checksum: str
    environment: Mapping[str, str]
    numbers: int = 0
    """The version of the numbers (see :data:`NUMBERS_VERSION`); 0 in runs from before there was one."""

    @property
    def digest(self) -> str:
        """Changes with everything that decides the numbers of a fold but the package's :attr:`version`."""
        return checksum(
            [decisive(self.experiment), self.dataset_checksum, self.splits_checksum, self.metric, self.numbers]
        )

    @property
    def version(self) -> str:
        """The package's version: checked beside the digest, since every fold names the one that computed it."""
        return package_version(self.environment)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment["name"]

    @property
    def about(self) -> str:
        """The experiment's remark for readers."""
        return self.experiment.get("about", "")

    @property
    def dataset(self) -> str:
        """The data set's name."""
        return self.experiment["dataset"]["name"]

    @property
    def model(self) -> str:
        """The model's name."""
        return self.experiment["model"]["name"]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the run, in order."""
        return tuple(dict.fromkeys(key.seed for key in self.keys))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "experiment": dict(self.experiment),
            "keys": [list(key) for key in self.keys],
            "environment": dict(self.environment),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunInfo:
        """The inverse of :meth:`to_json`."""
        experiment = values["experiment"]
        if not all(isinstance(experiment[part]["name"], str) for part in ("dataset", "model")):
            raise ValueError("the experiment's data set and model have no names")
        return cls(
            **{name: values[name] for name in cls.__dataclass_fields__ if name in values}
            | {"keys": tuple(FoldKey(*key) for key in values["keys"]), "environment": dict(values["environment"])},
        )


def package_version(environment: Mapping[str, str]) -> str:
    """The version of this package that an environment names; empty where it names none."""
    return environment.get("mshgnn", "")


def decisive(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """What of an experiment decides its numbers: everything but the name and the remark."""
    return {key: value for key, value in experiment.items() if key not in ("name", "about")}


@dataclass(frozen=True)
class Run:
    """A run: what it is of, and its finished folds in order."""

    info: RunInfo
    results: tuple[FoldResult, ...]

    @cached_property
    def rules(self) -> dict[str, RuleResult]:
        """All rules that the folds allow, computed from the curves, grouped by seed; the headline comes first."""
        seeds: dict[int, list[Curves]] = {}
        for result in self.results:
            seeds.setdefault(result.key.seed, []).append(result.curves)
        allowed = applicable([result.curves for result in self.results])
        return {name: evaluate(rule, list(seeds.values())) for name, rule in allowed.items()}

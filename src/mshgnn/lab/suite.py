"""Suites: a recipe, data sets and models, and an experiment for every data set and model.

name: graph                          # by default the file's name
about: what the suite is for
recipe:                              # a piece of an experiment: what all cells have
  training: {learning_rate: 2e-3, epochs: 60}
datasets:
  MUTAG: {training: {epochs: 150}, model: {dropout: 0.5}}
  COLLAB: {models: [gcn, gin]}       # only these models
models:
  gcn: {}
  wide: {model: {name: gcn, hidden_channels: 256}}     # its name in the suite need not be the model's
  majority: {own: [model, training], training: {epochs: 1}}
cells:
  COLLAB/gin: {model: {dropout: default}}              # exceptions, also by pattern: "*/gin"

A cell is the four pieces laid over each other: recipe, data set, model, exceptions in their order. A model takes the
keys that it lists under ``own`` from its own piece and from exceptions alone. The value ``default`` takes back what a
piece below has said. A cell's experiment is called ``SUITE/DATASET/MODEL``, and so is its record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import Experiment, check_experiment, load_experiment
from mshgnn.lab.overrides import merge, override
from mshgnn.lab.shipped import find_file
from mshgnn.lab.yaml_file import read_mapping

SECTIONS = ("datasets", "models")
KEYS = ("name", "about", "recipe", *SECTIONS, "cells")
PIECES = ("about", "dataset", "model", "training", "splits", "folds", "seeds")
TAKEN_BACK = "default"

MAX_CELLS = 5_000
MAX_VALUES = 10**7
"""How many values all cells together may stand for; few words name many of both."""

Piece = Mapping[str, Any]


def load_experiments(file: Path, overrides: Sequence[str] = (), only: Sequence[str] = ()) -> list[Experiment]:
    """The experiments of a file: the cells of a suite that match one of the patterns ``only``, or the one it holds.

    A suite that comes with the package needs no path: ``graph``, ``trials/phase``.
    """
    path = find_file(file)
    content = read_mapping(path)
    if not any(section in content for section in SECTIONS):
        if only:
            raise ExperimentError(f"--only {only[0]}: {path} is one experiment, not a suite")
        return [load_experiment(path, overrides)]
    cells = suite_cells(content, path)
    for pattern in only:
        if not any(fnmatchcase(key, pattern) for key in cells):
            raise ExperimentError(f"--only {pattern}: {path} has no such cell{did_you_mean(pattern, cells)}")
    chosen = {key: cell for key, cell in cells.items() if not only or any(fnmatchcase(key, one) for one in only)}
    return [check_experiment(override(cell, overrides), f"{path}: {key}") for key, cell in chosen.items()]


def suite_cells(content: Mapping[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    """The content of every cell's experiment by ``DATASET/MODEL``, in the order of the file."""
    for key in content:
        if key not in KEYS:
            raise ExperimentError(f"{path}: unknown key {key!r} of a suite{did_you_mean(key, KEYS)}")
    name = content.get("name", path.stem)
    recipe = _piece(content.get("recipe"), f"{path}: recipe")
    datasets, models, exceptions = (_pieces(content, section, path) for section in (*SECTIONS, "cells"))
    _check_size(len(datasets) * len(models), content, path)
    cells = {}
    for dataset, of_dataset in datasets.items():
        for model in _models_of(of_dataset, models, f"{path}: datasets.{dataset}"):
            key, of_model = f"{dataset}/{model}", models[model]
            below = merge(merge({"dataset": {"name": dataset}, "model": {"name": model}}, recipe), of_dataset)
            own = {*_words(of_model.get("own", []), f"{path}: models.{model}.own")}
            start = {"dataset": below["dataset"], "model": {"name": model}}
            below = start | {part: value for part, value in below.items() if part not in own}
            pieces = [of_model, *(piece for pattern, piece in exceptions.items() if fnmatchcase(key, pattern))]
            for piece in pieces:
                below = merge(below, {part: value for part, value in piece.items() if part != "own"})
            below.pop("models", None)
            cells[key] = {**_without_taken_back(below), "name": f"{name}/{key}"}
    for pattern in exceptions:
        if not any(fnmatchcase(key, pattern) for key in cells):
            raise ExperimentError(f"{path}: cells.{pattern}: no such cell{did_you_mean(pattern, cells)}")
    return cells


def _check_size(cells: int, content: Piece, path: Path) -> None:
    """Refuse a suite of more cells than anybody runs before there are any."""
    if cells > MAX_CELLS or cells * _count(content) > MAX_VALUES:
        raise ExperimentError(f"{path}: its data sets and models make {cells:,} cells, more than can be held at once")


def _count(value: object) -> int:
    """How many values there are in a value."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, inner))


def _pieces(content: Mapping[str, Any], section: str, path: Path) -> dict[str, Piece]:
    """A section of the suite: pieces by name."""
    found = content.get(section, {})
    if not isinstance(found, Mapping) or (not found and section in SECTIONS):
        raise ExperimentError(f"{path}: {section} must be a mapping of names to pieces")
    extra = {"datasets": ("models",), "models": ("own",)}.get(section, ())
    return {str(name): _piece(piece, f"{path}: {section}.{name}", extra) for name, piece in found.items()}


def _piece(piece: object, source: str, extra: Sequence[str] = ()) -> Piece:
    """A piece of an experiment; nothing at all is an empty one."""
    if piece is None:
        return {}
    if not isinstance(piece, Mapping):
        raise ExperimentError(f"{source}: must be a mapping of keys to values")
    for key in piece:
        if key not in PIECES and key not in extra:
            raise ExperimentError(f"{source}: unknown key {str(key)!r}{did_you_mean(str(key), [*PIECES, *extra])}")
    return piece


def _models_of(piece: Piece, models: Mapping[str, Piece], source: str) -> list[str]:
    """The models that are run on a data set: all, or those that it lists."""
    chosen = _words(piece.get("models", [*models]), f"{source}.models")
    for model in chosen:
        if model not in models:
            raise ExperimentError(f"{source}.models: unknown model {model!r}{did_you_mean(model, models)}")
    return chosen


def _words(value: object, source: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ExperimentError(f"{source}: must be a list of names")
    return value


def _without_taken_back(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content without the keys whose value is ``default``."""
    return {
        key: _without_taken_back(value) if isinstance(value, Mapping) else value
        for key, value in content.items()
        if value != TAKEN_BACK
    }

"""Pieces of an experiment laid over each other, and what ``--set`` changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.yaml_file import parse


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid over ``base``, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def override(content: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """``content`` with every ``key.key=value`` of ``--set``.

    Another ``model.name`` leaves out, with a word on stderr, the options of the file that the new model does not have.
    Options given by ``--set`` stay, to be checked like any other.
    """
    changes: dict[str, Any] = {}
    for text in overrides:
        _apply(changes, text)
    changed = _fit_options(content, changes.get("model"))
    return merge(changed, changes)


def _apply(content: dict[str, Any], text: str) -> None:
    """Set one ``key.key=value`` in place."""
    path, equals, value = text.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise ExperimentError(f"--set {text}: must look like training.epochs=50")
    for depth, key in enumerate(keys[:-1]):
        content = content.setdefault(key, {})
        if not isinstance(content, dict):
            raise ExperimentError(f"--set {text}: {'.'.join(keys[: depth + 1])} is a single value")
    try:
        content[keys[-1]] = parse(value)
    except yaml.YAMLError:
        raise ExperimentError(f"--set {text}: {value!r} is not a YAML value") from None


def _fit_options(content: Mapping[str, Any], change: object) -> dict[str, Any]:
    """The file's content without the options that a model named by ``--set`` does not have."""
    changed, model = dict(content), content.get("model")
    if not isinstance(model, Mapping) or not isinstance(change, Mapping):
        return changed
    name = change.get("name")
    if not isinstance(name, str) or name == model.get("name"):
        return changed
    from mshgnn.lab.registry import CONTROLS, MODELS, known_options  # with torch behind it

    if name not in MODELS and name not in CONTROLS:
        return changed  # for the check to name
    kept = {"name", *known_options(name)}
    if dropped := [option for option in model if option not in kept]:
        left_out = f"left out {', '.join(dropped)} of the file, which {name} does not have"
        print(f"mshgnn: model.name={name}: {left_out}", file=sys.stderr)
    changed["model"] = {option: value for option, value in model.items() if option in kept}
    return changed

"""What an experiment can name as its model: a network or a control, with the options it takes.

The lab asks for models here and nowhere else.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from mshgnn.baselines import MODELS, build
from mshgnn.baselines.controls import CONTROLS
from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError
from mshgnn.nn import MSHGNN, PRESETS

__all__ = ["CONTROLS", "MODELS", "build", "known_options", "resolve"]


def resolve(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a model as plain JSON values, defaults included; an unknown name or option is an error."""
    if name in CONTROLS:
        if options:
            raise ExperimentError(f"model.{next(iter(options))}: the control {name!r} has no options")
        return {}
    if name not in MODELS:
        raise ExperimentError(f"model.name: unknown model {name!r}{did_you_mean(name, [*MODELS, *CONTROLS])}")
    resolved = _defaults(name) | MODELS[name].check(options)
    return TypeAdapter(dict[str, Any]).dump_python(resolved, mode="json")


def known_options(name: str) -> Iterable[str]:
    """The names of a model's options; none for a control or an unknown model."""
    return MODELS[name].options if name in MODELS else ()


def _defaults(name: str) -> dict[str, Any]:
    """Defaults out of the signature, and out of the preset where the model is one."""
    preset = PRESETS.get(name.removeprefix("msh-"))
    construct = MODELS[name].construct if preset is None else MSHGNN
    parameters = inspect.signature(construct).parameters.values()
    named = {one.name: one.default for one in parameters if one.default is not one.empty and one.name != "task"}
    return {**named, **(preset or {})}

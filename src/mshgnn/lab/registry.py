"""What an experiment can name as its model: a network or a control, with the options it takes.

The lab asks for models here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mshgnn import models
from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError
from mshgnn.models import MODELS, build, measured_options
from mshgnn.models.controls import CONTROLS

__all__ = ["CONTROLS", "MODELS", "build", "known_options", "measured_options", "resolve"]


def resolve(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a model as plain JSON values, defaults included; an unknown name or option is an error."""
    if name in CONTROLS:
        if options:
            raise ExperimentError(f"model.{next(iter(options))}: the control {name!r} has no options")
        return {}
    if name not in MODELS:
        raise ExperimentError(f"model.name: unknown model {name!r}{did_you_mean(name, [*MODELS, *CONTROLS])}")
    return models.resolve(name, options)


def known_options(name: str) -> Iterable[str]:
    """The names of a model's options; none for a control or an unknown model."""
    return MODELS[name].options if name in MODELS else ()

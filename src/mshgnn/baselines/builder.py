"""Model builders: a constructor together with the options it takes, checked before anything is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from torch import nn

from mshgnn.baselines.base import Task
from mshgnn.errors import UserError, did_you_mean

NOT_OPTIONS = ("in_channels", "out_channels", "channels", "task")


@dataclass(frozen=True)
class ModelBuilder:
    """A constructor ``(in_channels, out_channels, *, task, <options>)`` and the type of every option."""

    construct: Callable[..., nn.Module]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, construct: Callable[..., nn.Module]) -> ModelBuilder:
        """A builder whose options are the constructor's keyword-only parameters, the task apart."""
        return cls(construct, option_types(construct))

    def check(self, options: Mapping[str, object]) -> dict[str, object]:
        """The options, converted to their types; an unknown or impossible one is a ``ValueError``."""
        return {name: self._checked(name, value) for name, value in options.items()}

    def _checked(self, name: str, value: object) -> object:
        if name not in self.options:
            raise UserError(f"unknown option {name!r}{did_you_mean(name, self.options)}")
        try:
            converted: object = TypeAdapter(self.options[name]).validate_python(value)
        except ValidationError as error:
            raise UserError(f"option {name} cannot be {value!r}: {error.errors()[0]['msg']}") from None
        return converted


def option_types(construct: Callable[..., nn.Module]) -> dict[str, Any]:
    """The annotated types of the keyword-only parameters, without the task."""
    hints = get_type_hints(construct.__init__ if inspect.isclass(construct) else construct, include_extras=True)
    parameters = inspect.signature(construct).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return {name: hints[name] for name in names if name not in NOT_OPTIONS}


def build_model(
    models: Mapping[str, ModelBuilder],
    name: str,
    in_channels: int,
    out_channels: int,
    task: Task,
    options: Mapping[str, object],
) -> nn.Module:
    """Look a model up, check its options, build it; every mistake is a ``ValueError`` of one line."""
    if name not in models:
        raise UserError(f"unknown model {name!r}{did_you_mean(name, models)}")
    if task not in ("graph", "node"):
        raise UserError(f"task must be 'graph' or 'node', not {task!r}")
    builder = models[name]
    try:
        return builder.construct(in_channels, out_channels, task=task, **builder.check(options))
    except ValueError as error:
        raise UserError(f"model {name}: {error}") from None

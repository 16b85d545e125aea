"""Options are said once, in a signature: this module reads them there, and checks every value that is to become one.

The constructor, an experiment's file and a saved model go through the same checker. What a value may be is its
annotation: ``bool``, ``int``, ``float``, ``str``, ``Literal``, ``Sequence``, ``None``, unions of them, and limits by
``Annotated``. The checker is strict: true is no integer, "no" is not false, and a number is finite.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import torch

from mshgnn.errors import UserError, did_you_mean

Instance = TypeVar("Instance")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True)
class Between:
    """Limits of a number: from ``low`` to ``high``, or to below ``high``."""

    low: float
    high: float
    below: bool = False

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps to the limits."""
        return self.low <= value < self.high if self.below else self.low <= value <= self.high

    def __str__(self) -> str:
        return f"from {self.low:,} to {'below ' if self.below else ''}{self.high:,}"


# Nobody means more than this, and a slip of the finger would ask for terabytes.
Width = Annotated[int, Between(1, 100_000)]
Depth = Annotated[int, Between(1, 1_000)]
Rank = Annotated[int, Between(0, 1_000)]
Share = Annotated[float, Between(0, 1, below=True)]
Weight = Annotated[float, Between(0, 1)]


def options_of(construct: Callable[..., object]) -> dict[str, Parameter]:
    """The options of a constructor or function: its parameters that have a default, the task apart."""
    parameters = _parameters(construct).values()
    return {p.name: p for p in parameters if p.default is not Parameter.empty and p.name != "task"}


def resolve_options(
    owner: str, options: Mapping[str, Parameter], given: Mapping[str, object], prefix: str = ""
) -> dict[str, Any]:
    """All options as JSON-able values: those given, checked by name and type, and the defaults of the others.

    Args:
        owner: who has the options, for the message about an unknown name.
        options: from :func:`options_of`.
        given: values by name.
        prefix: put before every message, such as ``"model gin: "``.
    """
    for name in given:
        if name not in options:
            raise UserError(f"{prefix}{owner} has no option {name!r}{did_you_mean(name, options)}")
    values = {name: option.default for name, option in options.items()} | dict(given)
    return {name: check_value(prefix + name, options[name].annotation, value) for name, value in values.items()}


def check_value(name: str, annotation: Any, value: object) -> Any:
    """``value`` as its annotation wants it, or a ``UserError`` that names it and says what it may be."""
    try:
        return _convert(annotation, value)
    except _MisfitError:
        shown = " ".join(repr(value).split())
        shown = shown if len(shown) < 80 else f"{shown[:77]}..."
        raise UserError(f"{name} must be {describe_type(annotation)}, got {shown}") from None


def checked(
    init: Callable[Concatenate[Instance, Arguments], None],
) -> Callable[Concatenate[Instance, Arguments], None]:
    """A constructor that sees its arguments checked, and whose instance keeps all of them as ``options``.

    Arguments that are functions pass as they are and are not kept: options can be written to a file.
    """

    @wraps(init)
    def checked_init(self: Instance, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        parameters = _parameters(init)
        for name in kwargs:
            if name not in parameters:
                raise UserError(f"{type(self).__name__} has no option {name!r}{did_you_mean(name, parameters)}")
        bound = inspect.Signature(list(parameters.values())).bind(self, *args, **kwargs)
        bound.apply_defaults()
        options = {}
        for name, value in bound.arguments.items():
            annotation = parameters[name].annotation
            if annotation is not Parameter.empty and get_origin(annotation) is not Callable:
                options[name] = bound.arguments[name] = check_value(name, annotation, value)
        init(*bound.args, **bound.kwargs)
        self.options = options  # type: ignore[attr-defined]

    return checked_init


def describe_type(annotation: Any) -> str:
    """What a value of this type is, in words: ``an integer from 1 to 1,000 or None``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return " ".join([describe_type(arguments[0]), *(str(limit) for limit in arguments[1:])])
    if origin in (Union, UnionType):
        return " or ".join(describe_type(member) for member in arguments)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is Sequence:
        member, *_ = get_args(arguments[0]) if get_origin(arguments[0]) is Annotated else arguments
        return f"a list of {_SIMPLE[member].split()[-1]}s"
    return _SIMPLE[annotation]


_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}  # numpy's numbers are among them
_SIMPLE: dict[Any, str] = {bool: "true or false", int: "an integer", float: "a number", str: "text", NoneType: "None"}


class _MisfitError(Exception):
    """A value is not of the type."""


@cache
def _parameters(construct: Callable[..., object]) -> dict[str, Parameter]:
    return dict(inspect.signature(construct, eval_str=True).parameters)


def _convert(annotation: Any, value: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        number = _convert(arguments[0], value)
        if not all(limit.holds(number) for limit in arguments[1:]):
            raise _MisfitError
        return number
    if origin in (Union, UnionType):
        for member in arguments:
            try:
                return _convert(member, value)
            except _MisfitError:
                continue
        raise _MisfitError
    if origin is Sequence:
        values = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(values, list | tuple):
            raise _MisfitError
        return [_convert(arguments[0], member) for member in values]
    converted = _literal(arguments, value) if origin is Literal else _simple(annotation, value)
    return converted


def _literal(choices: tuple[object, ...], value: object) -> object:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    raise _MisfitError


def _simple(annotation: Any, value: Any) -> object:
    if annotation not in _SIMPLE:
        raise TypeError(f"an option cannot have the type {annotation}")
    if annotation in _NUMBERS:
        largest = torch.finfo(torch.float32).max
        if isinstance(value, _NUMBERS[annotation]) and type(value) is not bool and -largest <= value <= largest:
            return annotation(value)
    elif isinstance(value, annotation):
        return value
    raise _MisfitError

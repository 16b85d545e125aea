from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.errors import UserError
from mshgnn.nn import MSHGNN, GraphModel, MSHConv
from mshgnn.nn.options import (
    Between,
    Depth,
    Share,
    Width,
    check_value,
    checked,
    describe_type,
    options_of,
    resolve_options,
)

Colour = Literal["red", "green"]


class Lamp:
    """With an option of every type."""

    options: dict[str, Any]

    @checked
    def __init__(
        self,
        bulbs: Width,
        make: Callable[[int], str] = str,
        *,
        colour: Colour = "red",
        dimmed: bool = False,
        share: Share = 0.5,
        label: str = "",
        size: Annotated[float, Between(1, 2)] | None = None,
        angles: Sequence[float] | str = (1.0, 2.0),
    ) -> None:
        self.seen = (bulbs, make(3), colour, dimmed, share, label, size, angles)


def test_the_constructor_sees_checked_values_and_keeps_them_all() -> None:
    given: dict[str, Any] = {"bulbs": np.int64(4), "angles": np.array([1, 2])}
    lamp = Lamp(**given, share=0, size=1)
    assert lamp.seen == (4, "3", "red", False, 0.0, "", 1.0, [1.0, 2.0])
    assert [type(value) for value in lamp.seen[:1]] == [int]
    kept = {"bulbs": 4, "colour": "red", "dimmed": False, "share": 0.0, "label": "", "size": 1.0, "angles": [1.0, 2.0]}
    assert lamp.options == kept
    assert json.loads(json.dumps(lamp.options)) == lamp.options


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("bulbs", True, "bulbs must be an integer from 1 to 100,000, got True"),
        ("bulbs", 2.0, "bulbs must be an integer from 1 to 100,000, got 2.0"),
        ("bulbs", "2", "bulbs must be an integer from 1 to 100,000, got '2'"),
        ("bulbs", 100_001, "bulbs must be an integer from 1 to 100,000, got 100001"),
        ("bulbs", 10**400, "bulbs must be an integer from 1 to 100,000, got 1000"),
        ("colour", "blue", "colour must be one of red, green, got 'blue'"),
        ("colour", ["red"], r"colour must be one of red, green, got \['red'\]"),
        ("dimmed", "no", "dimmed must be true or false, got 'no'"),
        ("dimmed", 1, "dimmed must be true or false, got 1"),
        ("share", 1, "share must be a number from 0 to below 1, got 1"),
        ("share", float("inf"), "share must be a number from 0 to below 1, got inf"),
        ("share", False, "share must be a number from 0 to below 1, got False"),
        ("label", None, "label must be text, got None"),
        ("size", 3, "size must be a number from 1 to 2 or None, got 3"),
        ("angles", [1, "2"], r"angles must be a list of numbers or text, got \[1, '2'\]"),
        ("angles", [True], r"angles must be a list of numbers or text, got \[True\]"),
        ("angles", 2.0, "angles must be a list of numbers or text, got 2.0"),
        ("shade", 1, "Lamp has no option 'shade'; did you mean 'share'"),
    ],
)
def test_what_does_not_fit_is_named_and_told_what_would(option: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message) as mistake:
        Lamp(**{"bulbs": 1, option: value})  # type: ignore[arg-type]
    assert "\n" not in str(mistake.value)
    assert len(str(mistake.value)) < 200


def test_a_missing_argument_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="bulbs"):
        Lamp()  # type: ignore[call-arg]


def test_a_type_that_no_file_can_hold_is_a_bug() -> None:
    with pytest.raises(TypeError, match="cannot have the type"):
        check_value("lamp", Lamp, 3)


def test_options_are_what_has_a_default_and_resolve_to_all_of_them() -> None:
    def message(channels: int, *, heads: Depth = 4, task: str = "graph", loops: bool = True) -> None: ...

    options = options_of(message)
    assert list(options) == ["heads", "loops"]
    assert resolve_options("it", options, {"loops": False}) == {"heads": 4, "loops": False}
    with pytest.raises(UserError, match="model x: it has no option 'head'; did you mean 'heads'"):
        resolve_options("it", options, {"head": 3}, prefix="model x: ")


def test_a_new_option_of_the_layer_is_one_of_the_model() -> None:
    own = {"edge_dim", "root_weight"}
    assert set(options_of(MSHGNN)) == set(options_of(GraphModel)) | (set(options_of(MSHConv)) - own)
    for name, option in options_of(MSHConv).items():
        if name not in own:
            assert options_of(MSHGNN)[name].default == option.default


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none(), st.lists(st.floats())))
def test_a_value_is_taken_as_it_is_or_refused(value: Any) -> None:
    for annotation in (bool, int, float, str, Colour, Width, Share, Sequence[float], int | None):
        try:
            taken = check_value("value", annotation, value)
        except UserError as error:
            message = str(error)
        else:
            assert taken == value
            assert isinstance(value, bool) == (annotation is bool)
            json.dumps(taken, allow_nan=False)
            continue
        assert message.startswith(f"value must be {describe_type(annotation)}, got ")

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.training.curves import CURVE_NAMES, Curves, oriented
from mshgnn.training.metrics import KNOWN_METRICS

values = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def curves(draw: st.DrawFn) -> Curves:
    epochs = draw(st.integers(1, 6))
    arrays = {name: np.array(draw(st.lists(values, min_size=epochs, max_size=epochs))) for name in CURVE_NAMES}
    sizes = (draw(st.integers(1, 99)), draw(st.integers(0, 9)), draw(st.integers(0, 9)))
    return Curves(**arrays, sizes=sizes, higher_is_better=draw(st.booleans()))


def flat(**changes: object) -> Curves:
    arrays: dict[str, object] = {name: np.full(3, 0.5) for name in CURVE_NAMES} | {"sizes": (8, 1, 1)}
    return Curves(**(arrays | changes))  # type: ignore[arg-type]


@given(curves())
def test_a_record_survives_strict_json_bit_by_bit(original: Curves) -> None:
    text = json.dumps(original.to_dict(), allow_nan=False)
    assert Curves.from_dict(json.loads(text)) == original


def test_curves_are_copied_and_read_only() -> None:
    source = np.full(3, 0.5)
    held = flat(test_metric=source)
    source[0] = 0.9
    assert held.test_metric[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        held.test_metric[0] = 0.9


def test_equality_sees_one_changed_bit() -> None:
    assert flat() == flat()
    assert flat() != flat(train_loss=np.array([0.5, 0.5, np.nextafter(0.5, 1)]))
    assert flat() != flat(sizes=(8, 2, 1))
    assert flat() != flat(higher_is_better=False)
    assert flat() != "curves"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_loss": np.zeros(2)}, "same number of epochs"),
        ({name: np.zeros(0) for name in CURVE_NAMES}, "at least one"),
        ({"test_metric": np.zeros((3, 1))}, "one dimension"),
        ({"sizes": (1, 2)}, "three counts"),
        ({"sizes": (1, -2, 3)}, "three counts"),
        ({"sizes": (0, 0, 0)}, "three counts"),
    ],
)
def test_impossible_curves_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat(**changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("test_loss", None, "test_loss must be a list"),
        ("test_loss", [0.5, 0.5, "much"], "'much'"),
        ("test_loss", [0.5, 0.5, True], "True"),
        ("sizes", [8, 1.5, 1], "three counts"),
        ("higher_is_better", "no", "higher_is_better must be true or false, not 'no'"),
        ("tset_loss", [0.5], "tset_loss"),
    ],
)
def test_a_damaged_record_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Curves.from_dict(flat().to_dict() | {name: value})


def test_a_missing_entry_is_named() -> None:
    record = flat().to_dict()
    del record["train_metric"]
    with pytest.raises(ValueError, match="train_metric"):
        Curves.from_dict(record)


def test_a_record_from_before_there_were_directions_is_one_of_shares() -> None:
    assert "higher_is_better" not in flat().to_dict()
    assert Curves.from_dict(flat().to_dict()).higher_is_better
    assert flat(higher_is_better=False).to_dict()["higher_is_better"] is False


@pytest.mark.parametrize(
    ("higher_is_better", "best_to_worst"), [(True, [np.inf, 3.0, -1.0, -np.inf]), (False, [-np.inf, -1.0, 3.0, np.inf])]
)
def test_oriented_values_fall_from_best_to_worst(higher_is_better: bool, best_to_worst: list[float]) -> None:
    turned = oriented(np.array([*best_to_worst, np.nan]), higher_is_better=higher_is_better)
    assert (np.diff(turned[:-1]) < 0).all()
    assert turned[-1] == -np.inf, "not a number is as bad as can be"


def test_every_committed_record_loads() -> None:
    paths = sorted((Path(__file__).parents[2] / "results").rglob("*.json.gz"))
    assert len(paths) > 100
    for path in paths:
        payload = json.loads(gzip.decompress(path.read_bytes()))["payload"]
        for fold in payload["folds"]:
            curves = Curves.from_dict(fold["curves"])
            assert curves.higher_is_better == KNOWN_METRICS[payload["info"]["metric"]].higher_is_better
            assert curves.to_dict() == fold["curves"]

"""The learning curves of one fold: plain data, everything a selection rule may look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "validation", "test")
CURVE_NAMES = tuple(f"{part}_{kind}" for kind in ("loss", "metric") for part in PARTS)


@dataclass(frozen=True, eq=False)
class Curves:
    """Loss and metric of one fold after every epoch; all six arrays have one value per epoch.

    Any of them may be infinite or not a number: a diverged run is a result too. ``sizes`` counts the graphs (or
    nodes) of train, validation and test; a part of size 0 has zeros for curves. ``higher_is_better`` is the metric's
    direction: false for errors.
    """

    train_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    test_loss: NDArray[np.float64]
    train_metric: NDArray[np.float64]
    validation_metric: NDArray[np.float64]
    test_metric: NDArray[np.float64]
    sizes: tuple[int, int, int]
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        """Copy the curves into read-only float64 arrays and check them against each other."""
        for name in CURVE_NAMES:
            curve = np.array(getattr(self, name), dtype=np.float64)
            if curve.ndim != 1:
                raise ValueError(f"{name} must have one dimension, not {curve.ndim}")
            curve.setflags(write=False)
            object.__setattr__(self, name, curve)
        lengths = {name: len(getattr(self, name)) for name in CURVE_NAMES}
        if len(set(lengths.values())) != 1 or not self.epochs:
            raise ValueError(f"curves must have the same number of epochs, at least one: {lengths}")
        sizes = tuple(int(size) for size in self.sizes)
        if len(sizes) != 3 or min(sizes) < 0 or sum(sizes) == 0:
            raise ValueError(f"sizes must be three counts (train, validation, test), not {self.sizes}")
        object.__setattr__(self, "sizes", sizes)

    @property
    def epochs(self) -> int:
        """The number of epochs trained."""
        return len(self.test_metric)

    def __eq__(self, other: object) -> bool:
        """Equal to the last bit; two values that are not a number count as equal."""
        if not isinstance(other, Curves):
            return NotImplemented
        same = (np.array_equal(getattr(self, n), getattr(other, n), equal_nan=True) for n in CURVE_NAMES)
        return (self.sizes, self.higher_is_better) == (other.sizes, other.higher_is_better) and all(same)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, list[float | str] | list[int] | bool]:
        """Lists of numbers that survive strict JSON, see :func:`json_number`.

        The direction is written for errors alone: records of shares look as they always did.
        """
        record: dict[str, list[float | str] | list[int] | bool] = {
            name: [json_number(value) for value in getattr(self, name).tolist()] for name in CURVE_NAMES
        }
        record["sizes"] = list(self.sizes)
        if not self.higher_is_better:
            record["higher_is_better"] = False
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, object]) -> Curves:
        """Read what :meth:`to_dict` wrote; a missing, unknown or malformed entry is a ``ValueError``."""
        expected = {*CURVE_NAMES, "sizes"}
        if wrong := sorted(expected.symmetric_difference(record.keys() - {"higher_is_better"})):
            raise ValueError(f"curves record has missing or unknown entries: {', '.join(wrong)}")
        values = {name: _numbers(name, record[name]) for name in CURVE_NAMES}
        sizes = _numbers("sizes", record["sizes"])
        if len(sizes) != 3 or not all(size.is_integer() for size in sizes):
            raise ValueError(f"sizes must be three counts (train, validation, test), not {record['sizes']}")
        counts = (int(sizes[0]), int(sizes[1]), int(sizes[2]))
        direction = record.get("higher_is_better", True)
        if not isinstance(direction, bool):
            raise ValueError(f"higher_is_better must be true or false, not {direction!r}")
        arrays = {name: np.array(numbers) for name, numbers in values.items()}
        return cls(**arrays, sizes=counts, higher_is_better=direction)


def json_number(value: float) -> float | str:
    """The number as strict JSON can hold it: what is not finite becomes "nan", "inf" or "-inf"; ``float`` reads it."""
    return value if math.isfinite(value) else str(value)


def oriented(values: NDArray[np.float64] | float, *, higher_is_better: bool) -> NDArray[np.float64]:
    """The values turned so that larger is better; one that is not a number is as bad as can be."""
    return np.nan_to_num(
        values if higher_is_better else np.negative(values), nan=-np.inf, posinf=np.inf, neginf=-np.inf
    )


def _numbers(name: str, values: object) -> list[float]:
    """A list of floats, out of numbers and the strings that stand for non-finite ones."""
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of numbers, not {type(values).__name__}")
    for value in values:
        if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("nan", "inf", "-inf")):
            raise ValueError(f"{name} must hold numbers, found {value!r}")
    return [float(value) for value in values]

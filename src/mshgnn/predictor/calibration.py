r"""Intervals that hold their promised share: split conformal prediction.

With the absolute errors of ``n`` items that neither trained the model nor chose its epoch, the interval
:math:`\hat y \pm q`, where :math:`q` is the :math:`\lceil (n + 1) c \rceil`-th smallest of them, holds a new value
with probability at least :math:`c` (Vovk et al., 2005), whatever the model and the data, as long as the new item
comes from where those came from. Items of an ensemble are held out by one member each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.files import read_json

CALIBRATION_FILE = "calibration.json"


@dataclass(frozen=True)
class Calibration:
    """Half the width of each target's interval; None where too few items are held out to promise anything."""

    coverage: float
    half_widths: tuple[float | None, ...]
    items: int

    @classmethod
    def of(cls, values: Tensor, truth: Tensor, coverage: float) -> Calibration:
        """From held-out predictions and their truth, ``[n, T]``, NaN where missing."""
        columns = (values - truth).abs().unbind(dim=1)
        return cls(coverage, tuple(_half_width(column[~column.isnan()], coverage) for column in columns), len(truth))

    def to_json(self) -> str:
        """As text; ``load`` reads it."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def load(cls, folder: Path) -> Calibration | None:
        """Read it from a model's folder; None where there is none."""
        path = folder / CALIBRATION_FILE
        if not path.exists():
            return None
        content = read_json(path)
        if not isinstance(content, dict):
            raise UserError(f"{path} is damaged: not an object of keys")
        for key, is_right in _KINDS.items():
            if key not in content:
                raise UserError(f"{path} is damaged: no key {key!r}")
            if not is_right(content[key]):
                raise UserError(f"{path} is damaged: {key} cannot be {str(content[key])[:40]!r}")
        widths = tuple(None if width is None else float(width) for width in content["half_widths"])
        return cls(float(content["coverage"]), widths, content["items"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


_KINDS: dict[str, Callable[[Any], bool]] = {
    "coverage": lambda value: _is_number(value) and 0 < value < 1,
    "half_widths": lambda value: isinstance(value, list) and all(w is None or _is_number(w) for w in value),
    "items": lambda value: _is_number(value) and isinstance(value, int),
}


def _half_width(errors: Tensor, coverage: float) -> float | None:
    rank = math.ceil((len(errors) + 1) * coverage)
    return None if rank > len(errors) else float(torch.sort(errors).values[rank - 1])

r"""Intervals that hold their promised share: split conformal prediction.

With the absolute errors of ``n`` items that neither trained the model nor chose its epoch, the interval
:math:`\hat y \pm q`, where :math:`q` is the :math:`\lceil (n + 1) c \rceil`-th smallest of them, holds a new value
with probability at least :math:`c` (Vovk et al., 2005), whatever the model and the data, as long as the new item
comes from where those came from. Items of an ensemble are held out by one member each.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from mshgnn.errors import UserError

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
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            widths = tuple(None if width is None else float(width) for width in content["half_widths"])
            return cls(float(content["coverage"]), widths, int(content["items"]))
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path} is damaged: {error}") from None


def _half_width(errors: Tensor, coverage: float) -> float | None:
    rank = math.ceil((len(errors) + 1) * coverage)
    return None if rank > len(errors) else float(torch.sort(errors).values[rank - 1])

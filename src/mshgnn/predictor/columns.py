"""The columns that a prediction adds to a file.

For a target ``y``: ``y`` (a class, 0 or 1, or a number); with classes ``y_prob``, the probability of the class named,
and ``y_prob_<class>`` for each where there are several classes; for labels ``y_prob``, that of 1; for an ensemble
``y_std``; for numbers ``y_low`` and ``y_high``. A name that the file has already gets ``_predicted`` after it.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from mshgnn.data.schema import Schema
from mshgnn.predictor.calibration import Calibration
from mshgnn.predictor.ensemble import Prediction


class Columns:
    """Names and cells of the new columns.

    Args:
        schema: of the model.
        taken: the names of the file's own columns.
        members: how many models predict.
        calibration: of the intervals, None for none.
    """

    def __init__(self, schema: Schema, taken: Iterable[str], members: int, calibration: Calibration | None) -> None:
        self.schema, self.members, self.calibration = schema, members, calibration
        self.targets = schema.target_names or ("target",)
        used = set(taken)
        self.names: list[str] = []
        for name in self._wanted():
            while name in used:
                name += "_predicted"
            used.add(name)
            self.names.append(name)

    def _wanted(self) -> Iterable[str]:
        several = self.members > 1
        for target in self.targets:
            yield target
            if self.schema.objective != "regress":
                yield f"{target}_prob"
            if self.schema.objective in ("classify", "rank"):
                yield from (f"{target}_prob_{name}" for name in self.schema.class_names)
            if several:
                yield f"{target}_std"
            if self.calibration is not None and self.schema.objective == "regress":
                yield f"{target}_low"
                yield f"{target}_high"

    def rows(self, found: Prediction) -> list[list[str]]:
        """The cells of every item."""
        if self.schema.objective in ("classify", "rank"):
            return self._classes(found)
        rows = []
        for values, spreads in zip(found.values.tolist(), found.spread.tolist(), strict=True):
            cells: list[str] = []
            for target, (value, spread) in enumerate(zip(values, spreads, strict=True)):
                if self.schema.objective == "multilabel":
                    cells += [str(int(value > 0.5)), _text(value)]
                else:
                    cells.append(_text(value))
                if self.members > 1:
                    cells.append(_text(spread))
                if self.calibration is not None and self.schema.objective == "regress":
                    half = self.calibration.half_widths[target]
                    cells += ["", ""] if half is None else [_text(value - half), _text(value + half)]
            rows.append(cells)
        return rows

    def _classes(self, found: Prediction) -> list[list[str]]:
        if not len(found.values):  # not one row of the chunk could be read
            return []
        best = found.values.argmax(dim=1)
        picked = torch.arange(len(best)), best
        rows = []
        for number, values, probability, spread in zip(
            best.tolist(), found.values.tolist(), found.values[picked].tolist(), found.spread[picked].tolist(),
            strict=True,
        ):  # fmt: skip
            cells = [self.schema.class_names[number], _text(probability), *map(_text, values)]
            rows.append([*cells, _text(spread)] if self.members > 1 else cells)
        return rows


def _text(value: float) -> str:
    return f"{value:.7g}"

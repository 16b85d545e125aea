from __future__ import annotations

import io

import numpy as np
from lab_helpers import make_data, make_experiment
from rich.console import Console

from mshgnn.lab.display import LiveDisplay, PlainDisplay, epoch_text, finished_text, make_display
from mshgnn.lab.runner import run_info
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.curves import CURVE_NAMES, Curves
from mshgnn.training.loop import EpochReport


def watch(console: Console) -> str:
    display = make_display(console)
    info = run_info(make_experiment(), make_data())
    curves = Curves(**{name: np.full(3, 0.25) for name in CURVE_NAMES}, sizes=(4, 2, 2), higher_is_better=True)
    display.begin(info, 1)
    display.epoch(FoldKey(0, 1), EpochReport(2, 3, 0.5, 0.75))
    display.fold(FoldResult(FoldKey(0, 1), curves, 9.0, 1.0, 1, {}))
    display.epoch(FoldKey(0, 2), EpochReport(1, 3, 0.5, 0.75))
    display.end()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_plain_lines_without_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    assert isinstance(make_display(console), PlainDisplay)
    first, second = watch(console).splitlines()
    assert first == "tiny-gcn (gcn on tiny, splits own, 3 folds): 1 there already"
    assert second.startswith("seed0-fold01: 3 epochs in 9.0 s, train loss 0.2500, best validation 0.2500, 1 of 2")
    assert "left" in second


def test_a_fold_without_validation_shows_none() -> None:
    assert epoch_text(EpochReport(2, 3, 0.5, 0.75)).endswith("validation 0.7500")
    assert "validation" not in epoch_text(EpochReport(2, 3, 0.5, None))
    curves = Curves(**{name: np.zeros(3) for name in CURVE_NAMES}, sizes=(4, 0, 2), higher_is_better=True)
    assert "validation" not in finished_text(FoldResult(FoldKey(0, 1), curves, 9.0, 1.0, 1, {}))


def test_a_live_table_on_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert isinstance(make_display(console), LiveDisplay)
    seen = watch(console)
    for word in ("data set", "fold", "epoch", "train loss", "validation", "tiny", "seed0-fold02", "1/3", "0.7500"):
        assert word in seen


def test_the_best_error_is_the_smallest() -> None:
    falling = {name: np.array([0.5, 0.125, 0.25]) for name in CURVE_NAMES}
    for higher, best in ((False, "0.1250"), (True, "0.5000")):
        curves = Curves(**falling, sizes=(4, 2, 2), higher_is_better=higher)
        assert finished_text(FoldResult(FoldKey(0, 1), curves, 9.0, 1.0, 1, {})).endswith(f"best validation {best}")

from __future__ import annotations

import math
from pathlib import Path

from mshgnn.predictor.config import check_config
from mshgnn.predictor.fold import FoldReport
from mshgnn.predictor.page import page
from mshgnn.predictor.progress import duration
from mshgnn.predictor.summary import Line, Summary


def test_the_page_has_the_figures_and_escapes_what_a_user_wrote() -> None:
    config = check_config({"data": "<script>alert(1)</script>.csv", "target": ["<b>"]}, "test")
    report = FoldReport("d", True, 2, 1.0, 10, (1.0, 0.5, math.inf), (2.0, 1.0, math.nan))
    lines = (Line("gine", (1.0, 3.0)), Line("mean", (4.0, 4.0)))
    made = page(config, Summary("rmse", lines, 5.0, Path("m"), False, 2), [report, report])
    assert "<script>" not in made
    assert "<b>" not in made
    assert "2.000 ± 1.000" in made
    assert made.count("<polyline") == made.count("<circle") == 4


def test_one_epoch_and_equal_values_are_drawn() -> None:
    config = check_config({"data": "a.csv"}, "test")
    report = FoldReport("d", False, 1, 1.0, 10, (1.0,), (1.0,))
    made = page(config, Summary("rmse", (Line("gine", (1.0,)),), 5.0, Path("m"), True, 1), [report])
    assert "Training was interrupted" in made
    assert "nan" not in made


def test_durations_in_words() -> None:
    assert [duration(s) for s in (0.4, 59.6, 61, 7260)] == ["0 s", "1 min 0 s", "1 min 1 s", "2 h 1 min"]

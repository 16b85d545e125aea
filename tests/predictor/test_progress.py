from __future__ import annotations

from mshgnn.predictor.progress import duration


def test_durations_in_words() -> None:
    assert [duration(s) for s in (0.4, 59.6, 61, 7260)] == ["0 s", "1 min 0 s", "1 min 1 s", "2 h 1 min"]

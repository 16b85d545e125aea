from __future__ import annotations

from typing import Any

import pytest

from mshgnn.benchmarks import workers as module
from mshgnn.benchmarks.workers import measure_here
from mshgnn.training.parallel import Workers
from support.processes import together


def measured(workers: Workers) -> dict[str, Any] | None:
    module.MODEL = "gcn"
    return measure_here(64, 32, 1)


def test_bytes_and_meetings_of_two_workers_are_counted() -> None:
    first, other = together(2, measured)
    assert other is None
    assert first["workers"] == 2
    assert first["gradient_bytes_per_step"] == 4 * first["parameters"]
    # Besides the gradients: statistics of batch norms, rows of dropouts, and the weights once per epoch.
    assert first["gradient_bytes_per_step"] < first["sent_bytes_per_step"] < 3 * first["gradient_bytes_per_step"]
    assert first["meetings_per_step"] > 1


def test_one_process_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MODEL", "gcn")
    figures = measure_here(64, 32, 1)
    assert figures is not None
    assert (figures["workers"], figures["meetings_per_step"], figures["sent_bytes_per_step"]) == (1, 0, 0)

"""Shared by all tests: one thread, one seed, and a way to keep off the fused kernels."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest
import torch
from hypothesis import settings

from mshgnn.ops import get_backend, set_backend

torch.set_num_threads(1)
# A submission is judged by the same examples each time; runs at home and `make fuzz` look for new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="module")
def reference_backend() -> Iterator[None]:
    """The plain-torch backend: the fused one would compile kernels anew for each width these tests take."""
    before = get_backend()
    set_backend("reference")
    yield
    set_backend(before)


@pytest.fixture(autouse=True)
def _same_random_numbers() -> Iterator[None]:
    """Every test starts from the same seed and leaves the state of the others alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where the mirror is, a test that says it needs the mirror must not be skipped: that would hide it for ever."""
    report = yield
    reason = str(report.longrepr) if report.skipped else ""
    if "MSHGNN_MIRROR" in reason and os.environ.get("MSHGNN_MIRROR"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped though MSHGNN_MIRROR is set: {reason}"
    return report

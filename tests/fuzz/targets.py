"""What is fuzzed: a target makes case ``index`` of a seed and raises where a promise is broken."""

from __future__ import annotations

import math
import random
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

KEPT_FAILURES = 20


class Target(NamedTuple):
    """One kind of cases; ``setting`` is entered once around them and gives what ``case`` gets."""

    name: str
    promise: str
    cases: int  # of a full run
    case: Callable[[random.Random, Any], None]
    setting: Callable[[], AbstractContextManager[Any]] = nullcontext


class Outcome(NamedTuple):
    """What a run of a target found; every failure is repeated by ``SEED`` and its number."""

    cases: int
    failures: int
    failed: list[dict[str, object]]
    seconds: float
    seed: int

    def report(self) -> str:
        """The failures, for a person."""
        return "\n".join(f"seed {self.seed}, case {found['case']}: {found['error']}" for found in self.failed)


def draws(seed: int, index: int) -> random.Random:
    """The random numbers of one case, whatever cases went before it."""
    return random.Random(f"{seed}-{index}")


def run(target: Target, cases: int, seed: int, seconds: float = math.inf) -> Outcome:
    """All cases, also after a failure, unless ``seconds`` are over before; the outcome counts those that were run."""
    done = 0
    failed: list[dict[str, object]] = []
    failures = 0
    with target.setting() as setting:
        started = time.perf_counter()  # what is compiled first is no part of the cases
        for index in range(cases):
            if time.perf_counter() - started > seconds:
                break
            done += 1
            try:
                target.case(draws(seed, index), setting)
            except Exception as error:  # whatever a case raises is what is looked for
                failures += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__} in {where.name}: {str(error).splitlines()[0] if str(error) else ''}"
                failed += [{"case": index, "error": text[:300]}] if len(failed) < KEPT_FAILURES else []
    seconds_taken = round(time.perf_counter() - started, 1)
    return Outcome(done, failures, failed, seconds_taken, seed)

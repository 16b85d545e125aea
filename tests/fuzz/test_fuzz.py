"""Up to fifty cases of every target in each run of the tests; with ``-m fuzz`` all of them, recorded.

``make fuzz`` runs the full numbers, ``make fuzz CASES=1000 SECONDS=60 SEED=7`` fewer; the record says how many.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from pathlib import Path

import pytest

from fuzz import record
from fuzz.files import FILES, READ, Kind
from fuzz.kept import KEPT
from fuzz.kernels import KERNELS
from fuzz.side_by_side import THREADS
from fuzz.store import STORE
from fuzz.targets import Outcome, Target, draws, run
from fuzz.workers import WORKERS_KILLED

TARGETS = (KERNELS, *FILES, *KEPT, *STORE, *THREADS, *WORKERS_KILLED)
SMOKE, SMOKE_SEED = 50, 0
by_name = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@forks
@by_name
def test_a_few_cases_keep_the_promise(target: Target) -> None:
    outcome = run(target, min(SMOKE, target.cases // 10), SMOKE_SEED)
    assert outcome.failures == 0, outcome.report()


@forks
@pytest.mark.fuzz
@pytest.mark.timeout(0)
@by_name
def test_all_cases_keep_the_promise(target: Target) -> None:
    asked = os.environ.get("MSHGNN_FUZZ_CASES")
    cases = target.cases if not asked else min(int(asked), target.cases)
    seed = int(os.environ.get("MSHGNN_FUZZ_SEED") or secrets.randbelow(10**6))
    outcome = run(target, cases, seed, float(os.environ.get("MSHGNN_FUZZ_SECONDS") or math.inf))
    print(f"{target.name}: {outcome.cases:,} cases, {outcome.failures} failures, {outcome.seconds:.0f} s, "
          f"seed {outcome.seed}")  # fmt: skip
    record.save(record.RECORD, target, outcome)
    assert outcome.failures == 0, outcome.report()


@pytest.mark.parametrize("kind", [kind for kinds in READ.values() for kind in kinds], ids=lambda kind: kind.name)
def test_what_is_damaged_can_be_read_before(kind: Kind, tmp_path: Path) -> None:
    for name, content in kind.files.items():
        (tmp_path / name).write_bytes(content)
    assert kind.load(tmp_path).num_items > 1


def broken(draw: object, setting: object) -> None:
    raise ValueError(f"about {setting}\nand more")


def test_a_failure_is_counted_kept_with_its_number_and_recorded(tmp_path: Path) -> None:
    target = Target("broken", "Nothing.", 3, broken)
    outcome = run(target, 3, seed=7)
    assert (outcome.cases, outcome.failures, outcome.seed) == (3, 3, 7)
    assert "seed 7, case 2: ValueError in broken: about None" in outcome.report()
    path = tmp_path / "fuzz.json"
    record.save(path, target, outcome)
    record.save(path, target._replace(name="fine"), Outcome(9, 0, [], 1.0, 1))
    kept = json.loads(path.read_text())
    assert [entry["failures"] for entry in kept.values()] == [3, 0]
    assert kept["fine"]["version"] and kept["fine"]["date"].count("-") == 2  # noqa: PT018


def test_a_case_is_the_same_whatever_went_before() -> None:
    assert draws(1, 5).random() == draws(1, 5).random() != draws(2, 5).random()

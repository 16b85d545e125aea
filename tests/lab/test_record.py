from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab_helpers import make_data, make_experiment
from rich.console import Console

from mshgnn.lab.errors import StoreError
from mshgnn.lab.record import load_record, load_records, make_record, save_record
from mshgnn.lab.runner import Run, describe
from mshgnn.lab.store import FoldKey, FoldResult
from mshgnn.lab.summary import percent, rules_table, side_by_side, summarise
from mshgnn.training.curves import CURVE_NAMES, Curves


def make_run(folds: int = 3, epochs: int = 20, seeds: tuple[int, ...] = (0,)) -> Run:
    """Curves like real ones: random walks, losses of any digits, metrics that are shares of a count."""
    info = describe(make_experiment(seeds=list(seeds)), make_data(folds=folds))
    generator = np.random.default_rng(0)
    results = []
    for key in info.keys:
        arrays = {}
        for name in CURVE_NAMES:
            walk = 0.5 + generator.normal(scale=0.02, size=epochs).cumsum()
            arrays[name] = np.abs(walk) if name.endswith("loss") else np.round(np.clip(walk, 0, 1) * 411) / 411
        curves = Curves(**arrays, sizes=(3000, 411, 411), higher_is_better=True)
        results.append(FoldResult(key, curves, 1.23456, 321.09876, 42, info.environment))
    return Run(info, tuple(results))


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_record_comes_back(tmp_path: Path, name: str) -> None:
    record = make_record(make_run(seeds=(0, 7)))
    path = save_record(record, tmp_path / "results" / name)
    assert load_record(path) == record
    assert path.read_bytes() == save_record(record, tmp_path / f"again-{name}").read_bytes()


def test_rules_are_those_of_the_full_curves_and_curves_are_rounded(tmp_path: Path) -> None:
    run = make_run()
    record = load_record(save_record(make_record(run), tmp_path))
    assert record.rules == summarise(run)
    for kept, full in zip(record.run.results, run.results, strict=True):
        assert np.array_equal(kept.curves.test_loss, full.curves.test_loss.round(4))
    assert record.parameters == 42
    assert record.seconds == pytest.approx(3.69)
    assert record.peak_memory_mb == 321.1
    assert [loaded.name for loaded in load_records(tmp_path)] == ["tiny-gcn"]


def test_ten_folds_of_two_hundred_epochs_stay_small(tmp_path: Path) -> None:
    path = save_record(make_record(make_run(folds=10, epochs=200)), tmp_path)
    assert path.stat().st_size < 100_000


def test_an_unfinished_run_makes_no_record() -> None:
    run = make_run()
    with pytest.raises(StoreError, match="tiny-gcn: 1 folds are missing"):
        make_record(Run(run.info, run.results[:-1]))


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8bxx", b'{"format": 1, "sha256": "", "payload": {}}'])
def test_a_damaged_record_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json.gz"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"bad.json.gz: not a record, or damaged"):
        load_record(path)
    with pytest.raises(StoreError, match=r"gone.json: cannot be read"):
        load_record(tmp_path / "gone.json")


def test_tables_say_what_plus_minus_is_over_and_mark_what_selects_on_test() -> None:
    run, seeds = make_run(), make_run(seeds=(0, 1))
    shown = plain(rules_table(run, summarise(run)))
    assert "± over 3 folds" in shown
    lines = {line.split("│")[1].strip(): line for line in shown.splitlines() if "│" in line}
    assert percent(summarise(run)["best_validation"]) in lines["best_validation"]
    assert lines["best_validation"].rstrip(" │").endswith("no")
    assert lines["best_test_per_fold"].rstrip(" │").endswith("yes")
    both = plain(side_by_side([("b", run, summarise(run)), ("a", seeds, summarise(seeds))]))
    assert "over 2 seeds of fold means" in both
    assert both.index(" b ") < both.index(" a "), "in the order given"
    assert "average_curve*" in both
    assert "best_validation*" not in both


def plain(table: object) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_fold_keys_name_their_files() -> None:
    assert str(FoldKey(3, 7)) == "seed3-fold07"

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mshgnn.records.record import RecordError, load_record, load_suite, make_record, save_record
from mshgnn.records.run import Run
from support.runs import make_run


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_record_comes_back(tmp_path: Path, name: str) -> None:
    record = make_record(make_run(seeds=(0, 7)))
    path = save_record(record, tmp_path / "results" / name)
    assert load_record(path) == record
    assert path.read_bytes() == save_record(record, tmp_path / f"again-{name}").read_bytes()


def test_a_record_says_which_node_did_which_fold(tmp_path: Path) -> None:
    run = make_run()
    nodes = ["far/1", "near/2", "far/1"]
    results = tuple(
        replace(result, environment={**result.environment, "node": node})
        for result, node in zip(run.results, nodes, strict=True)
    )
    record = load_record(save_record(make_record(Run(run.info, results)), tmp_path / "tiny-gcn.json.gz"))
    assert [result.environment["node"] for result in record.run.results] == nodes


def test_rules_are_those_of_the_full_curves_and_curves_are_rounded(tmp_path: Path) -> None:
    run = make_run()
    record = load_record(save_record(make_record(run), tmp_path / "tiny-gcn.json.gz"))
    assert record.rules == run.rules
    for kept, full in zip(record.run.results, run.results, strict=True):
        assert np.array_equal(kept.curves.test_loss, full.curves.test_loss.round(4))
    assert record.parameters == 42
    assert record.seconds == pytest.approx(3.69)
    assert record.peak_memory_mb == 321.1


def test_a_suites_records_are_found_by_data_set_and_model(tmp_path: Path) -> None:
    record = make_record(make_run())
    save_record(record, tmp_path / "MUTAG" / "gcn.json.gz")
    save_record(record, tmp_path / "MUTAG" / "gat-1.5.json.gz")
    assert load_suite(tmp_path) == {("MUTAG", "gat-1.5"): record, ("MUTAG", "gcn"): record}


def test_ten_folds_of_two_hundred_epochs_stay_small(tmp_path: Path) -> None:
    path = save_record(make_record(make_run(folds=10, epochs=200)), tmp_path / "a.json.gz")
    assert path.stat().st_size < 100_000


def test_an_unfinished_run_makes_no_record() -> None:
    run = make_run()
    with pytest.raises(RecordError, match="tiny-gcn: 1 folds are missing"):
        make_record(Run(run.info, run.results[:-1]))


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8bxx", b'{"format": 1, "sha256": "", "payload": {}}'])
def test_a_damaged_record_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json.gz"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"bad.json.gz: not a record, or damaged"):
        load_record(path)
    with pytest.raises(RecordError, match=r"gone.json: cannot be read"):
        load_record(tmp_path / "gone.json")


ROOT = Path(__file__).resolve().parents[2]
COMMITTED = sorted((ROOT / "results").rglob("*.json.gz"))
ROUNDING = 2 * 10.0**-4


def test_a_rule_that_a_record_does_not_hold_is_computed_from_its_curves(tmp_path: Path) -> None:
    record = make_record(make_run())
    older = replace(record, stored={name: result for name, result in record.stored.items() if name != "last_epoch"})
    loaded = load_record(save_record(older, tmp_path / "a.json"))
    last = [result.curves.test_metric[-1] for result in record.run.results]
    assert loaded.rules["last_epoch"].mean == pytest.approx(np.mean(last))
    assert list(loaded.rules) == list(record.rules)


def test_committed_records_hold_what_the_rules_make_of_their_curves() -> None:
    """Stored and computed agree; where rounding makes a tie, the two epochs are equally good to rounding."""
    assert len(COMMITTED) > 350
    for path in COMMITTED:
        record = load_record(path)
        assert record.rules == record.stored, path
        folds = [result.curves for result in record.run.results]
        for name, computed in record.run.rules.items():
            stored = record.stored[name]
            for fold, curves in enumerate(folds):
                if stored.epochs[fold] == computed.epochs[fold]:
                    assert stored.per_fold[fold] == pytest.approx(computed.per_fold[fold], abs=ROUNDING), path
                elif name == "best_validation":
                    chosen = curves.validation_metric[[stored.epochs[fold], computed.epochs[fold]]]
                    assert np.ptp(chosen) <= ROUNDING, path
                else:
                    assert computed.selects_on_test, path
            if computed.selects_on_test:
                assert stored.mean == pytest.approx(computed.mean, abs=ROUNDING), path

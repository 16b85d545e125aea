from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mshgnn.records.run import FoldKey, FoldResult, RunInfo
from support.runs import make_run


def test_fold_keys_name_their_files() -> None:
    assert str(FoldKey(3, 7)) == "seed3-fold07"


def test_a_fold_and_a_run_come_back_from_json() -> None:
    run = make_run(seeds=(4, 2))
    for result in run.results:
        assert FoldResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    info = RunInfo.from_json(json.loads(json.dumps(run.info.to_json())))
    assert info == run.info
    assert (info.name, info.dataset, info.model, info.seeds) == ("tiny-gcn", "tiny", "gcn", (4, 2))


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": {"name": "tiny-gcn", "dataset": {"name": "tiny"}, "model": {"name": "gcn", "dropout": 0.3}}},
        {"dataset_checksum": "other"},
        {"splits_checksum": "other"},
        {"metric": "roc_auc"},
        {"numbers": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_changes_with_everything_that_decides_the_numbers(change: dict[str, Any]) -> None:
    info = make_run().info
    assert replace(info, **change).digest != info.digest


def test_the_digest_does_not_change_with_names_and_machines() -> None:
    info = make_run().info
    renamed = replace(info, experiment={**info.experiment, "name": "other", "about": "x"}, environment={"torch": "9"})
    assert renamed.digest == info.digest


def test_rules_of_several_seeds_are_means_of_means() -> None:
    run = make_run(seeds=(0, 1))
    assert run.rules["last_epoch"].spread == "over 2 seeds of fold means"
    assert next(iter(run.rules)) == "best_validation"

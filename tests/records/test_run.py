from __future__ import annotations

import json

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


def test_rules_of_several_seeds_are_means_of_means() -> None:
    run = make_run(seeds=(0, 1))
    assert run.rules["last_epoch"].spread == "over 2 seeds of fold means"
    assert next(iter(run.rules)) == "best_validation"

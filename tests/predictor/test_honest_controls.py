from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mshgnn.data import load_own
from mshgnn.data.splits import Split
from mshgnn.predictor.controls import control_values
from mshgnn.training.objective import objective_of
from support.own_data import molecules

pytest.importorskip("rdkit")
SPLIT = Split(torch.arange(40), torch.arange(40, 50), torch.arange(50, 60))


def test_the_mean_is_that_of_the_training_part(tmp_path: Path) -> None:
    dataset = load_own(molecules(tmp_path / "m.csv"), target="logp")
    found = control_values(dataset, SPLIT)
    assert torch.allclose(found["mean"], dataset.labels()[:40].mean().expand(10, 1))


@pytest.mark.parametrize("targets", [["logp"], ["kind"], ["toxic", "soluble"]])
def test_the_forest_beats_the_constant(tmp_path: Path, targets: list[str]) -> None:
    dataset = load_own(molecules(tmp_path / "m.csv"), target=targets)
    objective, truth = objective_of(dataset), dataset.labels()[SPLIT.test]
    constant, forest = (objective.measure(values, truth) for values in control_values(dataset, SPLIT).values())
    assert forest > constant if objective.higher_is_better else forest < constant

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from test_loop import SmallGCN, make_dataset

from mshgnn.data import Split
from mshgnn.errors import UserError
from mshgnn.training import checkpoint as module
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.settings import TrainingSettings

DATASET = make_dataset(60)
SPLIT = Split(torch.arange(0, 40), torch.arange(40, 50), torch.arange(50, 60))


class Killed(BaseException):
    """Nothing may be tidied up after this."""


def trained(path: Path, settings: TrainingSettings, die_after: int | None = None) -> tuple[SmallGCN, Curves | None]:
    torch.manual_seed(1)
    model = SmallGCN(8, 2)

    def see(report: EpochReport) -> None:
        if report.epoch == die_after and not report.restored:
            raise Killed

    try:
        kept = Checkpoint(path, "digest")
        return model, train_fold(model, DATASET, SPLIT, settings, 3, see, keep_best=True, checkpoint=kept)
    except Killed:
        return model, None


@pytest.mark.parametrize(
    "changes",
    [
        {"optimiser": "adamw", "schedule": "cosine", "warmup_epochs": 2},
        {"schedule": "plateau", "plateau_patience": 1, "learning_rate": 0.05},
        {"weight_average": 0.9, "patience": 2, "evaluate_train_every": 3},
    ],
)
def test_a_training_killed_twice_ends_in_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)
    settings = TrainingSettings(epochs=8, batch_size=16, **changes)
    whole, curves = trained(tmp_path / "whole", settings)
    path = tmp_path / "pieces"
    assert trained(path, settings, die_after=2)[1] is None
    trained(path, settings, die_after=4)
    again, resumed = trained(path, settings)
    assert resumed == curves
    for key, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[key])


def test_what_is_over_is_not_trained_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)
    settings = TrainingSettings(epochs=30, batch_size=16, patience=1, learning_rate=0.05)
    _, curves = trained(tmp_path / "c", settings)
    assert curves is not None
    assert curves.epochs < 30
    assert trained(tmp_path / "c", settings)[1] == curves, "the file is of the last epoch: there is nothing to add"


def test_between_two_files_some_seconds_pass(tmp_path: Path) -> None:
    trained(tmp_path / "c", TrainingSettings(epochs=3, batch_size=16), die_after=3)
    seen: list[bool] = []
    train_fold(
        SmallGCN(8, 2), DATASET, SPLIT, TrainingSettings(epochs=3, batch_size=16), 3,
        lambda report: seen.append(report.restored), checkpoint=Checkpoint(tmp_path / "c", "digest"),
    )  # fmt: skip
    assert seen == [True, False, False]


def test_the_file_of_another_training_is_not_gone_on_with(tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=1, batch_size=16)
    trained(tmp_path / "c", settings, die_after=1)
    seen: list[bool] = []
    other = Checkpoint(tmp_path / "c", "other")
    train_fold(
        SmallGCN(8, 2), DATASET, SPLIT, settings, 3, lambda report: seen.append(report.restored), checkpoint=other
    )
    assert seen == [False]


@pytest.mark.parametrize("cut", [0, 5, 200, -10])
def test_a_cut_file_is_one_line(tmp_path: Path, cut: int) -> None:
    settings = TrainingSettings(epochs=1, batch_size=16)
    trained(tmp_path / "c", settings, die_after=1)
    content = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(content[:cut])
    with pytest.raises(UserError, match=r"is damaged .* delete it") as caught:
        trained(tmp_path / "c", settings)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=1, batch_size=16)
    trained(tmp_path / "c", settings, die_after=1)
    wider = copy.deepcopy(SmallGCN(8, 3))
    with pytest.raises(UserError, match="is damaged"):
        train_fold(wider, DATASET, SPLIT, settings, 3, checkpoint=Checkpoint(tmp_path / "c", "digest"))


def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=1, batch_size=16)
    trained(tmp_path / "c", settings, die_after=1)
    whole = (tmp_path / "c").read_bytes()
    weights = trained(tmp_path / "c", settings)[0].state_dict()
    for place in range(3, len(whole), 97):
        (tmp_path / "c").write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            found = trained(tmp_path / "c", settings)[0].state_dict()
        except UserError as error:
            assert "is damaged" in str(error)  # noqa: PT017
        else:  # the digest itself was hit: trained anew
            assert all(torch.equal(found[key], value) for key, value in weights.items())

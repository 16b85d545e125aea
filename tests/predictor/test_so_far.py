"""What a training that is killed leaves: a model that can be used, and a way to go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from mshgnn.errors import UserError
from mshgnn.predictor import fold as fold_module
from mshgnn.predictor import member as member_module
from mshgnn.predictor import so_far
from mshgnn.predictor.config import TrainConfig
from mshgnn.predictor.contents import subject_of_model
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.predict import predict_file
from mshgnn.predictor.train import gather, train
from mshgnn.training import checkpoint
from mshgnn.training.loop import EpochReport
from support.own_data import Silent, config, shapes

pytestmark = pytest.mark.usefixtures("reference_backend")
TINY = {"name": "gcn", "hidden_channels": 8, "num_layers": 1}


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies as often as there is something new."""
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(so_far, "SHARE", float("inf"))


def whole(folder: Path, asked: TrainConfig) -> bool:
    """Check that the folder loads, weights and reach of one epoch; whether it is that of a copy."""
    (member,) = Ensemble.load(folder).members
    settled, read, _, (split,) = gather(asked)
    dataset = fold_module.untrained(settled, read, split, 0)[1]
    again = member.reaching(dataset, split, 0).reach
    assert member.reach is not None
    assert again is not None
    assert all(torch.equal(*pair) for pair in zip(member.reach, again, strict=True))
    report = fold_module.FoldReport.load(folder / "model_0")
    assert report is not None
    return report.kept != ""


class Killed(BaseException):
    """No handler knows it, as none sees SIGKILL."""


@pytest.mark.parametrize("first", [0, *(pytest.param(later, marks=pytest.mark.slow) for later in (1, 2, 3))])
def test_a_kill_at_any_write_leaves_the_last_whole_copy(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_epoch: None
) -> None:
    data = shapes(tmp_path / "s.jsonl", 20)
    asked = config(data, model=TINY, epochs=3)
    monkeypatch.setattr("mshgnn.predictor.train.summarise", lambda *_, **__: ())  # these two take most of the time
    monkeypatch.setattr(os, "fsync", lambda _: None)
    writes = 0
    deadly = -1

    def counted(do: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal writes
            writes += 1
            if writes == deadly:
                raise Killed
            return do(*arguments)

        return call

    monkeypatch.setattr(os, "replace", counted(os.replace))
    for module in (fold_module, member_module):
        monkeypatch.setattr(module, "write_atomically", counted(module.write_atomically))
    train(asked, tmp_path / "whole", Silent())
    total, kept = writes, 0
    final = (tmp_path / "whole" / "model_0" / "model.safetensors").read_bytes()
    for moment in range(1 + first, total + 1, 4):
        writes, deadly = 0, moment
        folder = tmp_path / str(moment)
        with suppress(Killed):
            train(asked, folder, Silent())
        if (folder / "model_0" / "fold.json").exists():
            kept += whole(folder, asked)
            predict_file(Ensemble.load(folder), data, tmp_path / "out.csv")
        deadly = -1
        train(asked, folder, Silent())
        assert (folder / "model_0" / "model.safetensors").read_bytes() == final
        assert not list((folder / "model_0").glob("so_far_*"))
    assert kept > 1


def test_copies_change_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_epoch: None) -> None:
    asked = config(shapes(tmp_path / "s.jsonl", 20), model={**TINY, "dropout": 0.5}, epochs=4)
    train(asked, tmp_path / "often", Silent())
    monkeypatch.setattr(so_far.SoFar, "__call__", lambda *_: None)
    train(asked, tmp_path / "never", Silent())
    for name in ("model.safetensors", "curves.json", "reach.safetensors"):
        often, never = (tmp_path / folder / "model_0" / name for folder in ("often", "never"))
        assert often.read_bytes() == never.read_bytes()


def test_copies_take_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    named = []
    clock = iter(range(0, 10_000, 10))  # a copy takes ten seconds, and ten pass before the next may begin
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    member = Ensemble.load(_trained(tmp_path)).members[0]
    monkeypatch.setattr(type(member), "reaching", lambda self, *_: self)
    keeper = so_far.SoFar(tmp_path, member, None, None, 0, lambda name, epoch: named.append(epoch))  # type: ignore[arg-type]
    for epoch in range(100):
        keeper(member.model.state_dict(), epoch)
    assert named[:2] == [1, 51]  # ten seconds of copying for five hundred of training


def _trained(folder: Path) -> Path:
    train(config(shapes(folder / "s.jsonl", 20), model=TINY), folder / "model", Silent())
    return folder / "model"


def test_a_training_that_was_stopped_resumed_and_killed_has_a_page(tmp_path: Path, every_epoch: None) -> None:
    asked = config(shapes(tmp_path / "s.jsonl", 20), model=TINY, epochs=4)
    assert train(asked, tmp_path / "model", Silent(stop_after=2)).interrupted

    class Kill(Silent):
        def _see(self, report: EpochReport) -> None:
            if report.epoch == 4:
                raise Killed

    with pytest.raises(Killed):
        train(asked, tmp_path / "model", Kill())
    report = fold_module.FoldReport.load(tmp_path / "model" / "model_0")
    assert report is not None
    assert report.kept.startswith("so_far_")
    assert len(subject_of_model(tmp_path / "model").folds) == 1


def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = _trained(tmp_path)
    path = folder / "model_0" / "fold.json"
    for name in ("../..", "/etc", "so_far_", 3):
        path.write_text(json.dumps({**json.loads(path.read_text()), "kept": name}))
        with pytest.raises(UserError, match=r"fold.json is damaged"):
            Ensemble.load(folder)


def test_a_killed_training_leaves_a_model_and_the_same_command_goes_on(tmp_path: Path) -> None:
    data = shapes(tmp_path / "s.jsonl", 40)
    quick = ["--model", "gcn", "--set", "hidden_channels=8", "--set", "num_layers=1", "--no-controls"]
    command = [sys.executable, "-m", "mshgnn", "train", str(data), *quick, "--epochs", "100000"]
    command += ["--patience", "100000", "--out", str(tmp_path / "model")]
    epochs = []
    for _ in range(2):
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        before = _history(tmp_path / "model")
        deadline = time.monotonic() + 60
        while _history(tmp_path / "model") == before and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        started.send_signal(signal.SIGKILL)
        _, err = started.communicate(timeout=60)
        assert started.returncode == -signal.SIGKILL, err
        Ensemble.load(tmp_path / "model")
        predict_file(Ensemble.load(tmp_path / "model"), data, tmp_path / "out.csv")
        epochs.append(_history(tmp_path / "model"))
    assert epochs[1] > epochs[0] >= 1


def _history(folder: Path) -> int:
    """How many epochs the copy knows of."""
    report = fold_module.FoldReport.load(folder / "model_0")
    return 0 if report is None else len(report.train_loss)


def test_a_kill_before_the_description_was_written_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.yaml.x7f3.writing").write_text("data: /som")
    _trained(tmp_path)
    assert len(Ensemble.load(folder).members) == 1

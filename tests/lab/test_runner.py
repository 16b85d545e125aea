from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lab_helpers import make_experiment, use_tiny_data

from mshgnn.data import load_splits
from mshgnn.lab.errors import LabError, RunFolderLost, StoreError
from mshgnn.lab.registry import resolve
from mshgnn.lab.runner import default_folder, load_run, run_experiment, run_info
from mshgnn.lab.setup import LoadedData
from mshgnn.lab.store import RunStore
from mshgnn.lab.workers import decide_workers
from mshgnn.models import MODELS
from mshgnn.models.controls import CONTROLS
from mshgnn.records.run import NUMBERS_VERSION, FoldKey, FoldResult, Run, RunInfo
from mshgnn.training.loop import EpochReport


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> LoadedData:
    return use_tiny_data(monkeypatch)


class Watcher:
    """Counts what it sees, and pulls the plug after ``stop_after`` folds."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.folds: list[FoldKey] = []
        self.epochs = 0

    def begin(self, info: RunInfo, finished: int) -> None:
        self.finished = finished

    def epoch(self, key: FoldKey, report: EpochReport) -> None:
        self.epochs += 1

    def fold(self, result: FoldResult) -> None:
        self.folds.append(result.key)
        if len(self.folds) == self.stop_after:
            raise KeyboardInterrupt

    def end(self) -> None:
        self.ended = True


def curves(run: Run) -> list[object]:
    return [result.curves for result in run.results]


def test_a_run_trains_every_fold_of_every_seed(tmp_path: Path, tiny: LoadedData) -> None:
    watcher = Watcher()
    run = run_experiment(make_experiment(seeds=[0, 5]), tmp_path / "run", watcher)
    assert [tuple(result.key) for result in run.results] == [(s, f) for s in (0, 5) for f in range(3)]
    assert watcher.epochs == 18
    assert watcher.ended
    assert run.rules["best_validation"].spread == "over 2 seeds of fold means"
    assert all(result.seconds > 0 and result.peak_memory_mb > 1 for result in run.results)
    assert run.info.dataset_checksum == tiny.dataset.checksum
    environment = run.results[0].environment
    assert environment["threads"] == "1"
    assert environment["torch"].startswith("2.")
    assert run.info.numbers == NUMBERS_VERSION


def test_an_interrupted_run_resumes_to_the_same_numbers(tmp_path: Path, tiny: LoadedData) -> None:
    experiment = make_experiment()
    whole = run_experiment(experiment, tmp_path / "whole", Watcher())
    broken = tmp_path / "broken"
    interrupted = Watcher(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, broken, interrupted)
    assert interrupted.ended
    assert len(load_run(broken).results) == 2
    victim = broken / "folds" / "seed0-fold00.json.gz"
    victim.write_bytes(victim.read_bytes()[:-7])
    resumed = Watcher()
    again = run_experiment(experiment, broken, resumed)
    assert resumed.finished == 1
    assert resumed.folds == [(0, 0), (0, 2)]
    assert curves(again) == curves(whole)
    assert victim.with_name(victim.name + ".damaged").exists()
    idle = Watcher()
    assert curves(run_experiment(experiment, broken, idle)) == curves(whole)
    assert idle.folds == []


@pytest.mark.parametrize("name", sorted(name for name in MODELS if "graph" in MODELS[name].tasks))
def test_every_model_runs_two_epochs(tmp_path: Path, tiny: LoadedData, name: str) -> None:
    experiment = make_experiment(model={"name": name}, training={"epochs": 2}, folds=[0])
    run = run_experiment(experiment, tmp_path / "run", Watcher())
    assert run.results[0].curves.epochs == 2
    assert run.results[0].parameters > 0


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_every_control_runs_under_every_rule(tmp_path: Path, tiny: LoadedData, name: str) -> None:
    run = run_experiment(make_experiment(model={"name": name}), tmp_path / "run", Watcher())
    rules = run.rules
    assert all(0 <= result.mean <= 1 for result in rules.values())
    assert run.results[0].curves.epochs == 1
    if name == "majority":
        assert rules["whole_set_best"].mean == pytest.approx(0.5)


@pytest.mark.parametrize("model", [{"name": "gcn", "hidden_channels": 8, "num_layers": 1}, {"name": "majority"}])
def test_without_a_validation_part_the_whole_set_is_train_and_test(
    tmp_path: Path, tiny: LoadedData, monkeypatch: pytest.MonkeyPatch, model: dict[str, object]
) -> None:
    halves = LoadedData(tiny.dataset, load_splits(tiny.dataset, "cross-validation"))
    monkeypatch.setattr("mshgnn.lab.runner.load_data", lambda experiment: halves)
    run = run_experiment(make_experiment(model=model), tmp_path / "run", Watcher())
    curves = run.results[0].curves
    counted = (curves.train_metric * curves.sizes[0] + curves.test_metric * curves.sizes[2]) / sum(curves.sizes)
    assert "best_validation" not in run.rules
    assert run.rules["whole_set_best"].per_fold[0] == pytest.approx(counted.max())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"name": "gccn"}}, "model.name: unknown model 'gccn'; did you mean 'gcn'?"),
        ({"model": {"name": "gcn", "hiden_channels": 3}}, "hidden_channels"),
        ({"model": {"name": "gcn", "hidden_channels": -3}}, "hidden_channels"),
        ({"model": {"name": "majority", "k": 3}}, "model.k: the control 'majority' has no options"),
        ({"folds": [0, 3]}, "folds: 3 is too high, tiny has 3 folds"),
    ],
)
def test_mistakes_are_found_before_anything_is_written(
    tmp_path: Path, tiny: LoadedData, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run_experiment(make_experiment(**changes), tmp_path / "run", Watcher())
    assert not (tmp_path / "run").exists()


def test_a_fold_names_the_machine_that_ran_it_not_the_one_that_asked(
    tmp_path: Path, tiny: LoadedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mshgnn.lab.runner.environment", lambda: {"machine": "the one that asked"})
    monkeypatch.setattr("mshgnn.lab.fold.environment", lambda: {"machine": "the one that computes"})
    run = run_experiment(make_experiment(), tmp_path / "run", Watcher())
    assert run.info.environment == {"machine": "the one that asked"}
    assert {result.environment["machine"] for result in run.results} == {"the one that computes"}


def test_a_folder_removed_in_the_middle_ends_the_run(tmp_path: Path, tiny: LoadedData) -> None:
    folder = tmp_path / "run"

    class Remover(Watcher):
        def fold(self, result: FoldResult) -> None:
            super().fold(result)
            if len(self.folds) == 2:
                shutil.rmtree(folder)

    watcher = Remover()
    with pytest.raises(RunFolderLost, match="was removed while the run went on; seed0-fold02 is not stored"):
        run_experiment(make_experiment(), folder, watcher)
    assert watcher.ended


def test_a_fold_that_is_gone_at_the_end_is_said(tmp_path: Path, tiny: LoadedData) -> None:
    folder = tmp_path / "run"

    class Thief(Watcher):
        def fold(self, result: FoldResult) -> None:
            super().fold(result)
            if len(self.folds) == 3:  # the last: no save comes after it
                (folder / "folds" / "seed0-fold00.json.gz").unlink()

    with pytest.raises(RunFolderLost, match="was changed while the run went on; lost: seed0-fold00"):
        run_experiment(make_experiment(), folder, Thief())


def test_a_changed_default_of_the_model_changes_folder_and_digest(
    tmp_path: Path, tiny: LoadedData, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = make_experiment(model={"name": "msh-stable", "hidden_channels": 8, "num_layers": 1})
    before = default_folder(experiment)
    assert experiment.resolved()["model"]["dropout"] == 0.1
    run_experiment(experiment, tmp_path / "run", Watcher())

    def newer(name: str, options: dict[str, object]) -> dict[str, object]:
        return resolve(name, {"dropout": 0.2, **options})

    monkeypatch.setattr("mshgnn.lab.registry.resolve", newer)
    assert default_folder(experiment) != before
    with pytest.raises(StoreError, match=r"another experiment: model.dropout was 0.1, is now 0.2"):
        RunStore(tmp_path / "run").begin(run_info(experiment, tiny))


def test_the_folder_follows_the_experiment() -> None:
    first, second = make_experiment(), make_experiment(training={"epochs": 4})
    assert default_folder(first) == Path("runs") / f"tiny-gcn-{first.digest}"
    assert default_folder(first) != default_folder(second)


def test_jobs(tiny: LoadedData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.lab.workers._cores", lambda: 4)
    long = make_experiment(training={"epochs": 100_000})
    assert decide_workers("3", 10, long, tiny.dataset) == 3
    assert decide_workers("auto", 10, long, tiny.dataset) == 4
    assert decide_workers("auto", 3, long, tiny.dataset) == 3
    assert decide_workers("auto", 0, long, tiny.dataset) == 1
    assert decide_workers("auto", 10, make_experiment(), tiny.dataset) == 1, "not worth starting processes"
    for wrong in ("0", "-1", "two", "1.5", ""):
        with pytest.raises(LabError, match="--jobs must be a number"):
            decide_workers(wrong, 10, long, tiny.dataset)

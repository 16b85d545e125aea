"""``mshgnn run``, ``show`` and ``record`` as a user types them, mistakes included."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mshgnn.lab.display import PlainDisplay
from mshgnn.records.record import load_record
from mshgnn.records.run import FoldResult
from support.commands import Cli, in_this_process
from support.mirror import needs_mirror

GOOD = "dataset: {name: MUTAG}\nmodel: {name: gcn, hidden_channels: 8}\ntraining: {epochs: 2}\nfolds: [0, 1]\n"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return in_this_process(monkeypatch, capsys)


def write_shapes() -> None:
    """Ten rings and ten stars of one's own, in the present folder."""
    ring, star = [[0, 1], [1, 2], [2, 0]], [[0, 1], [0, 2], [0, 3]]
    lines = [json.dumps({"edges": edges, "num_nodes": 4, "target": t}) for t, edges in enumerate((ring, star))] * 10
    Path("shapes.jsonl").write_text("\n".join(lines))


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    (tmp_path / "mutag-gcn.yaml").write_text(GOOD)
    return "mutag-gcn.yaml"


def test_a_device_that_is_not_there_is_one_line(cli: Cli, experiment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for device, message in (("cuda", "finds no graphics card"), ("tpu", "training.device: ")):
        code, _, err = cli("run", experiment, "--device", device)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1
    assert not Path("runs").exists()


@needs_mirror
def test_run_show_and_record(cli: Cli, experiment: str) -> None:
    code, out, _ = cli("run", experiment, "--jobs", "1", "--record", "mine.json.gz")
    assert code == 0
    assert "seed0-fold01: 2 epochs" in out
    for rule in ("best_validation", "last_epoch", "average_curve", "best_test_per_fold", "whole_set_best"):
        assert rule in out
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("mutag-gcn-")
    assert load_record(Path("mine.json.gz")).info.name == "mutag-gcn"

    code, out, _ = cli("run", experiment, "--jobs", "1")
    assert code == 0
    assert "2 there already" in out

    code, out, _ = cli("run", experiment, "--jobs", "1", "--set", "training.epochs=1", "--out", "short")
    assert code == 0
    code, out, _ = cli("run", experiment, "--jobs", "1", "--out", "short")
    assert code == 2, "another experiment's folder"

    code, out, _ = cli("show", str(folder))
    assert code == 0
    assert "± over 2 folds" in out
    code, out, _ = cli("show", str(folder), "short", "mine.json.gz")
    assert code == 0
    assert "selects on test" in out
    code, out, _ = cli("record", str(folder))
    assert code == 0
    assert load_record(Path("results/mutag-gcn.json.gz")) == load_record(Path("mine.json.gz"))


def test_own_graphs_run_and_runs_without_a_finished_fold_do_not_hide_the_others(cli: Cli, tmp_path: Path) -> None:
    write_shapes()
    (tmp_path / "mine.yaml").write_text(GOOD.replace("{name: MUTAG}", "{path: shapes.jsonl}"))
    code, out, _ = cli("run", "mine.yaml", "--jobs", "2", "--record", "out")
    assert (code, "gcn on shapes" in out) == (0, True)
    (folder,) = Path("runs").iterdir()
    unfinished = Path("runs/begun")
    unfinished.mkdir()
    (unfinished / "run.json").write_bytes((folder / "run.json").read_bytes())
    code, out, err = cli("show", str(folder), str(unfinished))
    assert (code, "shapes" in out) == (0, True)
    assert "begun: no fold is finished yet" in err
    assert cli("show", str(unfinished))[0] == 2
    code, _, err = cli("run", "mine.yaml", "--jobs", "1", "--set", "training.epochs=1", "--record", "out")
    assert code == 2
    assert "out/mine.json.gz: holds another experiment: training.epochs was 2, is now 1" in err
    code, _, err = cli("run", "mine.yaml", "--jobs", "1", "--set", "training.epochs=1", "--record", "mine.yaml/x")
    assert (code, "mine.yaml/x/mine.json.gz: cannot be written (" in err) == (2, True)
    assert sorted(Path("runs").iterdir()) == sorted([folder, unfinished])  # said before anything was run


@needs_mirror
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "dataset.path=shapes.jsonl"], "two data sets"),
        (["--set", "training.learning_rate=.inf"], "training.learning_rate"),
        (["--set", "dataset.name=MUTAGG"], "MUTAG"),
        (["--set", "model.name=transfomer"], "did you mean 'transformer'?"),
        (["--set", "model.layers=4"], "num_layers"),
        (["--set", "splits=mine"], "splits must be one of"),
        (["--set", "dataset.features=colour"], "features must be one of"),
        (["--jobs", "zero"], "--jobs must be a number of at least 1 or auto, got 'zero'"),
        (["--out", "mutag-gcn.yaml/run"], "mutag-gcn.yaml/run: cannot be written"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, experiment: str, arguments: list[str], message: str) -> None:
    code, _, error = cli("run", experiment, *arguments)
    assert code == 2
    assert message in error
    assert error.startswith("mshgnn: ")
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset: [", "mutag-gcn.yaml: line 1 not valid YAML"),
        (GOOD + "seed: [1]", "mutag-gcn.yaml: unknown key 'seed'; did you mean 'seeds'?"),
        (GOOD.replace("epochs: 2", "epochs: -2"), "mutag-gcn.yaml: training.epochs: "),
    ],
)
def test_bad_files_are_explained(cli: Cli, experiment: str, text: str, message: str) -> None:
    Path(experiment).write_text(text)
    code, _, error = cli("run", experiment)
    assert code == 2
    assert error.startswith(f"mshgnn: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "gone.yaml"], "gone.yaml: no such file"),
        (
            ["run", "graph", "--only", "PTC/gin", "--only", "PTC/gcn", "--out", "x"],
            "--out: is the folder of one run, but 2 experiments",
        ),
        (["run", "grpah"], "grpah: no such file; did you mean 'graph'?"),
        (["run", "graph", "--only", "MUTAG/filn"], "has no such cell; did you mean 'MUTAG/film'?"),
        (["show", "runs", "--only", "x"], "add --resolved"),
        (["show", "nowhere"], "nowhere: not a run folder"),
        (["record", "nowhere"], "nowhere: not a run folder"),
        (["ceiling", "MUTAGG"], "MUTAG"),
    ],
)
def test_more_mistakes(cli: Cli, arguments: list[str], message: str) -> None:
    code, _, error = cli(*arguments)
    assert code == 2
    assert message in error


@needs_mirror
def test_no_space_is_explained_and_the_run_goes_on_later(
    cli: Cli, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 4:  # run.json and the first fold (each a file and its folder) still fit
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        code, _, error = cli("run", experiment, "--jobs", "1", "--out", "run")
    assert code == 2
    assert "seed0-fold01.json.gz: cannot be written (No space left on device)" in error
    code, out, _ = cli("run", experiment, "--jobs", "1", "--out", "run")
    assert code == 0
    assert "1 there already" in out


@needs_mirror
def test_ceiling(cli: Cli) -> None:
    code, out, _ = cli("ceiling", "MUTAG")
    assert code == 0
    assert "188 graphs" in out
    assert "100.0" in out
    assert "of the held-out" in out


@pytest.mark.parametrize("command", ["run", "show", "record", "ceiling", "demo"])
def test_help_has_an_example(cli: Cli, command: str) -> None:
    code, out, _ = cli(command, "--help")
    assert code == 0
    assert f"Example: mshgnn {command} " in " ".join(out.split())


def test_help_is_quick() -> None:
    """No heavy library is imported before a command needs it."""
    check = "import sys, mshgnn.cli; sys.exit(any(name in sys.modules for name in ('torch', 'sklearn', 'ray')))"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_a_cell_of_a_shipped_suite_is_shown_in_full(cli: Cli) -> None:
    code, out, _ = cli(
        "show",
        "graph",
        "--resolved",
        "--only",
        "MUTAG/gc*",
        "--only",
        "MUTAG/gin",
        "--only",
        "MUTAG/gnt*",
        "--set",
        "training.epochs=7",
    )
    assert code == 0
    shown = list(yaml.safe_load_all(out))
    assert [one["name"] for one in shown] == [f"graph/MUTAG/{name}" for name in ("gcn", "gin", "gntk")]
    assert shown[0]["training"]["epochs"] == 7
    assert shown[0]["model"]["dropout"] == 0.1
    Path("one.yaml").write_text(yaml.safe_dump(shown[0]))
    code, again, _ = cli("show", "one.yaml", "--resolved")
    assert list(yaml.safe_load_all(again)) == shown[:1]


SUITE = """
recipe: {training: {epochs: 1}, folds: [0]}
datasets: {shapes: {dataset: {path: shapes.jsonl}}}
models: {gcn: {model: {hidden_channels: 4}}, majority: {}}
"""


def test_a_users_own_suite_runs_and_records_by_its_key(cli: Cli) -> None:
    write_shapes()
    Path("mine.yaml").write_text(SUITE)
    code, out, _ = cli("run", "mine.yaml", "--jobs", "1", "--record", "results")
    assert code == 0
    assert out.startswith("2 experiments\n")
    assert {"/".join(folder.parts[:-1]) for folder in Path("runs").glob("*/*/*")} == {"runs/mine/shapes"}
    assert load_record(Path("results/mine/shapes/majority.json.gz")).info.name == "mine/shapes/majority"
    code, out, _ = cli("run", "mine.yaml", "--only", "*/gcn", "--jobs", "1")
    assert "1 there already" in out
    assert "experiments" not in out.splitlines()[0]


@pytest.mark.parametrize("arguments", [[], ["--workers", "2"]])
def test_a_dry_run_of_ray_says_what_would_go_where_and_writes_nothing(cli: Cli, arguments: list[str]) -> None:
    write_shapes()
    text = (
        "dataset: {path: shapes.jsonl}\nmodel: {name: gcn, hidden_channels: 8}\ntraining: {epochs: 2}\nfolds: [0, 1]\n"
    )
    Path("mine.yaml").write_text(text)
    before = set(Path().iterdir())
    code, out, _ = cli("run", "mine.yaml", "--engine", "ray", "--jobs", "2", "--dry-run", *arguments)
    assert code == 0
    assert "0 folds finished, 2 missing, in runs/mine-" in out
    assert "put into each node's object store once" in out
    where = r"a Ray of its own on this machine \(2 processors, .* GB free now\): "
    assert re.search(where + ("2 of 2 workers" if arguments else "seed0-fold00, seed0-fold01"), out)
    assert set(Path().iterdir()) == before


def test_a_folder_removed_in_the_middle_is_exit_code_one(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shapes()
    Path("mine.yaml").write_text(SUITE.replace("folds: [0]", "folds: [0, 1]"))
    real = PlainDisplay.fold

    def remove(self: PlainDisplay, result: FoldResult) -> None:
        real(self, result)
        shutil.rmtree("out")

    monkeypatch.setattr(PlainDisplay, "fold", remove)
    code, out, error = cli("run", "mine.yaml", "--only", "*/gcn", "--jobs", "1", "--out", "out")
    assert code == 1
    assert "stored in" not in out
    assert error == "mshgnn: out: was removed while the run went on; seed0-fold01 is not stored\n"

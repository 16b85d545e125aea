"""The commands for one's own data as a user types them, mistakes included."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from support.commands import Cli, in_this_process

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")
QUICK = ["--model", "gine", "--set", "hidden_channels=8", "--set", "num_layers=1", "--epochs", "3", "--no-controls"]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in a folder that holds molecules.csv; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_molecules(Path("molecules.csv"))
    return in_this_process(monkeypatch, capsys)


def write_molecules(path: Path, rows: int = 100) -> None:
    texts = ["C" * (1 + row % 8) + "O" * (row % 3 == 0) for row in range(rows)]
    lines = [f"{text},{len(text) / 2 + 0.01 * row:.2f}" for row, text in enumerate(texts)]
    path.write_text("\n".join(["smiles,solubility", *lines]) + "\n")


def test_from_a_file_to_predictions(cli: Cli) -> None:
    code, out, _ = cli("train", "molecules.csv", "--target", "solubility", "--out", "model", *QUICK)
    assert code == 0
    assert "task: graph regress: number solubility" in out
    assert "test rmse" in out
    code, out, _ = cli("predict", "model", "molecules.csv", "-o", "out.csv")
    assert (code, out.startswith("wrote out.csv: 100 rows")) == (0, True)
    with open("out.csv") as file:
        assert len(list(csv.DictReader(file))) == 100
    code, out, _ = cli("evaluate", "model", "molecules.csv")
    assert code == 0
    assert re.match(r"rmse: \d", out)
    assert "promised 90 %" in out
    assert cli("embed", "model", "molecules.csv", "-o", "e.npz")[0] == 0
    assert Path("e.npz").exists()


def test_several_targets_are_shown_one_by_one(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{'C' * (1 + row % 9)},{row},{row * 1e3},{'' if row % 2 else 5}" for row in range(40)]
    Path("three.csv").write_text("\n".join(["smiles,low,high,[flat]", *rows]) + "\n")
    targets = ["-t", "low", "-t", "high", "-t", "[flat]", "--objective", "regress", "--metric", "r2"]
    code, out, _ = cli("train", "three.csv", *targets, "--out", "model", *QUICK)
    assert (code, "test r2, mean over 3 targets" in out) == (0, True)
    assert re.search(r"│ low +│ +4 │ +-?\d", out)
    assert re.search(r"│ \[flat\] +│ +\d │ not defined │", out)
    code, out, _ = cli("evaluate", "model", "three.csv")
    assert code == 0
    assert re.search(r"┃ target +┃ known ┃ +r2 ┃ +rmse ┃", out)
    assert re.search(r"│ \[flat\] +│ +20 │ not defined │ +\d", out)
    monkeypatch.setattr("mshgnn.cli.train.MOST_TARGETS", 2)
    _, out, _ = cli("train", "three.csv", *targets, "--out", "model", *QUICK)
    assert ("│ high" in out, "[flat]  " in out) == (True, False)
    assert "and 1 more in model/metrics.json" in out


def test_init_writes_a_config_that_trains_and_is_kept(cli: Cli) -> None:
    assert cli("init", "molecules.csv")[0] == 0
    assert yaml.safe_load(Path("config.yaml").read_text())["objective"] == "regress"
    code, _, err = cli("init", "molecules.csv")
    assert (code, err) == (2, "mshgnn: config.yaml: is there already; choose another --out\n")
    assert cli("train", "--config", "config.yaml", *QUICK)[0] == 0
    again, out, _ = cli("train", "--config", "model/config.yaml", "--out", "again")
    assert (again, "test rmse" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "give DATA or --config"),
        (["train", "missing.csv"], "missing.csv: file not found"),
        (["train", "molecules.csv", "--target", "logp"], "no column 'logp'; columns are smiles, solubility"),
        (["train", "molecules.csv", "--metric", "rsme"], "metric: "),
        (["train", "molecules.csv", "--metric", "accuracy"], "target must be a whole number or a word"),
        (["train", "molecules.csv", "--folds", "2"], "folds must be 1, or at least 3"),
        (["train", "molecules.csv", "--split", "file"], "split 'file' and split_file go together"),
        (["train", "molecules.csv", "--set", "hidden=8"], "has no option 'hidden'; did you mean"),
        (["train", "molecules.csv", "--set", "training.lr=1"], "unknown key 'training.lr'"),
        (["train", "molecules.csv", "--set", "hidden"], "must look like"),
        (["train", "molecules.csv", "--epochs", "0"], "training.epochs: "),
        (["train", "molecules.csv", "--device", "cuda"], "finds no graphics card"),
        (["train", "molecules.csv", "--class-weights", "balanced"], "is for classes"),
        (["predict", "nothing", "molecules.csv"], "no trained model"),
        (["predict", "nothing", "molecules.csv", "--device", "tpu"], "device must be cpu, cuda or auto, got 'tpu'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(cli: Cli, arguments: list[str], message: str) -> None:
    code, _, err = cli(*arguments)
    assert code == 2
    assert message in err
    assert err.startswith("mshgnn: ")
    assert err.count("\n") == 1


def test_failed_work_has_exit_code_1(cli: Cli) -> None:
    assert cli("train", "molecules.csv", *QUICK)[0] == 0
    Path("bad.csv").write_text("smiles\nC(C\n")
    code, _, err = cli("predict", "model", "bad.csv")
    assert code == 1
    assert "not one of 1 rows could be predicted" in err


def test_ctrl_c_is_answered_with_a_model_and_exit_code_130(tmp_path: Path) -> None:
    write_molecules(tmp_path / "molecules.csv")
    command = [
        sys.executable,
        "-m",
        "mshgnn",
        "train",
        "molecules.csv",
        *QUICK,
        "--epochs",
        "100000",
        "--patience",
        "99999",
    ]
    started = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell starts its background jobs deaf to Ctrl-C, and they hand that on
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "model" / "config.yaml").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(3)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=120)
    assert started.returncode == 130
    assert "holds the best epoch so far" in err
    assert (tmp_path / "model" / "model_0" / "model.safetensors").exists()


def test_what_a_step_on_a_whole_graph_takes_is_said_before_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.training.forecast.WORTH_SAYING", 100)
    Path("ring").mkdir()
    node = np.arange(40)
    np.save("ring/x.npy", np.ones((40, 3), dtype=np.float32))
    np.save("ring/edge_index.npy", np.stack([np.r_[node, np.roll(node, 1)], np.r_[np.roll(node, 1), node]]))
    np.save("ring/y.npy", node % 2)
    Path("mine.yaml").write_text(
        "dataset: {path: ring}\nmodel: {name: msh-stable, hidden_channels: 8}\ntraining: {epochs: 1}\nfolds: [0]\n"
    )
    model = ["--model", "msh-stable", "--set", "hidden_channels=8", "--epochs", "1", "--no-controls"]
    for command in (
        ["train", "ring", "--out", "model", *model],
        ["run", "mine.yaml", "--out", "planned", "--dry-run"],
        ["run", "mine.yaml", "--out", "run", "--jobs", "1"],
    ):
        code, out, err = cli(*command)
        assert (code, err) == (0, "")
        said = r"a step on the whole graph \(40 nodes, 80 edges\) takes about \S+ GB beside the data, and \S+ s"
        assert re.search(said, re.sub(r"\s+", " ", out)), out
    assert not Path("planned").exists()


def write_nodes(folder: Path) -> None:
    folder.mkdir()
    rows = [f"{n},n{n},{n * 1.5},{n % 7},{n % 3},{n % 2},{('train', 'train', 'val', 'test')[n % 4]}" for n in range(40)]
    (folder / "nodes.csv").write_text("\n".join(["junk,name,size,age,weight,amount,part", *rows]) + "\n")
    (folder / "edges.csv").write_text("from,to\n" + "".join(f"n{n},n{(n + 1) % 40}\n" for n in range(40)))


OPTIONS = {
    "objective": "regress",
    "metric": "mae",
    "id_column": "name",
    "split_column": "part",
    "weight_column": "weight",
}


def test_init_writes_what_was_said_into_the_config(cli: Cli) -> None:
    write_nodes(Path("graph"))
    said = [word for key, value in OPTIONS.items() for word in (f"--{key.replace('_', '-')}", value)]
    code, _, err = cli(
        "init",
        "graph",
        "-t",
        "amount",
        *said,
        "--ignore",
        "junk",
        "--directed",
        "--unseen",
        "error",
        "-o",
        "new/c.yaml",
    )
    assert (code, err) == (0, "")
    content = yaml.safe_load(Path("new/c.yaml").read_text())
    expected = {**OPTIONS, "target": ["amount"], "ignore": ["junk"], "directed": True, "unseen": "error"}
    assert {key: content[key] for key in expected} == expected
    assert content["split"] == "column"
    code, out, err = cli("train", "--config", "new/c.yaml", *QUICK[:-3], "--epochs", "1", "--no-controls")
    assert (code, err) == (0, "")
    assert "node regress: number amount; metric mae; split column" in out


def test_tune_takes_the_options_that_decide_how_a_file_is_read(cli: Cli) -> None:
    pytest.importorskip("optuna")
    write_nodes(Path("graph"))
    said = [word for key, value in OPTIONS.items() for word in (f"--{key.replace('_', '-')}", value)]
    options = ["-t", "amount", *said, "--ignore", "junk", "--directed", "--epochs", "1", "--model", "gcn"]
    code, _, err = cli("tune", "graph", *options, "--budget", "1s", "-o", "tuned.yaml")
    assert (code, err) == (0, "")
    content = yaml.safe_load(Path("tuned.yaml").read_text())
    assert {key: content[key] for key in OPTIONS} == OPTIONS
    assert (content["directed"], content["ignore"], content["split"]) == (True, ["junk"], "column")


def test_looking_at_a_file_takes_its_objective_and_columns_to_leave_out(cli: Cli) -> None:
    rows = [f"{'C' * (1 + row % 9)},{row},{row % 2}" for row in range(40)]
    Path("many.csv").write_text("\n".join(["smiles,count,note", *rows]) + "\n")
    code, out, _ = cli("data", "info", "many.csv", "--ignore", "note", "--objective", "regress")
    assert (code, "graph, regress (count)" in out) == (0, True)
    code, out, _ = cli(
        "ceiling", "many.csv", "--ignore", "count", "--objective", "rank", "--no-lookup", "--json", "c.json"
    )
    assert (code, Path("c.json").exists()) == (0, True)
    code, _, err = cli("data", "plot", "many.csv", "--ignore", "note", "--objective", "regres")
    assert (code, err.count("\n")) == (2, 1)
    assert "options: objective: " in err
    Path("c.json").write_text("junk")
    code, _, err = cli("ceiling", "many.csv", "--ignore", "count", "--json", "c.json")
    assert (code, err.count("\n"), "c.json is damaged: not JSON" in err) == (2, 1, True)


def test_what_cannot_be_written_is_one_line_and_folders_are_made(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "16G")  # so that what --memory sets is taken back
    assert cli("train", "molecules.csv", *QUICK, "--epochs", "1")[0] == 0
    Path("folder.npz").mkdir()
    Path("a-file").write_text("")
    before = Path("molecules.csv").read_text()
    for arguments in (
        ["predict", "model", "molecules.csv", "-o", "molecules.csv"],
        ["predict", "model", "molecules.csv", "-o", "a-file/out.csv"],
        ["predict", "model", "molecules.csv", "-o", "model"],
        ["predict", "model", "molecules.csv", "--memory", "much"],
        ["evaluate", "model", "molecules.csv", "--memory", "much"],
        ["embed", "model", "molecules.csv", "--memory", "much"],
        ["embed", "model", "molecules.csv", "-o", "folder.npz"],
        ["embed", "model", "molecules.csv", "-o", "molecules.csv"],
        ["init", "molecules.csv", "-o", "a-file/c.yaml"],
        ["init", "molecules.csv", "-o", "model"],
        ["tune", "molecules.csv", "-o", "model", "--budget", "1s"],
    ):
        code, _, err = cli(*arguments)
        assert (code, err.count("\n"), err.startswith("mshgnn: ")) == (2, 1, True), arguments
    assert Path("molecules.csv").read_text() == before
    assert cli("predict", "model", "molecules.csv", "-o", "deep/er/out.csv", "--memory", "8G")[0] == 0
    assert cli("embed", "model", "molecules.csv", "-o", "deep/est/e.npz")[0] == 0
    assert Path("deep/er/out.csv").exists()
    assert Path("deep/est/e.npz").exists()

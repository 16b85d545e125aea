"""The comparison on small tables, with a chemprop that only pretends."""

from __future__ import annotations

import json
import math
import stat
import sys
from pathlib import Path

import pytest

from mshgnn.cli import main
from mshgnn.errors import UserError
from mshgnn.reproduction.molecules import alone
from mshgnn.reproduction.molecules.alone import CommandFailed, Commands
from mshgnn.reproduction.molecules.compare import compare
from mshgnn.reproduction.molecules.plan import Cell, cells, find_file
from mshgnn.reproduction.molecules.prepare import prepare
from mshgnn.reproduction.molecules.record import MoleculeRecord

pytest.importorskip("rdkit")

FAKE = """#!{python}
import csv, json, sys
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    print("chemprop 9.9.9")
    sys.exit()
given = dict(zip(sys.argv, sys.argv[1:]))
rows = list(csv.reader(open(given["--data-path"])))
(fold,) = json.load(open(given["--splits-file"]))
out = Path(given["--output-dir"]) / "model_0"
out.mkdir(parents=True)
with open(out / "test_predictions.csv", "w", newline="") as file:
    csv.writer(file).writerows([rows[0], *([cell or "0" for cell in rows[1 + row]] for row in fold["test"])])
print("threads", __import__("os").environ["OMP_NUM_THREADS"])
"""


@pytest.fixture
def chemprop(tmp_path: Path) -> Path:
    """Knows all answers."""
    path = tmp_path / "chemprop"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Alcohols and alkanes: a number, and two labels with blanks; one row is no molecule."""
    folder = tmp_path / "tables"
    folder.mkdir()
    texts = ["C" * (1 + row % 9) + "O" * (row % 3 == 0) + "c1ccccc1" * (row % 4 == 0) for row in range(60)]
    numbers = [f"{text},{len(text) / 2 + 0.01 * row:.2f}" for row, text in enumerate(texts)]
    (folder / "delaney.csv").write_text("\n".join(["smiles,logp", "no molecule,1.5", *numbers]) + "\n")
    labels = [f"{text},{row % 2},{'' if row % 5 else int('O' in text)}" for row, text in enumerate(texts)]
    (folder / "tox21.csv").write_text("\n".join(["smiles,a,b", *labels]) + "\n")
    return folder


def test_every_system_leaves_a_record_and_is_not_run_twice(tables: Path, chemprop: Path, tmp_path: Path) -> None:
    results, work = tmp_path / "results", tmp_path / "work"
    systems = ["gine", "morgan-forest", "chemprop"]
    chosen = list(cells(["ESOL"], ["random"], [0], systems))
    said: list[str] = []
    assert compare(chosen, tables, results, work, said.append, jobs=2, epochs=2, chemprop=chemprop) == []
    records = [MoleculeRecord.of(json.loads((results / cell.path).read_text()), "") for cell in chosen]
    assert {record.system for record in records} == set(systems)
    assert len({record.split_digest for record in records}) == 1
    assert {record.rows for record in records} == {(48, 6, 6)}
    assert all(math.isfinite(record.value) and record.seconds > 0 < record.processor_seconds for record in records)
    found = {record.system: record for record in records}
    assert found["chemprop"].value == 0  # it was given our rows, and its answers were measured against our truth
    assert found["chemprop"].versions == {"chemprop": "9.9.9"}
    assert (found["gine"].epochs, found["chemprop"].epochs, found["morgan-forest"].epochs) == (2, 2, None)
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
    assert compare(chosen, tables, results, work, said.append, chemprop=None) == []
    assert said[-1] == "3 runs, 3 of them are there already"
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before


def test_labels_with_blanks_are_ranked(tables: Path, chemprop: Path, tmp_path: Path) -> None:
    chosen = list(cells(["Tox21"], ["random"], [1], ["chemprop"]))
    results = tmp_path / "results"
    prepare(tables / "tox21.csv", "Tox21", tmp_path / "work" / "Tox21", [("random", 1)])
    assert compare(chosen, tables, results, tmp_path / "work", lambda line: None, chemprop=chemprop) == []
    record = MoleculeRecord.of(json.loads((results / chosen[0].path).read_text()), "")
    assert (record.metric, record.value) == ("roc_auc", 1.0)


def test_the_parts_are_the_same_molecules_for_both_files(tables: Path, tmp_path: Path) -> None:
    prepared = prepare(tables / "delaney.csv", "ESOL", tmp_path / "work", [("random", 0)])
    smiles, targets = prepared.read()
    assert (len(smiles), targets.shape) == (60, (60, 1))
    source = (tables / "delaney.csv").read_text().splitlines()[1:]
    (of_source,) = json.loads(prepared.split_file("random", 0, of_source=True).read_text())
    for part, rows in prepared.parts("random", 0).items():
        assert [source[row].split(",")[0] for row in of_source[part]] == [smiles[row] for row in rows]
        assert [float(source[row].split(",")[1]) for row in of_source[part]] == targets[rows, 0].tolist()


def test_a_failure_is_one_line_and_the_others_go_on(tables: Path, chemprop: Path, tmp_path: Path) -> None:
    fail = "if '--version' not in sys.argv and sys.argv[sys.argv.index('--pytorch-seed') + 1] == '0':"
    broken = chemprop.read_text().replace("if sys", f"{fail}\n    sys.exit('no such option')\nif sys", 1)
    chemprop.write_text(broken)
    prepare(tables / "delaney.csv", "ESOL", tmp_path / "work" / "ESOL", [("random", 0), ("random", 1)])
    chosen = list(cells(["ESOL"], ["random"], [0, 1], ["chemprop"]))
    results = tmp_path / "results"
    (problem,) = compare(chosen, tables, results, tmp_path / "work", lambda line: None, jobs=2, chemprop=chemprop)
    assert problem.startswith("ESOL/random/0/chemprop: exit code 1: no such option (")
    assert [(results / cell.path).exists() for cell in chosen] == [False, True]


def test_small_sets_come_first_and_wrong_names_are_refused() -> None:
    planned = list(cells(["HIV", "ESOL"], ["random", "scaffold"], [1, 0], ["chemprop", "gine"]))
    assert planned[0] == Cell("ESOL", "scaffold", 0, "gine")
    assert [cell.set for cell in planned] == ["ESOL"] * 8 + ["HIV"] * 8
    with pytest.raises(UserError, match="there is no set 'esol'"):
        list(cells(["esol"], ["random"], [0], ["gine"]))


def test_a_file_is_found_by_its_usual_name_or_the_sets_own(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no table of ESOL; it is called delaney.csv or delaney.csv.gz or ESOL"):
        find_file(tmp_path, "ESOL")
    (tmp_path / "ESOL.csv.gz").touch()
    assert find_file(tmp_path, "ESOL").name == "ESOL.csv.gz"


def test_a_command_runs_on_one_thread_and_can_be_stopped(tmp_path: Path) -> None:
    commands = Commands()
    say = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['MKL_NUM_THREADS'])"
    cost = commands.run([sys.executable, "-c", say], tmp_path / "log")
    assert (tmp_path / "log").read_text() == "1 1\n"
    assert 0 < cost.processor_seconds <= cost.seconds + 1
    commands.stop()
    with pytest.raises(CommandFailed, match="stopped"):
        commands.run([sys.executable, "-c", say], tmp_path / "log")
    assert set(alone.ONE_THREAD.values()) == {"1"}


def test_chemprop_is_asked_for_before_anything_runs(
    tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, problem in (
        ([], "the system chemprop needs its executable: --chemprop PATH"),
        (["--chemprop", "nowhere"], "--chemprop nowhere: there is no such file"),
        (["--seeds", "a"], "--seeds a: whole numbers between commas"),
    ):
        monkeypatch.setattr(sys, "argv", ["mshgnn", "compare", "molecules", "--data", str(tables), *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        assert problem in capsys.readouterr().err

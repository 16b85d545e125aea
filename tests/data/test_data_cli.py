from __future__ import annotations

from pathlib import Path

import pytest
from data_helpers import SMALL, shared_root, write_tu, write_tu_zip
from typer.testing import CliRunner

from mshgnn.cli.data import data_app
from support.mirror import needs_mirror


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(data_app, list(arguments), catch_exceptions=not arguments)
    return result.exit_code, result.output


def test_list_names_every_set_of_the_paper() -> None:
    code, output = run("list")
    assert code == 0
    for text in ("MUTAG", "2,457.78", "CoauthorPhysics", "8,415", "structure-frequency-wellposed", "roc_auc"):
        assert text in output
    assert "ENZYMES" in run("list", "--all")[1]


@needs_mirror
def test_info_prints_paper_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(shared_root))
    code, output = run("info", "ptc")
    assert code == 0
    row = next(line for line in output.splitlines() if "edges a graph" in line)
    assert "25.96" in row
    assert "26.96" in row
    assert "differs" in row
    assert "own, 10 fold" in output


def test_info_of_a_generated_set() -> None:
    code, output = run("info", "structure-frequency-varied")
    assert code == 0
    assert "30.11" in output


def test_fetch_prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu_zip(tmp_path / "mirror" / "SMALL.zip", SMALL)
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path / "data"))
    assert run("fetch", "SMALL") == (0, "SMALL: 3 graphs, checksum " + run("fetch", "SMALL")[1].split()[-1] + "\n")
    assert (tmp_path / "data" / "prepared" / "SMALL").is_dir()


def test_a_wrong_name_stops_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path / "data"))
    with pytest.raises(ValueError, match="nearest: MUTAG"):
        run("fetch", "IMDB-B", "MUTGA")
    assert not (tmp_path / "data").exists()


def test_plot(tmp_path: Path) -> None:
    code, output = run("plot", "structure-frequency", "-o", str(tmp_path / "classes.png"))
    assert code == 0
    assert "wrote" in output
    assert (tmp_path / "classes.png").stat().st_size > 10_000


@pytest.mark.parametrize("command", ["list", "info", "fetch", "plot"])
def test_every_help_has_an_example(command: str) -> None:
    code, output = run(command, "--help")
    assert code == 0
    assert f"Example: mshgnn data {command}" in output


def test_info_of_own_data_says_what_was_inferred(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = (f'{{"edges": [[0, 1]], "num_nodes": 3, "target": {index * 0.5}}}' for index in range(20))
    path.write_text("\n".join(lines))
    code, output = run("info", str(path))
    assert code == 0
    assert "task: graph, regress (target), metric: rmse, edge features: 0" in output
    assert "splits: own, 10 fold(s), first: 16 / 2 / 2" in output


def test_plot_of_own_data(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "SMALL", SMALL)
    code, _ = run("plot", str(folder), "-o", str(tmp_path / "classes.svg"))
    assert code == 0
    assert (tmp_path / "classes.svg").exists()


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("y", "  y: 0.5 to 8.5, mean 4.5; missing 3"),
        ("kind", "  kind: alkane 15, other 15"),
        ("*", "  toxic: 0 20, 1 10"),
    ],
)
def test_info_shows_the_targets_of_a_file_of_ones_own(tmp_path: Path, target: str, expected: str) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "m.csv"
    if target == "*":
        lines = [f"CC,{int(row % 3 == 0)},{row % 2}" for row in range(30)]
    else:
        numbers = ["" if row > 26 else f"{row % 9}.5" for row in range(30)]
        lines = [f"{'C' * (1 + row % 9)},{y},{'other' if row % 2 else 'alkane'}" for row, y in enumerate(numbers)]
    header = "mol,toxic,wet" if target == "*" else "mol,y,kind"
    path.write_text("\n".join([header, *lines]) + "\n")
    code, output = run("info", str(path), "--target", target, "--smiles-column", "mol")
    assert code == 0
    assert expected in output.splitlines()
    picture = tmp_path / "p.png"
    written = run("plot", str(path), "-t", target, "--smiles-column", "mol", "-o", str(picture))
    assert written == (0, f"wrote {picture}\n")


def test_info_reads_nodes_by_the_columns_that_train_takes(tmp_path: Path) -> None:
    rows = [f"{row / 7:.3f},{'ab'[row % 2]},{('train', 'val', 'test')[row % 3]},n{row}" for row in range(30)]
    (tmp_path / "nodes.csv").write_text("\n".join(["size,group,part,name", *rows]) + "\n")
    (tmp_path / "edges.csv").write_text("from,to\n" + "".join(f"n{row},n{row + 1}\n" for row in range(29)))
    columns = ["--target", "group", "--id-column", "name", "--split-column", "part", "--directed"]
    picture = tmp_path / "shares.svg"
    assert run("plot", str(tmp_path), *columns, "-o", str(picture)) == (0, f"wrote {picture}\n")
    code, output = run("info", str(tmp_path), *columns)
    assert code == 0
    assert "1 fold(s), first: 10 / 10 / 10" in output

from __future__ import annotations

import json
import os
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from data_helpers import SMALL, write_tu, write_tu_zip

from mshgnn.data import DataError, load, load_own
from mshgnn.data.limits import ALWAYS_ALLOWED, LIMITS, allowed, check_file, check_limit, size_of
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.npz_graph import read_bare_npz
from mshgnn.data.readers.tu_text import read_tu_folder
from mshgnn.data.sources import upstream


def test_the_environment_raises_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_LIMITS", "memory=16e9, atoms=5000")
    assert (allowed("memory"), allowed("atoms"), allowed("line")) == (16 * 10**9, 5000, LIMITS["line"])
    check_limit("atoms", 5000, "here")
    with pytest.raises(DataError, match=r"here: 5,001 atoms, more than the limit of 5,000; .*MSHGNN_LIMITS=atoms=5001"):
        check_limit("atoms", 5001, "here")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("atom=5", "did you mean 'atoms'"),
        ("atoms", "atoms must be a number, not ''"),
        ("atoms=many", "'many'"),
        ("atoms=inf", "'inf'"),
    ],
)
def test_a_limit_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, message: str) -> None:
    monkeypatch.setenv("MSHGNN_LIMITS", given)
    with pytest.raises(DataError, match=message):
        allowed("memory")


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.csv").mkdir()
    for path, message in (
        (tmp_path / "pipe.jsonl", "not a regular file"),
        (tmp_path / "folder.csv", "a folder, not a file"),
        (tmp_path / "nothing", "file not found"),
        (Path("/dev/zero"), "not a regular file"),
        (Path("a\0b"), "not a file name"),
    ):
        with pytest.raises(DataError, match=message):
            check_file(path)
    with pytest.raises(DataError, match="not a regular file"):
        load_own(tmp_path / "pipe.jsonl")


def test_a_pipe_in_place_of_a_table(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, {key: text for key, text in SMALL.items() if key != "A"})
    os.mkfifo(folder / "SMALL_A.txt")
    with pytest.raises(DataError, match=r"SMALL_A.txt: not a regular file"):
        load_own(folder)


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


EMPTY = {"edges": [], "num_nodes": 10**7, "target": 1}
SPOKES = {"edges": [[0, leaf] for leaf in range(1, 51)], "num_nodes": 10**7, "target": 0}
BOMBS = {
    "spokes.jsonl": (
        jsonl(SPOKES),
        r"spokes.jsonl: line 1: \d+ bytes would become 40,960,000,000 in memory, more than 2,000 times",
    ),
    "many.jsonl": (jsonl(*[EMPTY | {"num_nodes": 10_000}] * 150), r"many.jsonl: line 3: 7,\d+ bytes would become"),
    "vocabulary.jsonl": (
        jsonl({"edges": [], "node_labels": [i % 9000 for i in range(90_000)], "target": 1}),
        r"vocabulary.jsonl: \d+,\d+ bytes would become 3,240,000,000 in memory",
    ),
    "node.jsonl": (jsonl(EMPTY | {"num_nodes": 10**9}), "line 1: 1,000,000,000 nodes"),
    "labels.jsonl": (
        jsonl({"edges": [], "node_labels": [f"l{i}" for i in range(40_000)], "target": 1}),
        "different node labels: 40,000 columns",
    ),
    "square.jsonl": (
        jsonl({"edges": [], "node_labels": [i % 9000 for i in range(120_000)], "target": 1}),
        "square.jsonl: 4,320,000,000 bytes",
    ),
    "deep.jsonl": ("[" * 50_000 + "]" * 50_000, "line 1: nested too deeply"),
    "long.jsonl": ("[" + "1," * 5_000_000 + "1]", "line 1: 8,000,001 bytes in a line"),
}


@pytest.fixture
def little_memory() -> int:
    """The most this process has taken so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_does_not_become_gigabytes(tmp_path: Path, name: str, little_memory: int) -> None:
    content, message = BOMBS[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message) as refused:
        load_own(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - little_memory < 700_000


def test_a_line_of_too_many_nodes_is_left_out_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(jsonl(EMPTY, *[EMPTY | {"num_nodes": 3, "target": n % 2} for n in range(4)]))
    assert len(load_own(tmp_path / "mine.jsonl", on_error="skip")) == 4


def test_a_link_that_leads_nowhere_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("123")
    (tmp_path / "README").symlink_to("nowhere")
    assert size_of(tmp_path) == 3


def test_growth_can_be_raised_and_small_data_may_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "nine"
    path.write_bytes(b"123456789")
    check_limit("memory", ALWAYS_ALLOWED, path)
    with pytest.raises(DataError, match=r"nine: 9 bytes would become 100,000,001 in memory, .*=growth=11111112$"):
        check_limit("memory", ALWAYS_ALLOWED + 1, path)
    with pytest.raises(DataError, match="9 bytes would become"):
        check_limit("memory", ALWAYS_ALLOWED + 1, tmp_path)  # a folder of tables
    monkeypatch.setenv("MSHGNN_LIMITS", "growth=11111112")
    check_limit("memory", ALWAYS_ALLOWED + 1, path)


def test_tu_labels_that_would_become_gigabytes(tmp_path: Path, little_memory: int) -> None:
    nodes = 60_000
    tables = {
        "A": "1, 2\n2, 1\n",
        "graph_indicator": "1\n" * nodes,
        "graph_labels": "1\n",
        "node_labels": "".join(f"{i % 9000}\n" for i in range(nodes)),
    }
    with pytest.raises(DataError, match=r"node_labels.txt: 4,320,000,000 bytes in memory"):
        load_own(write_tu(tmp_path / "wide", tables))
    tables["node_labels"] = "".join(f"{i}\n" for i in range(nodes))
    with pytest.raises(DataError, match=r"node_labels.txt: different labels: 60,000 columns"):
        load_own(write_tu(tmp_path / "distinct", tables))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - little_memory < 300_000


def test_a_zip_bomb_is_refused_by_its_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tu_zip(tmp_path / "SMALL.zip", SMALL | {"graph_attributes": "1\n" * 2_000_000})
    assert path.stat().st_size < 10_000
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path))
    monkeypatch.setenv("MSHGNN_LIMITS", "unpacked=1e6")
    with pytest.raises(DataError, match=r"SMALL.zip: 4,000,\d+ bytes unpacked, more than the limit of 1,000,000"):
        load("SMALL", root=tmp_path / "root")


def test_a_bomb_is_named_as_the_user_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tu_zip(tmp_path / "MUTAG.zip", SMALL | {"graph_indicator": "1\n" * 100_000}, "MUTAG")
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path))
    monkeypatch.setenv("MSHGNN_LIMITS", "memory=1e6")
    with pytest.raises(DataError, match=rf"^{path}: MUTAG_graph_indicator.txt: .* bytes in memory"):
        load("MUTAG", root=tmp_path / "root")
    monkeypatch.delenv("MSHGNN_MIRROR")
    monkeypatch.setenv("MSHGNN_LIMITS", "unpacked=1e5")
    monkeypatch.setattr(upstream, "download_url", lambda url, folder: shutil.copy(path, folder))
    with pytest.raises(DataError, match=r"^https://[^ ]*/MUTAG.zip: 200,\d+ bytes unpacked"):
        load("MUTAG", root=tmp_path / "root")


def test_the_numbers_of_graphs_are_no_sizes(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, {"A": "1, 2\n2, 1\n", "graph_indicator": f"1\n{10**12}\n"})
    with pytest.raises(DataError, match=r"line 2: graph 1000000000000 is not in 1..2"):
        read_tu_folder(folder, "SMALL", needs_target=False)


@pytest.mark.parametrize("width", [0, 1])
def test_an_npz_of_zeros_is_not_millions_of_nodes(tmp_path: Path, width: int) -> None:
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, node_features=np.zeros((10**6, width), np.uint8), edges=np.zeros((0, 2), int))
    with pytest.raises(DataError, match=r"zeros.npz: [\d,]+ bytes would become 4,096,000,000 in memory"):
        read_bare_npz(path, Asked())


def test_ids_that_a_parquet_file_only_counts(tmp_path: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    ids = np.arange(30_000)
    for name, columns in (("nodes", {"id": ids, "target": ids % 2}), ("edges", {"a": ids[:1], "b": ids[1:2]})):
        encoding = dict.fromkeys(columns, "DELTA_BINARY_PACKED")
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(arrow.table(columns), path, use_dictionary=False, column_encoding=encoding)
    with pytest.raises(DataError, match=r"nodes.parquet: [\d,]+ bytes would become 122,880,000 in memory"):
        load_own(tmp_path)


def test_a_table_of_too_many_numbers_is_refused_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSHGNN_LIMITS", "memory=1e6")
    with pytest.raises(DataError, match=r"graph_indicator.txt: .* bytes in memory"):
        load_own(write_tu(tmp_path, SMALL | {"graph_indicator": "1\n" * 100_000}))


def test_features_of_a_node_set_that_would_become_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = 20_000
    part = {"data": [1.0], "indices": [0], "indptr": [0] + [1] * nodes}
    arrays = {f"{name}_{key}": np.array(value) for name in ("adj", "attr") for key, value in part.items()}
    np.savez(
        tmp_path / "ms_academic_cs.npz",
        **arrays,  # type: ignore[arg-type]
        adj_shape=[nodes, nodes],
        attr_shape=[nodes, 10**6],
        labels=np.zeros(nodes, dtype=int),
    )
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path))
    with pytest.raises(DataError, match=r"ms_academic_cs.npz: 160,000,000,000 bytes in memory"):
        load("CoauthorCS", root=tmp_path / "root")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attr_indices": [7]}, r"attr_\* are not a sparse matrix"),
        ({"attr_indices": [-1]}, r"attr_\* are not a sparse matrix"),
        ({"adj_indptr": [0, 2, 1]}, r"adj_\* are not a sparse matrix"),
        ({"adj_shape": [2]}, r"adj_\* are not a sparse matrix"),
        ({"labels": [0, 1, 1]}, "3 labels"),
        ({"labels": ["a", "b"]}, "'labels' holds <U1, not whole numbers"),
    ],
)
def test_sparse_matrices_that_point_outside_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, list[object]], message: str
) -> None:
    part = {"data": [1.0], "indices": [1], "indptr": [0, 1, 1], "shape": [2, 2]}
    arrays: dict[str, object] = {f"{name}_{key}": value for name in ("adj", "attr") for key, value in part.items()}
    np.savez(tmp_path / "ms_academic_cs.npz", **{**arrays, "labels": [0, 1], **change})  # type: ignore[arg-type]
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path))
    with pytest.raises(DataError, match=message):
        load("CoauthorCS", root=tmp_path / "root")


def cage(atoms: int) -> str:
    """SMILES of carbons on a circle, each also bound to one far away: hundreds of rings that share atoms."""
    half = atoms // 2
    return "C1" + "".join(f"C%({10 + i % half})" for i in range(atoms)) + "C1"


def test_molecules_that_would_take_minutes(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    for text, message in (
        (cage(1400), "line 2: column 'smiles': 70[0-9] rings, more than the limit of 300"),
        ("C" * 2001, "line 2: column 'smiles': 2,001 atoms, more than the limit of 2,000"),
        ("C" * 100_000, "line 2: column 'smiles': 5,000 atoms"),
        ("(" * 39_000, "line 2: column 'smiles': not a molecule"),
    ):
        path = tmp_path / "bomb.csv"
        path.write_text(f"smiles,target\n{text},1\n")
        with pytest.raises(DataError, match=message):
            load_own(path)

"""Arrow files instead of ``.npy`` in a graph on the disk."""

from __future__ import annotations

import errno
import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_on_disk import write_graph

from mshgnn.data import DataError, load_own
from mshgnn.data.arrow_file import open_arrow
from mshgnn.data.mapped import MAPPED, Array
from mshgnn.machine import resident_memory_bytes

pa: Any = pytest.importorskip("pyarrow")
EDGES = np.array([[3, 2, 1, 0, 7], [2, 1, 0, 5, 5]])
SORTED = np.array([[1, 2, 3, 0, 7], [0, 1, 2, 5, 5]])


def as_table(values: Array, *, edges: bool = False) -> Any:
    """One column, of lists where rows are; of edges two."""
    if edges:
        return pa.table({"sender": values[0], "receiver": values[1]})
    flat = pa.array(values.reshape(-1))
    return pa.table({"values": flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])})


def write_table(path: Path, table: Any, *, rows: int | None = None, compression: str | None = None) -> None:
    """An Arrow file of record batches with so many rows."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def turned_to_arrow(folder: Path, **options: Any) -> Path:
    """The folder with Arrow files in the place of its arrays."""
    for path in folder.glob("*.npy"):
        write_table(path.with_suffix(".arrow"), as_table(np.load(path), edges=path.stem == "edge_index"), **options)
        path.unlink()
    return folder


@pytest.mark.parametrize("rows", [None, 7])
@pytest.mark.parametrize(
    ("features", "indices", "targets"),
    [("float32", "int64", np.arange(30) % 2), ("float16", "int32", np.linspace(0, 1, 60).reshape(30, 2))],
)
def test_a_graph_in_arrow_files_is_the_one_in_npy(
    tmp_path: Path, rows: int | None, features: str, indices: str, targets: Array
) -> None:
    random = np.random.default_rng(0)
    x, edges = random.standard_normal((30, 4)).astype(features), random.integers(30, size=(2, 90)).astype(indices)
    in_npy = load_own(write_graph(tmp_path / "npy", x=x, edge_index=edges, y=targets))
    in_arrow = load_own(turned_to_arrow(write_graph(tmp_path / "arrow", x=x, edge_index=edges, y=targets), rows=rows))
    assert in_arrow.checksum == in_npy.checksum
    (found,), (expected,) = in_arrow.graphs, in_npy.graphs
    for name in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(found[name], expected[name])
        assert found[name].dtype == expected[name].dtype


def test_a_file_of_one_record_batch_is_mapped_where_it_lies(tmp_path: Path) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine", edge_index=SORTED))
    before = {path.name for path in folder.iterdir()}
    (graph,) = load_own(folder).graphs
    assert [file.path.name for file in graph[MAPPED]] == ["x.arrow", "edge_index.arrow"]
    assert {path.name for path in folder.iterdir()} == before, "nothing is copied"
    assert graph.edge_index.tolist() == SORTED.tolist()


def test_several_record_batches_are_joined_once_and_again_when_they_change(tmp_path: Path) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine", edge_index=EDGES), rows=2)
    joined = [folder / f"{name}.mshgnn-joined.npy" for name in ("x", "edge_index", "y", "split")]

    def same(x: Array) -> bool:
        (graph,) = load_own(folder).graphs
        return np.array_equal(graph.x.numpy(), x) and graph.edge_index.tolist() == SORTED.tolist()

    x = np.random.default_rng(0).standard_normal((30, 4), dtype=np.float32)
    assert same(x)
    times = [path.stat().st_mtime_ns for path in joined]
    assert same(x)
    assert [path.stat().st_mtime_ns for path in joined] == times
    x[29, 3] += 1
    write_table(folder / "x.arrow", as_table(x), rows=4)
    assert same(x)
    content = joined[0].read_bytes()
    for damaged in (content[:-1], content[:-1] + bytes([content[-1] ^ 1]), b"no array"):
        joined[0].write_bytes(damaged)
        assert same(x)
        assert joined[0].read_bytes() == content


def test_a_disk_without_room_to_join_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = turned_to_arrow(write_graph(tmp_path / "mine"), rows=2)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"x.mshgnn-joined.npy: .* cannot be joined there \(No space left on device\)$"):
        load_own(folder)
    assert not list(folder.glob("*.npy*"))


@pytest.mark.parametrize(
    ("name", "table", "reason"),
    [
        ("x", as_table(np.zeros((30, 4))), r"must be float32 or float16 \[nodes, features\], not float64 \[30, 4\]"),
        ("x", as_table(np.zeros(30, np.float32)), r"must be float32 or float16 \[nodes, features\]"),
        ("x", pa.table({"a": np.zeros(30, np.float32), "b": np.zeros(30, np.float32)}), "needs one column .* has 2"),
        ("x", pa.table({"a": [[1.0], [2.0]]}), r"needs one column .* has 1 \(list<.*double"),
        ("x", pa.table({"a": pa.array([[], []], pa.list_(pa.float32(), 0))}), "needs one column"),
        ("x", pa.table({"a": pa.array([[1.0, None]], pa.list_(pa.float32(), 2))}), "has empty cells"),
        ("x", pa.table({"a": pa.array([[1.0], None], pa.list_(pa.float32(), 1))}), "has empty cells"),
        ("x", as_table(np.zeros((0, 4), np.float32)), "has no rows"),
        ("edge_index", as_table(EDGES[0]), "needs two columns of one type of numbers, has 1"),
        ("edge_index", pa.table({"s": EDGES[0], "r": EDGES[1].astype(np.int32)}), r"has 2 \(int64, int32\)"),
        ("edge_index", pa.table({"s": [1, None], "r": [0, 1]}), "has empty cells"),
        ("edge_index", as_table(EDGES + 28, edges=True), r"node 35 is not in 0\.\.29"),
        ("y", as_table(np.zeros(29)), "one row for each of 30 nodes is needed"),
        ("y", pa.table({"a": ["a"] * 30}), r"needs one column .* has 1 \(string\)"),
        ("y", pa.table({"a": [True] * 30}), r"needs one column .* has 1 \(bool\)"),
        ("y", pa.table({}), r"needs one column .* has 0"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path: Path, name: str, table: Any, reason: str) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine"))
    write_table(folder / f"{name}.arrow", table)
    with pytest.raises(DataError, match=rf"\A.*/{name}\.arrow: {'' if reason[0] == 'm' else '.*'}{reason}.*\Z"):
        load_own(folder)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_compressed_file_is_refused_unread(tmp_path: Path, compression: str) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine"))
    path, size = folder / "x.arrow", 4 * 10**6
    write_table(path, as_table(np.zeros((size, 1), np.float32)), compression=compression)
    content = path.read_bytes()
    assert content.count(struct.pack("<q", 4 * size)) == 1, "what a buffer unpacks to"
    path.write_bytes(content.replace(struct.pack("<q", 4 * size), struct.pack("<q", 2**60)))
    with pytest.raises(DataError, match=r"x\.arrow: is compressed; write it without compression$"):
        load_own(folder)


def test_two_files_of_one_array_are_not_chosen_from(tmp_path: Path) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine"))
    write_graph(folder, edge_index=None, y=None, split=None)
    with pytest.raises(DataError, match=r"mine: holds both x\.npy and x\.arrow; leave the one that is meant$"):
        load_own(folder)


def test_a_cut_file_is_one_line(tmp_path: Path) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine"), rows=7)
    content = (folder / "x.arrow").read_bytes()
    for end in [*range(0, len(content), 13), len(content) - 1]:
        (folder / "x.arrow").write_bytes(content[:end])
        with pytest.raises(DataError, match=r"\A.*x\.arrow: .*\Z"):
            load_own(folder)
        (folder / "x.arrow").write_bytes(content[:end] + b"ARROW1")
        try:  # nothing is missing where only the footer is cut
            assert load_own(folder).graphs[0].x.tolist() == np.load(folder / "x.mshgnn-joined.npy").tolist()
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("number", [2**62, 2**31, -1, 31, 29])
@pytest.mark.parametrize("name", ["x", "edge_index"])
def test_a_header_that_lies_is_one_line_or_changes_nothing(tmp_path: Path, name: str, number: int) -> None:
    """Any length or place in the file that is not what it was."""
    folder = turned_to_arrow(write_graph(tmp_path / "mine", edge_index=np.arange(60).reshape(2, 30) % 30))
    path = folder / f"{name}.arrow"
    content, truth = path.read_bytes(), load_own(folder)
    lies = 0
    for place in range(8, len(content) - 8, 8):
        path.write_bytes(content[:place] + struct.pack("<q", number) + content[place + 8 :])
        try:
            found = load_own(folder)
        except DataError as error:
            said = str(error)
            lies += 1
            assert said.startswith((str(path), f"{folder / 'y.arrow'}: one row for each"))
            assert "\n" not in said
        else:
            assert found.graphs[0].x.shape == truth.graphs[0].x.shape
    assert lies > 8


def test_a_message_of_another_type_is_one_line(tmp_path: Path) -> None:
    """The types of messages are single bytes: each in turn says something else."""
    folder = turned_to_arrow(write_graph(tmp_path / "mine"))
    content, refused = (folder / "x.arrow").read_bytes(), 0
    for place in range(8, len(content) - 30 * 16):
        for number in {1, 2, 3, 4, 5, 255} - {content[place]}:
            (folder / "x.arrow").write_bytes(content[:place] + bytes([number]) + content[place + 1 :])
            try:
                open_arrow(folder / "x.arrow")
            except DataError as error:
                refused += "should be" in str(error)
    assert refused > 4


def test_pages_that_were_read_can_be_given_back(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    write_table(path, as_table(np.ones((40_000, 256), dtype=np.float32)))  # 41 MB
    array = open_arrow(path)
    array.values[:10].sum()
    array.forget()
    before = resident_memory_bytes()
    assert array.values.sum() == array.values.size
    assert resident_memory_bytes() - before > 30e6
    array.forget()
    assert resident_memory_bytes() - before < 10e6
    assert array.values[-1, -1] == 1


def test_without_pyarrow_npy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = turned_to_arrow(write_graph(tmp_path / "mine"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"x\.arrow: Arrow needs pyarrow: pip install pyarrow, or write a \.npy$"):
        load_own(folder)

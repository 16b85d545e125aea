"""Arrays that stay on the disk, and a graph made of them."""

from __future__ import annotations

import errno
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError, load_own, load_splits
from mshgnn.data.dataset import content_checksum
from mshgnn.data.mapped import MAPPED, Array, MappedArray
from mshgnn.data.receiver_order import count_senders, sort_on_disk
from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes


def write_graph(folder: Path, nodes: int = 30, /, **changes: Array | None) -> Path:
    """A random graph of two classes as a folder of arrays."""
    random = np.random.default_rng(0)
    edges = 90
    arrays: dict[str, Array] = {
        "x": random.standard_normal((nodes, 4), dtype=np.float32),
        "edge_index": random.integers(nodes, size=(2, edges)),
        "y": random.integers(2, size=nodes),
        "split": np.arange(nodes) % 3,
    }
    folder.mkdir(exist_ok=True)
    for name, values in {**arrays, **changes}.items():
        if values is not None:
            np.save(folder / f"{name}.npy", values)
    return folder


def test_a_folder_of_arrays_is_a_node_task(tmp_path: Path) -> None:
    dataset = load_own(write_graph(tmp_path / "mine"))
    assert repr(dataset) == ("GraphDataset('mine', 1 graph of 30 nodes, 4 features, 2 classes, classify by accuracy)")
    (graph,) = dataset.graphs
    given = np.load(tmp_path / "mine" / "edge_index.npy")
    order = np.argsort(given[1], kind="stable")
    assert np.array_equal(graph.edge_index.numpy(), given[:, order])
    assert np.array_equal(graph.x.numpy(), np.load(tmp_path / "mine" / "x.npy"))
    train, validation, test = load_splits(dataset).folds[0]
    assert train.tolist() == list(range(0, 30, 3))
    assert validation.tolist() == list(range(1, 30, 3))
    assert test.tolist() == list(range(2, 30, 3))
    # the digest of the content is that of the same graph in memory, its edges as they stand in the file
    in_memory = dataset.graphs[0].clone()
    in_memory.edge_index = torch.from_numpy(given)
    assert dataset.checksum == content_checksum([in_memory])


def test_edges_are_sorted_once_and_again_when_they_change(tmp_path: Path) -> None:
    folder = write_graph(tmp_path / "mine")
    load_own(folder)
    path = folder / "edge_index.mshgnn-sorted.npy"
    before = path.stat().st_mtime_ns
    load_own(folder)
    assert path.stat().st_mtime_ns == before
    write_graph(folder, edge_index=np.array([[3, 2, 1], [2, 1, 0]]))
    assert load_own(folder).graphs[0].edge_index.tolist() == [[1, 2, 3], [0, 1, 2]]
    write_graph(folder, edge_index=np.array([[3, 2], [0, 1]]))
    path.unlink()
    assert load_own(folder).graphs[0].edge_index.tolist() == [[3, 2], [0, 1]]
    assert not path.exists(), "sorted edges are used as they are"


def test_sorted_edges_of_another_graph_are_not_taken_for_these(tmp_path: Path) -> None:
    folder = write_graph(tmp_path / "mine", edge_index=np.array([[3, 2, 1], [2, 1, 0]]))
    load_own(folder)
    sorted_edges = folder / "edge_index.mshgnn-sorted.npy"
    write_graph(folder, edge_index=np.array([[4, 5, 6], [2, 1, 0]]))  # as many edges for every receiver
    os.utime(folder / "edge_index.npy", ns=(0, 0))
    assert load_own(folder).graphs[0].edge_index.tolist() == [[6, 5, 4], [0, 1, 2]]
    right = sorted_edges.read_bytes()
    for place in range(len(right) - 48, len(right)):
        sorted_edges.write_bytes(right[:place] + bytes([right[place] ^ 1]) + right[place + 1 :])
        assert load_own(folder).graphs[0].edge_index.tolist() == [[6, 5, 4], [0, 1, 2]]
        assert sorted_edges.read_bytes() == right
    sorted_edges.write_bytes(b"no array")
    assert load_own(folder).graphs[0].edge_index.tolist() == [[6, 5, 4], [0, 1, 2]]


def test_edges_can_be_sorted_by_two_at_the_same_time(tmp_path: Path) -> None:
    given_edges = np.random.default_rng(0).integers(500, size=(2, 200_000))
    folder = write_graph(tmp_path / "mine", 500, edge_index=given_edges)
    right = given_edges[:, np.argsort(given_edges[1], kind="stable")]
    with ThreadPoolExecutor(4) as pool:
        for dataset in pool.map(lambda _: load_own(folder), range(4)):
            assert np.array_equal(dataset.graphs[0].edge_index.numpy(), right)
    assert not list(folder.glob("*.writing"))


@pytest.mark.parametrize("shape", [(2**62, 4), (-2, -2), (10**20, 1)])
def test_a_header_that_lies_is_one_line(tmp_path: Path, shape: tuple[int, ...]) -> None:
    folder = write_graph(tmp_path / "mine")
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with (folder / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call, unused-ignore]
    with pytest.raises(DataError, match=r"x\.npy: "):
        load_own(folder)


def test_a_disk_without_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = write_graph(tmp_path / "mine", edge_index=np.array([[3, 2, 1], [2, 1, 0]]))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"cannot be sorted there \(No space left on device\)"):
        load_own(folder)
    assert not list(folder.glob("*.writing"))


def test_a_few_bytes_of_labels_are_not_a_thousand_million_classes(tmp_path: Path) -> None:
    y = np.arange(30) % 3
    y[1] = 10**9
    with pytest.raises(DataError, match=r"y\.npy: 1,000,000,001 classes, more than the limit"):
        load_own(write_graph(tmp_path / "mine", y=y), objective="classify")


def test_numbers_without_classes_are_regressed(tmp_path: Path) -> None:
    y = np.linspace(0, 1, 30)
    y[4] = np.nan
    dataset = load_own(write_graph(tmp_path / "mine", y=y, split=None))
    assert (dataset.objective, dataset.target_names) == ("regress", ("y",))
    assert bool(dataset.labels()[4].isnan())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"x": np.zeros((30, 4))}, "x.npy: must be float32 or float16 .* not float64"),
        ({"x": np.full((30, 4), np.inf, dtype=np.float32)}, "x.npy: holds NaN or infinity"),
        ({"x": np.asfortranarray(np.ones((30, 4), dtype=np.float32))}, "x.npy: must hold numbers, row by row"),
        ({"edge_index": np.array([[0, 30], [1, 2]])}, "edge_index.npy: node 30 is not in 0..29"),
        ({"edge_index": np.array([[0, 1], [-1, 2]])}, "edge_index.npy: node -1 is not in 0..29"),
        ({"edge_index": np.zeros((3, 2), dtype=np.int64)}, r"edge_index.npy: must be int32 or int64 \[2, edges\]"),
        ({"y": np.zeros(29, dtype=np.int64)}, "y.npy: one row for each of 30 nodes"),
        ({"y": np.array(["a"] * 30)}, "y.npy: one row for each of 30 nodes"),
        ({"y": np.zeros((30, 0))}, "y.npy: one row for each of 30 nodes"),
        ({"split": np.zeros((30,))}, "split.npy: one row for each of 30 nodes"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path: Path, changes: dict[str, Array], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        load_own(write_graph(tmp_path / "mine", **changes))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    folder = write_graph(tmp_path / "mine")
    content = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(content[:-3])
    with pytest.raises(DataError, match=r"x.npy: 477 bytes of content, the header says 480"):
        load_own(folder)
    (folder / "x.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match=r"x.npy: not a .npy file"):
        load_own(folder)


@given(st.integers(1, 9), st.integers(1, 5), st.sampled_from([np.int32, np.int64]), st.data())
@settings(deadline=None, max_examples=50)
def test_edges_are_sorted_as_a_stable_sort_would(
    tmp_path_factory: pytest.TempPathFactory, nodes: int, buckets: int, dtype: type, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("edges")
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), min_size=1, max_size=40)
    )
    given_edges: Array = np.array(pairs, dtype=dtype).T.copy()
    np.save(folder / "edges.npy", given_edges)
    edges = MappedArray.open(folder / "edges.npy")
    rowptr, is_sorted, content = count_senders(edges, nodes)
    assert is_sorted == bool((np.diff(given_edges[1]) >= 0).all())
    assert np.diff(rowptr).tolist() == np.bincount(given_edges[1], minlength=nodes).tolist()
    found = sort_on_disk(edges, rowptr, folder / "sorted.npy", buckets=buckets).values
    assert np.array_equal(found, given_edges[:, np.argsort(given_edges[1], kind="stable")])
    assert count_senders(MappedArray.open(folder / "sorted.npy"), nodes)[1:] == (True, content)


def test_pages_that_were_read_can_be_given_back(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((40_000, 256), dtype=np.float32))  # 41 MB
    array = MappedArray.open(path)
    array.values[:10].sum()
    before = resident_memory_bytes()
    assert array.values.sum() == array.values.size
    assert resident_memory_bytes() - before > 30e6
    array.forget()
    assert resident_memory_bytes() - before < 10e6
    assert array.values[-1, -1] == 1


def test_rows_from_everywhere_leave_little_of_the_file_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mshgnn.data.mapped.PIECE_BYTES", 2**20)
    values = np.arange(10_000 * 1024, dtype=np.float32).reshape(10_000, 1024)  # 41 MB
    np.save(tmp_path / "rows.npy", values)
    array = MappedArray.open(tmp_path / "rows.npy")
    chosen = np.random.default_rng(0).permutation(np.arange(0, 10_000, 10))
    before = resident_memory_bytes()
    reset_peak_memory()
    found = array.take(chosen)
    assert peak_memory_bytes() - before - found.nbytes < 15e6
    assert np.array_equal(found, values[chosen])
    assert array.take(chosen[:0]).shape == (0, 1024)


def test_a_graph_on_the_disk_says_so(tmp_path: Path) -> None:
    (graph,) = load_own(write_graph(tmp_path / "mine")).graphs
    assert [file.path.name for file in graph[MAPPED]] == ["x.npy", "edge_index.mshgnn-sorted.npy"]


def test_a_graph_on_the_disk_is_not_sent_elsewhere(tmp_path: Path) -> None:
    dataset = load_own(write_graph(tmp_path / "mine"))
    with pytest.raises(DataError, match=r"x.npy: a graph on the disk stays on its machine; use the local engine"):
        pickle.dumps(dataset)

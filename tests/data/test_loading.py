from __future__ import annotations

import multiprocessing
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from data_helpers import SMALL, shared_root, write_tu_zip
from torch_geometric.utils import contains_self_loops, is_undirected

from mshgnn.data import DataError, load, load_any
from mshgnn.data.catalogue import find
from mshgnn.data.readers.asked import Asked
from mshgnn.data.sizes import compare, measure, self_loops_in_files
from mshgnn.data.sources.store import mirror
from support.mirror import needs_mirror

# The table of the data folder: graphs or nodes, average nodes, average edges (all edges of a node set), classes.
README = {
    "MUTAG": (188, 17.93, 19.79, 2),
    "PTC": (344, 25.56, 25.96, 2),
    "PTC_MR": (344, 14.29, 14.69, 2),
    "PROTEINS": (1113, 39.06, 72.82, 2),
    "NCI1": (4110, 29.87, 32.30, 2),
    "IMDB-BINARY": (1000, 19.77, 96.53, 2),
    "IMDB-MULTI": (1500, 13.00, 65.94, 3),
    "REDDIT-BINARY": (2000, 429.63, 497.75, 2),
    "COLLAB": (5000, 74.49, 2457.78, 3),
    "AmazonPhoto": (7650, 7650, 119_081, 8),
    "AmazonComputers": (13_752, 13_752, 245_861, 10),
    "CoauthorPhysics": (34_493, 34_493, 247_962, 5),
    "Minesweeper": (10_000, 10_000, 39_402, 2),
}
FEATURES = {
    "MUTAG": (7, 4),
    "PTC": (19, 0),
    "PTC_MR": (18, 4),
    "PROTEINS": (3, 0),
    "NCI1": (37, 0),
    "IMDB-BINARY": (136, 0),
    "IMDB-MULTI": (89, 0),
    "REDDIT-BINARY": (1, 0),
    "COLLAB": (492, 0),
    "AmazonPhoto": (745, 0),
    "AmazonComputers": (767, 0),
    "CoauthorPhysics": (8415, 0),
    "Minesweeper": (7, 0),
}
LARGE = ("COLLAB", "CoauthorPhysics")


def check(name: str, root: Path) -> None:
    dataset = load(name, root=root)
    figures = measure(dataset, self_loops_in_files(find(name), root))
    assert (figures.items, figures.nodes, figures.edges, figures.classes) == README[name]
    assert (dataset.num_features, dataset.edge_dim) == FEATURES[name]
    assert dataset.metric == ("roc_auc" if name == "Minesweeper" else "accuracy")
    for graph in dataset.graphs[:: max(1, len(dataset.graphs) // 50)]:
        assert graph.x.dtype == torch.float32
        assert graph.edge_index.dtype == graph.y.dtype == torch.int64
        assert is_undirected(graph.edge_index, num_nodes=graph.num_nodes)
        assert not contains_self_loops(graph.edge_index)
    assert load(name, root=root).checksum == dataset.checksum


@needs_mirror
@pytest.mark.parametrize("name", [name for name in README if name not in LARGE])
def test_figures_of_the_data_folder(name: str) -> None:
    check(name, shared_root)


@needs_mirror
@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_figures_of_the_two_large_sets(name: str) -> None:
    check(name, shared_root)


@needs_mirror
@pytest.mark.slow
def test_the_self_loops_of_collab() -> None:
    assert self_loops_in_files(find("COLLAB"), shared_root) == 2837


@needs_mirror
@pytest.mark.parametrize(
    ("name", "nodes", "edges"), [("AmazonPhoto", 7487, 119_043), ("AmazonComputers", 13_381, 245_778)]
)
def test_the_largest_component_is_the_papers_graph(name: str, nodes: int, edges: int) -> None:
    dataset = load(name, largest_component=True, root=shared_root)
    assert (measure(dataset).nodes, measure(dataset).edges) == (nodes, edges)
    full = load(name, root=shared_root).graphs[0]
    assert torch.equal(full.x[dataset.graphs[0].n_id], dataset.graphs[0].x)
    rows = {row.figure: row for row in compare(load(name, root=shared_root), shared_root)}
    assert rows["nodes (largest component)"].remark == rows["edges (largest component)"].remark == "same"


@needs_mirror
def test_where_the_paper_differs_from_the_files() -> None:
    rows = {row.figure: row for row in compare(load("NCI1", root=shared_root), shared_root)}
    assert (rows["nodes a graph"].paper, rows["nodes a graph"].on_disk) == (29.68, 29.87)
    assert (rows["graphs"].remark, rows["nodes a graph"].remark) == ("same", "differs")


@needs_mirror
def test_one_hot_degrees_are_the_degrees() -> None:
    for graph in load("IMDB-BINARY", root=shared_root).graphs[:20]:
        degrees = torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)
        assert torch.equal(graph.x.argmax(dim=1), degrees)
        assert graph.x.sum(dim=1).tolist() == [1.0] * graph.num_nodes


@needs_mirror
@pytest.mark.slow
def test_degrees_of_reddit() -> None:
    reddit = load("REDDIT-BINARY", features="degree", root=shared_root)
    assert reddit.num_features == 128  # degrees of 127 and more share a column


@needs_mirror
def test_feature_options() -> None:
    assert load("PROTEINS", features="attributes", root=shared_root).num_features == 4
    assert load("MUTAG", features="constant", root=shared_root).num_features == 1
    assert load("MUTAG", features="degree", root=shared_root).num_features == 5
    for name, features in (("MUTAG", "attributes"), ("Minesweeper", "attributes"), ("MUTAG", "colour")):
        with pytest.raises(DataError, match=r"attributes|colour"):
            load(name, features=features, root=shared_root)
    for wrong in ({"largest_component": True}, {"features": "scaled"}):
        with pytest.raises(DataError, match="node tasks"):
            load("MUTAG", **wrong, root=shared_root)


@needs_mirror
def test_scaled_features_are_shares_of_their_sum() -> None:
    counts, shares = (
        load("AmazonPhoto", features=kind, root=shared_root).graphs[0].x for kind in ("default", "scaled")
    )
    torch.testing.assert_close(shares, counts / counts.sum(dim=1, keepdim=True))


@pytest.fixture
def small_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mirror"
    write_tu_zip(folder / "SMALL.zip", SMALL)
    monkeypatch.setenv("MSHGNN_MIRROR", str(folder))
    return folder


def leftovers(root: Path) -> list[str]:
    folder = root / "prepared"
    return [path.name for path in folder.iterdir() if path.suffix != ".lock"] if folder.exists() else []


@pytest.mark.parametrize("damage", ["truncated", "text", "traversal", "missing"])
def test_damage_is_one_line_and_a_second_try_works(damage: str, small_mirror: Path, tmp_path: Path) -> None:
    path, root = small_mirror / "SMALL.zip", tmp_path / "root"
    whole = path.read_bytes()
    name = "SMALL"
    if damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "text":
        write_tu_zip(path, SMALL | {"A": "1, 2\n2, one\n"})
    elif damage == "traversal":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("../../evil.txt", "1")
    else:
        path.rename(small_mirror / "AIDS.zip")
        name = "ENZYMES"
    with pytest.raises(DataError) as refused:
        load(name, root=root)
    assert "\n" not in str(refused.value)
    assert ("ENZYMES.zip" if damage == "missing" else "SMALL") in str(refused.value)
    assert leftovers(root) == []
    path.write_bytes(whole)
    assert len(load("SMALL", root=root).graphs) == 3


def test_a_missing_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.error

    def no_network(*_: object, **__: object) -> str:
        raise urllib.error.URLError("no route to host")

    monkeypatch.delenv("MSHGNN_MIRROR", raising=False)
    monkeypatch.setattr("mshgnn.data.sources.upstream.download_url", no_network)
    for name, file in (("MUTAG", "MUTAG.zip"), ("Minesweeper", "minesweeper.npz")):
        with pytest.raises(DataError, match=rf"could not get http.*/{file} \(no route.*MSHGNN_MIRROR"):
            load(name, root=tmp_path)
    assert leftovers(tmp_path) == []


def test_a_mirror_that_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nowhere is not a folder"):
        load("MUTAG", root=tmp_path)


def test_other_graphs_under_a_known_name_are_refused(small_mirror: Path, tmp_path: Path) -> None:
    write_tu_zip(small_mirror / "MUTAG.zip", SMALL, "MUTAG")
    with pytest.raises(DataError, match=r"MUTAG.zip is altered: graphs and nodes are \(3, 3.0\), not \(188, 17.93\)"):
        load("MUTAG", root=tmp_path / "root")


@needs_mirror
@pytest.mark.parametrize("damage", ["truncated", "pickled", "missing array"])
def test_damaged_npz(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = mirror()
    assert upstream is not None
    original, path = upstream / "minesweeper.npz", tmp_path / "mirror" / "minesweeper.npz"
    path.parent.mkdir()
    if damage == "truncated":
        path.write_bytes(original.read_bytes()[:70_000])
    else:
        arrays = dict(np.load(original))
        if damage == "pickled":
            arrays["node_labels"] = np.array([{}] * 10_000, dtype=object)
        else:
            del arrays["edges"]
        np.savez(path, **arrays)
    monkeypatch.setenv("MSHGNN_MIRROR", str(path.parent))
    with pytest.raises(DataError, match=r"minesweeper.npz: (damaged|array)"):
        load("Minesweeper", root=tmp_path / "root")
    assert leftovers(tmp_path / "root") == []
    shutil.copy(original, path)
    assert load("Minesweeper", root=tmp_path / "root").num_items == 10_000


def test_a_damaged_prepared_copy_is_made_again(
    small_mirror: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = load("SMALL", root=tmp_path / "root").checksum
    (prepared,) = (tmp_path / "root").rglob("data.safetensors")
    prepared.write_bytes(prepared.read_bytes()[:100])
    assert load("SMALL", root=tmp_path / "root").checksum == before
    assert [record.getMessage() for record in caplog.records] == [
        f"{prepared.parent}: its checksum is wrong; it is made again"
    ]


def test_a_wrong_mirror_leaves_the_prepared_copy_alone(
    small_mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tu_zip(small_mirror / "Synthie.zip", SMALL, "Synthie")
    before = load("Synthie", root=tmp_path / "root").checksum
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nowhere is not a folder"):
        load("Synthie", root=tmp_path / "root")
    monkeypatch.setenv("MSHGNN_MIRROR", str(small_mirror))
    (small_mirror / "Synthie.zip").unlink()
    assert load("Synthie", root=tmp_path / "root").checksum == before


def test_attributes_without_labels_leave_degrees_as_features(small_mirror: Path, tmp_path: Path) -> None:
    tables = {table: content for table, content in SMALL.items() if table != "node_labels"}
    tables |= {"node_attributes": "0.5\n" * 9, "edge_attributes": "1.5, 2\n" * 14}
    write_tu_zip(small_mirror / "SMALL.zip", tables)
    default = load("SMALL", root=tmp_path / "root")
    path = default.graphs[2]
    assert path.x.argmax(dim=1).tolist() == [1, 1, 0]
    assert (default.edge_dim, "edge_attr" in path) == (0, False)
    attributes = load("SMALL", features="attributes", root=tmp_path / "root")
    assert (attributes.num_features, attributes.edge_dim) == (1, 2)


def _load_small(root: str) -> str:
    return load("SMALL", root=Path(root)).checksum


def test_two_processes_at_once(small_mirror: Path, tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        checksums = pool.map(_load_small, [str(tmp_path / "root")] * 2, chunksize=1)
    assert len(set(checksums)) == 1
    assert leftovers(tmp_path / "root") == ["SMALL"]


def test_an_unwritable_folder(small_mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mshgnn.data.sources.store.tempfile.mkdtemp", refuse)
    with pytest.raises(DataError, match="set MSHGNN_DATA"):
        load("SMALL", root=tmp_path / "root")


def test_where_prepared_data_is_kept(small_mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path / "kept"))
    load("SMALL")
    assert (tmp_path / "kept" / "prepared" / "SMALL").is_dir()


def test_what_is_asked_of_a_set_by_name_is_refused() -> None:
    with pytest.raises(DataError, match="MUTAG: columns, targets and metric of a set by name are fixed"):
        load_any("MUTAG", Asked(objective="regress"))

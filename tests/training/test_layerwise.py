"""Inference layer by layer equals one pass over the whole graph, and stays within its memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data

from mshgnn.data import load_own
from mshgnn.data.mapped import MappedArray
from mshgnn.models import build
from mshgnn.nn import Model
from mshgnn.nn.open_norm import OpenNorm
from mshgnn.training.layerwise import LayerByLayer
from mshgnn.training.node_store import NodeStore

pytestmark = pytest.mark.usefixtures("reference_backend")
CPU = torch.device("cpu")


def trained(name: str, in_channels: int = 5, **options: object) -> Model:
    """A model whose batch norms have seen something."""
    model = build(name, in_channels, 3, task="node", options={"hidden_channels": 8, "num_layers": 2, **options})
    for _ in range(3):
        model(torch.randn(20, in_channels), torch.randint(20, (2, 60)), edge_attr=_attributes(options, 60))
    return model.eval()


def _attributes(options: dict[str, object], edges: int) -> Tensor | None:
    return torch.randn(edges, 2) if "edge_dim" in options else None


def random_graph(nodes: int = 40, edges: int = 150) -> Data:
    return Data(x=torch.randn(nodes, 5), edge_index=torch.randint(nodes, (2, edges)), y=torch.zeros(nodes))


@pytest.mark.parametrize("memory", ["200000", "30000", "1"])
@pytest.mark.parametrize("name", ["msh-stable", "msh-paper", "gin", "gat", "sage", "film", "transformer", "edge-mlp"])
def test_layer_by_layer_is_exact(name: str, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", memory)  # one chunk, several, one receiver at a time with states on the disk
    model, graph = trained(name), random_graph()
    wanted = torch.tensor([3, 0, 39, 17])
    inference = LayerByLayer(NodeStore.of(graph), wanted, CPU)
    with torch.no_grad():
        truth = model(graph.x, graph.edge_index)[wanted]
        embedding = model.embed(graph.x, graph.edge_index)[wanted]
    torch.testing.assert_close(inference.outputs(model), truth)
    torch.testing.assert_close(inference.embeddings(model), embedding)


@pytest.mark.parametrize("memory", ["200000", "30000", "1"])
@pytest.mark.parametrize("self_loops", [False, True])
def test_edge_features_and_loops_are_seen(self_loops: bool, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", memory)
    model, graph = trained("msh-stable", edge_dim=2, self_loops=self_loops), random_graph()
    graph.edge_attr = torch.randn(150, 2)
    inference = LayerByLayer(NodeStore.of(graph), torch.arange(40), CPU)
    with torch.no_grad():
        truth = model(graph.x, graph.edge_index, edge_attr=graph.edge_attr)
    torch.testing.assert_close(inference.outputs(model), truth)


@pytest.mark.parametrize("memory", ["200000", "30000", "1"])
def test_every_node_is_prepared_once_per_layer_however_many_hear_it(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", memory)
    model, graph, rows = trained("msh-stable"), random_graph(), 0

    def count(module: nn.Module, inputs: tuple[Tensor]) -> None:
        nonlocal rows
        rows += len(inputs[0])

    for module in model.modules():
        if isinstance(module, OpenNorm):
            module.register_forward_pre_hook(count)
    LayerByLayer(NodeStore.of(graph), torch.arange(40), CPU).outputs(model)
    assert rows == 2 * (40 + 40 + 1)  # of two layers: senders, receivers, and one to ask whether there are rows


def test_states_on_the_disk_have_no_name_that_could_be_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model, graph, made, create = trained("msh-stable"), random_graph(), list[Path](), MappedArray.create

    def noted(path: Path, shape: tuple[int, ...], dtype: type) -> MappedArray:
        made.append(path)
        return create(path, shape, dtype)

    monkeypatch.setattr(MappedArray, "create", noted)
    model.get_submodule("head").register_forward_pre_hook(lambda *_: made.extend(tmp_path.iterdir()))
    LayerByLayer(NodeStore.of(graph), torch.arange(40), CPU).outputs(model)
    assert len(made) == 5  # the encoder's states; of two layers what senders hand over, and the next states


def test_sparse_features_are_taken_row_by_row() -> None:
    model, graph = trained("msh-stable", in_channels=200), random_graph()
    graph.x = torch.zeros(40, 200).index_fill_(1, torch.tensor([7, 90]), 1.0)
    store = NodeStore.of(graph, sparse=True)
    assert store.x.layout == torch.sparse_csr
    with torch.no_grad():
        truth = model(graph.x, graph.edge_index)
    torch.testing.assert_close(LayerByLayer(store, torch.arange(40), CPU).outputs(model), truth)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(1, 30))
@settings(deadline=None)
def test_chunks_cover_all_receivers_and_are_as_large_as_they_may_be(degrees: list[int], elements: int) -> None:
    rowptr = np.cumsum([0, *degrees])
    nothing = torch.empty(0)
    chunks = list(NodeStore(nothing, nothing, rowptr, np.zeros(rowptr[-1], dtype=np.int64)).chunks(elements))
    assert [first for first, _ in chunks] == [0, *(last for _, last in chunks[:-1])]
    assert chunks[-1][1] == len(degrees)
    for first, last in chunks:
        size = int(rowptr[last] - rowptr[first]) + last - first
        assert size <= elements or last == first + 1
        if last < len(degrees):
            assert size + degrees[last] + 1 > elements


MEMORY_CHECK = """
import sys, torch
from pathlib import Path
from mshgnn.data import load_own, Split
from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes, return_freed_blocks
from mshgnn.models import build
from mshgnn.ops import set_backend
from mshgnn.training.loop import train_fold
from mshgnn.training.settings import TrainingSettings

torch.set_num_threads(1)

def train(folder):
    dataset = load_own(folder)
    model = build("sage", dataset.num_features, 2, task="node", options={"hidden_channels": 8, "num_layers": 2})
    parts = [dataset.graphs[0][f"{part}_mask"].nonzero().flatten() for part in ("train", "val", "test")]
    for batching, nodes_per_step in (("neighbours", 500), ("partitions", 2000)):
        settings = TrainingSettings(epochs=1, batching=batching, nodes_per_step=nodes_per_step)
        train_fold(model, dataset, Split(*parts), settings, seed=0)

train(Path(sys.argv[1]))  # loads libraries and kernels
return_freed_blocks()
before = resident_memory_bytes()
reset_peak_memory()
train(Path(sys.argv[2]))
print(peak_memory_bytes() - before)
"""


def test_training_on_arrays_larger_than_the_limit_stays_within_it(tmp_path: Path) -> None:
    limit, nodes = 60_000_000, 150_000
    random = np.random.default_rng(0)
    for name, count in (("small", 3_000), ("large", nodes)):
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "x.npy", random.standard_normal((count, 256), dtype=np.float32))
        near = random.integers(count, size=4 * count)
        np.save(folder / "edge_index.npy", np.stack([near, (near + random.integers(1, 50, size=near.size)) % count]))
        np.save(folder / "y.npy", np.arange(count) % 2)
        turn, rest = np.divmod(np.arange(count), count // 2_000)  # parts from everywhere
        np.save(folder / "split.npy", np.where(rest == 0, turn % 3, -1))
    assert (tmp_path / "large" / "x.npy").stat().st_size > 2.5 * limit
    command = [sys.executable, "-c", MEMORY_CHECK, str(tmp_path / "small"), str(tmp_path / "large")]
    environment = {**os.environ, "MSHGNN_MEMORY": "50M"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < limit


INFERENCE_CHECK = """
import sys, torch
from pathlib import Path
from mshgnn.data import load_own
from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes, return_freed_blocks
from mshgnn.models import build
from mshgnn.training.layerwise import LayerByLayer
from mshgnn.training.node_store import NodeStore

torch.set_num_threads(1)

def infer(folder):
    graph = load_own(folder).graphs[0]
    model = build("msh-stable", 8, 2, task="node", options={"hidden_channels": 32, "num_layers": 2}).eval()
    LayerByLayer(NodeStore.of(graph), torch.arange(0, graph.num_nodes, 100), torch.device("cpu")).outputs(model)

infer(Path(sys.argv[1]))  # loads libraries and kernels
return_freed_blocks()
before = resident_memory_bytes()
reset_peak_memory()
infer(Path(sys.argv[2]))
print(peak_memory_bytes() - before)
"""


@pytest.mark.parametrize("limit", [40_000_000, 200_000_000])  # rows of all nodes on the disk, in memory
def test_inference_stays_within_its_limit(limit: int, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name, count in (("small", 3_000), ("large", 150_000)):
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "x.npy", random.standard_normal((count, 8), dtype=np.float32))
        np.save(folder / "edge_index.npy", random.integers(count, size=(2, 4 * count)))
        np.save(folder / "y.npy", np.arange(count) % 2)
    command = [sys.executable, "-c", INFERENCE_CHECK, str(tmp_path / "small"), str(tmp_path / "large")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MSHGNN_MEMORY": str(limit)})
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < limit


def test_a_graph_on_the_disk_is_the_same_as_in_memory(tmp_path: Path) -> None:
    graph = random_graph()
    np.save(tmp_path / "x.npy", graph.x.numpy())
    np.save(tmp_path / "edge_index.npy", graph.edge_index.numpy())
    np.save(tmp_path / "y.npy", np.arange(40) % 3)
    model, wanted = trained("msh-stable"), torch.arange(40)
    mapped = LayerByLayer(NodeStore.of(load_own(tmp_path).graphs[0]), wanted, CPU)
    assert torch.equal(mapped.outputs(model), LayerByLayer(NodeStore.of(graph), wanted, CPU).outputs(model))

"""Node features that are computed: constants, degrees, and structural encodings by PyG's transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE
from torch_geometric.utils import degree, one_hot

from mshgnn.data.dataset import DataError, GraphDataset, content_checksum
from mshgnn.data.sources.store import data_root, prepare

Encoding = Literal["lappe", "rwpe"]
# Powers of a random walk fill up: beyond this a single graph would need many gigabytes.
MAX_RANDOM_WALK_NODES = 15_000


def set_constant(graphs: Sequence[Data]) -> None:
    """``x = 1`` for every node."""
    for graph in graphs:
        graph.x = torch.ones(int(graph.num_nodes), 1)


def set_degree(graphs: Sequence[Data], cap: int) -> None:
    """One-hot of the degree, as wide as the data set's largest degree; degrees above ``cap`` share a column.

    One dense tensor is made and every graph gets its rows as a view: 0.7 GB on COLLAB (492 columns), the largest.
    """
    degrees = [_degrees(graph) for graph in graphs]
    features = one_hot(torch.cat(degrees).clamp(max=cap))
    for graph, rows in zip(graphs, features.split([len(part) for part in degrees]), strict=True):
        graph.x = rows


def _degrees(graph: Data) -> Tensor:
    degrees: Tensor = degree(graph.edge_index[1], int(graph.num_nodes), dtype=torch.long)
    return degrees


def add_encoding(dataset: GraphDataset, encoding: Encoding, size: int, *, root: Path | None = None) -> GraphDataset:
    """The same data set with ``size`` columns of an encoding after its features.

    Args:
        dataset: any data set.
        encoding: ``lappe``, the first non-trivial eigenvectors of the normalised Laplacian (signs drawn once, zeros
            where a graph has too few), or ``rwpe``, the return probabilities of a random walk.
        size: how many eigenvectors or steps.
        root: where the encoding is kept, as in ``load``.
    """
    compute = {"lappe": _laplacian_encoding, "rwpe": _random_walk_encoding}.get(encoding)
    if compute is None:
        raise DataError(f"encoding must be 'lappe' or 'rwpe', not {encoding!r}")
    if size < 1:
        raise DataError(f"size of an encoding must be at least 1, not {size}")
    columns = _kept(dataset, f"{encoding}-{size}", compute, size, data_root(root))
    graphs = []
    for graph, extra in zip(dataset.graphs, columns, strict=True):
        encoded = graph.clone()  # keeps whatever else the graph carries (masks, n_id)
        encoded.x = torch.cat([graph.x, extra], dim=1)
        graphs.append(encoded)
    return replace(
        dataset,
        graphs=graphs,
        num_features=dataset.num_features + size,
        checksum=content_checksum(graphs),
    )


def _kept(
    dataset: GraphDataset, key: str, compute: Callable[[Data, int], Tensor], size: int, root: Path
) -> list[Tensor]:
    """Rows of the encoding for each graph, from the store or computed into it."""
    folder = root / "encodings" / f"{dataset.name}-{dataset.checksum[:16]}-{key}"

    def build(temporary: Path) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # the transform draws signs from torch's global generator
            rows = torch.cat([compute(graph, size) for graph in dataset.graphs])
        save_file({"encoding": rows}, temporary / "encoding.safetensors")

    prepare(folder, build)
    rows = load_file(folder / "encoding.safetensors")["encoding"]
    return list(torch.split(rows, [int(graph.num_nodes) for graph in dataset.graphs]))


def _laplacian_encoding(graph: Data, size: int) -> Tensor:
    num_nodes = int(graph.num_nodes)
    available = min(size, num_nodes - 1)
    bare = Data(edge_index=graph.edge_index, num_nodes=num_nodes)
    transform = AddLaplacianEigenvectorPE(available, attr_name="columns", is_undirected=True)
    if num_nodes >= transform.SPARSE_THRESHOLD:
        # ARPACK's start vector is random unless given; a fixed one makes a second computation equal.
        transform.kwargs["v0"] = torch.linspace(0.5, 1.5, num_nodes).numpy()
        if available + 1 >= num_nodes:
            raise DataError(f"lappe of size {size} is too large for a graph of {num_nodes} nodes")
    columns = transform(bare).columns.to(torch.float32)
    return torch.nn.functional.pad(columns, (0, size - available)).contiguous()


def _random_walk_encoding(graph: Data, size: int) -> Tensor:
    num_nodes = int(graph.num_nodes)
    if num_nodes > MAX_RANDOM_WALK_NODES:
        raise DataError(f"rwpe is for graphs of at most {MAX_RANDOM_WALK_NODES:,} nodes, not {num_nodes:,}")
    bare = Data(edge_index=graph.edge_index, num_nodes=num_nodes)
    encoded: Tensor = AddRandomWalkPE(size, attr_name="columns")(bare).columns
    return encoded.to(torch.float32)

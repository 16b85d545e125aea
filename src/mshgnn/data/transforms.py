"""Node features that are computed: constants, degrees, and structural encodings by PyG's transforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE
from torch_geometric.utils import degree, one_hot

from mshgnn.data.dataset import DataError, GraphDataset, content_checksum
from mshgnn.data.limits import FLOAT, check_limit
from mshgnn.data.sources.store import Kept, data_root, keep, prepared_folder

# Powers of a random walk fill up: beyond this a single graph would need many gigabytes.
MAX_RANDOM_WALK_NODES = 15_000
DEGREE_CAP = 511
"""Where degrees of a user's own graphs begin to share a column."""


def set_constant(graphs: Sequence[Data]) -> None:
    """``x = 1`` for every node."""
    for graph in graphs:
        graph.x = torch.ones(int(graph.num_nodes), 1)


def set_degree(graphs: Sequence[Data], cap: int, where: str | Path) -> None:
    """One-hot of the degree, as wide as the largest degree of all these graphs; from ``cap`` on they share a column.

    What a model is trained on is cut to its training part (see :mod:`mshgnn.data.recoding`). One dense tensor is made
    and every graph gets its rows as a view: 0.7 GB on COLLAB (492 columns), the largest. ``where`` is named when it
    would be too large.
    """
    degrees = [degrees_of(graph) for graph in graphs]
    capped = torch.cat(degrees).clamp(max=cap)
    check_limit("memory", FLOAT * len(capped) * (int(capped.max()) + 1), where)
    features = one_hot(capped)
    for graph, rows in zip(graphs, features.split([len(part) for part in degrees]), strict=True):
        graph.x = rows


def standardise(graphs: Sequence[Data], columns: int) -> None:
    """The first ``columns`` features with mean 0 and variance 1 over the nodes of all graphs; a constant becomes 0.

    Test graphs count too; it tells no label.
    """
    values = torch.cat([graph.x[:, :columns] for graph in graphs]).double()
    mean, deviation = values.mean(dim=0), values.std(dim=0, correction=0)
    deviation[deviation == 0] = 1.0
    for graph in graphs:
        scaled = ((graph.x[:, :columns].double() - mean) / deviation).float()
        graph.x = torch.cat([scaled, graph.x[:, columns:]], dim=1)


def degrees_of(graph: Data) -> Tensor:
    """How many edges end at each node, ``[n]``."""
    degrees: Tensor = degree(graph.edge_index[1], int(graph.num_nodes), dtype=torch.long)
    return degrees


def add_encoding(dataset: GraphDataset, encoding: str, size: int, *, root: Path | None = None) -> GraphDataset:
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
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise DataError(f"size of an encoding must be at least 1, not {size!r}")
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


def add_encodings(dataset: GraphDataset, encodings: Mapping[str, int], *, root: Path | None = None) -> GraphDataset:
    """Several encodings, one after the other; ``{}`` gives the data set itself. All are of the bare graph."""
    for encoding, size in encodings.items():
        dataset = add_encoding(dataset, encoding, size, root=root)
    return dataset


def _kept(
    dataset: GraphDataset, key: str, compute: Callable[[Data, int], Tensor], size: int, root: Path
) -> list[Tensor]:
    """Rows of the encoding for each graph, from the store or computed into it."""
    name = re.sub(r"[^\w.-]", "_", dataset.name)[:60]

    def build(_: Path) -> Kept:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # the transform draws signs from torch's global generator
            return Kept({"encoding": torch.cat([compute(graph, size) for graph in dataset.graphs])}, {})

    rows = keep(prepared_folder(root, f"{name}-{dataset.checksum[:16]}-{key}"), build).tensors["encoding"]
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

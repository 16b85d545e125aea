from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from data_helpers import SMALL, write_tu_zip
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx, to_undirected

from mshgnn.data import DataError, GraphDataset, add_encoding, from_graphs, load
from mshgnn.data.transforms import add_encodings, set_constant, set_degree, standardise


@pytest.fixture
def dataset() -> GraphDataset:
    made = [nx.cycle_graph(6), nx.path_graph(2), nx.empty_graph(1), nx.gnp_random_graph(120, 0.1, seed=1)]
    graphs = []
    for index, one in enumerate(made):
        graph = from_networkx(one)
        graph.x = torch.full((len(one), 1), 7.0)
        graph.edge_index = graph.edge_index.long()
        graph.y = torch.tensor([index % 2])
        graphs.append(graph)
    return from_graphs(graphs, name="mine")


def walks(graph: nx.Graph, steps: int) -> np.ndarray:
    adjacency = nx.to_numpy_array(graph)
    walk = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1)
    return np.stack([np.diag(np.linalg.matrix_power(walk, step + 1)) for step in range(steps)], axis=1)


def test_rwpe_are_return_probabilities(dataset: GraphDataset, tmp_path: Path) -> None:
    encoded = add_encoding(dataset, "rwpe", 4, root=tmp_path)
    assert encoded.num_features == 5
    assert encoded.graphs[0].x[:, 0].tolist() == [7.0] * 6
    np.testing.assert_allclose(encoded.graphs[0].x[:, 1:], walks(nx.cycle_graph(6), 4), atol=1e-6)
    np.testing.assert_allclose(encoded.graphs[3].x[:, 1:], walks(nx.gnp_random_graph(120, 0.1, seed=1), 4), atol=1e-6)
    assert dataset.graphs[0].x.shape == (6, 1)  # the original is untouched


def test_lappe_are_eigenvectors_padded_with_zeros(dataset: GraphDataset, tmp_path: Path) -> None:
    encoded = add_encoding(dataset, "lappe", 3, root=tmp_path)
    assert [tuple(graph.x.shape) for graph in encoded.graphs] == [(6, 4), (2, 4), (1, 4), (120, 4)]
    assert encoded.graphs[1].x[:, 2:].abs().sum() == 0
    assert encoded.graphs[2].x[:, 1:].abs().sum() == 0
    for graph, made in (
        (encoded.graphs[0], nx.cycle_graph(6)),
        (encoded.graphs[3], nx.gnp_random_graph(120, 0.1, seed=1)),
    ):
        matrix = nx.normalized_laplacian_matrix(made).toarray()
        values = np.linalg.eigvalsh(matrix)[1:4]
        columns = graph.x[:, 1:].numpy()
        np.testing.assert_allclose(matrix @ columns, columns * values, atol=1e-4)


def test_it_is_computed_once_and_depends_on_nothing_random(
    dataset: GraphDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = add_encoding(dataset, "lappe", 3, root=tmp_path / "one")
    torch.manual_seed(99)
    state = torch.random.get_rng_state()
    again = add_encoding(dataset, "lappe", 3, root=tmp_path / "two")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert first.checksum == again.checksum
    monkeypatch.setattr("mshgnn.data.transforms.AddLaplacianEigenvectorPE", None)
    assert add_encoding(dataset, "lappe", 3, root=tmp_path / "one").checksum == first.checksum


def test_wrong_requests(dataset: GraphDataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'lappe' or 'rwpe'"):
        add_encoding(dataset, "sine", 3, root=tmp_path)
    with pytest.raises(DataError, match="at least 1"):
        add_encoding(dataset, "rwpe", 0, root=tmp_path)
    with pytest.raises(DataError, match="at least 1, not 'two'"):
        add_encodings(dataset, {"rwpe": "two"}, root=tmp_path)  # type: ignore[dict-item]
    with pytest.raises(DataError, match="too large"):
        add_encoding(dataset, "lappe", 119, root=tmp_path)


def test_load_adds_encodings_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu_zip(tmp_path / "SMALL.zip", SMALL)
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path))
    plain = load("SMALL", root=tmp_path / "root")
    encoded = load("SMALL", encodings={"rwpe": 2, "lappe": 1}, root=tmp_path / "root")
    assert (plain.num_features, encoded.num_features, encoded.catalogued) == (3, 6, True)
    walked = add_encoding(plain, "rwpe", 2, root=tmp_path / "root")
    assert torch.equal(encoded[2].x[:, :5], walked[2].x)


def stars(*leaves: int) -> list[Data]:
    """Graphs with one centre and so many leaves: degrees are known."""
    return [
        Data(
            edge_index=to_undirected(torch.stack([torch.zeros(count, dtype=torch.long), torch.arange(1, count + 1)])),
            num_nodes=count + 1,
        )
        for count in leaves
    ]


def test_degrees_are_as_wide_as_the_largest_of_the_whole_set() -> None:
    graphs = stars(2, 5)
    set_degree(graphs, 100, "stars")
    assert [tuple(graph.x.shape) for graph in graphs] == [(3, 6), (6, 6)]
    assert graphs[1].x.argmax(dim=1).tolist() == [5, 1, 1, 1, 1, 1]
    assert graphs[0].x.sum(dim=1).tolist() == [1.0, 1.0, 1.0]


def test_degrees_from_the_cap_on_share_the_last_column() -> None:
    graphs = stars(2, 5, 9)
    set_degree(graphs, 4, "stars")
    assert [int(graph.x[0].argmax()) for graph in graphs] == [2, 4, 4]
    assert graphs[0].x.shape[1] == 5


def test_degrees_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_LIMITS", "memory=100")
    with pytest.raises(DataError, match="stars: 216 bytes in memory, more than the limit of 100"):
        set_degree(stars(2, 5), 100, "stars")


def test_a_constant() -> None:
    graphs = stars(3)
    set_constant(graphs)
    assert graphs[0].x.tolist() == [[1.0]] * 4


def test_standardised_attributes_have_mean_0_and_variance_1_and_labels_stay() -> None:
    graphs = [Data(x=torch.tensor([[1.0, 5.0, 1.0], [3.0, 5.0, 0.0]])), Data(x=torch.tensor([[5.0, 5.0, 1.0]]))]
    standardise(graphs, 2)
    x = torch.cat([graph.x for graph in graphs])
    torch.testing.assert_close(x[:, 0], torch.tensor([-1.5, 0.0, 1.5]) * (2 / 3) ** 0.5)
    assert x[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert x[:, 2].tolist() == [1.0, 0.0, 1.0]

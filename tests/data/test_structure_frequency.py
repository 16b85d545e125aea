from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from torch_geometric.data import Data

from mshgnn.data import DataError, GraphDataset, StructureFrequencyDataset, load
from mshgnn.data.structure_frequency import FAMILIES, NUM_MODES

CHECKSUMS = {
    "fixed": "99107e5658df59530eda9b8e7700b8085c86a17131e9a68e617312fa11b98972",
    "varied": "e0c1ee0e4475c2a41b83471a29b00ec779c5ca3fed8ecb13d19ef0130830732b",
    "wellposed": "ffb110fb3df67295b01564d85268a3e0ef4e36533b2bb41c9039e437979b56cd",
}


def nx_graph(graph: Data) -> nx.Graph:
    made = nx.empty_graph(int(graph.num_nodes))
    made.add_edges_from(graph.edge_index.t().tolist())
    return made


def laplacian(graph: Data) -> np.ndarray:
    matrix: np.ndarray = nx.laplacian_matrix(nx_graph(graph)).toarray().astype(np.float64)
    return matrix


@pytest.fixture(scope="module", params=["fixed", "varied", "wellposed"])
def dataset(request: pytest.FixtureRequest) -> GraphDataset:
    return load(f"structure-frequency-{request.param}")


def test_thirty_balanced_classes(dataset: GraphDataset) -> None:
    assert (dataset.num_classes, dataset.num_features, len(dataset.graphs)) == (30, 1, 3000)
    assert torch.bincount(dataset.labels()).tolist() == [100] * 30


def test_the_signal_is_the_mode_of_its_class(dataset: GraphDataset) -> None:
    for graph in dataset.graphs[::7]:
        matrix, x = laplacian(graph), graph.x.numpy().astype(np.float64)[:, 0]
        quotient = x @ matrix @ x
        assert np.linalg.norm(matrix @ x - quotient * x) < 1e-6
        assert abs(np.linalg.norm(x) - 1) < 1e-6
        assert abs(np.linalg.eigvalsh(matrix)[int(graph.y) % NUM_MODES] - quotient) < 1e-6


def test_the_structure_is_that_of_its_class(dataset: GraphDataset) -> None:
    for graph in dataset.graphs[::7]:
        made, n = nx_graph(graph), int(graph.num_nodes)
        family = FAMILIES[int(graph.y) // NUM_MODES]
        assert graph.edge_index.shape[1] == 2 * made.number_of_edges()  # both directions, no repeats
        assert nx.is_connected(made)
        if family == "ring":
            assert nx.is_isomorphic(made, nx.cycle_graph(n))
        elif family == "chain":
            assert nx.is_isomorphic(made, nx.path_graph(n))
        else:
            assert made.number_of_edges() == n
            assert nx.number_of_selfloops(made) == 0
            kept = sum(made.has_edge(node, (node + 1) % n) for node in range(n))
            assert n - round(0.2 * n) <= kept < n


def test_sizes_of_the_variants() -> None:
    assert {int(graph.num_nodes) for graph in load("structure-frequency-fixed").graphs} == {30}
    assert {int(graph.num_nodes) for graph in load("structure-frequency-varied").graphs} == set(range(20, 41))


@pytest.mark.parametrize("variant", ["fixed", "varied", "wellposed"])
def test_the_same_bits_on_every_machine(variant: str) -> None:
    assert load(f"structure-frequency-{variant}").checksum == CHECKSUMS[variant]


def test_another_seed_is_another_data_set() -> None:
    one, other = (StructureFrequencyDataset(20, 2, seed=seed).generate() for seed in (1, 2))
    assert one.checksum != other.checksum


def ring_signals(basis: str, mode: int, *, random_sign: bool = True) -> np.ndarray:
    """Signals of many equal rings as coordinates ``[graphs, 2]`` in the known eigenspace (cosine, sine)."""
    generator = StructureFrequencyDataset(20, 2000, basis=basis, random_sign=random_sign, seed=3)  # type: ignore[arg-type]
    targets = np.full(2000, mode)
    graphs = generator._batch(np.random.default_rng(3), 20, targets)
    angle = 2 * np.pi * ((mode + 1) // 2) * np.arange(20) / 20
    basis_vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(10)
    coordinates: np.ndarray = np.stack([graph.x.numpy()[:, 0] for graph in graphs]) @ basis_vectors
    return coordinates


def test_the_random_basis_is_uniform_in_a_degenerate_space() -> None:
    from scipy.stats import kstest

    for mode in (1, 2, 7):
        points = ring_signals("random", mode)
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
        turns = np.arctan2(points[:, 1], points[:, 0]) / (2 * np.pi) + 0.5
        assert kstest(turns, "uniform").pvalue > 1e-3
        # A point of the square instead of the disc would prefer its corners: E cos(4 angle) = -0.14, here 0 +- 0.016.
        assert abs(float(np.cos(8 * np.pi * turns).mean())) < 0.064


def test_the_solver_basis_is_one_vector_up_to_sign() -> None:
    points = ring_signals("solver", 3)
    assert len(np.unique(np.round(points, 5), axis=0)) == 2
    assert 900 < int((points[:, 0] * points[0, 0] > 0).sum()) < 1100
    assert len(np.unique(np.round(ring_signals("solver", 3, random_sign=False), 5), axis=0)) == 1


def test_the_two_modes_of_a_ring_pair_are_orthogonal() -> None:
    first, second = ring_signals("solver", 1)[0], ring_signals("solver", 2)[0]
    assert abs(float(first @ second)) < 1e-5


def test_nothing_rewired_is_a_ring() -> None:
    graphs = StructureFrequencyDataset(15, 1, rewired=0.0).generate().graphs
    assert all(nx.is_isomorphic(nx_graph(graph), nx.cycle_graph(15)) for graph in graphs[20:])


@pytest.mark.parametrize(
    "wrong",
    [{"nodes": 10}, {"nodes": (30, 20)}, {"graphs_per_class": 0}, {"rewired": 0.9}, {"basis": "lapack"}],
)
def test_settings_without_meaning_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError, match=next(iter(wrong))):
        StructureFrequencyDataset(**wrong)  # type: ignore[arg-type]


def test_unknown_variant() -> None:
    with pytest.raises(DataError, match="one of fixed, varied, wellposed"):
        StructureFrequencyDataset.variant("hard")


@pytest.mark.slow
def test_thirty_thousand_graphs_of_forty_nodes() -> None:
    assert len(StructureFrequencyDataset(40, 1000).generate().graphs) == 30_000


def test_the_ceiling_counts_the_modes_of_a_ring_that_can_be_told_apart() -> None:
    variant = StructureFrequencyDataset.variant
    assert variant("wellposed").ceiling() == pytest.approx((0.6 + 2) / 3)
    assert variant("fixed").ceiling() == pytest.approx(1.0)
    assert 26 / 30 < variant("varied").ceiling() <= 1.0


@pytest.mark.parametrize("n", range(20, 41))
def test_a_quarter_turn_makes_two_modes_of_a_ring_alike(n: int) -> None:
    # The two modes of frequency k differ by a quarter wave. The phases that turns of the ring can reach are the
    # multiples of 2 pi / m with m = n / gcd(n, k): a quarter wave is among them when 4 divides m.
    alike = sum((n // math.gcd(n, k)) % 4 == 0 for k in (1, 2, 3, 4))
    assert StructureFrequencyDataset(nodes=n).ceiling() == pytest.approx((1 - alike / 10 + 2) / 3)


def test_an_eigenvalue_tells_half_of_the_paired_modes_where_nothing_is_rewired() -> None:
    """Twice a ring, with modes 1 to 8 in four pairs and 0 and 9 alone, and a chain, whose eigenvalues all differ."""
    assert StructureFrequencyDataset(nodes=20, rewired=0.0).eigenvalue_ceiling() == pytest.approx((0.6 + 1 + 0.6) / 3)


def test_what_an_eigenvalue_tells_is_what_its_neighbours_in_the_data_set_tell() -> None:
    """A vote of fifty neighbours on the eigenvalue, of perturbed rings made by the generator itself, is the truth."""
    made = StructureFrequencyDataset(nodes=24, graphs_per_class=500, seed=5).generate()
    perturbed = [graph for graph in made.graphs if int(graph.y) >= 20]
    signals = [(graph, graph.x[:, 0].double().numpy()) for graph in perturbed]
    values = np.array([[x @ laplacian(graph) @ x] for graph, x in signals])
    modes = np.array([int(graph.y) - 20 for graph in perturbed])
    vote = cross_val_score(KNeighborsClassifier(50), values, modes, cv=KFold(5, shuffle=True, random_state=0)).mean()
    found = StructureFrequencyDataset(nodes=24).eigenvalue_ceiling()
    assert found == pytest.approx((0.6 + 1 + vote) / 3, abs=0.01)

from __future__ import annotations

import numpy as np
import pytest
import torch

from mshgnn.data import DataError, load_splits
from mshgnn.data.neighbour_distribution import TARGETS, NeighbourDistribution, neighbour_targets
from mshgnn.data.union import pieces


def test_the_targets_of_a_star_are_those_worked_out_by_hand() -> None:
    adjacency = np.zeros((4, 4), dtype=bool)
    adjacency[0, 1:] = adjacency[1:, 0] = True
    found = neighbour_targets(adjacency, np.array([1.0, 0.0, 1.25, 4.0]))
    np.testing.assert_allclose(found[0], [1.75, np.sqrt((1.75**2 + 0.5**2 + 2.25**2) / 3), 4.0, 1, 2 / 3])
    np.testing.assert_allclose(found[1], [1.0, 0.0, 1.0, 0, 1.0])
    np.testing.assert_allclose(found[2], [1.0, 0.0, 1.0, 1, 0.0])


def test_the_data_set_is_standardised_on_its_training_graphs_and_fixed_by_its_seed() -> None:
    task = NeighbourDistribution(graphs=10, nodes=30, seed=3)
    dataset = task.generate()
    assert dataset.target_names == TARGETS
    assert (dataset.task, dataset.objective, dataset.metric) == ("node", "regress", "mse")
    (fold,) = load_splits(dataset).folds
    known = dataset.labels()[fold.train].double()
    np.testing.assert_allclose(known.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(known.std(0, correction=0), 1, atol=1e-5)
    assert [len(part) for part in fold] == [180, 60, 60]
    assert task.generate().checksum == dataset.checksum
    assert NeighbourDistribution(graphs=10, nodes=30, seed=4).generate().checksum != dataset.checksum
    for graph in pieces(dataset).graphs:
        assert len(graph.edge_index[1].unique()) == 30  # nobody is alone
        assert torch.equal(graph.edge_index.flip(0).unique(dim=1), graph.edge_index.unique(dim=1))


def test_settings_without_meaning_are_refused() -> None:
    with pytest.raises(DataError, match="graphs must be at least 5"):
        NeighbourDistribution(graphs=4)
    with pytest.raises(DataError, match=r"degrees must be in order"):
        NeighbourDistribution(nodes=5, degrees=(3, 9))

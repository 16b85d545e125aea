"""What one fold sees of its data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lab_helpers import make_experiment
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mshgnn.data import Split, Splits, from_graphs
from mshgnn.data.transforms import set_degree
from mshgnn.lab.errors import StoreError
from mshgnn.lab.fold import FoldJob, run_fold, train_model
from mshgnn.lab.registry import CONTROLS
from mshgnn.lab.runner import run_info
from mshgnn.lab.setup import LoadedData
from mshgnn.lab.store import RunStore
from mshgnn.records.run import CUT_DEGREES_VERSION, NUMBERS_VERSION, FoldKey

HUB = 12
TRAINED_WIDTH = 6


def stars(order: list[int]) -> LoadedData:
    """Stars of up to five leaves to train and validate on; the test part ends with one of twelve."""
    leaves = [1 + item % 5 for item in range(20)] + [[2, 3, HUB][item] for item in order]
    graphs = []
    for count in leaves:
        ends = torch.stack([torch.zeros(count, dtype=torch.long), torch.arange(1, count + 1)])
        graphs.append(Data(edge_index=to_undirected(ends), num_nodes=count + 1, y=torch.tensor([count % 2])))
    set_degree(graphs, 100, "stars")
    dataset = replace(from_graphs(graphs, name="stars"), degree_columns=HUB + 1)
    first = Split(torch.arange(15), torch.arange(15, 20), torch.arange(20, 23))
    second = Split(torch.arange(10, 23), torch.arange(5, 10), torch.arange(5))
    return LoadedData(dataset, Splits("stars", [first, second], "checksum", "own"))


def job(fold: int = 0, **changes: object) -> FoldJob:
    return FoldJob(make_experiment(**changes), FoldKey(0, fold))


def test_a_model_is_no_wider_than_its_training_part_needs() -> None:
    data = stars([0, 1, 2])
    for fold, width in ((0, TRAINED_WIDTH), (1, HUB + 1)):
        model: Any = train_model(job(fold), data)[0]
        assert model.in_channels == width


def test_the_order_of_test_graphs_changes_no_weight() -> None:
    models = [train_model(job(), stars(order))[0] for order in ([0, 1, 2], [2, 0, 1])]
    first, second = (model.state_dict() for model in models)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_controls_see_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Control:
        def fit(self, graphs: list[Data], y: object) -> None:
            seen.extend(graphs)

        def predict(self, graphs: list[Data]) -> list[int]:
            seen.extend(graphs)
            return [0] * len(graphs)

    monkeypatch.setitem(CONTROLS, "majority", Control)
    run_fold(job(model={"name": "majority"}), stars([0, 1, 2]))
    assert {graph.x.shape[1] for graph in seen} == {TRAINED_WIDTH}


def test_only_runs_that_cut_columns_have_new_numbers(tmp_path: Path) -> None:
    data = stars([0, 1, 2])
    both, second = (run_info(make_experiment(folds=folds), data) for folds in (None, [1]))
    assert (both.numbers, second.numbers) == (CUT_DEGREES_VERSION, NUMBERS_VERSION)
    labelled = data._replace(dataset=replace(data.dataset, degree_columns=0))
    assert run_info(make_experiment(), labelled).numbers == NUMBERS_VERSION
    store = RunStore(tmp_path / "run")
    store.begin(replace(both, numbers=NUMBERS_VERSION))  # begun when columns came from the whole set
    with pytest.raises(StoreError, match="another version of the numbers: was 1, is now 2"):
        store.begin(both)
    assert store.results() == []  # still shown

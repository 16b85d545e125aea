"""Training on parts of one large graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from torch_geometric.data import Data

from mshgnn.data import GraphDataset, Split, from_graphs
from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.node_batches import counts_of, node_batches
from mshgnn.training.node_store import NodeStore
from mshgnn.training.parts import prepare
from mshgnn.training.settings import Batching, TrainingSettings

pytestmark = pytest.mark.usefixtures("reference_backend")
PARTS: tuple[Batching, ...] = ("neighbours", "partitions")


def node_task(nodes: int = 240) -> GraphDataset:
    """Two communities whose features say little: neighbours help."""
    generator = torch.Generator().manual_seed(1)
    y = torch.arange(nodes) % 2
    near = torch.randint(nodes // 2, (2, 8 * nodes), generator=generator)
    edges = 2 * near + torch.randint(2, (8 * nodes,), generator=generator)  # both ends of one community
    x = torch.randn(nodes, 4, generator=generator)
    x[:, 0] += 0.7 * (2 * y - 1)
    return from_graphs([Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y)], task="node")


def split_of(dataset: GraphDataset) -> Split:
    order = torch.randperm(dataset.num_items, generator=torch.Generator().manual_seed(2))
    return Split(*order.tensor_split((dataset.num_items // 2, 3 * dataset.num_items // 4)))


def train(batching: Batching, name: str = "msh-stable", epochs: int = 12) -> tuple[list[float], list[float]]:
    dataset = node_task()
    torch.manual_seed(0)
    model = build(name, 4, 2, task="node", options={"hidden_channels": 8, "num_layers": 2, "dropout": 0.1})
    settings = TrainingSettings(epochs=epochs, learning_rate=1e-2, batching=batching, nodes_per_step=60)
    curves = train_fold(model, dataset, split_of(dataset), settings, seed=3)
    return curves.test_metric.tolist(), curves.train_loss.tolist()


@pytest.mark.parametrize("name", ["msh-stable", "sage", "gin"])
@pytest.mark.parametrize("batching", PARTS)
def test_parts_of_a_graph_teach_what_the_graph_teaches(batching: Batching, name: str) -> None:
    accuracy, loss = train(batching, name)
    assert max(accuracy[-4:]) > 0.9
    assert loss[-1] < loss[0]


@pytest.mark.parametrize("batching", PARTS)
def test_the_same_seed_gives_the_same_training(batching: Batching) -> None:
    assert train(batching, epochs=3) == train(batching, epochs=3)


@pytest.mark.parametrize("batching", PARTS)
def test_a_training_that_was_killed_goes_on_with_the_same_draws(
    batching: Batching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Nothing may be tidied up after this."""

    def die(report: EpochReport) -> None:
        if report.epoch == 3:
            raise Killed

    monkeypatch.setattr("mshgnn.training.checkpoint.SECONDS_BETWEEN", 0.0)
    dataset = node_task()
    settings = TrainingSettings(epochs=6, batching=batching, nodes_per_step=60)

    def curves(path: Path, see: Callable[[EpochReport], None] | None = None) -> Curves:
        torch.manual_seed(0)
        model = build("msh-stable", 4, 2, task="node", options={"hidden_channels": 8, "num_layers": 2})
        return train_fold(model, dataset, split_of(dataset), settings, 3, see, checkpoint=Checkpoint(path, "digest"))

    with pytest.raises(Killed):
        curves(tmp_path / "killed", die)
    assert curves(tmp_path / "killed") == curves(tmp_path / "whole")


def test_every_training_node_is_a_target_once_per_epoch() -> None:
    dataset = node_task()
    store, split = NodeStore.of(dataset.graphs[0]), split_of(dataset)
    for batching in PARTS:
        settings = TrainingSettings(batching=batching, nodes_per_step=50)
        draw = node_batches(store, split.train, settings, 2, 0)
        batches = list(draw(torch.Generator().manual_seed(0)))
        assert len(batches) > 2
        places = torch.cat([batch.places for batch in batches])
        assert places.sort().values.tolist() == list(range(len(split.train)))
        for part in batches:
            targets = part.batch.y if part.rows is None else part.batch.y[part.rows]
            assert torch.equal(targets, store.y[split.train[part.places]])


def test_all_neighbours_and_all_parts_are_the_graph() -> None:
    dataset = node_task()
    graph, split = dataset.graphs[0], split_of(dataset)
    store = NodeStore.of(graph)
    model = build("msh-stable", 4, 2, task="node", options={"hidden_channels": 8, "num_layers": 2}).eval()
    truth = model(graph.x, graph.edge_index)[split.train]
    for content in ({"batching": "neighbours", "neighbours": (10_000,)}, {"batching": "partitions"}):
        settings = TrainingSettings.model_validate({**content, "nodes_per_step": len(store)})
        (part,) = node_batches(store, split.train, settings, 2, 0)(torch.Generator().manual_seed(0))
        batch = part.batch
        outputs = model(batch.x, batch.edge_index, neighbourhood=batch.neighbourhood)
        found = outputs if part.rows is None else outputs[part.rows]
        torch.testing.assert_close(found, truth[part.places])


def test_weights_of_nodes_go_with_them() -> None:
    dataset = node_task()
    weighted = dataset.graphs[0].clone()
    weighted.item_weight = torch.ones(dataset.num_items)
    weighted.item_weight[dataset.labels() == 1] = 0.0
    dataset = from_graphs([weighted], task="node")
    split = split_of(dataset)
    share = float((dataset.labels()[split.train] == 0).float().mean())
    for batching in PARTS:
        settings = TrainingSettings(batching=batching, nodes_per_step=60)
        for step in prepare(dataset, split, settings, hops=1).steps(torch.Generator()):
            assert step.weights is not None
            torch.testing.assert_close(step.weights, (step.target == 0) / share)


def test_what_parts_cannot_do_is_refused() -> None:
    dataset = node_task()
    settings = TrainingSettings(epochs=1, batching="neighbours")
    for name in ("gcn", "exphormer"):
        model = build(name, 4, 2, task="node")
        with pytest.raises(UserError, match="reads more of a graph than incoming edges"):
            train_fold(model, dataset, split_of(dataset), settings, seed=0)
    graphs = from_graphs([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=n % 2) for n in range(6)])
    with pytest.raises(UserError, match="own is no single graph"):
        train_fold(build("gin", 1, 2, task="graph"), graphs, Split(*torch.arange(6).tensor_split(3)), settings, seed=0)


@pytest.mark.parametrize("batching", PARTS)
def test_a_step_whose_features_do_not_fit_is_refused_before_they_are_read(
    batching: Batching, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = node_task()
    split, settings = split_of(dataset), TrainingSettings(batching=batching, nodes_per_step=60)
    monkeypatch.setenv("MSHGNN_MEMORY", "1000")
    monkeypatch.setattr(NodeStore, "features", None)
    fold = prepare(dataset, split, settings, hops=2)
    with pytest.raises(UserError, match=r"^a step on \d+ nodes of \d+ features, unless nodes_per_step is lower, needs"):
        next(iter(fold.steps(torch.Generator())))


def test_neighbours_are_given_for_each_hop_or_for_all() -> None:
    assert counts_of(TrainingSettings(batching="neighbours", neighbours=(7,)), 3) == (7, 7, 7)
    assert counts_of(TrainingSettings(batching="neighbours", neighbours=(7, 5)), 2) == (7, 5)
    with pytest.raises(UserError, match="2 numbers, but the model has 3 layers"):
        counts_of(TrainingSettings(batching="neighbours", neighbours=(7, 5)), 3)


def test_settings_of_parts_are_written_only_where_they_are_used() -> None:
    assert "batching" not in TrainingSettings().model_dump()
    content = TrainingSettings(batching="neighbours", neighbours=(3,)).model_dump(mode="json")
    assert content["neighbours"] == [3]
    assert TrainingSettings(**content).neighbours == (3,)
    for changes, name in (
        ({"neighbours": (3,)}, "neighbours"),
        ({"nodes_per_step": 9}, "nodes_per_step"),
        ({"batching": "partitions", "with_replacement": True}, "with_replacement"),
    ):
        with pytest.raises(ValidationError, match=f"{name} has no meaning with batching"):
            TrainingSettings.model_validate(changes)

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool

from mshgnn.data import DataError, GraphDataset, Split, from_graphs
from mshgnn.evaluation.rules import best_validation
from mshgnn.training.batches import PackedGraphs
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport, make_optimiser, predict, set_rate, train_fold
from mshgnn.training.objective import objective_of
from mshgnn.training.settings import TrainingSettings


class SmallGCN(nn.Module):
    """A model of two lines, so that the loop is tested and nothing else."""

    def __init__(self, in_channels: int, out_channels: int, task: str = "graph") -> None:
        super().__init__()
        self.task = task
        self.conv = GCNConv(in_channels, 16)
        self.head = nn.Sequential(nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, out_channels))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        h = self.conv(x, edge_index)
        logits: Tensor = self.head(global_mean_pool(h, batch, batch_size) if self.task == "graph" else h)
        return logits


def make_dataset(graphs: int = 120, features: int = 8, seed: int = 0) -> GraphDataset:
    """The class is the sign of the mean of the first feature."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for index in range(graphs):
        nodes = 3 + index % 4
        x = torch.randn(nodes, features, generator=generator)
        label = index % 2
        x[:, 0] += 2.0 * label - 1.0
        ring = torch.arange(nodes)
        edge_index = torch.stack([ring, ring.roll(1)])
        made.append(Data(x=x, edge_index=torch.cat([edge_index, edge_index.flip(0)], 1), y=torch.tensor([label])))
    return from_graphs(made)


def make_split(items: int, seed: int = 0) -> Split:
    order = torch.randperm(items, generator=torch.Generator().manual_seed(seed))
    train, validation = items * 6 // 10, items * 8 // 10
    return Split(order[:train], order[train:validation], order[validation:])


def relabel(dataset: GraphDataset, chosen: Tensor, labels: Tensor) -> GraphDataset:
    graphs = list(dataset.graphs)
    for index, label in zip(chosen.tolist(), labels.tolist(), strict=True):
        graphs[index] = graphs[index].clone()
        graphs[index].y = torch.tensor([label])
    return replace(dataset, graphs=graphs)


def train(dataset: GraphDataset, split: Split, seed: int = 0, **settings: Any) -> Curves:
    torch.manual_seed(seed)
    model = SmallGCN(dataset.num_features, dataset.out_channels, dataset.task)
    defaults: dict[str, Any] = {"epochs": 15, "learning_rate": 0.02, "batch_size": 16}
    return train_fold(model, dataset, split, TrainingSettings.model_validate(defaults | settings), seed)


def test_it_learns_and_measures_all_three_parts() -> None:
    dataset = make_dataset()
    curves = train(dataset, make_split(120))
    assert curves.epochs == 15
    assert curves.sizes == (72, 24, 24)
    assert curves.train_metric[-1] > 0.9
    assert curves.test_metric[-1] > 0.8
    assert curves.train_loss[-1] < curves.train_loss[0]


def test_the_metrics_are_those_of_the_model_in_evaluation_mode() -> None:
    """The last epoch's numbers, computed again by hand, graph by graph, from the trained model."""
    dataset, split = make_dataset(40), make_split(40)
    torch.manual_seed(0)
    model = SmallGCN(dataset.num_features, 2)
    curves = train_fold(model, dataset, split, TrainingSettings(epochs=3), 0)
    model.eval()
    for part, metric, loss in zip(
        split,
        (curves.train_metric, curves.validation_metric, curves.test_metric),
        (curves.train_loss, curves.validation_loss, curves.test_loss),
        strict=True,
    ):
        right, total = [], []
        for index in part.tolist():
            graph = dataset.graphs[index]
            batch = torch.zeros(graph.num_nodes, dtype=torch.long)
            with torch.no_grad():
                logits = model(graph.x, graph.edge_index, batch, batch_size=1)
            right.append(bool(logits.argmax() == graph.y))
            total.append(float(-logits.log_softmax(1)[0, int(graph.y)]))
        assert metric[-1] == pytest.approx(np.mean(right))
        assert loss[-1] == pytest.approx(np.mean(total), rel=1e-4)


def test_the_same_seed_gives_the_same_bits_on_any_thread_count() -> None:
    dataset, split = make_dataset(), make_split(120)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = train(dataset, split)
        torch.set_num_threads(1)
        second = train(dataset, split)
    finally:
        torch.set_num_threads(before)
    assert first == second
    assert first != train(dataset, split, seed=1)


def test_shuffled_test_labels_change_nothing_but_the_test_curves() -> None:
    dataset, split = make_dataset(), make_split(120)
    honest = train(dataset, split, schedule="plateau", patience=10)
    labels = torch.cat([dataset.graphs[index].y for index in split.test.tolist()])
    shuffled = train(relabel(dataset, split.test, 1 - labels), split, schedule="plateau", patience=10)
    assert best_validation([honest]).epochs == best_validation([shuffled]).epochs
    assert np.array_equal(honest.validation_loss, shuffled.validation_loss)
    assert np.array_equal(honest.train_loss, shuffled.train_loss)
    assert np.allclose(honest.test_metric, 1 - shuffled.test_metric)


def test_shuffled_training_labels_leave_the_test_at_chance() -> None:
    dataset = make_dataset(240, features=32)
    means = []
    for seed in range(5):
        split = make_split(240, seed)
        known = torch.cat([split.train, split.validation])
        labels = torch.arange(len(known)) % 2
        noise = relabel(dataset, known, labels[torch.randperm(len(known))])
        means.append(best_validation([train(noise, split, seed)]).mean)
    assert abs(np.mean(means) - 0.5) < 0.15
    assert best_validation([train(dataset, make_split(240))]).mean > 0.8, "the same loop learns true labels"


def test_a_node_task_uses_only_the_nodes_of_each_part() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 6, generator=generator)
    y = (x[:, 0] > 0).long()
    ring = torch.arange(200)
    graph = Data(x=x, edge_index=torch.stack([ring, ring]), y=y)
    dataset = from_graphs([graph], task="node", metric="roc_auc")
    split = make_split(200)
    curves = train(dataset, split, epochs=60, learning_rate=0.05)
    assert curves.sizes == (120, 40, 40)
    assert curves.test_metric[-1] > 0.95
    flipped = y.clone()
    flipped[split.test] = 1 - flipped[split.test]
    other = from_graphs([Data(x=x, edge_index=graph.edge_index, y=flipped)], task="node", metric="roc_auc")
    again = train(other, split, epochs=60, learning_rate=0.05)
    assert np.array_equal(curves.validation_loss, again.validation_loss)
    assert np.allclose(curves.test_metric, 1 - again.test_metric)


def test_sparse_features_give_the_same_curves_as_dense_ones() -> None:
    x = torch.zeros(100, 140)
    x[torch.arange(100), torch.arange(100) % 40] = 1.0
    ring = torch.arange(100)
    graph = Data(x=x, edge_index=torch.stack([ring, ring.roll(1)]), y=ring % 2)
    dataset = from_graphs([graph], task="node")

    class Linear(nn.Linear):
        def forward(self, input: Tensor, *_: object, **__: object) -> Tensor:
            return super().forward(input)

    found = []
    for sparse in ("auto", "never"):
        torch.manual_seed(0)
        settings = TrainingSettings.model_validate({"epochs": 5, "sparse_features": sparse})
        found.append(train_fold(Linear(140, 2), dataset, make_split(100), settings, 0))
    assert np.allclose(found[0].train_loss, found[1].train_loss, atol=1e-6)


def test_patience_stops_and_reports_come_every_epoch() -> None:
    dataset, split = make_dataset(40), make_split(40)
    reports: list[EpochReport] = []
    settings = TrainingSettings(epochs=200, patience=3, learning_rate=0.05)
    torch.manual_seed(0)
    curves = train_fold(SmallGCN(8, 2), dataset, split, settings, 0, reports.append)
    assert 4 <= curves.epochs < 200
    assert [report.epoch for report in reports] == list(range(1, curves.epochs + 1))
    best = best_validation([curves]).epochs[0]
    assert curves.epochs == best + 3 + 1


def test_a_loss_that_is_no_number_ends_the_fold() -> None:
    curves = train(make_dataset(40), make_split(40), learning_rate=1e30)
    assert curves.epochs < 15
    assert not math.isfinite(curves.train_loss[-1])


def test_training_parts_may_be_measured_less_often() -> None:
    dataset, split = make_dataset(40), make_split(40)
    often = train(dataset, split, epochs=7)
    seldom = train(dataset, split, epochs=7, evaluate_train_every=3)
    assert seldom.train_loss.tolist() == often.train_loss[[0, 0, 0, 3, 3, 3, 6]].tolist()
    assert np.array_equal(seldom.test_loss, often.test_loss)


@pytest.mark.parametrize(
    ("train_part", "test_part", "message"),
    [
        (range(24), range(20, 40), "20 is there more than once"),
        ([], range(40), "nothing to train on"),
        (range(40), [], "nothing to test on"),
        (range(24), [40], r"outside 0\.\.39"),
        ([-1, 0], [5], r"outside 0\.\.39"),
    ],
)
def test_a_split_that_would_mislead_is_refused(
    train_part: Sequence[int], test_part: Sequence[int], message: str
) -> None:
    parts = (torch.LongTensor(list(part)) for part in (train_part, [], test_part))
    with pytest.raises(ValueError, match=message):
        train(make_dataset(40), Split(*parts), epochs=1)


def test_a_test_part_may_be_empty_where_there_is_a_validation_part() -> None:
    split = make_split(40)
    train_part, rest = split.train, torch.cat([split.validation, split.test])
    curves = train(make_dataset(40), Split(train_part, rest, rest[:0]), epochs=2)
    assert curves.test_metric.tolist() == [0, 0]
    assert curves.validation_loss.min() > 0


def test_an_empty_validation_part_is_no_obstacle() -> None:
    split = make_split(40)
    bare = Split(split.train, split.validation[:0], split.test)
    assert train(make_dataset(40), bare, epochs=2).sizes == (24, 0, 8)


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({"epochs": 3}, [1.0, 1.0, 1.0]),
        ({"epochs": 4, "schedule": "cosine"}, [1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),
        ({"epochs": 5, "warmup_epochs": 3}, [0.25, 0.5, 0.75, 1.0, 1.0]),
        ({"epochs": 4, "warmup_epochs": 2, "schedule": "cosine"}, [1 / 3, 2 / 3, 1.0, 0.5]),
    ],
)
def test_schedules(settings: dict[str, object], rates: list[float]) -> None:
    checked = TrainingSettings.model_validate(settings | {"learning_rate": 1.0})
    optimiser = make_optimiser(nn.Linear(1, 1), checked)
    found = []
    for epoch in range(checked.epochs):
        set_rate(optimiser, checked, epoch)
        found.append(optimiser.param_groups[0]["lr"])
    assert found == pytest.approx(rates)


def test_a_plateau_schedule_warms_up_to_the_full_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []
    monkeypatch.setattr(
        "mshgnn.training.loop.train_epoch",
        lambda model, fold, optimiser, *rest: rates.append(optimiser.param_groups[0]["lr"]),
    )
    train(make_dataset(40), make_split(40), schedule="plateau", warmup_epochs=2, epochs=5, learning_rate=1.0)
    assert rates == pytest.approx([1 / 3, 2 / 3, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("settings", [{"gradient_clip": 0.1}, {"optimiser": "adamw", "weight_decay": 0.1}])
def test_every_knob_changes_the_result(settings: dict[str, Any]) -> None:
    dataset, split = make_dataset(40), make_split(40)
    assert train(dataset, split, epochs=3) != train(dataset, split, epochs=3, **settings)
    assert train(dataset, split, epochs=3) != train(dataset, split, epochs=3, label_smoothing=0.2)


def test_the_weight_average_is_a_moving_average_of_every_step() -> None:
    dataset, split = make_dataset(40), make_split(40)
    keep, steps = 0.7, []

    class Watched(SmallGCN):
        def forward(self, *args: Any, **kwargs: Any) -> Tensor:
            if self.training:
                steps.append(copy.deepcopy(self.state_dict()))
            return super().forward(*args, **kwargs)

    torch.manual_seed(0)
    model = Watched(dataset.num_features, dataset.num_classes)
    settings = TrainingSettings(epochs=3, batch_size=8, learning_rate=0.02, weight_average=keep)
    train_fold(model, dataset, split, settings, seed=0)
    plain = train(dataset, split, epochs=3, batch_size=8)
    assert train(dataset, split, epochs=3, batch_size=8, weight_average=keep) != plain

    torch.manual_seed(0)
    last = Watched(dataset.num_features, dataset.num_classes)
    train_fold(last, dataset, split, settings.model_copy(update={"weight_average": 0.0}), seed=0)
    expected = steps[1]["head.2.weight"]  # the average starts at the weights after the first step
    for state in [*steps[2 : len(steps) // 2], last.state_dict()]:
        expected = keep * expected + (1 - keep) * state["head.2.weight"]
    torch.testing.assert_close(model.state_dict()["head.2.weight"], expected)


def with_targets(dataset: GraphDataset, objective: str) -> GraphDataset:
    """Two targets of each graph, a number or a label, made of its mean features; a fifth of them missing."""
    graphs = []
    for index, graph in enumerate(dataset.graphs):
        y = graph.x[:, :2].mean(dim=0, keepdim=True) * torch.tensor([[1.0, -2.0]])
        if objective == "multilabel":
            y = (y > 0).float()
        y[0, index % 2] = torch.nan if index % 5 == 0 else y[0, index % 2]
        graphs.append(Data(x=graph.x, edge_index=graph.edge_index, y=y))
    metric = "rmse" if objective == "regress" else "roc_auc"
    kind: Any = objective
    return replace(dataset, graphs=graphs, objective=kind, metric=metric, target_names=("a", "b"))  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", ["regress", "multilabel"])
def test_several_targets_with_gaps_are_learnt_in_the_metrics_direction(objective: str) -> None:
    dataset = with_targets(make_dataset(), objective)
    curves = train(dataset, make_split(120), epochs=30)
    assert curves.train_loss[-1] < 0.5 * curves.train_loss[0]
    assert curves.higher_is_better == (objective == "multilabel")
    first, last = curves.test_metric[0], curves.test_metric[-1]
    assert last > max(first, 0.9) if objective == "multilabel" else last < 0.7 * first


def test_patience_waits_for_a_smaller_error() -> None:
    """RMSE falls for longer than the patience: a loop that took falling for worse would have stopped."""
    curves = train(with_targets(make_dataset(), "regress"), make_split(120), epochs=25, patience=4)
    best = best_validation([curves]).epochs[0]
    assert best > 4
    assert curves.epochs == min(25, best + 4 + 1)


def test_nodes_without_a_label_are_ignored() -> None:
    x, ring = torch.randn(60, 4), torch.arange(60)
    y = (x[:, 0] > 0).long()
    whole = from_graphs([Data(x=x, edge_index=torch.stack([ring, ring.roll(1)]), y=y)], task="node")
    split = make_split(60)
    shorter = Split(split.train[:-5], split.validation[:-3], split.test[:-2])
    hidden = y.clone()
    for part, left in zip(split, shorter, strict=True):
        hidden[part[len(left) :]] = -1
    gaps = replace(whole, graphs=[Data(x=x, edge_index=whole.graphs[0].edge_index, y=hidden)])
    found, expected = train(gaps, split, epochs=4), train(whole, shorter, epochs=4)
    np.testing.assert_allclose(found.test_loss, expected.test_loss, rtol=1e-5)
    np.testing.assert_array_equal(found.validation_metric, expected.validation_metric)


def best_and_measured(dataset: GraphDataset, **settings: Any) -> tuple[Curves, float]:
    """A training that keeps the best weights, and the test metric of what it kept."""
    split = make_split(dataset.num_items)
    torch.manual_seed(0)
    model = SmallGCN(dataset.num_features, dataset.out_channels)
    chosen = TrainingSettings.model_validate({"epochs": 12, "learning_rate": 0.05, "batch_size": 8} | settings)
    curves = train_fold(model, dataset, split, chosen, 0, keep_best=True)
    packed = PackedGraphs.pack(dataset.graphs).take(split.test)
    return curves, objective_of(dataset).measure(predict(model, packed.evaluation_batches(8)), packed.y)


@pytest.mark.parametrize("average", [0.0, 0.8])
@pytest.mark.parametrize("objective", ["classify", "regress"])
def test_the_weights_kept_are_those_that_the_headline_reports(objective: str, average: float) -> None:
    dataset = make_dataset(80) if objective == "classify" else with_targets(make_dataset(80), objective)
    for index in make_split(80).validation.tolist():  # turned round: the longer one learns, the worse it gets
        target = dataset.graphs[index].y
        dataset.graphs[index].y = 1 - target if objective == "classify" else -target
    curves, measured = best_and_measured(dataset, weight_average=average)
    reported = best_validation([curves])
    assert reported.epochs[0] < curves.epochs - 1, "the last epoch would be kept anyway"
    assert measured == pytest.approx(reported.mean, rel=1e-5)
    assert curves == train(dataset, make_split(80), epochs=12, learning_rate=0.05, batch_size=8, weight_average=average)


def test_an_interrupted_training_leaves_the_best_weights_so_far() -> None:
    dataset, split = make_dataset(40), make_split(40)
    torch.manual_seed(0)
    model = SmallGCN(dataset.num_features, 2)
    seen: list[dict[str, Tensor]] = []
    metrics: list[float] = []

    def interrupt(report: EpochReport) -> None:
        seen.append(copy.deepcopy(model.state_dict()))
        metrics.append(report.validation_metric or 0.0)
        if report.epoch == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_fold(model, dataset, split, TrainingSettings(learning_rate=0.05), 0, interrupt, keep_best=True)
    kept = [
        epoch
        for epoch, state in enumerate(seen)
        if all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    ]
    assert len(kept) == 1
    assert metrics[kept[0]] == max(metrics)


def test_choosing_needs_a_validation_part() -> None:
    dataset, split = make_dataset(40), make_split(40)
    bare = Split(split.train, split.validation[:0], split.test)
    for settings, word in (({"patience": 3}, "patience"), ({"schedule": "plateau"}, "plateau")):
        with pytest.raises(ValueError, match=f"{word}.* needs a validation part"):
            train(dataset, bare, **settings)
    with pytest.raises(ValueError, match="keep_best needs a validation part"):
        train_fold(SmallGCN(8, 2), dataset, bare, TrainingSettings(epochs=1), 0, keep_best=True)


def test_balanced_class_weights_help_a_rare_class() -> None:
    dataset = make_dataset(200, seed=1)
    rare = [graph for index, graph in enumerate(dataset.graphs) if index % 2 == 0 or index % 20 == 1]
    skewed = replace(from_graphs(rare), metric="balanced_accuracy")
    split = make_split(len(rare))
    plain = train(skewed, split, epochs=6)
    balanced = train(skewed, split, epochs=6, class_weights="balanced")
    assert balanced.train_metric[-1] > plain.train_metric[-1] + 0.1


def test_a_missing_graphics_card_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="no graphics card"):
        train(make_dataset(40), make_split(40), device="cuda")
    assert train(make_dataset(40), make_split(40), epochs=1, device="auto").epochs == 1


def test_rows_of_weight_zero_are_as_good_as_not_there() -> None:
    dataset = make_dataset()
    split = Split(torch.arange(0, 80), torch.arange(80, 100), torch.arange(100, 120))
    settings = TrainingSettings(epochs=3, batch_size=80, learning_rate=0.01)
    models = []
    for wrong in (False, True):
        graphs = [copy.copy(graph) for graph in dataset]
        for index, graph in enumerate(graphs):
            graph.item_weight = torch.tensor([float(index >= 40)])
            if wrong and index < 40:
                graph.y = 1 - graph.y
        torch.manual_seed(0)
        models.append(SmallGCN(8, 2))
        train_fold(models[-1], replace(dataset, graphs=graphs), split, settings, 0)
    for first, second in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(first, second)


def test_weights_that_are_all_zero_are_refused() -> None:
    dataset = make_dataset()
    for graph in dataset:
        graph.item_weight = torch.zeros(1)
    split = Split(torch.arange(0, 80), torch.arange(80, 100), torch.arange(100, 120))
    with pytest.raises(DataError, match="every weight of the training part is 0"):
        train_fold(SmallGCN(8, 2), dataset, split, TrainingSettings(epochs=1), 0)

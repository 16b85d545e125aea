from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor, nn
from torch_geometric.data import Data

from mshgnn.data.dataset import METRICS, GraphDataset
from mshgnn.errors import UserError
from mshgnn.training.objective import objective_of

NAN = math.nan


def make_dataset(objective: str = "classify", metric: str | None = None, channels: int = 3) -> GraphDataset:
    """No graphs, but everything an objective is made of."""
    kind: Any = objective
    targets = tuple(f"t{target}" for target in range(channels)) if objective in ("regress", "multilabel") else ()
    return GraphDataset(
        name="own",
        task="graph",
        graphs=[Data()],
        num_features=1,
        num_classes=channels,
        metric=metric or METRICS[kind][0],  # type: ignore[arg-type]
        checksum="",
        objective=kind,
        target_names=targets,
    )


def test_the_class_of_the_largest_logit_counts() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    objective = objective_of(make_dataset())
    assert objective.measure(logits, torch.tensor([0, 1, 1, 0])) == 0.75
    assert objective.measure(logits, torch.tensor([0, -1, 1, -1])) == 0.5, "unlabelled items are left out"
    logits[0, 2] = NAN
    assert objective.measure(logits, torch.tensor([0, 1, 1, 0])) == 0.5, "logits that are no numbers name no class"
    assert objective.measure(torch.full((2, 3), NAN), torch.tensor([0, 0])) == 0.0


def test_a_ranking_is_by_the_difference_of_the_logits() -> None:
    logits, target = torch.randn(50, 2), torch.randint(2, (50,))
    objective = objective_of(make_dataset("rank", channels=2))
    expected = roc_auc_score(target.numpy(), (logits[:, 1] - logits[:, 0]).numpy())
    assert objective.measure(logits, target) == expected, "to the last bit"
    hidden = target.where(torch.arange(50) < 30, -1)
    assert objective.measure(logits, hidden) == objective.measure(logits[:30], target[:30])
    logits[3, 0] = NAN
    assert objective.measure(logits, target) == 0.5
    assert objective.measure(torch.randn(3, 2), torch.tensor([1, 1, 1])) == 0.5


@pytest.mark.parametrize("kind", ["classify", "rank"])
def test_cross_entropy_leaves_out_what_has_no_label(kind: str) -> None:
    logits, target = torch.randn(6, 2), torch.tensor([0, 1, -1, 1, 0, -1])
    known = target >= 0
    weights = torch.tensor([0.3, 2.0])
    found = objective_of(make_dataset(kind, channels=2)).loss(
        logits, target, label_smoothing=0.1, class_weights=weights
    )
    torch.testing.assert_close(
        found, nn.CrossEntropyLoss(weight=weights, label_smoothing=0.1)(logits[known], target[known])
    )


def by_hand(kind: str, outputs: Tensor, target: Tensor) -> float:
    """The mean over the entries that are there, one by one."""
    losses = []
    for output, value in zip(outputs.flatten().tolist(), target.flatten().tolist(), strict=True):
        if math.isnan(value):
            continue
        if kind == "multilabel":
            share = 1 / (1 + math.exp(-output))
            losses.append(-math.log(share if value == 1 else 1 - share))
        else:
            losses.append((output - value) ** 2)
    return sum(losses) / len(losses)


@pytest.mark.parametrize("kind", ["regress", "multilabel"])
def test_missing_targets_are_masked_in_the_loss_and_its_gradient(kind: str) -> None:
    target = torch.tensor([[1.0, NAN, 0.0], [NAN, NAN, 1.0]])
    outputs = torch.randn(2, 3, requires_grad=True)
    objective = objective_of(make_dataset(kind))
    loss = objective.loss(outputs, target)
    assert float(loss) == pytest.approx(by_hand(kind, outputs, target), rel=1e-5)
    torch.autograd.backward(loss)
    assert outputs.grad is not None
    assert torch.equal(outputs.grad != 0, ~target.isnan())
    poisoned = outputs.detach().masked_fill(target.isnan(), NAN)
    assert float(objective.loss(poisoned, target)) == float(loss)


@pytest.mark.parametrize("kind", ["classify", "rank", "regress", "multilabel"])
def test_a_batch_without_any_target_moves_nothing(kind: str) -> None:
    outputs = torch.randn(4, 2, requires_grad=True)
    target = torch.full((4,), -1) if kind in ("classify", "rank") else torch.full((4, 2), NAN)
    objective = objective_of(make_dataset(kind, channels=2))
    loss = objective.loss(outputs, target)
    torch.autograd.backward(loss)
    assert float(loss) == 0.0
    assert outputs.grad is not None
    assert not outputs.grad.any()
    assert math.isnan(objective.measure(outputs, target))


@pytest.mark.parametrize("kind", ["classify", "rank", "regress", "multilabel"])
def test_an_item_counts_by_its_weight(kind: str) -> None:
    outputs, weights = torch.randn(4, 2), torch.tensor([3.0, 1.0, 0.0, 0.5])
    target = torch.tensor([0, 1, 1, 0]) if kind in ("classify", "rank") else torch.tensor([[0, 1.0], [1, 0]] * 2)
    objective = objective_of(make_dataset(kind, channels=2))
    alone = torch.stack([objective.loss(outputs[[item]], target[[item]]) for item in range(4)])
    torch.testing.assert_close(objective.loss(outputs, target, item_weights=weights), (weights * alone).mean())
    equal = objective.loss(outputs, target, item_weights=torch.ones(4))
    torch.testing.assert_close(equal, objective.loss(outputs, target))


def test_weights_of_items_and_of_classes_multiply() -> None:
    outputs, target = torch.randn(4, 2), torch.tensor([0, 1, -1, 0])
    items, kinds = torch.tensor([3.0, 1.0, 7.0, 0.5]), torch.tensor([0.3, 2.0])
    found = objective_of(make_dataset(channels=2)).loss(outputs, target, class_weights=kinds, item_weights=items)
    entropy = -outputs.log_softmax(dim=1)
    by_item = 3.0 * 0.3 * entropy[0, 0] + 2.0 * entropy[1, 1] + 0.5 * 0.3 * entropy[3, 0]
    torch.testing.assert_close(found, by_item / (0.3 + 2.0 + 0.3))


@pytest.mark.parametrize(("name", "truth"), [("mse", nn.MSELoss), ("l1", nn.L1Loss), ("huber", nn.HuberLoss)])
def test_numbers_are_trained_on_the_distance_asked_for(name: Any, truth: type[nn.Module]) -> None:
    outputs, target = 3 * torch.randn(5, 2), torch.randn(5, 2)
    found = objective_of(make_dataset("regress", channels=2), regression_loss=name).loss(outputs, target)
    torch.testing.assert_close(found, truth()(outputs, target))


def test_balanced_weights_of_classes_are_those_of_scikit_learn() -> None:
    target = torch.tensor([0, 0, 0, 1, 2, 2, -1])
    known = target[target >= 0].numpy()
    expected = compute_class_weight("balanced", classes=np.arange(3), y=known)
    found = objective_of(make_dataset()).balanced_weights(target)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    assert torch.isfinite(objective_of(make_dataset(channels=5)).balanced_weights(target)).all()


def test_balanced_weights_give_both_classes_of_a_target_the_same_weight() -> None:
    target = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, NAN], [0.0, 0.0]])
    objective = objective_of(make_dataset("multilabel", channels=2))
    weights = objective.balanced_weights(target)
    assert weights.tolist() == [3.0, 3.0]
    loss = objective.loss(torch.zeros(4, 2), target, class_weights=weights)
    assert float(loss) == pytest.approx(math.log(2) * (3 + 3 + 3) / 7)


@pytest.mark.parametrize(
    ("objective", "metric", "valid"),
    [
        ("classify", "roc_auc", "accuracy, balanced_accuracy, f1"),
        ("rank", "f1", "roc_auc, average_precision"),
        ("regress", "accuracy", "rmse, mae, r2"),
        ("multilabel", "rmse", "roc_auc, average_precision"),
        ("classify", "f2", "accuracy, balanced_accuracy, f1"),
    ],
)
def test_a_metric_of_another_objective_is_refused_with_the_valid_ones(objective: str, metric: str, valid: str) -> None:
    with pytest.raises(UserError, match=f"own: metric '{metric}' .* '{objective}'; valid: {valid}"):
        objective_of(make_dataset(objective, metric, channels=2))


def test_what_an_objective_cannot_do_is_said() -> None:
    with pytest.raises(UserError, match="'rank' needs two classes, got 3"):
        objective_of(make_dataset("rank"))
    regress = objective_of(make_dataset("regress"))
    with pytest.raises(UserError, match="label_smoothing"):
        regress.loss(torch.zeros(1, 3), torch.zeros(1, 3), label_smoothing=0.1)
    with pytest.raises(UserError, match="class_weights"):
        regress.balanced_weights(torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"outputs \[4, 1\] and targets \[4\]"):
        regress.loss(torch.zeros(4, 1), torch.zeros(4))


def test_an_objective_says_its_metric_direction_and_text() -> None:
    objective = objective_of(make_dataset("regress", "mae"))
    assert (objective.metric, objective.higher_is_better, objective.as_text(0.5)) == ("mae", False, "0.5000")
    assert objective_of(make_dataset()).as_text(0.5) == "50.00 %"


def test_several_targets_are_measured_one_by_one() -> None:
    outputs = torch.tensor([[0.1, 3.0, 0.0], [0.9, 1.0, 0.0], [0.3, 2.0, 0.0]])
    target = torch.tensor([[0.0, 1.0, NAN], [1.0, 1.0, NAN], [NAN, 1.0, NAN]])
    labels = objective_of(make_dataset("multilabel")).measure_each(outputs, target)
    assert labels == [(2, 1.0), (3, None), (0, None)]
    numbers = objective_of(make_dataset("regress", "mae")).measure_each(outputs, target)
    assert [known for known, _ in numbers] == [2, 3, 0]
    assert numbers[0].value == pytest.approx(0.1)
    assert (numbers[1].value, numbers[2].value) == (1.0, None)
    assert objective_of(make_dataset("regress", "mae", 1)).measure_each(outputs[:, :1], target[:, :1]) == []
    assert objective_of(make_dataset("classify")).measure_each(outputs, torch.tensor([0, 1, 2])) == []

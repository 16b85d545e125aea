"""What a model is trained for: the loss, the metric, and the direction in which the metric is better.

A data set names its objective and its metric; the loop asks nothing else. ``outputs`` are the model's plain numbers:

- classify: logits ``[n, C]`` for classes int64 ``[n]``; -1 is a missing target;
- rank: logits ``[n, 2]``, whose difference is the score, for classes 0 and 1, int64 ``[n]``; -1 is missing;
- regress: values ``[n, T]`` for values ``[n, T]``; NaN is missing;
- multilabel: logits ``[n, T]`` for 0 or 1 as numbers ``[n, T]``; NaN is missing.

A missing target counts neither in the loss nor in the metric.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mshgnn.data.dataset import METRICS, DataError, GraphDataset
from mshgnn.errors import UserError, did_you_mean
from mshgnn.training.metrics import KNOWN_METRICS, Array, Metric

RegressionLoss = Literal["mse", "l1", "huber"]

DISTANCES: dict[RegressionLoss, Callable[..., Tensor]] = {"mse": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss}

UNLABELLED = -1


class OfTarget(NamedTuple):
    """The metric of one of several targets, and from how many values; None where these do not define it."""

    known: int
    value: float | None


@dataclass(frozen=True)
class Objective(ABC):
    """Loss, metric and direction; made by :func:`objective_of`."""

    measured_by: Metric
    out_channels: int

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.measured_by.name

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric."""
        return self.measured_by.higher_is_better

    def as_text(self, value: float) -> str:
        """A value of the metric as a reader wants it: percent for shares, significant digits for errors."""
        return self.measured_by.as_text(value)

    @torch.no_grad()
    def measure(self, outputs: Tensor, target: Tensor) -> float:
        """The metric; what a model gets that gives no numbers is said in :mod:`mshgnn.training.metrics`."""
        found, truth = self._comparable(outputs.cpu(), target.cpu())
        return self.measured_by.compute(found, truth)

    @torch.no_grad()
    def measure_each(self, outputs: Tensor, target: Tensor) -> list[OfTarget]:
        """The metric of each of several targets ``[n, T]``; of those that are known it is the mean that ``measure`` is.

        One target, or one class of several, is no more than that mean: it gives none.
        """
        if target.dim() < 2 or target.shape[1] < 2:
            return []
        found, truth = self._comparable(outputs.cpu(), target.cpu())
        known = (~np.isnan(truth)).sum(axis=0).tolist()
        values = self.measured_by.of_each(found, truth)
        return [
            OfTarget(count, None if math.isnan(value) else value) for count, value in zip(known, values, strict=True)
        ]

    @abstractmethod
    def loss(
        self,
        outputs: Tensor,
        target: Tensor,
        *,
        label_smoothing: float = 0.0,
        class_weights: Tensor | None = None,
        item_weights: Tensor | None = None,
    ) -> Tensor:
        """The mean loss over the targets that are there; 0 where none is.

        ``item_weights`` ``[n]`` multiply the items' losses. The mean still counts items: weights of mean 1 over the
        training part keep their meaning in every batch.
        """

    @abstractmethod
    def counted(self, target: Tensor, class_weights: Tensor | None = None) -> Tensor:
        """What the mean of the loss divides by: the targets that are there, or the sum of their classes' weights."""

    @abstractmethod
    def balanced_weights(self, target: Tensor) -> Tensor:
        """``class_weights`` under which rare classes count as much as common ones."""

    @abstractmethod
    def _comparable(self, outputs: Tensor, target: Tensor) -> tuple[Array, Array]:
        """Outputs and targets as the metric takes them."""


class Classify(Objective):
    """Cross entropy over classes; the class of the largest logit is found."""

    def loss(
        self,
        outputs: Tensor,
        target: Tensor,
        *,
        label_smoothing: float = 0.0,
        class_weights: Tensor | None = None,
        item_weights: Tensor | None = None,
    ) -> Tensor:
        """Cross entropy; ``class_weights`` ``[C]``."""
        known = target != UNLABELLED
        if not bool(known.any()):
            return outputs.sum() * 0
        entropy = partial(F.cross_entropy, outputs, target, class_weights, ignore_index=UNLABELLED)
        if item_weights is None:
            return entropy(label_smoothing=label_smoothing)
        losses = entropy(label_smoothing=label_smoothing, reduction="none")
        return (losses * item_weights).sum() / self.counted(target, class_weights)

    def counted(self, target: Tensor, class_weights: Tensor | None = None) -> Tensor:
        """Items, or their classes' weights."""
        known = target != UNLABELLED
        return known.sum() if class_weights is None else class_weights[target[known]].sum()

    def balanced_weights(self, target: Tensor) -> Tensor:
        """``n / (C n_c)`` for a class of ``n_c`` items, ``[C]``."""
        counts = torch.bincount(target[target != UNLABELLED], minlength=self.out_channels)
        return counts.sum() / (self.out_channels * counts.clamp(min=1).float())

    def _comparable(self, outputs: Tensor, target: Tensor) -> tuple[Array, Array]:
        known = target != UNLABELLED
        named = outputs.argmax(dim=1).where(outputs.isfinite().all(dim=1), UNLABELLED)
        return named[known].numpy(), target[known].numpy()


class Rank(Classify):
    """Cross entropy over two classes; the difference of their logits ranks the items."""

    def _comparable(self, outputs: Tensor, target: Tensor) -> tuple[Array, Array]:
        known = target != UNLABELLED
        score = outputs[known, 1] - outputs[known, 0]
        return score.unsqueeze(1).numpy(), target[known].unsqueeze(1).double().numpy()


class _ManyTargets(Objective):
    """Several targets for each item, some of them missing."""

    @abstractmethod
    def _losses(self, outputs: Tensor, target: Tensor, class_weights: Tensor | None) -> Tensor:
        """One loss for every output."""

    def loss(
        self,
        outputs: Tensor,
        target: Tensor,
        *,
        label_smoothing: float = 0.0,
        class_weights: Tensor | None = None,
        item_weights: Tensor | None = None,
    ) -> Tensor:
        """The mean over all targets that are there."""
        if label_smoothing:
            raise UserError("label_smoothing is for the objectives classify and rank: set it to 0")
        self._check(outputs, target)
        known = ~target.isnan()
        losses = self._losses(outputs, target.nan_to_num(), class_weights)
        if item_weights is not None:
            losses = losses * item_weights.unsqueeze(1)
        return losses[known].sum() / self.counted(target).clamp(min=1)

    def counted(self, target: Tensor, class_weights: Tensor | None = None) -> Tensor:
        """Targets; ``class_weights`` change what a positive costs, not how many targets there are."""
        return (~target.isnan()).sum()

    def _comparable(self, outputs: Tensor, target: Tensor) -> tuple[Array, Array]:
        self._check(outputs, target)
        return outputs.double().numpy(), target.double().numpy()

    def _check(self, outputs: Tensor, target: Tensor) -> None:
        if outputs.shape != target.shape:  # would be broadcast, and mean something else
            raise ValueError(f"outputs {list(outputs.shape)} and targets {list(target.shape)} differ in shape")


@dataclass(frozen=True)
class Regress(_ManyTargets):
    """Numbers; the loss is a distance, the squared one by default."""

    regression_loss: RegressionLoss = "mse"

    def balanced_weights(self, target: Tensor) -> Tensor:
        """Numbers have no classes to balance."""
        raise UserError("class_weights 'balanced' is for classes: the objective regress has none")

    def _losses(self, outputs: Tensor, target: Tensor, class_weights: Tensor | None) -> Tensor:
        return DISTANCES[self.regression_loss](outputs, target, reduction="none")


class MultiLabel(_ManyTargets):
    """Targets that are 0 or 1, each by its own logit; ``class_weights`` ``[T]`` multiply the positives."""

    def balanced_weights(self, target: Tensor) -> Tensor:
        """Negatives over positives of each target, ``[T]``."""
        positives, negatives = (target == 1).sum(dim=0), (target == 0).sum(dim=0)
        return negatives.clamp(min=1) / positives.clamp(min=1)

    def _losses(self, outputs: Tensor, target: Tensor, class_weights: Tensor | None) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs, target, pos_weight=class_weights, reduction="none")


def objective_of(dataset: GraphDataset, *, regression_loss: RegressionLoss = "mse") -> Objective:
    """The objective that a data set names; a metric that does not belong to it is an error that lists those that do."""
    valid = METRICS.get(dataset.objective)
    if valid is None:
        raise DataError(
            f"{dataset.name}: unknown objective {dataset.objective!r}{did_you_mean(dataset.objective, METRICS)}"
        )
    if dataset.metric not in valid:
        raise DataError(
            f"{dataset.name}: metric {dataset.metric!r} does not measure the objective {dataset.objective!r}; "
            f"valid: {', '.join(valid)}"
        )
    metric, channels = KNOWN_METRICS[dataset.metric], dataset.out_channels
    if dataset.objective == "rank" and channels != 2:
        raise DataError(f"{dataset.name}: the objective 'rank' needs two classes, got {channels}")
    if dataset.objective == "regress":
        return Regress(metric, channels, regression_loss)
    return {"classify": Classify, "rank": Rank, "multilabel": MultiLabel}[dataset.objective](metric, channels)

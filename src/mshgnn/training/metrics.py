"""Accuracy and ROC-AUC of logits, as fractions."""

from __future__ import annotations

from typing import Literal

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

Metric = Literal["accuracy", "roc_auc"]


def measure(metric: Metric, logits: Tensor, target: Tensor) -> float:
    """The metric of ``logits`` [n, C] against the classes ``target`` [n]; 0 for an empty set.

    Logits that are not numbers name no class: they are wrong, and rank nothing.
    """
    if len(target) == 0:
        return 0.0
    if metric == "accuracy":
        right = (logits.argmax(dim=1) == target) & logits.isfinite().all(dim=1)
        return float(right.double().mean())
    if logits.size(1) != 2:
        raise ValueError(f"roc_auc needs two classes, got {logits.size(1)}")
    score = logits[:, 1] - logits[:, 0]
    if not bool(torch.isfinite(score).all()) or int(target.min()) == int(target.max()):
        return 0.5  # a diverged model ranks nothing, a set of one class has nothing to rank
    return float(roc_auc_score(target.numpy(), score.numpy()))

"""The support vector machine on a kernel, its penalty chosen inside the training graphs."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mshgnn.models.controls.labels import Labels

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
INNER_FOLDS = 5


def support_vector_machine(labels: Labels) -> ClassifierMixin:
    """The classifier for these classes: where they are too few to choose a penalty by, it is 1."""
    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) == 1:
        return DummyClassifier()
    if counts.min() < 2:
        return SVC(kernel="precomputed")
    folds = StratifiedKFold(min(INNER_FOLDS, int(counts.min())), shuffle=True, random_state=0)
    return GridSearchCV(SVC(kernel="precomputed"), {"C": list(PENALTIES)}, cv=folds)

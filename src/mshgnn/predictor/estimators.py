"""Any model of the registry as a scikit-learn estimator, on lists of PyG ``Data`` or of networkx graphs.

``MSHGraphClassifier().fit(graphs, y)``; ``cross_val_score``, ``GridSearchCV`` and pipelines take them. Whatever ``fit``
learns ends with an underscore; ``n_features_in_`` counts the features of a node. Each ``fit`` starts anew.
A fitted estimator is pickled like any other, by ``pickle`` or ``joblib``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from mshgnn.data import DataError, GraphDataset
from mshgnn.data.readers.read import Read
from mshgnn.data.schema import Schema
from mshgnn.data.splits import Split
from mshgnn.errors import UserError
from mshgnn.predictor.coding import encoded
from mshgnn.predictor.config import TrainConfig, check_config, settle_options
from mshgnn.predictor.estimator_inputs import (
    Array,
    classes_of,
    dataset_of,
    graphs_of,
    labels_of,
    node_numbers,
    numbers_of,
    weights_of,
    without_targets,
)
from mshgnn.predictor.fold import untrained
from mshgnn.predictor.member import Member
from mshgnn.training.loop import train_fold
from mshgnn.training.seeding import fold_seed

RandomState = int | np.random.RandomState | None


class _Estimator(BaseEstimator):
    """What all three share: their parameters and the training."""

    def __init__(
        self,
        model: str = "msh-stable",
        options: Mapping[str, object] | None = None,
        *,
        epochs: int = 100,
        patience: int | None = 30,
        learning_rate: float = 1e-3,
        batch_size: int = 32,
        validation: float = 0.1,
        random_state: RandomState = 0,
        device: str = "cpu",
    ) -> None:
        self.model = model
        self.options = options
        self.epochs = epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.validation = validation
        self.random_state = random_state
        self.device = device

    def _seed(self) -> int:
        """A whole number as it is; else, as scikit-learn has it, one drawn anew for every ``fit``."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _config(self) -> TrainConfig:
        if not isinstance(self.options, Mapping | None):
            raise UserError(f"{type(self).__name__}: options must be a mapping, not {self.options!r}")
        training = {
            "epochs": self.epochs,
            "patience": self.patience,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "device": self.device,
        }
        model = {"name": self.model, **(self.options or {})}
        content = {"data": "memory", "model": model, "seed": self._seed(), "training": training}
        return check_config(content, type(self).__name__)

    def _learn(self, dataset: GraphDataset, items: Array) -> Member:
        """Train on ``items``, of which the share ``validation`` chooses the epoch."""
        if not 0 < self.validation < 1:
            raise DataError(f"validation must be a share between 0 and 1, not {self.validation!r}")
        config = self._config()
        schema = Schema(
            dataset.task,
            dataset.objective,
            dataset.metric,
            target_names=dataset.target_names,
            class_names=dataset.class_names,
            degree_cap=dataset.degree_columns - 1 if dataset.degree_columns else None,
        )
        order = torch.from_numpy(np.random.default_rng(config.seed).permutation(items))
        count = max(1, round(self.validation * len(order)))
        if len(order) <= count:
            raise DataError(f"{len(order)} items are too few to train and to choose an epoch on")
        split = Split(order[count:], order[:count], torch.empty(0, dtype=torch.long))
        config = settle_options(config, dataset.task)
        member, prepared = untrained(config, Read(dataset, schema), split, 0)
        train_fold(member.model, prepared, split, config.training, fold_seed(config.seed, 0), keep_best=True)
        return member

    def _encode(self, graphs: Sequence[Data]) -> list[Data]:
        member: Member = self.member_
        width, edge_dim = member.model.in_channels, member.model.edge_dim
        bare = [without_targets(graph, index) for index, graph in enumerate(graphs)]
        return [encoded(g, member.schema, f"graph {i}", width=width, edge_dim=edge_dim) for i, g in enumerate(bare)]

    def _values(self, X: Sequence[Data]) -> Array:
        check_is_fitted(self, "member_")
        return self.member_.compute(self._encode(graphs_of(X)), self.device).values.numpy()


def _shares(values: Array, classes: int) -> Array:
    """Probabilities of the classes of ``fit``; a single one is certain, though the network has a second output."""
    return values if classes > 1 else np.ones((len(values), 1), dtype=values.dtype)


class MSHGraphClassifier(ClassifierMixin, _Estimator):
    """Classes of graphs. ``y`` may hold any labels; without it each graph's ``y`` is taken.

    Args:
        model: a name of :data:`mshgnn.models.MODELS`.
        options: the model's own options.
        epochs: at most; the weights of the best validation epoch are kept.
        patience: stop after so many epochs without a better one; None for never.
        learning_rate: of AdamW, falling by a cosine.
        batch_size: graphs per step.
        validation: share of the items that chooses the epoch.
        random_state: seed of the validation part, the weights and the batches; None or a ``RandomState`` draws one
            for every ``fit``.
        device: ``cpu``, ``cuda`` or ``auto``.
    """

    def fit(self, X: Sequence[Data], y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from graphs and their classes; ``sample_weight`` ``[n]`` says how much each counts in the loss."""
        graphs = graphs_of(X)
        labels = labels_of(graphs, y)
        self.classes_ = classes_of(labels)
        places = torch.from_numpy(np.searchsorted(self.classes_, labels))
        dataset = dataset_of(
            graphs, places, "graph", "classify", len(self.classes_), weights_of(sample_weight, len(graphs))
        )
        self.n_features_in_ = dataset.num_features
        self.member_ = self._learn(dataset, np.arange(len(graphs)))
        return self

    def predict_proba(self, X: Sequence[Data]) -> Array:
        """Probabilities ``[n, classes]``, in the order of ``classes_``."""
        return _shares(self._values(X), len(self.classes_))

    def predict(self, X: Sequence[Data]) -> Array:
        """The class of every graph."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])


class MSHGraphRegressor(RegressorMixin, _Estimator):
    """Numbers of graphs, one or several; NaN is missing. Parameters as in :class:`MSHGraphClassifier`."""

    def fit(self, X: Sequence[Data], y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from graphs and their numbers, ``[n]`` or ``[n, T]``; ``sample_weight`` as in the classifier."""
        graphs = graphs_of(X)
        values = numbers_of(graphs, y)
        self.single_ = values.dim() == 1
        weights = weights_of(sample_weight, len(graphs))
        dataset = dataset_of(graphs, values.reshape(len(graphs), -1), "graph", "regress", None, weights)
        self.n_features_in_ = dataset.num_features
        self.member_ = self._learn(dataset, np.arange(len(graphs)))
        return self

    def predict(self, X: Sequence[Data]) -> Array:
        """The numbers of every graph, shaped as ``y`` was."""
        values = self._values(X)
        return values[:, 0] if self.single_ else values


class MSHNodeClassifier(ClassifierMixin, _Estimator):
    """Classes of the nodes of one graph: ``fit(nodes, y)`` with node numbers, so that they can be cross-validated.

    Args:
        graph: the graph, ``x`` and ``edge_index``; its ``y`` is not read.
        model: this and the others as in :class:`MSHGraphClassifier`.
        options: as there.
        epochs: as there.
        patience: as there.
        learning_rate: as there.
        validation: as there.
        random_state: as there.
        device: as there.
    """

    def __init__(
        self,
        graph: Data,
        model: str = "msh-stable",
        options: Mapping[str, object] | None = None,
        *,
        epochs: int = 200,
        patience: int | None = 50,
        learning_rate: float = 1e-2,
        validation: float = 0.1,
        random_state: RandomState = 0,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            model,
            options,
            epochs=epochs,
            patience=patience,
            learning_rate=learning_rate,
            validation=validation,
            random_state=random_state,
            device=device,
        )
        self.graph = graph

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classes ``y`` of the nodes ``X``; ``sample_weight`` has one number for each of them."""
        (graph,) = graphs_of([self.graph], "node")
        nodes, labels = node_numbers(X, graph), np.asarray(y)
        if len(nodes) != len(labels):
            raise DataError(f"{len(labels)} labels for {len(nodes)} nodes")
        self.classes_ = classes_of(labels)
        places = torch.full((int(graph.num_nodes),), -1)
        places[torch.from_numpy(nodes)] = torch.from_numpy(np.searchsorted(self.classes_, labels))
        given = weights_of(sample_weight, len(nodes))
        weights = None
        if given is not None:
            weights = torch.ones(int(graph.num_nodes))  # the others have no label to learn from
            weights[torch.from_numpy(nodes)] = given
        dataset = dataset_of([graph], places, "node", "classify", len(self.classes_), weights)
        self.member_ = self._learn(dataset, nodes)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the nodes ``X``, ``[n, classes]``."""
        (graph,) = graphs_of([self.graph], "node")
        return _shares(self._values([graph])[node_numbers(X, graph)], len(self.classes_))

    def predict(self, X: Any) -> Array:
        """The class of each of the nodes ``X``."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

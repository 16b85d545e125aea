from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from torch_geometric.data import Data

from mshgnn.data import DataError
from mshgnn.errors import UserError
from mshgnn.predictor.estimators import MSHGraphClassifier, MSHGraphRegressor, MSHNodeClassifier

pytestmark = pytest.mark.usefixtures("reference_backend")
Array = np.ndarray[Any, Any]
SMALL = {"hidden_channels": 8, "num_layers": 1}


def graphs(count: int = 40) -> tuple[list[Data], Array, Array]:
    """Paths of 2 to 9 nodes; the class says whether they are long, the number how long."""
    made, kinds, sizes = [], [], []
    for index in range(count):
        size = 2 + index % 8
        ends = torch.arange(size - 1)
        edges = torch.stack([ends, ends + 1])
        made.append(Data(x=torch.ones(size, 1), edge_index=torch.cat([edges, edges.flip(0)], dim=1)))
        kinds.append("long" if size > 5 else "short")
        sizes.append(100.0 + 10 * size)
    return made, np.array(kinds), np.array(sizes)


def ring(count: int = 60) -> tuple[Data, Array]:
    x = torch.randn(count, 2)
    ends = torch.arange(count)
    return Data(x=x, edge_index=torch.stack([ends, (ends + 1) % count])), (x[:, 0] > 0).long().numpy() + 5


def test_a_classifier_learns_and_names_the_classes_it_was_given() -> None:
    X, y, _ = graphs()
    model = MSHGraphClassifier("gcn", SMALL, epochs=60, learning_rate=0.02).fit(X, y)
    assert model.classes_.tolist() == ["long", "short"]
    assert model.score(X, y) > 0.9
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    assert set(model.predict(X)) <= {"long", "short"}


def test_a_single_class_is_certain() -> None:
    X, _, _ = graphs(20)
    assert MSHGraphClassifier("gcn", SMALL, epochs=1).fit(X, ["a"] * 20).predict_proba(X[:3]).tolist() == [[1.0]] * 3
    graph, _ = ring(20)
    nodes = MSHNodeClassifier(graph, "gcn", SMALL, epochs=1).fit(np.arange(20), [7] * 20)
    assert nodes.predict_proba([0, 1]).tolist() == [[1.0], [1.0]]
    assert nodes.predict([0, 1]).tolist() == [7, 7]


def test_a_regressor_answers_in_the_units_of_its_targets() -> None:
    X, _, y = graphs()
    model = MSHGraphRegressor("gcn", SMALL, epochs=80, learning_rate=0.02).fit(X, y)
    assert model.predict(X).shape == (40,)
    assert model.score(X, y) > 0.8
    both = np.stack([y, -y], axis=1)
    assert MSHGraphRegressor("gcn", SMALL, epochs=2).fit(X, both).predict(X).shape == (40, 2)


def test_the_targets_of_the_graphs_are_taken_without_y() -> None:
    X, _, y = graphs(20)
    for graph, value in zip(X, y, strict=True):
        graph.y = torch.tensor([value])
    model = MSHGraphRegressor("gcn", SMALL, epochs=2)
    assert np.array_equal(model.fit(X).predict(X), model.fit(X, y).predict(X))


def test_the_tools_of_scikit_learn_take_them() -> None:
    X, y, _ = graphs(24)
    model = MSHGraphClassifier("gcn", SMALL, epochs=2)
    assert len(cross_val_score(model, X, y, cv=3)) == 3
    search = GridSearchCV(model, {"learning_rate": [1e-3, 1e-2], "model": ["gcn", "gin"]}, cv=2).fit(X, y)
    assert search.best_params_.keys() == {"learning_rate", "model"}
    assert Pipeline([("as they are", FunctionTransformer()), ("net", model)]).fit(X, y).predict(X).shape == (24,)


def test_nodes_are_cross_validated_by_their_numbers() -> None:
    graph, y = ring()
    model = MSHNodeClassifier(graph, "gcn", SMALL, epochs=30)
    scores = cross_val_score(model, np.arange(60), y, cv=3)
    assert len(scores) == 3
    fitted = model.fit(np.arange(50), y[:50])
    assert set(fitted.predict(np.arange(50, 60))) <= {5, 6}
    assert fitted.predict_proba([0, 1]).shape == (2, 2)
    with pytest.raises(DataError, match=r"outside 0\.\.59"):
        fitted.predict([60])


def test_parameters_are_those_of_the_signature_and_a_clone_is_unfitted() -> None:
    model = MSHGraphClassifier("gin", epochs=7)
    assert model.get_params()["epochs"] == 7
    assert clone(model.set_params(epochs=9)).epochs == 9
    with pytest.raises(NotFittedError):
        model.predict(graphs(2)[0])


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
    ],
)
@pytest.mark.parametrize("estimator", [MSHGraphClassifier(), MSHGraphRegressor(), MSHNodeClassifier(ring(4)[0])])
def test_the_checks_of_scikit_learn_that_need_no_table_pass(check: Any, estimator: Any) -> None:
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("kind", [MSHGraphClassifier, MSHGraphRegressor])
def test_what_the_other_checks_ask_holds_for_graphs(kind: Any) -> None:
    X, classes, numbers = graphs(20)
    y = classes if kind is MSHGraphClassifier else numbers
    model = kind("gcn", SMALL, epochs=2)
    with pytest.raises(NotFittedError):
        model.predict(X)
    asked = model.get_params()
    before = [graph.clone() for graph in X]
    assert model.fit(X, y) is model
    assert model.get_params() == asked, "fit changes no parameter"
    assert model.n_features_in_ == 1
    assert all(torch.equal(old.x, new.x) and old.keys() == new.keys() for old, new in zip(before, X, strict=True))
    first, learnt = model.predict(X), set(vars(model))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), first)
    assert set(vars(model)) == learnt, "predict learns nothing"
    wider = [Data(x=torch.ones(graph.num_nodes, 3), edge_index=graph.edge_index) for graph in X]
    other = np.array(["a", "b"] * 10) if kind is MSHGraphClassifier else numbers / 7
    model.fit(wider, other)
    assert model.n_features_in_ == 3, "a second fit starts anew"
    assert np.array_equal(model.predict(wider), kind("gcn", SMALL, epochs=2).fit(wider, other).predict(wider))
    assert np.array_equal(model.fit(X, y).predict(X), first)


def test_the_same_seed_gives_the_same_predictions() -> None:
    X, y, _ = graphs(20)
    first, second = (MSHGraphClassifier("gcn", SMALL, epochs=2).fit(X, y).predict_proba(X) for _ in range(2))
    assert np.array_equal(first, second)


def test_predictions_do_not_depend_on_the_company() -> None:
    X, y, _ = graphs(20)
    model = MSHGraphClassifier("gcn", SMALL, epochs=2).fit(X, y)
    alone = np.concatenate([model.predict_proba([graph]) for graph in X])
    assert np.allclose(alone, model.predict_proba(X), atol=1e-6)


def test_mistakes_are_one_line() -> None:
    X, y, _ = graphs(20)
    with pytest.raises(DataError, match="19 targets for 20 graphs"):
        MSHGraphClassifier("gcn", SMALL).fit(X, y[:-1])
    with pytest.raises(DataError, match=r"^19 targets for 20 graphs$"):
        MSHGraphRegressor("gcn", SMALL).fit(X, np.ones(19))
    with pytest.raises(UserError, match="unknown model 'transfomer'; did you mean 'transformer'"):
        MSHGraphClassifier("transfomer").fit(X, y)
    with pytest.raises(UserError, match=r"training.epochs: .* not '0'"):
        MSHGraphClassifier("gcn", epochs=0).fit(X, y)
    with pytest.raises(DataError, match="X must be a list of graphs, not int"):
        MSHGraphClassifier("gcn", SMALL).fit(3, y)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="MSHGraphClassifier: options must be a mapping, not 'x'"):
        MSHGraphClassifier("gcn", "x").fit(X, y)  # type: ignore[arg-type]
    fitted = MSHGraphClassifier("gcn", SMALL, epochs=1).fit(X, y)
    with pytest.raises(DataError, match="graph 0: 3 node features, the model was trained on 1"):
        fitted.predict([Data(x=torch.ones(2, 3), edge_index=torch.empty(2, 0, dtype=torch.long))])
    with pytest.raises(DataError, match="graph 0: x holds NaN"):
        fitted.predict([Data(x=torch.full((2, 1), torch.nan), edge_index=torch.empty(2, 0, dtype=torch.long))])


def test_graphs_of_networkx_are_taken_and_those_without_features_have_degrees() -> None:
    made = [nx.star_graph(4) if index % 2 else nx.cycle_graph(5) for index in range(24)]
    kinds = ["star" if index % 2 else "ring" for index in range(24)]
    for graph in made:
        graph.graph["y"] = 7  # given targets count, not those of the graphs
    model = MSHGraphClassifier("gcn", SMALL, epochs=30, learning_rate=0.02).fit(made, kinds)
    assert (model.n_features_in_, model.score(made, kinds)) == (5, 1.0)
    assert model.predict([nx.star_graph(9)]).tolist() == ["star"], "a higher degree shares the last column"
    bare = [Data(edge_index=torch.tensor(list(g.to_directed().edges)).t(), num_nodes=5) for g in made]
    assert np.allclose(model.predict_proba(bare), model.predict_proba(made), atol=1e-6)
    assert len(cross_val_score(MSHGraphClassifier("gcn", SMALL, epochs=1), made, kinds, cv=2)) == 2
    numbers = MSHGraphRegressor("gcn", SMALL, epochs=1).fit(made)
    assert numbers.predict(made[:2]).shape == (2,)
    with pytest.raises(DataError, match="graph 0: nodes with features or labels; the model was trained on degrees"):
        model.predict(graphs(1)[0])
    with pytest.raises(DataError, match="graph 1: expected a PyG Data or a networkx graph, not a list"):
        model.predict([made[0], []])


def test_nodes_of_a_networkx_graph_keep_their_order() -> None:
    graph, y = ring()
    same = nx.DiGraph(graph.edge_index.t().tolist())
    nx.set_node_attributes(same, {node: row.tolist() for node, row in enumerate(graph.x)}, "x")
    order = list(same)
    first = MSHNodeClassifier(graph, "gcn", SMALL, epochs=3).fit(order[:40], y[order[:40]])
    second = MSHNodeClassifier(same, "gcn", SMALL, epochs=3).fit(np.arange(40), y[order[:40]])
    assert np.allclose(first.predict_proba(order), second.predict_proba(np.arange(60)), atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 20), r"y must hold one class for each item \(Unknown label type: continuous"),
        ([np.nan] * 20, "y must hold one class for each item"),
        ([None, *"ab" * 9, "a"], "y must hold one class for each item"),
    ],
)
def test_targets_that_are_no_classes_are_one_line(labels: Any, message: str) -> None:
    X, _, _ = graphs(20)
    with pytest.raises(DataError, match=message) as caught:
        MSHGraphClassifier("gcn", SMALL).fit(X, labels)
    assert "\n" not in str(caught.value)


def test_targets_that_are_no_numbers_are_one_line() -> None:
    X, y, _ = graphs(20)
    with pytest.raises(DataError, match=r"y must hold numbers \(could not convert"):
        MSHGraphRegressor("gcn", SMALL).fit(X, y)
    for graph in X:
        graph.y = 1
    X[3].y = [1, 2]
    with pytest.raises(DataError, match="y must hold as many targets for every graph"):
        MSHGraphRegressor("gcn", SMALL).fit(X)


def test_without_a_seed_every_fit_draws_its_own() -> None:
    X, y, _ = graphs(20)
    anew = MSHGraphClassifier("gcn", SMALL, epochs=1, random_state=None)
    first, second = (anew.fit(X, y).predict_proba(X) for _ in range(2))
    assert not np.array_equal(first, second)
    assert anew.random_state is None
    third, fourth = (
        MSHGraphClassifier("gcn", SMALL, epochs=1, random_state=np.random.RandomState(3)).fit(X, y).predict_proba(X)
        for _ in range(2)
    )
    assert np.array_equal(third, fourth)
    assert len(cross_val_score(anew, X, y, cv=2)) == 2


def test_weights_say_how_much_an_item_counts() -> None:
    X, y, values = graphs(20)
    weights = np.linspace(0, 2, 20)
    for kind, target in ((MSHGraphClassifier, y), (MSHGraphRegressor, values)):
        model = kind("gcn", SMALL, epochs=2)
        plain = model.fit(X, target).member_.model.state_dict()
        even = model.fit(X, target, sample_weight=np.ones(20)).member_.model.state_dict()
        weighted = model.fit(X, target, sample_weight=weights).member_.model.state_dict()
        assert all(torch.allclose(plain[key], even[key], atol=1e-6) for key in plain)
        assert any(not torch.allclose(plain[key], weighted[key], atol=1e-5) for key in plain)
    assert all("item_weight" not in graph for graph in X), "the graphs stay as they are"
    graph, labels = ring()
    nodes = MSHNodeClassifier(graph, "gcn", SMALL, epochs=2)
    light = nodes.fit(np.arange(40), labels[:40]).predict_proba(np.arange(40))
    heavy = nodes.fit(np.arange(40), labels[:40], sample_weight=np.arange(40)).predict_proba(np.arange(40))
    assert not np.allclose(light, heavy, atol=1e-6)
    assert (
        len(cross_val_score(MSHGraphClassifier("gcn", SMALL, epochs=1), X, y, cv=2, params={"sample_weight": weights}))
        == 2
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(19), r"the shape \[19\], 20 items need \[20\]"),
        (-np.ones(20), "not negative"),
        (np.full(20, np.nan), "finite"),
        (np.zeros(20), "not all of it 0"),
        (["heavy"] * 20, "must hold numbers"),
    ],
)
def test_wrong_weights_are_one_line(weights: Any, message: str) -> None:
    X, y, _ = graphs(20)
    with pytest.raises(DataError, match=message):
        MSHGraphClassifier("gcn", SMALL).fit(X, y, sample_weight=weights)


def test_fitted_estimators_are_kept_by_joblib(tmp_path: Path) -> None:
    graph, y = ring()
    nodes = MSHNodeClassifier(graph, options={"hidden_channels": 8, "num_layers": 2}, epochs=1).fit(
        np.arange(40), y[:40]
    )
    joblib.dump(nodes, tmp_path / "nodes.joblib")
    again = joblib.load(tmp_path / "nodes.joblib")
    assert np.array_equal(again.predict_proba(np.arange(60)), nodes.predict_proba(np.arange(60)))

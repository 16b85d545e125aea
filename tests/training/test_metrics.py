from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as truth
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from mshgnn.data.dataset import METRICS
from mshgnn.training.metrics import KNOWN_METRICS

Floats = NDArray[np.float64]


def compute(name: str, found: object, target: object) -> float:
    return KNOWN_METRICS[name].compute(np.array(found), np.array(target))


def test_every_metric_that_a_data_set_may_name_is_known() -> None:
    assert {name for names in METRICS.values() for name in names} == set(KNOWN_METRICS)
    assert all(metric.name == name for name, metric in KNOWN_METRICS.items())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_metrics_of_classes_are_those_of_scikit_learn(rows: list[tuple[int, int]]) -> None:
    target, found = np.array(rows).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes that are named but not there
        balanced = truth.balanced_accuracy_score(target, found)
    assert compute("accuracy", found, target) == truth.accuracy_score(target, found)
    assert compute("balanced_accuracy", found, target) == pytest.approx(balanced)
    assert compute("f1", found, target) == pytest.approx(truth.f1_score(target, found, average="macro"))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-5, 5)), min_size=2, max_size=30))
def test_roc_auc_is_the_share_of_pairs_in_order(rows: list[tuple[int, int]]) -> None:
    """The closed form: how often a positive ranks above a negative, a tie counting one half."""
    target, score = np.array(rows, dtype=np.float64).T
    positive, negative = score[target == 1], score[target == 0]
    found = compute("roc_auc", score[:, None], target[:, None])
    if len(positive) and len(negative):
        difference = np.sign(positive[:, None] - negative[None, :])
        assert found == pytest.approx(((difference + 1) / 2).mean())
    else:
        assert found == 0.5


@st.composite
def many_targets(draw: st.DrawFn, *, binary: bool) -> tuple[Floats, Floats]:
    """Outputs and targets of one shape; about a third of the targets is missing."""
    shape = (draw(st.integers(1, 15)), draw(st.integers(1, 3)))
    some = [0.0, 1.0] if binary else [-3.0, 0.0, 0.5, 2.0, 7.0]
    target = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([*some, math.nan])))
    return draw(hnp.arrays(np.float64, shape, elements=st.integers(-4, 4).map(float))), target


@given(many_targets(binary=True), st.sampled_from(["roc_auc", "average_precision"]))
def test_rankings_are_the_mean_over_targets_with_both_classes(case: tuple[Floats, Floats], name: str) -> None:
    score, target = case
    rank = {"roc_auc": truth.roc_auc_score, "average_precision": truth.average_precision_score}[name]
    known = ~np.isnan(target)
    columns = [column for column in range(target.shape[1]) if {0.0, 1.0} <= set(target[:, column])]
    expected = [rank(target[known[:, c], c], score[known[:, c], c]) for c in columns]
    found = compute(name, score, target)
    if expected:
        assert found == pytest.approx(np.mean(expected))
    elif known.any():
        assert found == (0.5 if name == "roc_auc" else target[known].mean())
    else:
        assert math.isnan(found)


@given(many_targets(binary=False))
def test_errors_are_the_mean_over_targets_of_scikit_learns(case: tuple[Floats, Floats]) -> None:
    value, target = case
    known = [~np.isnan(column) for column in target.T]
    columns = [c for c, there in enumerate(known) if there.any()]
    pairs = [(target[known[c], c], value[known[c], c]) for c in columns]
    varied = [pair for pair in pairs if len(np.unique(pair[0])) > 1]
    for name, measure, used in (
        ("rmse", truth.root_mean_squared_error, pairs),
        ("mae", truth.mean_absolute_error, pairs),
        ("r2", truth.r2_score, varied),
        ("mse", truth.mean_squared_error, pairs),
        ("log10_mse", lambda *pair: math.log10(max(truth.mean_squared_error(*pair), 1e-30)), pairs),
    ):
        expected = np.mean([measure(*pair) for pair in used]) if used else math.nan
        assert compute(name, value, target) == pytest.approx(expected, nan_ok=True)


@given(many_targets(binary=True), st.sampled_from(METRICS["multilabel"] + METRICS["regress"]))
def test_each_target_has_its_figure_where_its_values_define_one(case: tuple[Floats, Floats], name: str) -> None:
    """The mean of one column stands for a ranking of one class, too; of each target there is nothing then."""
    found, target = case
    each = KNOWN_METRICS[name].of_each(found, target)
    needed = 2 if name in ("roc_auc", "average_precision", "r2") else 1
    for column, value in enumerate(each):
        different = len(np.unique(target[~np.isnan(target[:, column]), column]))
        assert math.isnan(value) == (different < needed)
        if different >= needed:
            assert value == compute(name, found[:, [column]], target[:, [column]])
    if not np.isnan(each).all():
        assert compute(name, found, target) == pytest.approx(np.nanmean(each))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_diverged_model_ranks_nothing_and_is_infinitely_wrong(bad: float) -> None:
    binary, number = [[0.0], [1.0], [1.0], [0.0], [0.0]], [[0.0], [1.0], [3.0], [2.0], [2.0]]
    one_bad = [[5.0], [bad], [2.0], [1.0], [0.0]]
    for outputs in (one_bad, [[bad]] * 5):
        assert compute("roc_auc", outputs, binary) == 0.5
        assert compute("average_precision", outputs, binary) == pytest.approx(0.4)
        assert compute("rmse", outputs, number) == compute("mae", outputs, number) == math.inf
        assert compute("r2", outputs, number) == -math.inf
    missing_there = [[0.0], [math.nan], [1.0], [0.0], [0.0]]
    assert compute("mae", one_bad, missing_there) == pytest.approx(7 / 4), "an output that nobody asked for is no harm"


def test_an_item_without_a_class_is_wrong() -> None:
    target, found = [0, 0, 1, 1], [0, -1, 1, 1]
    assert compute("accuracy", found, target) == 0.75
    assert compute("balanced_accuracy", found, target) == 0.75
    assert compute("f1", found, target) == pytest.approx((2 / 3 + 1) / 2), "-1 is no third class"


@pytest.mark.parametrize("name", list(KNOWN_METRICS))
def test_nothing_to_measure_is_not_a_number(name: str) -> None:
    several = name in (*METRICS["regress"], *METRICS["multilabel"])
    assert math.isnan(compute(name, np.zeros((0, 1) if several else 0), np.zeros((0, 1) if several else 0)))


def test_the_direction_is_that_of_the_word() -> None:
    assert {name for name, metric in KNOWN_METRICS.items() if not metric.higher_is_better} == {
        "rmse",
        "mae",
        "mse",
        "log10_mse",
    }


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.87254, "87.25 %"),
        ("roc_auc", 1.0, "100.00 %"),
        ("rmse", 0.65432, "0.6543"),
        ("rmse", 12.3456, "12.35"),
        ("mae", 123456.7, "123457"),
        ("mae", 0.0, "0.000"),
        ("mae", 0.00123456, "0.001235"),
        ("mae", 1.23456e-7, "1.235e-07"),
        ("r2", -0.5, "-0.5000"),
        ("log10_mse", -1.23456, "-1.235"),
        ("rmse", math.inf, "inf"),
        ("accuracy", math.nan, "nan"),
    ],
)
def test_shares_are_written_in_percent_and_errors_in_significant_digits(name: str, value: float, text: str) -> None:
    assert KNOWN_METRICS[name].as_text(value) == text

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.evaluation.rules import HEADLINE, RULES, RuleResult, evaluate
from mshgnn.training.curves import CURVE_NAMES, Curves


def fold(
    validation: list[float],
    test: list[float],
    *,
    validation_loss: list[float] | None = None,
    train: list[float] | None = None,
    sizes: tuple[int, int, int] = (8, 1, 1),
    higher_is_better: bool = True,
) -> Curves:
    """A hand-made fold: what is not given is flat."""
    curves = {name: np.full(len(test), 0.5) for name in CURVE_NAMES}
    curves["validation_metric"] = np.array(validation)
    curves["test_metric"] = np.array(test)
    if validation_loss is not None:
        curves["validation_loss"] = np.array(validation_loss)
    if train is not None:
        curves["train_metric"] = np.array(train)
    return Curves(**curves, sizes=sizes, higher_is_better=higher_is_better)


TWO_FOLDS = [fold([0.1, 0.9, 0.2], [0.3, 0.6, 0.8]), fold([0.5, 0.4, 0.3], [0.2, 0.7, 0.4])]


@st.composite
def runs(draw: st.DrawFn) -> list[Curves]:
    def one() -> Curves:
        epochs = draw(st.integers(1, 8))
        shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=epochs, max_size=epochs)
        losses = st.lists(st.floats(), min_size=epochs, max_size=epochs)
        return fold(draw(shares), draw(shares), validation_loss=draw(losses), train=draw(shares))

    return [one() for _ in range(draw(st.integers(1, 4)))]


@st.composite
def any_runs(draw: st.DrawFn) -> list[Curves]:
    """Folds of any length with any metric: ties, values that are not numbers, infinite ones."""
    few = st.sampled_from([-1.5, 0.0, 0.25, 0.5, 3.0, float("nan"), float("inf")])

    def one() -> Curves:
        epochs = draw(st.integers(1, 8))
        values = st.lists(few, min_size=epochs, max_size=epochs)
        losses = st.lists(st.floats(), min_size=epochs, max_size=epochs)
        return fold(draw(values), draw(values), validation_loss=draw(losses), train=draw(values))

    return [one() for _ in range(draw(st.integers(1, 4)))]


def mirrored(one: Curves) -> Curves:
    """The same fold by an error instead of a share."""
    return replace(
        one,
        train_metric=-one.train_metric,
        validation_metric=-one.validation_metric,
        test_metric=-one.test_metric,
        higher_is_better=False,
    )


@pytest.mark.parametrize(
    ("rule", "per_fold", "epochs"),
    [
        ("best_validation", (0.6, 0.2), (1, 0)),
        ("last_epoch", (0.8, 0.4), (2, 2)),
        ("average_curve", (0.6, 0.7), (1, 1)),  # averages 0.25, 0.65, 0.6
        ("best_test_per_fold", (0.8, 0.7), (2, 1)),
        # 0.8 * 0.5 + 0.1 * validation + 0.1 * test: 0.44 0.55 0.50 and 0.47 0.51 0.47
        ("whole_set_best", (0.55, 0.51), (1, 1)),
    ],
)
def test_each_rule_on_two_hand_made_folds(rule: str, per_fold: tuple[float, ...], epochs: tuple[int, ...]) -> None:
    result = RULES[rule](TWO_FOLDS)
    assert result.rule == rule
    assert result.per_fold == pytest.approx(per_fold)
    assert result.epochs == epochs
    assert result.mean == pytest.approx(sum(per_fold) / 2)
    assert result.std == pytest.approx(abs(per_fold[0] - per_fold[1]) / 2)
    assert result.spread == "over 2 folds"


@pytest.mark.parametrize("rule", RULES)
@given(any_runs())
def test_each_rule_gives_the_mirrored_result_for_the_negated_metric(rule: str, run: list[Curves]) -> None:
    share, error = RULES[rule](run), RULES[rule]([mirrored(one) for one in run])
    assert error.epochs == share.epochs
    np.testing.assert_array_equal(error.per_fold, np.negative(share.per_fold))
    np.testing.assert_allclose(error.mean, -share.mean)
    np.testing.assert_allclose(error.std, share.std)


def test_the_smaller_error_is_chosen() -> None:
    run = [fold([0.9, 0.4, 0.7], [5.0, 3.0, 2.0], train=[2.0, 2.0, 1.0], higher_is_better=False)]
    found = {name: (rule(run).epochs[0], rule(run).mean) for name, rule in RULES.items()}
    assert found == {
        "best_validation": (1, 3.0),
        "last_epoch": (2, 2.0),
        "average_curve": (2, 2.0),
        "best_test_per_fold": (2, 2.0),
        "whole_set_best": (2, pytest.approx(0.8 * 1.0 + 0.1 * 0.7 + 0.1 * 2.0)),
    }


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_metric_that_is_no_number_loses(higher_is_better: bool) -> None:
    nan = float("nan")
    run = [fold([nan, 0.5, nan], [nan, 0.5, nan], higher_is_better=higher_is_better)]
    for name, rule in RULES.items():
        assert rule(run).epochs == ((2,) if name == "last_epoch" else (1,))
    assert np.isnan(RULES["last_epoch"](run).mean)
    hopeless = [fold([nan, nan], [nan, nan], validation_loss=[nan, 0.3], higher_is_better=higher_is_better)]
    assert RULES["best_validation"](hopeless).epochs == (1,)


def test_folds_of_two_directions_are_no_run() -> None:
    with pytest.raises(ValueError, match="direction"):
        RULES["last_epoch"]([TWO_FOLDS[0], mirrored(TWO_FOLDS[1])])


def test_registering_is_all_a_new_rule_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.evaluation.rules.RULES", dict(RULES))
    from mshgnn.evaluation import rules

    @rules.rule(selects_on_test=False, needs_validation=True)
    def first_epoch(folds: Sequence[Curves]) -> tuple[list[int], list[float]]:
        return [0] * len(folds), [float(fold.test_metric[0]) for fold in folds]

    assert list(rules.applicable(TWO_FOLDS)) == [*RULES, "first_epoch"]
    assert rules.applicable(TWO_FOLDS)["first_epoch"](TWO_FOLDS).per_fold == (0.3, 0.2)
    bare = [fold([0.0], [0.5], sizes=(9, 0, 1))]
    assert set(RULES) - set(rules.applicable(bare)) == {"best_validation"}
    assert "first_epoch" not in rules.applicable(bare)


@given(any_runs())
def test_a_result_survives_strict_json(run: list[Curves]) -> None:
    result = RULES["last_epoch"](run)
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert str(RuleResult.from_dict(json.loads(text))) == str(result)


def test_only_rules_that_never_look_at_test_may_rank() -> None:
    honest = {name for name, rule in RULES.items() if not rule(TWO_FOLDS).selects_on_test}
    assert honest == {"best_validation", "last_epoch"}
    assert HEADLINE in honest


def test_the_lower_validation_loss_breaks_a_tie_then_the_earlier_epoch() -> None:
    flat = [0.9, 0.9, 0.9, 0.1]
    test = [0.1, 0.2, 0.3, 0.4]
    by_loss = fold(flat, test, validation_loss=[0.5, 0.3, 0.4, 0.0])
    by_epoch = fold(flat, test, validation_loss=[0.3, 0.3, 0.3, 0.0])
    not_a_number = fold(flat, test, validation_loss=[float("nan"), float("inf"), 2.0, 0.0])
    result = RULES["best_validation"]([by_loss, by_epoch, not_a_number])
    assert result.epochs == (1, 0, 2)


def test_other_rules_take_the_earliest_of_equal_epochs() -> None:
    tied = [fold([0.5] * 3, [0.2, 0.6, 0.6])]
    for rule in ("average_curve", "best_test_per_fold", "whole_set_best"):
        assert RULES[rule](tied).epochs == (1,)


def test_average_curve_extends_a_stopped_fold_by_its_last_value() -> None:
    stopped = fold([0.5, 0.5], [0.9, 0.5])
    full = fold([0.5] * 4, [0.0, 0.0, 0.1, 0.8])
    result = RULES["average_curve"]([stopped, full])  # averages 0.45, 0.25, 0.3, 0.65
    assert result.epochs == (3, 3)
    assert result.per_fold == pytest.approx((0.5, 0.8))


def test_whole_set_best_equals_counting_correct_answers() -> None:
    correct = {"train": [40, 70], "validation": [9, 6], "test": [10, 2]}
    run = fold(
        [count / 10 for count in correct["validation"]],
        [count / 10 for count in correct["test"]],
        train=[count / 80 for count in correct["train"]],
        sizes=(80, 10, 10),
    )
    assert RULES["whole_set_best"]([run]).per_fold == pytest.approx((78 / 100,))


@given(runs(), st.randoms(use_true_random=False))
def test_no_leak_a_shuffled_test_curve_leaves_the_headline_epochs_untouched(run: list[Curves], random: Random) -> None:
    shuffled = []
    for one in run:
        test = one.test_metric.tolist()
        random.shuffle(test)
        shuffled.append(replace(one, test_metric=np.array(test), test_loss=one.test_loss[::-1]))
    for rule in ("best_validation", "last_epoch"):
        assert RULES[rule](run).epochs == RULES[rule](shuffled).epochs


@given(runs())
def test_no_honest_rule_beats_the_best_test_epoch(run: list[Curves]) -> None:
    bound = RULES["best_test_per_fold"](run).mean + 1e-12
    assert all(RULES[rule](run).mean <= bound for rule in ("best_validation", "last_epoch", "average_curve"))


def test_one_fold_has_no_spread() -> None:
    result = RULES["best_validation"](TWO_FOLDS[:1])
    assert (result.std, result.spread) == (0.0, "of one fold: no spread")


def test_several_seeds_spread_over_fold_means() -> None:
    second = [fold([0.1, 0.2], [0.5, 0.9]), fold([0.1, 0.2], [0.5, 0.7])]
    result = evaluate(RULES["best_validation"], [TWO_FOLDS, second])
    assert result.mean == pytest.approx((0.4 + 0.8) / 2)
    assert result.std == pytest.approx(0.2)
    assert result.spread == "over 2 seeds of fold means"
    assert result.per_fold == pytest.approx((0.6, 0.2, 0.9, 0.7))
    assert result.epochs == (1, 0, 1, 1)


def test_one_seed_is_the_plain_rule() -> None:
    assert evaluate(RULES["last_epoch"], [TWO_FOLDS]) == RULES["last_epoch"](TWO_FOLDS)


def test_nothing_to_select_from_is_an_error() -> None:
    for rule in RULES.values():
        with pytest.raises(ValueError, match="at least one fold"):
            rule([])
    with pytest.raises(ValueError, match="at least one seed"):
        evaluate(RULES["last_epoch"], [])
    with pytest.raises(ValueError, match="validation set"):
        RULES["best_validation"]([fold([0.5], [0.5], sizes=(9, 0, 1))])

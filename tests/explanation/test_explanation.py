"""Explanations of models whose rule is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from mshgnn.errors import UserError
from mshgnn.explanation.explain import explain_file
from mshgnn.explanation.methods import METHODS
from mshgnn.predictor.ensemble import Ensemble

Trained = tuple[Ensemble, Path]
HOUSES = (0, 2, 4)


def test_the_links_of_a_planted_house_rank_above_the_rest(
    house: tuple[Ensemble, Path, list[set[tuple[int, int]]]],
) -> None:
    model, data, motifs = house
    found = explain_file(model, data, rows=HOUSES)
    by_method: dict[str, list[float]] = {}
    for row, explanation in zip(HOUSES, found, strict=True):
        assert "house" in explanation.prediction
        truth = [tuple(link) in motifs[row] for link in explanation.links.t().tolist()]
        assert sum(truth) == 6
        for finding in explanation.findings:
            by_method.setdefault(finding.method, []).append(roc_auc_score(truth, finding.importance.links))
        best = explanation.findings[0]
        assert roc_auc_score(truth, best.importance.links) >= 0.9
        assert best.fidelity is not None
        assert best.fidelity.score >= 0.95
        assert best.verdict.startswith("believe")
        top = max(best.substructures, key=lambda part: part.importance).group.nodes
        # A fifth of the 18 links is four, two fewer than a house has: the first piece lies within it.
        assert set(top) <= {node for link in motifs[row] for node in link}
    means = {method: sum(values) / len(values) for method, values in by_method.items()}
    assert {"occlusion", "gradients", "gnnexplainer", "alpha", "energy"} == set(means)
    assert min(means[method] for method in ("occlusion", "gradients", "alpha", "energy")) >= 0.9


def test_the_atoms_of_a_nitro_group_rank_on_top(toxic: Trained) -> None:
    model, data = toxic
    for explanation in explain_file(model, data, rows=[1, 5, 9], methods=["occlusion", "gradients", "gnnexplainer"]):
        assert explanation.truth == "yes"
        assert "toxic = yes" in explanation.prediction
        by_method = {finding.method: finding for finding in explanation.findings}
        for method in ("occlusion", "gradients"):
            first = by_method[method].substructures[0].group
            assert first.name.startswith("O=[N+][O-] (atoms"), (method, first)
            assert set(by_method[method].importance.nodes.topk(3).indices.tolist()) == set(first.nodes)
            nitro = first.nodes
        # A mask is nowhere 0, so the sum over a long chain may pass that of a nitro group: its atoms must not.
        masks = by_method["gnnexplainer"].importance.nodes
        assert set(masks.topk(2).indices.tolist()) <= set(nitro)
        assert explanation.findings[0].verdict.startswith("believe it")


def test_a_regression_is_explained_in_the_units_of_its_target(dose: Trained) -> None:
    model, data = dose
    (explanation,) = explain_file(model, data, rows=[3], target="dose", methods=["gradients", "gnnexplainer"])
    said = float(explanation.prediction.removeprefix("dose = "))
    assert said == pytest.approx(2.0, abs=0.5)
    (gradients,) = [finding for finding in explanation.findings if finding.method == "gradients"]
    groups = [part for part in gradients.substructures if part.group.name.startswith("O=[N+][O-]")]
    assert len(groups) == 2
    assert sum(part.importance for part in groups) == pytest.approx(2.0, abs=1.0)
    assert [part.group.name[:10] for part in gradients.substructures[:2]] == ["O=[N+][O-]"] * 2


def test_an_ensemble_of_labels_is_explained_by_target(labels: Trained) -> None:
    model, data = labels
    assert len(model.members) == 3
    one, other = (explain_file(model, data, rows=[0], target=name)[0] for name in ("a", "b"))
    assert one.prediction.startswith("a = ")
    assert other.prediction.startswith("b = ")
    assert {finding.method for finding in one.findings} == {"occlusion", "gradients", "gnnexplainer"}
    assert set(one.left_out) == {"attention", "alpha", "energy"}
    with pytest.raises(UserError, match=r"the model has 2 targets, name one; valid: a, b"):
        explain_file(model, data, rows=[0])


def test_what_speaks_for_a_class_speaks_against_the_other(toxic: Trained) -> None:
    model, data = toxic
    for_it, against = (
        explain_file(model, data, rows=[1], class_name=name, methods=["occlusion"])[0].findings[0]
        for name in ("yes", "no")
    )
    assert (for_it.importance.nodes + against.importance.nodes).abs().max() < 1e-3


def test_a_node_is_explained_by_what_its_messages_reach(ring: Trained) -> None:
    model, data = ring
    (explanation,) = explain_file(model, data, ids=["n7"])
    assert explanation.title == "node n7"
    assert set(explanation.node_names) == {f"n{number}" for number in range(4, 11)}  # two layers, one for degrees
    assert explanation.node is not None
    assert explanation.node_names[explanation.node] == "n7"
    assert "attention" in {finding.method for finding in explanation.findings}
    (gradients,) = [finding for finding in explanation.findings if finding.method == "gradients"]
    assert int(gradients.importance.nodes.abs().argmax()) == explanation.node


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "which row"),
        ({"rows": [80]}, "has 80 rows, counted from 0"),
        ({"rows": [-1]}, "counted from 0"),
        ({"ids": ["m99"]}, "no row of .* has 'm99' in column 'id'"),
        ({"rows": [0], "target": "toxicity"}, "no target 'toxicity'; did you mean 'toxic'"),
        ({"rows": [0], "class_name": "maybe"}, "class 'maybe' was not in the training data"),
        ({"rows": [0], "methods": ["ocllusion"]}, "unknown method 'ocllusion'; did you mean 'occlusion'"),
        ({"rows": [0], "methods": ["attention"]}, "attention: the model has no attention over edges"),
    ],
)
def test_a_mistake_is_named(toxic: Trained, asked: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        explain_file(*toxic, **asked)  # type: ignore[arg-type]


def test_data_of_another_kind_are_refused(toxic: Trained, dose: Trained, ring: Trained, house: Trained) -> None:
    with pytest.raises(UserError, match="the model is one of graphs"):
        explain_file(toxic[0], ring[1], rows=[0])
    with pytest.raises(UserError, match="trained on nodes"):
        explain_file(ring[0], toxic[1], rows=[0])
    with pytest.raises(UserError, match="file not found"):
        explain_file(toxic[0], Path("missing.csv"), rows=[0])
    with pytest.raises(UserError, match="has no ids, only lines"):
        explain_file(house[0], house[1], ids=["x"])
    with pytest.raises(UserError, match="predicts no classes"):
        explain_file(dose[0], dose[1], rows=[0], class_name="yes")


def test_every_method_says_what_its_numbers_mean() -> None:
    assert all(method.says and method.title for method in METHODS.values())

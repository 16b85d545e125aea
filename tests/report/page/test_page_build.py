"""Pages without a browser: what is on them, what they say of odd runs, and how large they are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_helpers import bare, classes, curves, numbers, shown

from mshgnn.report.page.build import build
from mshgnn.report.page.confusion import counts_of
from mshgnn.report.page.contents import FoldCurves, Items, Measured, Shown, Subject
from mshgnn.report.page.section import Missing, Section
from mshgnn.report.page.sections import FIGURES, SECTIONS, charts_of
from mshgnn.report.page.selection import wrongness
from mshgnn.report.plots import FORMATS, draw

TITLES = [
    "Headline",
    "Paired differences",
    "Learning curves",
    "Rules side by side",
    "Confusion",
    "Calibration",
    "Embedding",
    "Most wrong",
    "Frequency response",
    "Attention",
    "Distance to the training data",
    "What was run",
]


def shown_titles(page: str) -> list[str]:
    found = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    return [title for title in found if title != "Not on this page"]


def page_data(page: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, list[dict[str, object]]] = json.loads(found[1])
    return content


def test_a_model_of_classes_has_every_section_but_parity() -> None:
    page = build([classes()])
    assert shown_titles(page) == TITLES
    assert "Parity and residuals" in page.split("Not on this page")[-1]


def test_what_a_user_wrote_is_escaped_in_text_and_data() -> None:
    subject = replace(classes(), dataset="</script><script>alert(1)</script>", name="<img>")
    page = build([subject])
    assert "<b>ether" not in page
    assert "<img>" not in page
    assert page.count("</script>") == 2
    names = page_data(page)["subjects"][0]["names"]
    assert names == ["alkane", "alcohol", "<b>ether</b>"]


def test_a_page_asks_no_network() -> None:
    page = build([classes()])
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "@import" not in page
    assert re.findall(r"https?://[^\"' ]+", page) == ["http://www.w3.org/2000/svg"]


def test_a_page_of_five_thousand_graphs_stays_below_six_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.report.page.embedding.tsne_points", lambda array, seed: array[:, :2])
    long = "4949" * 40 + "|" + "01" * 44 + "|" + "0" * 40 + "|"
    subject = replace(numbers(5_000, targets=12, folds=10), shown=shown(5_000, long))
    assert len(build([subject]).encode()) < 6e6


def test_twelve_targets_are_each_to_be_chosen() -> None:
    data = page_data(build([numbers(60, targets=12)]))
    (parity,) = [chart for chart in data["charts"] if chart["kind"] == "scatter" and chart["axes"]]
    views = parity["views"]
    assert isinstance(views, list)
    assert {(view["group"], view["name"]) for view in views} == {
        (f"property {number}", name) for number in range(12) for name in ("parity", "residuals")
    }


def test_a_run_shows_its_curves_and_says_what_it_cannot() -> None:
    page = build([bare(classes()), replace(bare(classes()), name="gcn")])
    assert shown_titles(page) == [
        "Headline",
        "Paired differences",
        "Learning curves",
        "Rules side by side",
        "What was run",
    ]
    assert "a run keeps curves, not predictions" in page


def test_one_fold_says_that_there_is_no_spread() -> None:
    page = build([classes(folds=1)])
    assert "One fold was run, so there is no spread" in page
    assert "With one fold there is no error bar" in page


def test_one_class_in_test_is_said() -> None:
    subject = classes()
    assert subject.items is not None
    items = replace(subject.items, truth=np.zeros_like(subject.items.truth))
    page = build([replace(subject, items=items)])
    assert "Every test item has the class alkane" in page


def test_no_validation_part_is_said() -> None:
    from mshgnn.evaluation.rules import applicable, evaluate

    folds = [curves(seed=seed, sizes=(90, 0, 10)) for seed in range(2)]
    series = {"train_loss": tuple(folds[0].train_loss.tolist()), "train_metric": tuple(folds[0].train_metric.tolist())}
    rules = {name: evaluate(rule, [folds]) for name, rule in applicable(folds).items()}
    page = build([replace(bare(classes()), rules=rules, folds=(FoldCurves("fold 1", series),))])
    assert "There is no validation part" in page
    assert "there is no validation curve" in page


def test_losses_that_are_not_numbers_leave_a_gap_and_are_said() -> None:
    subject = classes(folds=1)
    loss = (1.0, 0.5, float("nan"), float("inf"))
    folds = (FoldCurves("fold 1", {"train_loss": loss, "validation_metric": (0.1, 0.2, 0.3, float("nan"))}, 2),)
    page = build([replace(subject, folds=folds, headline=Measured("m", (float("nan"),)), rules={})])
    assert "the loss of fold 1 is not a number from epoch 3 on" in page
    assert "The headline is not a number" in page
    assert "the test curves of this training were not kept" in page
    lines = [line for chart in page_data(page)["charts"] if chart["kind"] == "lines" for line in chart["lines"]]  # type: ignore[attr-defined]
    assert [1.0, 0.5, None, None] in [line["y"] for line in lines]


def test_an_older_folder_gives_a_page_that_says_what_is_missing() -> None:
    page = build([replace(classes(), shown=None, new_data=None)])
    assert "the folder holds no embeddings" in page
    assert "The folder holds no drawings" in page
    assert "Confusion" in shown_titles(page)


def test_labels_of_which_some_have_one_value_are_said() -> None:
    subject = classes()
    truth = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 0.0]] * 30)
    items = replace(subject.items or Items((), (), truth, truth), truth=truth, values=np.full((90, 2), 0.4))
    page = build(
        [replace(subject, objective="multilabel", target_names=("toxic", "soluble"), class_names=(), items=items)]
    )
    assert "Only one value occurs in the test part for soluble" in page


def test_counts_of_a_confusion_matrix_are_those_of_sklearn() -> None:
    from sklearn.metrics import confusion_matrix

    items = classes().items
    assert items is not None
    wanted = confusion_matrix(items.truth[:, 0].astype(int), items.values.argmax(axis=1), labels=[0, 1, 2])
    assert (counts_of(items, 3) == wanted).all()


def test_wrongness_is_the_probability_not_given_to_the_truth_or_the_scaled_error() -> None:
    items = Items((0, 1), (0, 0), np.array([[0.0], [np.nan]]), np.array([[0.2, 0.8], [0.5, 0.5]]))
    subject = replace(classes(), items=items)
    assert wrongness(subject, items)[0] == pytest.approx(0.8)
    assert np.isnan(wrongness(subject, items)[1])
    numbers_items = Items((0, 1), (0, 0), np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]]))
    assert wrongness(numbers(), numbers_items).tolist() == [1.0, 0.0]


def test_differences_are_paired_and_oriented() -> None:
    first = replace(numbers(folds=2), headline=Measured("a", (1.0, 2.0)), controls=(Measured("mean", (3.0, 3.0)),))
    section = SECTIONS["differences"]([first])
    assert isinstance(section, Section)
    (chart,) = charts_of(section)
    row = chart.to_json()["rows"][0]
    assert row["value"] == 1.5  # an error that is smaller is better
    assert row["dots"] == [2.0, 1.0]
    other = replace(first, name="b", pairing="others", controls=())
    assert isinstance(SECTIONS["differences"]([replace(first, controls=()), other]), Missing)


def test_what_is_shown_survives_json() -> None:
    before = shown(5)
    after = Shown.from_json(json.loads(json.dumps(before.to_json())))
    assert np.allclose(before.components, after.components, atol=1e-4)
    assert replace(after, components=before.components, distances=before.distances) == before


@pytest.mark.parametrize("subject", [classes(), numbers(targets=2)], ids=["classes", "numbers"])
def test_every_figure_can_be_drawn(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.report.page.embedding.tsne_points", lambda array, seed: array[:, :2])
    for name in FIGURES:
        section = SECTIONS[name]([subject])
        if isinstance(section, Missing):
            assert name in ("parity", "confusion")
            continue
        assert draw(charts_of(section), [subject], ".png").startswith(b"\x89PNG")


@pytest.mark.parametrize(("suffix", "start"), list(zip(FORMATS, (b"\x89PNG", b"<?xml", b"%PDF"), strict=True)))
def test_figures_have_the_format_asked_for_and_no_date(suffix: str, start: bytes) -> None:
    section = SECTIONS["curves"]([classes()])
    assert isinstance(section, Section)
    made = draw(charts_of(section), [classes()], suffix)
    assert made.startswith(start)
    assert b"CreationDate" not in made


def test_the_templates_are_part_of_the_package() -> None:
    import mshgnn.report.page as package

    assert (Path(package.__file__).parent / "templates" / "page.html").is_file()

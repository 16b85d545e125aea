"""The page as one file: sections through a template, styles, scripts and data inside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined

from mshgnn import __version__
from mshgnn.report.page.charts import Chart, plain
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Missing, Section
from mshgnn.report.page.sections import SECTIONS, charts_of
from mshgnn.report.page.selection import shown_of

SCRIPTS = ("base", "axes", "lines", "ranges", "heat", "graph", "scatter", "cards", "page")


def build(subjects: Sequence[Subject], title: str = "") -> str:
    """The whole page as text; everything a user wrote is escaped."""
    if not subjects:
        raise ValueError("a page needs at least one subject")
    made = {name: section(subjects) for name, section in SECTIONS.items()}
    sections = [section for section in made.values() if isinstance(section, Section)]
    charts = [chart for section in sections for chart in charts_of(section)]
    shown = {chart.subject for chart in charts if hasattr(chart, "subject")}
    data = {
        "charts": [chart.to_json() for chart in charts],
        "subjects": [_items(subject) if number in shown else {} for number, subject in enumerate(subjects)],
    }
    return _template().render(
        title=title or _title(subjects),
        sections=sections,
        missing=[section for section in made.values() if isinstance(section, Missing)],
        style=_text("style.css"),
        script="\n".join(_text(f"{name}.js") for name in SCRIPTS),
        data=_script_safe(data),
        number=_numbers(charts),
        version=__version__,
    )


def _title(subjects: Sequence[Subject]) -> str:
    datasets = dict.fromkeys(subject.dataset for subject in subjects)
    models = dict.fromkeys(subject.model for subject in subjects)
    who = ", ".join(models) if len(models) < 4 else f"{len(subjects)} runs"
    return f"{who} on {', '.join(datasets)}" if len(datasets) < 4 else f"{who} on {len(datasets)} data sets"


def _items(subject: Subject) -> dict[str, Any]:
    """What a card says of each shown item."""
    items, shown = subject.items, shown_of(subject)
    assert items is not None  # a chart of items was made
    chosen = np.array(shown.items, dtype=np.int64)
    truth, values = items.truth[chosen], items.values[chosen]
    content: dict[str, Any] = {
        "task": subject.task,
        "rows": [items.rows[item] for item in shown.items],
        "folds": [items.folds[item] for item in shown.items],
        "drawings": list(shown.drawings),
        "vocabulary": list(shown.vocabulary),
        "names": list(subject.class_names if subject.has_classes else subject.target_names),
    }
    if subject.has_classes:
        known = np.isfinite(truth[:, 0])
        content["objective"] = "classes"
        content["truth"] = np.where(known, truth[:, 0], -1).astype(int).tolist()
        content["found"] = values.argmax(axis=1).tolist()
        content["sure"] = values.max(axis=1).round(3).tolist()
    else:
        content["objective"] = subject.objective
        content["truth"], content["found"] = plain(truth), plain(values)
    return content


def _numbers(charts: Sequence[Chart]) -> dict[int, int]:
    """The place of each chart in the page's data."""
    return {id(chart): number for number, chart in enumerate(charts)}


def _script_safe(data: object) -> str:
    """JSON that cannot end the script it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _text(name: str) -> str:
    return (files("mshgnn.report.page") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["id"] = id
    return environment.get_template("page.html")

"""``mshgnn report`` and ``mshgnn plot``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mshgnn.report.page.contents import Subject

Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN_OR_MODEL...",
        help="Folders of 'mshgnn train' or 'mshgnn run', records (.json.gz), or a folder of records.",
    ),
]
NewData = Annotated[
    Path | None, typer.Option("--data", help="New data, to see how far they are from the training data.")
]


def report(
    sources: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    data: NewData = None,
) -> None:
    """Write one page that shows everything: figures, curves, rules, mistakes, embeddings; it needs no network.

    Example: mshgnn report model/ --out report.html

    Example: mshgnn report model/ --data new.csv

    Example: mshgnn report results/graph/MUTAG/msh-stable.json.gz results/graph/MUTAG
    """
    from mshgnn.files import check_writable, written
    from mshgnn.report.page.build import build

    check_writable(out)
    page = build(_subjects(sources, data))
    with written(out) as file:
        file.write(page.encode())
    typer.echo(f"wrote {out} ({len(page) / 1e6:.1f} MB): open it in a browser")


def plot(
    sources: Sources,
    figure: Annotated[str, typer.Option("--figure", "-f", help="A section of the page: curves, rules, parity, ...")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .png, .svg or .pdf.")],
    data: NewData = None,
) -> None:
    """Draw one figure of the report as a picture for a paper or slides.

    Example: mshgnn plot model/ --figure embedding --out embedding.pdf

    Example: mshgnn plot results/graph/MUTAG --figure curves --out curves.svg
    """
    from mshgnn.errors import UserError, did_you_mean
    from mshgnn.files import check_writable, written
    from mshgnn.report.page.section import Missing
    from mshgnn.report.page.sections import FIGURES, SECTIONS, charts_of
    from mshgnn.report.plots import FORMATS, draw

    if figure not in FIGURES:
        raise UserError(f"--figure {figure!r}: there is no such figure{did_you_mean(figure, FIGURES)}")
    if out.suffix not in FORMATS:
        raise UserError(f"--out {out}: must end in {', '.join(FORMATS)}")
    check_writable(out)
    subjects = _subjects(sources, data)
    section = SECTIONS[figure](subjects)
    if isinstance(section, Missing):
        raise UserError(f"--figure {figure}: {section.why}")
    with written(out) as file:
        file.write(draw(charts_of(section), subjects, out.suffix))
    typer.echo(f"wrote {out}")


def _subjects(sources: Sequence[Path], data: Path | None) -> list[Subject]:
    """What all sources hold, each once, in the order given."""
    from mshgnn.errors import UserError
    from mshgnn.report.page.from_run import distinct

    found: dict[Path, Subject] = {}
    for source in sources:
        for path in _expanded(source):
            if path.resolve() not in found:
                found[path.resolve()] = _subject(path, data)
    subjects = distinct(list(found.values()))
    if data is not None and all(subject.source == "run" for subject in subjects):
        raise UserError("--data: only a model that 'mshgnn train' made can say how far new data are")
    return subjects


def _expanded(source: Path) -> list[Path]:
    """The source itself, or the records of a folder."""
    from mshgnn.errors import UserError
    from mshgnn.predictor.contents import is_model

    if not source.exists():
        raise UserError(f"{source}: there is no such file or folder")
    if source.is_file() or is_model(source) or (source / "run.json").exists():
        return [source]
    records = sorted(source.glob("*.json.gz"))
    if not records:
        raise UserError(f"{source}: neither a trained model, nor a run, nor a folder of records (*.json.gz)")
    return records


def _subject(path: Path, data: Path | None) -> Subject:
    from mshgnn.lab.runner import load_run
    from mshgnn.predictor.contents import is_model, subject_of_model
    from mshgnn.records.record import load_record
    from mshgnn.report.page.from_run import subject_of_run

    if path.is_file():
        record = load_record(path)
        return subject_of_run(record.run, record.rules, path.name.partition(".json")[0])
    if is_model(path):
        return subject_of_model(path, data)
    run = load_run(path)
    return subject_of_run(run, run.rules)

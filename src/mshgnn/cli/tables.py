"""``mshgnn tables``: the tables of README and docs from the committed records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mshgnn.errors import UserError


def all_pages(project: Path) -> list[Path]:
    """README and every page under ``docs``."""
    return [project / "README.md", *sorted((project / "docs").rglob("*.md"))]


def tables(
    pages: Annotated[list[Path] | None, typer.Argument(help="Pages to fill (default: README.md and docs).")] = None,
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results"),
    check: Annotated[bool, typer.Option("--check", help="Change nothing; fail where a page is stale.")] = False,
) -> None:
    """Fill every `<!-- table: NAME -->` block of the pages from the records.

    Example: mshgnn tables --check
    """
    from mshgnn.files import read_text, written
    from mshgnn.reproduction.results import load_results
    from mshgnn.reproduction.tables import filled, stale

    chosen = pages or all_pages(Path())
    for page in chosen:
        if not page.is_file():
            raise UserError(f"{page}: there is no such page; run this in the project's folder")
    if not results.is_dir():
        raise UserError(f"{results}: there is no such folder of records")
    found = load_results(results)
    if check:
        old = stale(chosen, found)
        for page in old:
            typer.echo(f"{page}: its tables differ from {results}; run 'mshgnn tables'", err=True)
        raise typer.Exit(1 if old else 0)
    for page in chosen:
        text = filled(read_text(page), found)
        with written(page) as file:
            file.write(text.encode())
        typer.echo(f"{page}: up to date")

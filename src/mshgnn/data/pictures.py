"""A picture file: its name is checked before the work, and it is written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mshgnn.data.dataset import DataError
from mshgnn.files import check_writable, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_NAME = 28


def check_picture(path: Path) -> None:
    """Refuse a name that is no picture's, and a place that cannot be written."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise DataError(f"{path}: a picture's name must end in .png, .svg or .pdf")
    check_writable(path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the form that the name says."""
    with written(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:])


def short(name: str) -> str:
    """A user's name for what is drawn, cut to what fits."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"

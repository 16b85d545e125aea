"""How single pictures are saved: as .png, .svg or .pdf by the ending, without a global state of matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mshgnn.errors import UserError
from mshgnn.files import check_writable, written

ENDINGS = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """Refuse a name that no picture can be written to."""
    if path.suffix not in ENDINGS:
        raise UserError(f"--out {path}: must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    check_writable(path)


def save_picture(figure: Figure, path: Path) -> Path:
    """Write the figure on white."""
    check_picture(path)
    FigureCanvasAgg(figure)
    with written(path) as file:
        figure.savefig(file, dpi=130, format=path.suffix[1:], facecolor="white")
    return path

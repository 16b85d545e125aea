"""Where the experiments are that come with the package."""

from __future__ import annotations

from pathlib import Path

from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError


def shipped_experiments() -> Path:
    """The folder ``experiments`` of the source tree this package runs from, else the copy inside the package."""
    package = Path(__file__).resolve().parents[1]
    tree = package.parent.parent / "experiments"
    return tree if package.parent.name == "src" and tree.is_dir() else package / "experiments"


def find_file(file: Path) -> Path:
    """An experiment file as it was given, or the shipped one of that name, with or without its ending."""
    if file.exists() or file.is_absolute() or file.suffix == ".yaml":
        return file
    shipped = shipped_experiments()
    names = [path.relative_to(shipped).with_suffix("").as_posix() for path in sorted(shipped.rglob("*.yaml"))]
    if file.as_posix() in names:
        return shipped / f"{file.as_posix()}.yaml"
    raise ExperimentError(f"{file}: no such file{did_you_mean(file.as_posix(), names)}")

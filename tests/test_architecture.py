"""The imports of the package are those that ``docs/architecture.md`` allows."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mshgnn"


def read_arrows() -> dict[str, tuple[str, ...]]:
    """The page's fenced block: ``package: what, it, may, import``, one line per package."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = re.search(r"^```imports\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert block is not None, "docs/architecture.md has no block that starts with ```imports"
    lines = (line.partition(":") for line in block[1].splitlines() if line.strip())
    return {
        name.strip(): tuple(allowed for word in rest.split(",") if (allowed := word.strip())) for name, _, rest in lines
    }


ARROWS = read_arrows()


def is_module(dotted: str) -> bool:
    path = PACKAGE.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported_modules(tree: ast.AST, importer: str) -> set[str]:
    """What of ``mshgnn`` is imported anywhere in ``tree``, as dotted names without ``mshgnn``.

    ``importer`` is the dotted package that relative imports start from. ``from mshgnn import __version__`` counts as
    nothing: the version belongs to nobody. Any other name of the top level counts as ``__init__``.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name.name.split(".") for name in node.names]
            found |= {".".join(parts[1:]) or "__init__" for parts in names if parts[0] == "mshgnn"}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = ["mshgnn", *importer.split(".")]
                module = ".".join([*above[: len(above) - node.level + 1], module]).strip(".")
            if module.split(".")[0] == "mshgnn":
                found |= {_target(module, name.name) for name in node.names if name.name != "__version__"}
    return found


def _target(module: str, name: str) -> str:
    inside = module.removeprefix("mshgnn").strip(".")
    dotted = f"{inside}.{name}".strip(".")
    return dotted if is_module(dotted) else inside or "__init__"


def forbidden(importer: str, imports: set[str]) -> list[str]:
    """The imports that no word on the importer's line allows. A word allows itself and everything below it."""
    package = importer.split(".")[0]
    allowed = (package, *ARROWS[package])
    return sorted(name for name in imports if not any(f"{name}.".startswith(f"{word}.") for word in allowed))


def modules() -> list[tuple[str, Path]]:
    """Every file by its top-level package, with the dotted package it lies in."""
    files = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        files.append((".".join(parts[:-1]) or parts[0], path))
    return files


def test_every_package_has_its_line() -> None:
    assert {importer.split(".")[0] for importer, _ in modules()} - ARROWS.keys() == set()


@pytest.mark.parametrize(
    ("importer", "path"), [pytest.param(*module, id=str(module[1].relative_to(PACKAGE))) for module in modules()]
)
def test_no_module_imports_against_the_arrows(importer: str, path: Path) -> None:
    if importer.split(".")[0] not in ARROWS:
        pytest.skip("reported by the test that every package has its line")
    assert forbidden(importer, imported_modules(ast.parse(path.read_text(encoding="utf-8")), importer)) == []


def test_the_arrows_name_known_packages_and_make_no_cycle() -> None:
    packages = {name: {word.split(".")[0] for word in allowed} for name, allowed in ARROWS.items()}
    assert set().union(*packages.values()) - packages.keys() == set()
    assert len(list(TopologicalSorter(packages).static_order())) == len(packages)


@pytest.mark.parametrize(
    ("importer", "code"),
    [
        ("data", "import mshgnn.training.loop"),
        ("data.readers", "from mshgnn.training import loop"),
        ("data", "def later():\n    from mshgnn.training.loop import train_fold"),
        ("nn", "from ..data import load"),
        ("data.readers", "from ...training.loop import train_fold"),
        ("lab", "from mshgnn import MSHConv"),
        ("records", "from mshgnn.training import loop, curves"),
    ],
)
def test_an_import_against_the_arrows_is_seen(importer: str, code: str) -> None:
    assert forbidden(importer, imported_modules(ast.parse(code), importer))


@pytest.mark.parametrize(
    ("importer", "code"),
    [
        ("records", "from mshgnn.training import curves"),
        ("records", "from mshgnn.training.curves import Curves"),
        ("training", "from .curves import Curves"),
        ("data.readers", "from ..dataset import GraphDataset"),
        ("lab", "from mshgnn import __version__"),
        ("nn", "import torch\nfrom torch_geometric.data import Data"),
    ],
)
def test_an_import_along_the_arrows_passes(importer: str, code: str) -> None:
    assert forbidden(importer, imported_modules(ast.parse(code), importer)) == []

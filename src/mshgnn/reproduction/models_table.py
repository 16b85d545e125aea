"""The tables of all models, made from the registry and from the models themselves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from mshgnn import models
from mshgnn.models import ModelBuilder, build
from mshgnn.report.markdown import markdown

FEATURES, CLASSES = 7, 2
"""Of MUTAG, on which parameters are counted."""

_PAPER = re.compile(r"\s*\([^()]*\d{4}[^()]*\)(?=\.?$)")


def models_table(tasks: Collection[str]) -> str:
    """Every model of exactly these tasks: file, name and paper, what it is, edge features, structure, parameters."""
    header = ["name", "model", "what it is", "edge features", "structure, and what it grows with", "parameters"]
    rows = []
    for module, name, builder in _models():
        if set(builder.tasks) != set(tasks):
            continue
        model = build(name, FEATURES, CLASSES, task=builder.tasks[0])
        rows.append(
            [
                _link(module, name),
                f"{builder.title} ({builder.paper})",
                _what(module.__doc__ or "", builder.title),
                "yes" if builder.takes_edge_features else "no",
                ", ".join(f"`{kind.name}`: {kind.grows}" for kind in model.structure) or "–",
                f"{model.num_parameters:,}",
            ]
        )
    return markdown(header, sorted(rows))


def origins_table() -> str:
    """Whose code every model is, and in what it differs from its authors'."""
    return markdown(
        ["name", "whose code, and in what it differs from its authors'"],
        sorted([_link(module, name), builder.origin] for module, name, builder in _models()),
    )


def _models() -> Iterator[tuple[ModuleType, str, ModelBuilder]]:
    """All models of the registry with the modules that define them."""
    for found in iter_modules(models.__path__):
        module = import_module(f"{models.__name__}.{found.name}")
        if not found.ispkg:
            for name, builder in getattr(module, "MODELS", {}).items():
                yield module, name, builder


def _link(module: ModuleType, name: str) -> str:
    return f"[`{name}`](../src/mshgnn/models/{module.__name__.rpartition('.')[2]}.py)"


def _what(doc: str, title: str) -> str:
    """The first sentence of a module's docstring, without the name and the paper that stand in other columns."""
    first = _PAPER.sub("", " ".join(doc.strip().split("\n\n")[0].split())).removesuffix(".")
    name, colon, rest = first.partition(": ")
    return rest if colon and len(name) <= len(title) + 8 else first

"""The tables of all models by task, made from the registry and from the models themselves."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules

from mshgnn import models
from mshgnn.models import build
from mshgnn.report.markdown import markdown

FEATURES, CLASSES = 7, 2
"""Of MUTAG, on which parameters are counted."""

_PAPER = re.compile(r"\s*\([^()]*\d{4}[^()]*\)(?=\.?$)")


def models_table(tasks: Collection[str]) -> str:
    """Every model of exactly these tasks: file, name and paper, what it is, edge features, structure, parameters."""
    header = ["name", "model", "what it is", "edge features", "structure", "parameters"]
    rows = []
    for file in _files():
        module = import_module(f"{models.__name__}.{file}")
        for name, builder in module.MODELS.items():
            if set(builder.tasks) != set(tasks):
                continue
            model = build(name, FEATURES, CLASSES, task=builder.tasks[0])
            rows.append(
                [
                    f"[`{name}`](../src/mshgnn/models/{file}.py)",
                    f"{builder.title} ({builder.paper})",
                    _what(module.__doc__ or "", builder.title),
                    "yes" if builder.takes_edge_features else "no",
                    ", ".join(f"`{kind.name}`" for kind in model.structure) or "–",
                    f"{model.num_parameters:,}",
                ]
            )
    return markdown(header, sorted(rows))


def _files() -> list[str]:
    """The modules of ``mshgnn.models`` that define models."""
    found = (module.name for module in iter_modules(models.__path__) if not module.ispkg)
    return [file for file in found if hasattr(import_module(f"{models.__name__}.{file}"), "MODELS")]


def _what(doc: str, title: str) -> str:
    """The first sentence of a module's docstring, without the name and the paper that stand in other columns."""
    first = _PAPER.sub("", " ".join(doc.strip().split("\n\n")[0].split())).removesuffix(".")
    name, colon, rest = first.partition(": ")
    return rest if colon and len(name) <= len(title) + 8 else first

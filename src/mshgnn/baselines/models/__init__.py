"""One file a model: every module here defines ``MODELS``, the builders it adds by name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from mshgnn.baselines.builder import ModelBuilder
from mshgnn.errors import UserError


def collect() -> dict[str, ModelBuilder]:
    """The builders of all modules of this package; a name given twice is an error."""
    models: dict[str, ModelBuilder] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        for name, builder in import_module(f"{__name__}.{module.name}").MODELS.items():
            if name in models:
                raise UserError(f"two models are called {name!r}, one of them in {module.name}.py")
            models[name] = builder
    return models

"""Models by name, MSH-GNN and its competitors: one file per model, which defines ``MODELS``.

``gcn``, ``gat``, ``gatv2``, ``gin``, ``gine``, ``sage``, ``film``, ``pna`` and ``transformer`` are messages in
:class:`mshgnn.nn.GraphModel`, where only the message differs; ``msh-stable``, ``msh-paper`` and ``msh-released`` are
the presets of :class:`mshgnn.nn.MSHGNN`. ``joint-*`` and ``*-tuned`` are as others have them, and ``mlp`` never looks
at an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import torch
from torch_geometric.data import Data

from mshgnn.errors import UserError, did_you_mean
from mshgnn.machine import check_memory
from mshgnn.models.builder import ModelBuilder
from mshgnn.nn import MSHGNN, Model
from mshgnn.nn.model import Task
from mshgnn.nn.options import check_value, resolve_options
from mshgnn.nn.pretrained import fill_weights, read_config

__all__ = ["MODELS", "ModelBuilder", "build", "from_pretrained", "measured_options", "resolve"]

COPIES, BYTES = 4, 4
"""Of each weight: itself, its gradient and the two moments of Adam; of a number."""
FEW = 10**6  # weights that fit any memory; a limit below is meant for what grows with the graph


def _collect() -> dict[str, ModelBuilder]:
    models: dict[str, ModelBuilder] = {}
    for module in iter_modules(__path__):
        if module.ispkg:
            continue
        # What several models share lies beside them and defines none.
        for name, builder in getattr(import_module(f"{__name__}.{module.name}"), "MODELS", {}).items():
            if name in models:
                raise RuntimeError(f"two models are called {name!r}, one of them in {module.name}.py")
            models[name] = builder
    return dict(sorted(models.items()))


MODELS: dict[str, ModelBuilder] = _collect()


def resolve(name: str, options: Mapping[str, object] | None = None) -> dict[str, Any]:
    """All options of a model, defaults included, checked and JSON-able; a mistake is a ``UserError`` of one line."""
    builder, given = _builder(name), dict(options or {})
    if "edge_dim" in given and not builder.takes_edge_features:
        able = [other for other, candidate in MODELS.items() if candidate.takes_edge_features]
        raise UserError(f"{name} takes no edge features; {', '.join(able[:-1])} and {able[-1]} do")
    return resolve_options("it", builder.options, given, prefix=f"model {name}: ")


def _builder(name: str) -> ModelBuilder:
    if name not in MODELS:
        raise UserError(f"unknown model {name!r}{did_you_mean(name, MODELS)}")
    return MODELS[name]


def measured_options(name: str, graphs: Sequence[Data]) -> dict[str, object]:
    """The options of a model that its training graphs decide; ``{}`` for most. Given options go before them."""
    measure = _builder(name).measure
    return {} if measure is None else dict(measure(graphs))


def build(
    name: str, in_channels: int, out_channels: int, *, task: Task, options: Mapping[str, object] | None = None
) -> Model:
    """Build a model by name; an unknown name or option, or an impossible value, is a ``UserError`` of one line."""
    resolved = resolve(name, options)
    check_value("task", Task, task)
    if task not in MODELS[name].tasks:
        raise UserError(f"model {name}: it is for {MODELS[name].tasks[0]} tasks alone, not for {task} tasks")
    construct = partial(MODELS[name].construct, in_channels, out_channels, task=task, **resolved)
    try:
        _check_weights(construct)
        model = construct()
    except UserError as error:
        raise UserError(f"model {name}: {error}") from None
    model.options = {"in_channels": in_channels, "out_channels": out_channels, "task": task, **resolved}
    if not isinstance(model, MSHGNN):  # whose options alone say which preset it is
        model.saved_as = name
    return model


def _check_weights(construct: Callable[[], Model]) -> None:
    """Refuse weights that do not fit the memory, before there are any; training takes four numbers for each of them."""
    if torch.get_default_device().type == "meta":  # an outline itself
        return
    with torch.device("meta"):
        outline = construct()
    count = sum(tensor.numel() for tensor in (*outline.parameters(), *outline.buffers()))
    if count > FEW:
        check_memory(f"training {count:,} weights", COPIES * BYTES * count)


def from_pretrained(folder: str | Path) -> Model:
    """Read any model of :data:`MODELS`, or an :class:`MSHGNN`, that ``save_pretrained`` wrote."""
    name, options = read_config(Path(folder))
    if name == MSHGNN.__name__:
        return MSHGNN.from_pretrained(folder)
    widths = {width: options.pop(width) for width in ("in_channels", "out_channels")}
    task = options.pop("task", "graph")
    return fill_weights(lambda: build(name, **widths, task=task, options=options), Path(folder))

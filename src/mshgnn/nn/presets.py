"""The three presets of the model: plain sets of options of the same classes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from mshgnn.errors import UserError, did_you_mean

PRESETS: dict[str, dict[str, object]] = {
    # The equations as printed.
    "paper": {
        "hidden_channels": 64,
        "num_layers": 3,
        "num_projections": 16,
        "phase": True,
        "aggr": "sum",
        "self_loops": False,
        "normalize": False,
        "phase_scale": None,
        "update": "mlp",
        "readout": "frequency",
        "readout_channels": 16,
        "readout_reduce": "mean",
        "embed_norm": False,
        "dropout": 0.1,
    },
    # What the authors' public code computes.
    "released": {
        "hidden_channels": 64,
        "num_layers": 2,
        "num_projections": 64,
        "phase": False,
        "aggr": "mean",
        "self_loops": True,
        "normalize": False,
        "phase_scale": None,
        "update": "concat",
        "readout": "attention",
        "embed_norm": False,
        "dropout": 0.1,
    },
    # The defaults of MSHGNN.
    "stable": {},
}


def preset_options(model: type, preset: str, overrides: Mapping[str, object]) -> dict[str, Any]:
    """Options of ``preset`` with ``overrides`` on top, each name checked against the model's constructor."""
    if preset not in PRESETS:
        raise UserError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    check_option_names(model, overrides)
    return {**PRESETS[preset], **overrides}


def check_option_names(model: type, options: Mapping[str, object]) -> None:
    """Raise ``ValueError`` naming the nearest option for every name the constructor does not know."""
    known = [name for name in inspect.signature(model).parameters if name != "self"]
    for name in options:
        if name not in known:
            raise UserError(f"{model.__name__} has no option {name!r}{did_you_mean(name, known)}")

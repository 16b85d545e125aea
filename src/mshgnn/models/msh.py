"""MSH-GNN: the presets of the model."""

from __future__ import annotations

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn import MSHGNN, PRESETS
from mshgnn.nn.options import options_of

PAPERS = {
    "stable": "this package's defaults: the harmonic message, made to train",
    "paper": "the equations as printed",
    "released": "what the authors' public code computes",
}


def preset(name: str) -> ModelBuilder:
    """A builder of one preset: MSHGNN's options with other defaults."""
    options = {
        option: parameter.replace(default=PRESETS[name].get(option, parameter.default))
        for option, parameter in options_of(MSHGNN).items()
    }
    return ModelBuilder(f"MSH-GNN {name}", PAPERS[name], "ours", MSHGNN, options)


MODELS = {f"msh-{name}": preset(name) for name in PRESETS}

"""Models by name: every baseline and control network, and MSH-GNN itself, behind one door.

``gcn``, ``gat``, ``gatv2``, ``sage``, ``gin``, ``film`` and ``msh-shared`` live in the shared shell, where only
the message differs; ``gcn-own`` and so on are as in the model's paper; ``joint-gcn`` and ``joint-gat`` are those
of the joint structure-frequency task; ``mlp`` never looks at an edge; ``msh-stable``, ``msh-paper`` and
``msh-released`` are the presets of :class:`mshgnn.nn.MSHGNN`.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from mshgnn.baselines.base import Task
from mshgnn.baselines.builder import ModelBuilder, build_model
from mshgnn.baselines.models import collect

MODELS: dict[str, ModelBuilder] = collect()


def build(
    name: str, in_channels: int, out_channels: int, *, task: Task, options: Mapping[str, object] | None = None
) -> nn.Module:
    """Build a model by name; an unknown name or option, or an impossible value, is a ``ValueError``."""
    return build_model(MODELS, name, in_channels, out_channels, task, options or {})


__all__ = ["MODELS", "ModelBuilder", "build"]

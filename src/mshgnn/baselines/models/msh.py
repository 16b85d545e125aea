"""MSH-GNN: the harmonic layer in the shared shell, and the model's presets."""

from __future__ import annotations

from pydantic import PositiveInt
from torch import nn

from mshgnn.baselines.base import Task
from mshgnn.baselines.builder import ModelBuilder, option_types
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.nn import MSHGNN, PRESETS, MSHConv


def msh_message(channels: int, *, num_projections: PositiveInt = 16) -> nn.Module:
    """The message alone, for the shared shell, which has the node's own term already."""
    return MSHConv(channels, channels, num_projections, root_weight=False)


def preset(name: str) -> ModelBuilder:
    """A builder of one preset; its options are all of the model's."""

    def construct(in_channels: int, out_channels: int, *, task: Task, **options: object) -> MSHGNN:
        return MSHGNN.from_preset(name, in_channels, out_channels, task=task, **options)

    return ModelBuilder(construct, option_types(MSHGNN))


MODELS = {"msh-shared": in_shared_shell(msh_message)} | {f"msh-{name}": preset(name) for name in PRESETS}

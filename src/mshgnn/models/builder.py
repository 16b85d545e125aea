"""Models by name: a constructor, the options it takes, and how pages call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from torch import nn
from torch_geometric.data import Data

from mshgnn.nn import FrequencyAwarePooling, GraphModel, Model
from mshgnn.nn.model import Task
from mshgnn.nn.options import options_of


@dataclass(frozen=True)
class ModelBuilder:
    """A constructor ``construct(in_channels, out_channels, *, task, <options>)`` with what there is to say about it."""

    title: str
    """The name that pages print."""
    paper: str
    """Who published it, or in one line what it is."""
    origin: str
    """Whose code it is here, and in what it differs from its authors', in one line."""
    construct: Callable[..., Model]
    options: Mapping[str, Parameter]
    """Type and default of every option, from the signature."""
    tasks: tuple[Task, ...] = ("graph", "node")
    """The tasks that its paper has."""
    measure: Callable[[Sequence[Data]], Mapping[str, object]] | None = None
    """Options that are measured on the training graphs, such as a histogram of degrees; it looks at no target."""

    @property
    def takes_edge_features(self) -> bool:
        """Whether the model can be given ``edge_attr``."""
        return "edge_dim" in self.options


def around(title: str, paper: str, origin: str, make_message: Callable[..., nn.Module]) -> ModelBuilder:
    """:class:`GraphModel` around ``make_message(channels, *, <options>)``: it takes the options of both.

    A message that takes edge features has the option ``edge_dim``. The readout of harmonic messages, and with it its
    options, is out of reach, and so is a first layer without an encoder, which keeps no width.
    """
    own = options_of(make_message)
    void = {"raw_up_to", *FrequencyAwarePooling.model_options} | ({"edge_dim"} - {*own})
    shell = {name: option for name, option in options_of(GraphModel).items() if name not in void}

    def construct(in_channels: int, out_channels: int, *, task: Task, **options: Any) -> GraphModel:
        of_message = {name: options[name] for name in own}
        return GraphModel(
            in_channels,
            out_channels,
            lambda channels: make_message(channels, **of_message),
            task=task,
            **{name: options[name] for name in shell},
        )

    return ModelBuilder(title, paper, origin, construct, {**shell, **own})

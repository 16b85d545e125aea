"""Exact inference on one large graph in bounded memory: layer after layer, a chunk of receivers at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from mshgnn.data.mapped import MappedArray
from mshgnn.data.sampling import ALL, Ints
from mshgnn.machine import memory_limit
from mshgnn.training.node_store import NodeStore, edges_of

SHARE = 8
"""A chunk may take one part in so many of the memory allowed; so may each of the two arrays of states."""
WIDE_ROWS = 16
"""Rows of the width of the states that a chunk makes for each of its nodes and edges, at most."""


class ByLayers(Protocol):
    """A model whose layers need nothing but the states of a node and of its senders (see ``GraphModel``)."""

    hops: int | None

    def encode(self, x: Tensor) -> Tensor:
        """First states ``[n, d]``."""

    def advance(
        self, number: int, h: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, *, receivers: int
    ) -> Tensor:
        """The next states of the first ``receivers`` nodes."""

    def embedding_of(self, h: Tensor) -> Tensor:
        """What the head sees of last states."""

    def decode(self, h: Tensor) -> Tensor:
        """Outputs ``[n, out]``."""


@dataclass(frozen=True)
class LayerByLayer:
    """Stands where batches do: the outputs of the ``wanted`` nodes, equal to those of one pass over the whole graph."""

    store: NodeStore
    wanted: Tensor
    device: torch.device

    @torch.no_grad()
    def outputs(self, model: nn.Module) -> Tensor:
        """The outputs ``[len(wanted), out]`` of a model in evaluation mode."""
        by_layers = cast(ByLayers, model)
        return self._finished(by_layers, by_layers.decode)

    @torch.no_grad()
    def embeddings(self, model: nn.Module) -> Tensor:
        """What the head sees ``[len(wanted), d]`` in evaluation mode."""
        by_layers = cast(ByLayers, model)
        return self._finished(by_layers, by_layers.embedding_of)

    def _finished(self, model: ByLayers, finish: Callable[[Tensor], Tensor]) -> Tensor:
        nodes, device = np.arange(len(self.store)), self.device
        width = model.encode(self.store.features(nodes[:1]).to(device)).size(1)
        with ExitStack() as stack:
            states = self._room(width, stack)
            for piece in np.array_split(nodes, -(-len(nodes) // self._elements(self.store.x.size(1)))):
                states.values[piece[0] : piece[-1] + 1] = model.encode(self.store.features(piece).to(device))
                states.forget()
            for number in range(model.hops or 0):
                states = self._advanced(model, number, states, stack)
            pieces = torch.split(self.wanted, self._elements(states.values.size(1)))
            return torch.cat([finish(states.take(piece.numpy()).to(device)) for piece in pieces])

    def _advanced(self, model: ByLayers, number: int, states: _States, stack: ExitStack) -> _States:
        """The states after one layer more."""
        sampler, new = self.store.sampler(), None
        for begin, end in self.store.chunks(self._elements(states.values.size(1))):
            part = sampler.around(np.arange(begin, end), (ALL,))
            edge_attr = self.store.edge_features(part)
            found = model.advance(
                number,
                states.take(part.nodes).to(self.device),
                edges_of(part).to(self.device),
                None if edge_attr is None else edge_attr.to(self.device),
                receivers=end - begin,
            )
            new = new or self._room(found.size(1), stack)
            new.values[begin:end] = found
            for read in (self.store, states, new):
                read.forget()
        assert new is not None
        return new

    def _elements(self, width: int) -> int:
        """Nodes and edges that a chunk may have."""
        return max(1, memory_limit() // (SHARE * WIDE_ROWS * 4 * width))

    def _room(self, width: int, stack: ExitStack) -> _States:
        """Room for states ``[N, width]``: in memory, or in a file where they would take too much of it."""
        if 4 * len(self.store) * width <= memory_limit() // SHARE:
            return _States(torch.empty(len(self.store), width))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mshgnn-"))
        file = MappedArray.create(Path(folder) / "states.npy", (len(self.store), width), np.float32)
        return _States(torch.from_numpy(file.values), file)


class _States(NamedTuple):
    """States of all nodes ``[N, d]``, and the file they lie in, if any."""

    values: Tensor
    file: MappedArray | None = None

    def take(self, nodes: Ints) -> Tensor:
        """The states of some nodes."""
        return self.values[torch.from_numpy(nodes)] if self.file is None else torch.from_numpy(self.file.take(nodes))

    def forget(self) -> None:
        """Give back the file's pages."""
        if self.file is not None:
            self.file.forget()

"""Exact inference on one large graph in bounded memory: layer after layer, a chunk of receivers at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
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

CHUNK_SHARE = 4
"""A chunk may take one part in so many of the memory allowed."""
ARRAY_SHARE = 6
"""So may each of the three arrays that have a row of every node: states, next states, and what senders hand over."""
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

    def sender_rows(self, number: int, h: Tensor) -> Tensor | None:
        """All that a layer reads of senders with these states, ``[n, w]``; ``None`` where it needs ``advance``."""

    def advance_from(
        self, number: int, h: Tensor, rows: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None
    ) -> Tensor:
        """The next states of nodes with states ``h`` who hear the senders of these rows."""

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
        def encoded(begin: int, end: int) -> Tensor:
            return model.encode(self.store.features(np.arange(begin, end)).to(self.device))

        states = self._made(encoded, self.store.x.size(1))
        for number in range(model.hops or 0):
            states = self._advanced(model, number, states)
        pieces = torch.split(self.wanted, self._elements(states.values.size(1)))
        return torch.cat([finish(states.take(piece.numpy()).to(self.device)) for piece in pieces])

    def _advanced(self, model: ByLayers, number: int, states: _Rows) -> _Rows:
        """The states after one layer more.

        A sender is heard by receivers of many chunks. Where the layer has rows of senders, they are made once for all.
        """

        def handed_over(begin: int, end: int) -> Tensor:
            rows = model.sender_rows(number, states.values[begin:end].to(self.device))
            assert rows is not None
            states.forget()
            return rows

        has_rows = model.sender_rows(number, states.values[:1].to(self.device)) is not None
        width = states.values.size(1)
        heard = self._made(handed_over, width) if has_rows else states
        sampler, new = self.store.sampler(), None
        for begin, end in self.store.chunks(self._elements(max(width, heard.values.size(1)))):
            if has_rows and heard.file is None and self.device.type == "cpu":
                senders, (edges, edge_attr) = heard.values, self.store.edges_to(begin, end)
            else:
                part = sampler.around(np.arange(begin, end), (ALL,))
                senders, edges, edge_attr = heard.take(part.nodes), edges_of(part), self.store.edge_features(part)
            senders, edges = senders.to(self.device), edges.to(self.device)
            edge_attr = None if edge_attr is None else edge_attr.to(self.device)
            if has_rows:
                own = states.values[begin:end].to(self.device)
                found = model.advance_from(number, own, senders, edges, edge_attr)
            else:
                found = model.advance(number, senders, edges, edge_attr, receivers=end - begin)
            new = new or self._room(found.size(1))
            new.values[begin:end] = found
            for read in (self.store, states, heard, new):
                read.forget()
        assert new is not None
        return new

    def _made(self, make: Callable[[int, int], Tensor], width: int) -> _Rows:
        """Rows of all nodes, made in pieces of theirs, each from ``width`` numbers."""
        room = None
        for begin in range(0, len(self.store), step := self._elements(width)):
            end = min(begin + step, len(self.store))
            found = make(begin, end)
            room = room or self._room(found.size(1))
            room.values[begin:end] = found
            room.forget()
        assert room is not None
        return room

    def _elements(self, width: int) -> int:
        """Nodes and edges that a chunk may have."""
        return max(1, memory_limit() // (CHUNK_SHARE * WIDE_ROWS * 4 * width))

    def _room(self, width: int) -> _Rows:
        """Room for rows ``[N, width]``: in memory, or in a file where they would take too much of it.

        The file loses its name at once. So its room on the disk is free with the array, whatever ends the process.
        """
        if 4 * len(self.store) * width <= memory_limit() // ARRAY_SHARE:
            return _Rows(torch.empty(len(self.store), width))
        with tempfile.TemporaryDirectory(prefix="mshgnn-") as folder:
            file = MappedArray.create(Path(folder) / "states.npy", (len(self.store), width), np.float32)
        return _Rows(torch.from_numpy(file.values), file)


class _Rows(NamedTuple):
    """A row of every node ``[N, d]``, and the file they lie in, if any."""

    values: Tensor
    file: MappedArray | None = None

    def take(self, nodes: Ints) -> Tensor:
        """Those of some nodes."""
        return self.values[torch.from_numpy(nodes)] if self.file is None else torch.from_numpy(self.file.take(nodes))

    def forget(self) -> None:
        """Give back the file's pages."""
        if self.file is not None:
            self.file.forget()

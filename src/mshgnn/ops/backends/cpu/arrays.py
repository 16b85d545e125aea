"""What both ways of making phases share on the way from tensors to the kernels' arrays and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mshgnn.ops.backends.cpu.plan import Chunk
from mshgnn.ops.backends.cpu.threads import run_chunks
from mshgnn.ops.graph import ReceiverCSR
from mshgnn.ops.inputs import GATE_ACTIVATIONS, Inputs

Floats = npt.NDArray[np.float32]
NOTHING: Floats = np.empty(0, np.float32)
GATINGS = ("none", *GATE_ACTIVATIONS)  # the kernels know them by number
SENDER_BLOCK = 2**13  # rows of sender gradients that one thread adds up at a time


def flat(tensor: Tensor | None) -> Floats:
    """The numbers of a tensor in their order, nothing for ``None``."""
    return NOTHING if tensor is None else tensor.detach().contiguous().numpy().reshape(-1)


def gating_of(inputs: Inputs) -> int:
    """The gate as the kernels know it."""
    return 0 if inputs.gate is None else GATINGS.index(inputs.gate_activation)


def graph_of(inputs: Inputs) -> ReceiverCSR:
    """The graph, which the kernels read in receiver order alone."""
    assert isinstance(inputs.graph, ReceiverCSR)
    return inputs.graph


def lanes_for(num_projections: int) -> int:
    """Projections that a kernel takes at a time: 16 or 8, whichever padding wastes less."""
    return 16 if (num_projections - 1) % 16 >= 8 else 8


def are_doubling(frequencies: Tensor) -> bool:
    """Is every frequency twice the one before it?"""
    return all(2 * low == high for low, high in pairwise(frequencies.tolist()))


def make_outputs(inputs: Inputs) -> tuple[Tensor, Tensor | None, tuple[Floats, Floats]]:
    """Room for ``S`` and, with a gate, ``G``, and the same as flat arrays."""
    S = torch.empty(inputs.phases.num_receivers, inputs.out_channels)
    G = None if inputs.gate is None else torch.empty_like(S)
    return S, G, (flat(S), flat(G))


def per_edge(inputs: Inputs) -> Iterator[tuple[str, Tensor | None]]:
    """The tensors that have one row per edge, by name."""
    yield "edge_phase", inputs.edge_phase
    yield "edge_weight", inputs.edge_weight


def single(sums: npt.NDArray[np.float64]) -> Tensor:
    """The float64 sums of the chunks, added and rounded once."""
    return torch.from_numpy(sums.sum(0)).float()


def add_senders(chunks: Sequence[Chunk], parts: Sequence[Tensor], total: Tensor) -> None:
    """Add the gradients ``parts`` of ``chunks``, in their order, to ``total [S, width]``, a view of any strides."""
    num_senders = total.size(0)
    array, arrays = total.numpy(), [part.numpy() for part in parts]

    def work(block: int) -> None:
        first, last = block * SENDER_BLOCK, min((block + 1) * SENDER_BLOCK, num_senders)
        for chunk, part in zip(chunks, arrays, strict=True):
            low, high = max(first, chunk.low), min(last, chunk.high)
            if low < high:
                array[low:high] += part[low - chunk.low : high - chunk.low]

    blocks = -(-num_senders // SENDER_BLOCK)
    if blocks == 1:
        work(0)
    else:
        run_chunks(work, blocks)

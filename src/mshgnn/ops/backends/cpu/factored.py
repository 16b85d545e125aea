"""Running the factored phase: tables in, sums out, everything per edge in numba kernels.

Saved for the backward pass are the tables alone; phases are computed again. Chunks have their own buffers, summed in
order: the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from mshgnn.ops.backends.cpu.arrays import (
    add_senders,
    are_doubling,
    flat,
    gating_of,
    graph_of,
    lanes_for,
    make_outputs,
    per_edge,
    single,
)
from mshgnn.ops.backends.cpu.compile import Known, factored_kernels
from mshgnn.ops.backends.cpu.plan import Cost, Plan, plan_for
from mshgnn.ops.backends.cpu.threads import run_chunks
from mshgnn.ops.inputs import Factored, Inputs

KNOWN_RANK, KNOWN_BANDS = 2, 3
"""Plain sums of at most this rank with so many frequencies have kernels of their own: the default layer among them."""
WORK_PER_PHASE = 40
"""Multiply-adds that a phase with its sines is worth."""


class Kept(NamedTuple):
    """What a forward pass leaves for the backward pass: the arguments both kernels share."""

    lanes: int
    padded: int  # projections
    known: Known | None
    plan: Plan
    arguments: tuple[Any, ...]


def _prepare(inputs: Inputs) -> Kept:
    phases = inputs.phases
    assert isinstance(phases, Factored)
    F, rank = phases.num_projections, phases.rank
    lanes = lanes_for(F)
    more = -F % lanes
    padded = F + more
    plan = plan_for(
        graph_of(inputs),
        phases.num_senders,
        Cost(WORK_PER_PHASE * padded, WORK_PER_PHASE * padded, padded * (rank + 1), 0),
    )
    width = (rank + 1) * padded
    num_bands, doubling = inputs.frequencies.numel(), are_doubling(inputs.frequencies)
    common = rank <= KNOWN_RANK and num_bands == KNOWN_BANDS and doubling and padded == lanes and inputs.gate is None
    receiver, sender, edge_phase, gate = phases.receiver, phases.sender, inputs.edge_phase, inputs.gate
    if more:
        receiver = _padded(receiver, F, more)
        sender = None if sender is None else _padded(sender, F, more)
        edge_phase = None if edge_phase is None else _padded(edge_phase, F, more)
        gate = None if gate is None else _padded(gate.view(1, -1), F, more)
    table, stride = flat(receiver), receiver.size(1)
    senders = (table, stride, width) if sender is None else (flat(sender), width, 0)
    arguments = (
        rank, F, padded, table, stride, *senders, plan.rowptr, plan.senders, flat(edge_phase),
        flat(inputs.edge_weight), flat(inputs.frequencies), doubling, flat(gate), gating_of(inputs),
    )  # fmt: skip
    return Kept(lanes, padded, Known(rank, num_bands) if common else None, plan, arguments)


def forward(inputs: Inputs, keep: bool) -> tuple[Tensor, Tensor | None, Kept | None]:
    """``S``, with a gate ``G``, and with ``keep`` what the backward pass can use."""
    kept = _prepare(inputs)
    S, G, outputs = make_outputs(inputs)
    kernel = factored_kernels(kept.lanes, kept.known).forward
    chunks = kept.plan.chunks

    def work(index: int) -> None:
        kernel(chunks[index].first, chunks[index].last, *kept.arguments, *outputs)

    run_chunks(work, len(chunks))
    return S, G, kept if keep else None


def backward(
    inputs: Inputs, grad_S: Tensor, grad_G: Tensor | None, needs: Mapping[str, bool], kept: Kept | None
) -> dict[str, Tensor | None]:
    """The gradients that are needed, by the names of ``inputs.tensors()``."""
    phases = inputs.phases
    assert isinstance(phases, Factored)
    kept = kept or _prepare(inputs)
    F, padded, rank, num_bands = phases.num_projections, kept.padded, phases.rank, inputs.frequencies.numel()
    width, chunks = (rank + 1) * padded, kept.plan.chunks
    both = phases.sender is None
    # The receiver's half is written by the kernels, the sender's is added up: in one table if there is one. The first
    # chunk adds to the table itself, each other one to a buffer of its own.
    table = torch.empty(phases.num_receivers, width * (2 if both else 1))
    senders = table[:, width:].zero_() if both else torch.zeros(phases.num_senders, width)
    buffers = [torch.empty(chunk.high - chunk.low, width) for chunk in chunks[1:]]
    found: dict[str, Tensor | None] = {
        name: torch.empty(tensor.size(0), *([padded] if tensor.dim() > 1 else []))
        if needs[name] and tensor is not None
        else None
        for name, tensor in per_edge(inputs)
    }
    frequency_sums = np.zeros((len(chunks), num_bands * padded if needs["frequencies"] else 0))
    gate_sums = np.zeros((len(chunks), 2 * num_bands * padded if inputs.gate is not None else 0))
    shared = flat(grad_S), flat(grad_G), table.numpy().reshape(-1), table.size(1)
    rows = flat(found["edge_phase"]), flat(found["edge_weight"])
    known = None if needs["edge_weight"] or needs["frequencies"] else kept.known
    kernel = factored_kernels(kept.lanes, known).backward

    def work(index: int) -> None:
        chunk = chunks[index]
        if index:
            target, start, low = buffers[index - 1].zero_(), 0, chunk.low
        else:
            target, start, low = (table, width, 0) if both else (senders, 0, 0)
        kernel(
            chunk.first, chunk.last, *kept.arguments, *shared, target.numpy().reshape(-1), target.size(1), start, low,
            *rows, frequency_sums[index], gate_sums[index],
        )  # fmt: skip

    run_chunks(work, len(chunks))
    add_senders(chunks[1:], buffers, senders)
    found["receiver"] = _trimmed(table, F, padded)
    if not both:
        found["sender"] = _trimmed(senders, F, padded)
    if found["edge_phase"] is not None:
        found["edge_phase"] = _trimmed(found["edge_phase"], F, padded)
    if needs["frequencies"]:
        found["frequencies"] = single(frequency_sums.reshape(len(chunks), num_bands, padded).sum(2))
    if needs["gate"]:
        found["gate"] = _trimmed(single(gate_sums).view(1, -1), F, padded).view(-1)
    return found


def _padded(rows: Tensor, F: int, more: int) -> Tensor:
    """Every block of ``F`` columns with ``more`` zeros behind it."""
    return pad(rows.reshape(rows.size(0), rows.size(1) // F, F), (0, more)).flatten(1)


def _trimmed(rows: Tensor, F: int, padded: int) -> Tensor:
    """The first ``F`` columns of every block of ``padded``."""
    if padded == F:
        return rows
    blocks = rows.size(1) // padded
    return rows.reshape(rows.size(0), blocks, padded)[:, :, :F].reshape(rows.size(0), blocks * F)

"""The fused kernels against plain torch: small graphs of every shape, all options, both generators."""

from __future__ import annotations

import random
from unittest.mock import patch

import torch
from aggregate_cases import (
    GATES,
    Case,
    Phases,
    assert_as_good_as_plain_float32,
    assert_close_to_plain_float32,
    draw_factored,
    draw_generated,
    make_case,
    run,
)
from torch import Tensor

from fuzz.targets import Target
from mshgnn.ops import Factored, Generated
from mshgnn.ops.backends import reference
from mshgnn.ops.backends.cpu import generated, plan

FREQUENCIES = [(1.0,), (0.5,), (1.0, 2.0), (1.0, 2.0, 4.0), (0.25, 0.5, 1.0, 2.0, 4.0), (1.0, 3.0), (0.37, 1.9, 2.3)]
MOST_NODES, MOST_EDGES, MOST_PROJECTIONS, MOST_WIDTH, MOST_BANDS = 9, 24, 18, 18, 32
BAND_ERROR = 3e-6
"""Three doublings make 9e-8 of a sine or cosine up to 2.3e-6, the most in 2 x 10^8 phases."""
LARGEST_PHASE = 6.0


def draw_edges(draw: random.Random, num_senders: int, num_receivers: int) -> Tensor:
    """Any edges: loops, duplicates, hubs, nodes without any, sorted or not, none at all."""
    count = draw.choice([0, 1, 2, draw.randint(0, MOST_EDGES)])
    receivers = [draw.randrange(num_receivers) for _ in range(count)]
    if draw.random() < 0.2:
        receivers = [receivers[0]] * count if count else []
    if draw.random() < 0.2:
        receivers.sort()
    senders = [draw.randrange(num_senders) for _ in range(count)]
    dtype = draw.choice([torch.int32, torch.int64])
    return torch.tensor([senders, receivers], dtype=dtype).view(2, count)


def draw_case(draw: random.Random) -> Case:
    """A graph with options."""
    seed, projections = draw.randrange(2**31), draw.randint(1, MOST_PROJECTIONS)
    num_receivers = draw.randint(1, MOST_NODES)
    one_table = draw.random() < 0.25
    num_senders = num_receivers if one_table else draw.randint(1, MOST_NODES)
    phases: Phases
    if not one_table and draw.random() < 0.6:
        phases = draw_generated(
            num_senders,
            num_receivers,
            width=draw.randint(1, MOST_WIDTH),
            receiver_width=draw.randint(1, MOST_WIDTH),
            projections=projections,
            phase=draw.random() < 0.5,
            seed=seed,
        )
    else:
        rank = draw.randint(0, 5)
        phases = draw_factored(
            num_senders, num_receivers, projections=projections, rank=rank, one_table=one_table, seed=seed
        )
    return make_case(
        phases,
        draw_edges(draw, num_senders, num_receivers),
        frequencies=draw.choice(FREQUENCIES),
        edge_phase=draw.random() < 0.4,
        edge_weight=draw.random() < 0.4,
        gate=draw.choice(GATES),
        seed=seed + 1,
    )


def draw_doubling_case(draw: random.Random) -> Case:
    """Many doubling frequencies and phases that are exact in float32, sums and doublings included."""
    nodes, projections = draw.randint(1, MOST_NODES), draw.randint(1, MOST_PROJECTIONS)
    generator = torch.Generator().manual_seed(draw.randrange(2**31))

    def exact(*shape: int) -> Tensor:
        return torch.randint(-3 * 2**20, 3 * 2**20, shape, generator=generator).double() / 2**20

    phases: Phases
    if draw.random() < 0.5:
        phases = Factored(exact(nodes, projections), exact(nodes, projections), projections)
    else:  # the sender's one feature, times one
        none, ones = torch.zeros(nodes, 1).double(), torch.ones(projections).double()
        phases = Generated(none, exact(nodes, 1), torch.zeros(projections, 1).double(), ones, exact(nodes, projections))
    frequencies = tuple(2.0**band for band in range(draw.randint(1, MOST_BANDS)))
    edges = draw_edges(draw, nodes, nodes)
    return make_case(phases, edges, frequencies=frequencies, edge_weight=draw.random() < 0.4, seed=nodes)


def check_doubling(draw: random.Random) -> None:
    """Each sine and cosine is wrong by :data:`BAND_ERROR` at most, and gradients by as much of what adds up to them."""
    case = draw_doubling_case(draw)
    inputs = case.inputs
    edges, bands = inputs.graph.sender.numel(), inputs.frequencies.numel()
    heaviest = 1.0 if inputs.edge_weight is None or not edges else inputs.edge_weight.abs().max().item()
    arriving = 2 * inputs.phases.num_projections * case.gradients[0].abs().max().item()
    sizes = {"output 0": edges * heaviest, "edge_weight": bands * arriving}
    through_phases = edges * heaviest * arriving * LARGEST_PHASE * inputs.frequencies.sum().item()
    found, expected = run(case), run(case, reference.aggregate, torch.float64)
    for name, truth in expected.items():
        error = (found[name].double() - truth).abs().max().item() if truth.numel() else 0.0
        allowed = BAND_ERROR * sizes.get(name, through_phases)
        assert error <= allowed, f"{bands} bands, {name}: error {error:.2e}, allowed {allowed:.2e}"


def check(draw: random.Random, _: object) -> None:
    if draw.random() < 0.1:
        check_doubling(draw)
        return
    case = draw_case(draw)
    # at times as on a large graph: in many chunks, with nothing kept for the backward pass
    chunk_work = draw.choice([plan.CHUNK_WORK, plan.CHUNK_WORK, 256])
    kept = draw.choice([generated.KEPT_FLOATS, generated.KEPT_FLOATS, 0])
    with patch.object(plan, "CHUNK_WORK", chunk_work), patch.object(generated, "KEPT_FLOATS", kept):
        try:
            assert_close_to_plain_float32(case)
        except AssertionError:  # plain float32 is wrong by as much, or the kernels are
            assert_as_good_as_plain_float32(case, factor=4.0)


KERNELS = Target("kernels", "The fused kernels agree with plain torch on outputs and every gradient.", 100_000, check)

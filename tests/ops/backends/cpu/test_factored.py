"""The kernels of the factored phase: outputs and every gradient, measured against float64."""

from __future__ import annotations

import pytest
import torch
from aggregate_cases import (
    GATES,
    assert_as_good_as_plain_float32,
    assert_close_to_plain_float32,
    assert_same_bits,
    draw_factored,
    everything,
    hub_edges,
    make_case,
    nearby_edges,
    random_edges,
    run,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.ops import Factored, Inputs, receiver_csr
from mshgnn.ops.backends import cpu
from mshgnn.ops.backends.cpu import factored, plan
from mshgnn.ops.inputs import GateActivation

LEARNED = (0.37, 1.9, 2.3)


@pytest.mark.parametrize("projections", [1, 7, 16, 33])
@pytest.mark.parametrize("rank", [0, 1, 2, 5])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("one_table", [False, True])
def test_odd_sizes(projections: int, rank: int, gate: GateActivation | None, one_table: bool) -> None:
    phases = draw_factored(30, 30, projections=projections, rank=rank, one_table=one_table)
    for index, dtype in enumerate((torch.int64, torch.int32)):
        edges = random_edges(30, 30, 200, seed=index).to(dtype)
        for edge_phase, edge_weight in ((False, False), (True, False), (False, True), (True, True)):
            assert_as_good_as_plain_float32(
                make_case(phases, edges, gate=gate, edge_phase=edge_phase, edge_weight=edge_weight)
            )


@pytest.mark.parametrize("frequencies", [(1.0,), (0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 2.0, 3.0), LEARNED])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("one_table", [False, True])
def test_frequency_sets(frequencies: tuple[float, ...], gate: GateActivation | None, one_table: bool) -> None:
    for projections in (7, 16):
        phases = draw_factored(25, 25, projections=projections, one_table=one_table)
        for per_edge in (False, True):
            case = make_case(
                phases,
                random_edges(25, 25, 150),
                frequencies=frequencies,
                gate=gate,
                edge_phase=per_edge,
                edge_weight=per_edge,
            )
            assert_as_good_as_plain_float32(case)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 1000, 10_000])
@pytest.mark.parametrize("one_table", [False, True])
def test_degrees(degree: int, one_table: bool) -> None:
    phases = draw_factored(40, 40, projections=16, one_table=one_table)
    for gate in GATES:
        for edge_weight in (False, True):
            assert_as_good_as_plain_float32(make_case(phases, hub_edges(degree), gate=gate, edge_weight=edge_weight))


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 6, 63, 1000, 10_000])
@pytest.mark.parametrize("one_table", [False, True])
def test_gradients_of_phases_alone(degree: int, one_table: bool) -> None:
    # without gate and the gradients of weights and frequencies, four edges are worked on together: code of its own
    # (one projection of a large hub is a single number, and plain float32 may have all the luck)
    for projections, rank in ((1 if degree < 1000 else 8, 0), (7, 2), (16, 2), (33, 5)):
        phases = draw_factored(40, 40, projections=projections, rank=rank, one_table=one_table)
        for edge_phase, edge_weight in ((False, False), (False, True), (True, False), (True, True)):
            case = make_case(phases, hub_edges(degree), edge_phase=edge_phase, edge_weight=edge_weight)
            assert_as_good_as_plain_float32(case, without=("frequencies", "edge_weight"))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("one_table", [False, True])
def test_several_chunks(one_table: bool, gate: GateActivation | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "CHUNK_WORK", 2**15)
    phases = draw_factored(400, 400, projections=7, one_table=one_table)
    for edges, chunks in ((nearby_edges(400, 3000), 16), (random_edges(400, 400, 3000), 4)):
        case = everything(phases, edges, gate)
        assert len(factored._prepare(case.at(torch.float32)).plan.chunks) == chunks
        assert_as_good_as_plain_float32(case)
        assert_as_good_as_plain_float32(case, without=("frequencies", "edge_weight"))


def test_bipartite() -> None:
    for gate in GATES:
        phases = draw_factored(50, 20, projections=5)
        assert_as_good_as_plain_float32(make_case(phases, random_edges(50, 20, 300), gate=gate, edge_weight=True))


def test_one_table_gives_the_bits_of_two() -> None:
    edges = random_edges(30, 30, 200)
    one = draw_factored(30, 30, projections=7, one_table=True)
    receiver, sender = one.receiver.chunk(2, dim=1)
    single = run(make_case(one, edges, gate="sigmoid"))
    double = run(make_case(Factored(receiver.contiguous(), sender.contiguous(), 7), edges, gate="sigmoid"))
    double["receiver"] = torch.cat([double["receiver"], double.pop("sender")], 1)
    assert_same_bits(single, double)


@pytest.mark.parametrize("num_bands", [4, 5, 8, 16, 32])
@pytest.mark.parametrize("gate", [None, "sigmoid"])
def test_many_doubling_frequencies_stay_accurate(num_bands: int, gate: GateActivation | None) -> None:
    # The phase is exactly the number given and powers of two multiply it exactly: nothing but the sines themselves can
    # err. A doubled angle has twice the error, so a chain of 32 that never begins again from the phase ends in noise.
    phase = torch.rand(40, 8) * 6 - 3
    graph = receiver_csr(torch.arange(40).repeat(2, 1), 40, 40)
    frequencies = 2.0 ** torch.arange(num_bands)
    inputs = Inputs(
        Factored(phase, torch.zeros(40, 8), 8),
        graph,
        frequencies,
        gate=None if gate is None else torch.zeros(2 * num_bands * 8),
    )
    angle = phase.double().unsqueeze(1) * frequencies.double().view(1, -1, 1)
    expected = torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
    total, gated = cpu.aggregate(inputs)
    assert (total.double() - expected).abs().max() < 2e-6
    if gated is not None:
        assert (2 * gated.double() - expected).abs().max() < 2e-6


@pytest.mark.parametrize("num_bands", [4, 8, 32])
def test_gradients_through_many_doubling_frequencies_stay_accurate(num_bands: int) -> None:
    phase = (torch.rand(40, 8) * 6 - 3).requires_grad_()
    inputs = Inputs(
        Factored(phase, torch.zeros(40, 8), 8),
        receiver_csr(torch.arange(40).repeat(2, 1), 40, 40),
        2.0 ** torch.arange(num_bands),
    )
    total, _ = cpu.aggregate(inputs)
    arriving = torch.randn_like(total)
    (found,) = torch.autograd.grad(total, phase, arriving)
    exact = phase.detach().double().requires_grad_()
    angle = exact.unsqueeze(1) * inputs.frequencies.double().view(1, -1, 1)
    (expected,) = torch.autograd.grad(torch.stack([angle.sin(), angle.cos()], 2).flatten(1), exact, arriving.double())
    assert (found.double() - expected).abs().max() < 2e-6 * expected.abs().max()


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_large_phases(size: float) -> None:
    phase = (torch.rand(50, 16) * 2 - 1) * size
    frequencies = torch.tensor([1.0, 3.0])
    graph = receiver_csr(torch.arange(50).repeat(2, 1), 50, 50)
    found, _ = cpu.aggregate(Inputs(Factored(phase, torch.zeros(50, 16), 16), graph, frequencies))
    angle = (phase.unsqueeze(1) * frequencies.view(1, -1, 1)).double()  # the product is rounded in float32, as always
    expected = torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
    assert (found.double() - expected).abs().max() < 2e-7


graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.integers(1, 12),
        st.lists(st.tuples(st.integers(0, 11), st.integers(0, n - 1)), max_size=60),
    )
)


@settings(max_examples=100, deadline=None)
@given(
    graph=graphs,
    projections=st.integers(1, 35),
    rank=st.integers(0, 5),
    one_table=st.booleans(),
    frequencies=st.sampled_from([(1.0, 2.0, 4.0), (1.0,), (0.7, 1.3)]),
    gate=st.sampled_from(GATES),
    edge_phase=st.booleans(),
    edge_weight=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_drawn_graphs(
    graph: tuple[int, int, list[tuple[int, int]]],
    projections: int,
    rank: int,
    one_table: bool,
    frequencies: tuple[float, ...],
    gate: GateActivation | None,
    edge_phase: bool,
    edge_weight: bool,
    seed: int,
) -> None:
    num_receivers, num_senders, pairs = graph
    if one_table:
        num_senders = num_receivers
    edges = torch.tensor([(u % num_senders, v) for u, v in pairs], dtype=torch.long).view(-1, 2).t().contiguous()
    phases = draw_factored(
        num_senders, num_receivers, projections=projections, rank=rank, one_table=one_table, seed=seed
    )
    assert_close_to_plain_float32(
        make_case(
            phases, edges, frequencies=frequencies, edge_phase=edge_phase, edge_weight=edge_weight, gate=gate,
            seed=seed + 1,
        )
    )  # fmt: skip

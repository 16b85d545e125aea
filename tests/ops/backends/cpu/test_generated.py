"""The kernels of the full generator: outputs and every gradient, measured against float64."""

from __future__ import annotations

import pytest
import torch
from aggregate_cases import (
    GATES,
    assert_as_good_as_plain_float32,
    assert_close_to_plain_float32,
    draw_generated,
    hub_edges,
    make_case,
    random_edges,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.ops.backends.cpu import generated
from mshgnn.ops.inputs import GateActivation


@pytest.mark.parametrize("width", [1, 5, 64, 100])
@pytest.mark.parametrize("projections", [1, 7, 16, 33])
@pytest.mark.parametrize("gate", GATES)
def test_odd_sizes(projections: int, width: int, gate: GateActivation | None) -> None:
    phases = draw_generated(30, 30, width=width, projections=projections)
    case = make_case(
        phases, random_edges(30, 30, 200), gate=gate, edge_phase=width == 5, edge_weight=projections in (7, 16)
    )
    assert_as_good_as_plain_float32(case)


@pytest.mark.parametrize("frequencies", [(1.0,), (0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 2.0, 3.0), (0.37, 1.9)])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("edge_weight", [False, True])
def test_frequency_sets(frequencies: tuple[float, ...], gate: GateActivation | None, edge_weight: bool) -> None:
    case = make_case(
        draw_generated(25, 25),
        random_edges(25, 25, 150),
        frequencies=frequencies,
        gate=gate,
        edge_phase=True,
        edge_weight=edge_weight,
    )
    assert_as_good_as_plain_float32(case)


@pytest.mark.parametrize("register", [8, 16])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 1000, 10_000])
def test_degrees(degree: int, register: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # both ways to group the sums, whatever this processor has
    monkeypatch.setattr(generated, "register_width", lambda: register)
    for gate in GATES:
        for edge_weight in (False, True):
            case = make_case(
                draw_generated(40, 40, projections=16), hub_edges(degree), gate=gate, edge_weight=edge_weight
            )
            assert_as_good_as_plain_float32(case)


@pytest.mark.parametrize("edge_weight", [False, True])
def test_several_tiles_and_chunks(edge_weight: bool) -> None:
    # 9,000 receivers of 64 x 16 projections are beyond one tile, one chunk and the size that is kept for backward
    phases = draw_generated(9000, 9000, width=64, projections=16)
    case = make_case(phases, random_edges(9000, 9000, 16000), gate="sigmoid", edge_weight=edge_weight)
    assert_as_good_as_plain_float32(case)


def test_bipartite_with_other_receiver_width() -> None:
    phases = draw_generated(50, 20, width=12, projections=5, receiver_width=7)
    assert_as_good_as_plain_float32(make_case(phases, random_edges(50, 20, 300), gate="softmax"))


def test_without_phase() -> None:
    assert_as_good_as_plain_float32(make_case(draw_generated(20, 20, phase=False), random_edges(20, 20, 90)))


graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
    )
)


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs,
    width=st.integers(1, 20),
    projections=st.integers(1, 20),
    frequencies=st.sampled_from([(1.0, 2.0, 4.0), (1.0,), (0.7, 1.3)]),
    gate=st.sampled_from(GATES),
    phase=st.booleans(),
    edge_phase=st.booleans(),
    edge_weight=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_generated_graphs(
    graph: tuple[int, list[tuple[int, int]]],
    width: int,
    projections: int,
    frequencies: tuple[float, ...],
    gate: GateActivation | None,
    phase: bool,
    edge_phase: bool,
    edge_weight: bool,
    seed: int,
) -> None:
    num_nodes, pairs = graph
    edges = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()
    phases = draw_generated(num_nodes, num_nodes, width=width, projections=projections, phase=phase, seed=seed)
    assert_close_to_plain_float32(
        make_case(
            phases, edges, frequencies=frequencies, edge_phase=edge_phase, edge_weight=edge_weight, gate=gate,
            seed=seed + 1,
        )
    )  # fmt: skip

"""The Triton kernels against float64: on a GPU, or interpreted on the CPU with ``TRITON_INTERPRET=1``.

``test_triton.py`` runs this file in a process of its own, for the interpreter must be chosen before the first import of
triton. On a machine with a GPU run it by its name.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from aggregate_cases import (
    Aggregate,
    Case,
    assert_as_good_as_plain_float32,
    assert_same_bits,
    draw_factored,
    everything,
    make_case,
    random_edges,
    run,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops import Inputs, ReceiverCSR, get_backend, harmonic_aggregate, last_backend, set_backend
from mshgnn.ops.backends import reference, triton

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEARNED = (0.37, 1.9, 2.3)
# loops, duplicates, a receiver (4) and a sender (3) without edges, node 5 with neither
KNOWN_EDGES = torch.tensor([[0, 0, 0, 1, 1, 2, 4, 4, 0, 1], [0, 0, 1, 1, 2, 3, 3, 0, 0, 0]])
NUM_NODES = 6


@pytest.fixture(autouse=True)
def _triton_backend() -> Iterator[None]:
    before = get_backend()
    set_backend("triton")
    yield
    set_backend(before)


def on_device(inputs: Inputs) -> Inputs:
    tensors = {name: None if t is None else t.to(DEVICE) for name, t in inputs.tensors().items()}
    assert isinstance(inputs.graph, ReceiverCSR)
    return inputs.with_tensors(tensors)._replace(graph=ReceiverCSR(*(index.to(DEVICE) for index in inputs.graph)))


def aggregate(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """The backend under test; cases are drawn on the CPU."""
    total, gated = harmonic_aggregate(on_device(inputs))
    assert last_backend() == "triton"
    return total.cpu(), gated


def assert_good(case: Case) -> None:
    assert_as_good_as_plain_float32(case, aggregate=aggregate)


@pytest.mark.parametrize("projections", [1, 7, 16, 33])
@pytest.mark.parametrize("rank", [0, 1, 2, 5])
@pytest.mark.parametrize("one_table", [False, True])
def test_odd_sizes(projections: int, rank: int, one_table: bool) -> None:
    phases = draw_factored(NUM_NODES, NUM_NODES, projections=projections, rank=rank, one_table=one_table)
    for per_edge in (False, True):
        assert_good(make_case(phases, KNOWN_EDGES, edge_phase=per_edge, edge_weight=per_edge))


@pytest.mark.parametrize("frequencies", [(1.0,), (0.5, 1.0, 2.0, 4.0, 8.0), LEARNED])
def test_frequency_sets(frequencies: tuple[float, ...]) -> None:
    phases = draw_factored(NUM_NODES, NUM_NODES, projections=7)
    assert_good(make_case(phases, KNOWN_EDGES, frequencies=frequencies, edge_phase=True, edge_weight=True))


@pytest.mark.parametrize("degree", [1, 33, 1000, 10_000])
def test_a_receiver_and_a_sender_of_any_degree(degree: int) -> None:
    hub = torch.zeros(degree, dtype=torch.long)
    leaves = torch.arange(degree) % 8
    for edges in (torch.stack([leaves, hub]), torch.stack([hub, leaves])):
        assert_good(everything(draw_factored(8, 8, projections=5), edges, None))


def test_more_projections_than_one_program_takes() -> None:
    assert triton.MOST_PROJECTIONS < 70
    assert_good(everything(draw_factored(4, 4, projections=70, rank=1), random_edges(4, 4, 12), None))


def test_bipartite_graphs_and_int32_indices() -> None:
    edges = random_edges(9, 4, 30).to(torch.int32)
    assert_good(everything(draw_factored(9, 4, projections=5), edges, None))


@pytest.mark.parametrize(("num_senders", "num_receivers"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_no_edges_and_no_nodes(num_senders: int, num_receivers: int) -> None:
    case = everything(draw_factored(num_senders, num_receivers), torch.empty(2, 0, dtype=torch.long), None)
    for name, found in run(case, aggregate).items():
        assert torch.count_nonzero(found) == 0, name


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_drawn_graphs(data: st.DataObject) -> None:
    num_nodes = data.draw(st.integers(1, 4))
    node = st.integers(0, num_nodes - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=12))
    edges = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()
    case = everything(draw_factored(num_nodes, num_nodes, projections=3, one_table=True), edges, None)
    plain, found = run(case, reference.aggregate), run(case, aggregate)
    for name, expected in plain.items():
        torch.testing.assert_close(found[name], expected, rtol=1e-4, atol=1e-4, msg=name)


def test_the_same_call_gives_the_same_bits_and_one_table_those_of_two() -> None:
    one = draw_factored(NUM_NODES, NUM_NODES, projections=7, one_table=True)
    receiver, sender = one.receiver.chunk(2, dim=1)
    single = run(everything(one, KNOWN_EDGES, None), aggregate)
    double = run(everything(one._replace(receiver=receiver, sender=sender), KNOWN_EDGES, None), aggregate)
    double["receiver"] = torch.cat([double["receiver"], double.pop("sender")], 1)
    assert_same_bits(single, double, run(everything(one, KNOWN_EDGES, None), aggregate))


@pytest.mark.parametrize("wanted", ["receiver", "sender", "frequencies", "edge_phase", "edge_weight"])
def test_one_gradient_alone(wanted: str) -> None:
    case = everything(draw_factored(NUM_NODES, NUM_NODES, projections=3), KNOWN_EDGES, None)
    tensors = case.at(torch.float32).tensors()
    frozen = {name: t if t is None or name == wanted else t.detach() for name, t in tensors.items()}
    total, _ = aggregate(case.inputs.with_tensors(frozen))
    leaf = frozen[wanted]
    assert leaf is not None
    (found,) = torch.autograd.grad(total, [leaf], case.gradients[0].float())
    assert torch.equal(found, run(case, aggregate)[wanted])


def test_tensors_that_are_not_contiguous() -> None:
    case = everything(draw_factored(NUM_NODES, NUM_NODES, projections=3), KNOWN_EDGES, None)
    inputs = on_device(case.at(torch.float32))
    strided = {name: None if t is None else torch.stack([t, t], -1)[..., 0] for name, t in inputs.tensors().items()}
    leaves = [t for t in inputs.tensors().values() if t is not None]
    results = []
    for own in (inputs, inputs.with_tensors(strided)):
        total, _ = harmonic_aggregate(own)
        gradient = torch.ones(1, device=DEVICE).expand_as(total)
        results.append([total, *torch.autograd.grad(total, leaves, gradient)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_gradients_are_differentiated_again_through_the_reference() -> None:
    case = everything(draw_factored(4, 4, projections=2, one_table=True), random_edges(4, 4, 8), None)

    def twice(function: Aggregate, dtype: torch.dtype) -> list[Tensor]:
        inputs = case.at(dtype)
        leaves = [t for t in inputs.tensors().values() if t is not None]
        total, _ = function(inputs)
        first = torch.autograd.grad(total.pow(2).sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(torch.stack([g.pow(2).sum() for g in first]).sum(), leaves))

    for found, expected in zip(twice(aggregate, torch.float32), twice(reference.aggregate, torch.float64), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3 * expected.abs().max().item())


def test_the_tables_alone_are_kept() -> None:
    case = make_case(draw_factored(4, 4, projections=3), random_edges(4, 4, 30), edge_weight=True)
    inputs = on_device(case.at(torch.float32))
    given_in = {t.data_ptr() for t in inputs.tensors().values() if t is not None}
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):  # type: ignore[func-returns-value]
        harmonic_aggregate(inputs)
    assert {t.data_ptr() for t in kept} == given_in


def test_autocast_leaves_phases_in_float32() -> None:
    case = everything(draw_factored(NUM_NODES, NUM_NODES, projections=3), KNOWN_EDGES, None)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        inside = run(case, aggregate)
    assert_same_bits(run(case, aggregate), inside)


def test_the_plan_of_a_graph_is_kept_until_the_graph_changes() -> None:
    inputs = on_device(make_case(draw_factored(NUM_NODES, NUM_NODES), KNOWN_EDGES).at(torch.float32))
    plan = triton.plan_for(inputs)
    assert triton.plan_for(inputs) is plan
    assert isinstance(inputs.graph, ReceiverCSR)
    inputs.graph.sender[0] = 5
    changed = triton.plan_for(inputs)
    assert changed is not plan
    rowptr, receiver, place = changed.by_sender
    assert place is not None
    for u in range(NUM_NODES):
        mine = place[rowptr[u] : rowptr[u + 1]]
        assert torch.equal(mine, (inputs.graph.sender == u).nonzero().flatten())
    assert torch.equal(receiver, inputs.graph.receiver[place])


def test_a_graph_that_is_none_is_refused_before_a_kernel_reads_it() -> None:
    inputs = on_device(make_case(draw_factored(NUM_NODES, NUM_NODES), KNOWN_EDGES).at(torch.float32))
    assert isinstance(inputs.graph, ReceiverCSR)
    rowptr, sender, order = inputs.graph
    with pytest.raises(UserError, match="sender holds node index 99"):
        harmonic_aggregate(inputs._replace(graph=ReceiverCSR(rowptr, torch.full_like(sender, 99), order)))
    with pytest.raises(UserError, match="rowptr must rise"):
        harmonic_aggregate(inputs._replace(graph=ReceiverCSR(rowptr.flip(0), sender, order)))


def test_what_it_has_no_kernels_for_is_said() -> None:
    phases = draw_factored(NUM_NODES, NUM_NODES)
    whole = on_device(make_case(phases, KNOWN_EDGES).at(torch.float32))
    gated = on_device(make_case(phases, KNOWN_EDGES, gate="sigmoid").at(torch.float32))
    double = on_device(make_case(phases, KNOWN_EDGES).at(torch.float64))
    for inputs, reason in (
        (gated, "no kernels for gates"),
        (double, "torch.float64, not torch.float32"),
        (whole._replace(frequencies=whole.frequencies[:0]), "no frequencies"),
    ):
        with pytest.raises(UserError, match=f"the triton backend does not apply: .*{reason}"):
            harmonic_aggregate(inputs)

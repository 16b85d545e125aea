"""No kernel reads an index that is out of bounds, whenever it became so."""

from __future__ import annotations

import pytest
import torch
from aggregate_cases import KINDS, Case, draw_kind, make_case, random_edges, run
from torch import Tensor

from mshgnn.ops import ReceiverCSR, harmonic_aggregate
from mshgnn.ops.backends import cpu
from mshgnn.ops.backends.cpu import generated, plan
from mshgnn.ops.graph import check_csr

pytestmark = pytest.mark.parametrize("kind", KINDS)
FAR = 10**8


def drawn(kind: str, num_nodes: int = 2) -> Case:
    return make_case(draw_kind(kind, num_nodes), random_edges(num_nodes, num_nodes, 3 * num_nodes), gate="sigmoid")


def ring(kind: str) -> tuple[Case, Tensor]:
    """A call on a sparse adjacency: the graph's tensors are those of the adjacency."""
    crow, col = torch.arange(41), (torch.arange(40) + 1) % 40
    adjacency = torch.sparse_csr_tensor(crow, col, torch.ones(40), size=(40, 40))
    graph = ReceiverCSR(adjacency.crow_indices(), adjacency.col_indices(), torch.arange(40))
    case = make_case(draw_kind(kind, 40), torch.stack([col, torch.arange(40)]))
    return case._replace(inputs=case.inputs._replace(graph=graph)), adjacency


@pytest.mark.parametrize(
    ("rowptr", "sender", "message"),
    [
        ([0, 1, 2], [0, 5], "node index 5"),
        ([0, 1, 2], [0, -1], "negative node index -1"),
        ([0, 2, 1], [0, 1], "rowptr must rise"),
        ([0, 1, 9], [0, 1], "rowptr must rise"),
        ([1, 1, 2], [0, 1], "rowptr must rise"),
    ],
)
def test_bad_indices_never_reach_a_kernel(kind: str, rowptr: list[int], sender: list[int], message: str) -> None:
    graph = ReceiverCSR(torch.tensor(rowptr), torch.tensor(sender), torch.arange(2))
    inputs = drawn(kind).at(torch.float32)._replace(graph=graph)
    with pytest.raises(ValueError, match=message):
        harmonic_aggregate(inputs)
    with pytest.raises(ValueError, match=message), torch.no_grad():
        harmonic_aggregate(inputs)
    compiled = torch.compile(harmonic_aggregate, fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match=message):
        compiled(inputs)


def test_indices_made_bad_after_the_first_call_are_noticed(kind: str) -> None:
    inputs = drawn(kind).at(torch.float32)
    harmonic_aggregate(inputs)
    inputs.graph.sender[0] = 77
    with pytest.raises(ValueError, match="node index 77"):
        harmonic_aggregate(inputs)


@pytest.mark.parametrize("part", ["rowptr", "sender"])
def test_indices_made_bad_right_after_their_check_never_reach_a_kernel(
    kind: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = drawn(kind).at(torch.float32)
    assert isinstance(inputs.graph, ReceiverCSR)
    index = getattr(inputs.graph, part)

    def check(rowptr: Tensor, sender: Tensor, num_senders: int) -> None:
        check_csr(rowptr, sender, num_senders)
        index.data.fill_(FAR)  # as another thread may, before the copy is made

    monkeypatch.setattr(plan, "check_csr", check)
    with pytest.raises(ValueError, match=r"node index|rowptr must rise"):
        cpu.aggregate(inputs)


def test_in_place_change_of_the_graph_is_seen(kind: str) -> None:
    inputs = drawn(kind, 5).at(torch.float32)
    assert isinstance(inputs.graph, ReceiverCSR)
    before, _ = harmonic_aggregate(inputs)
    inputs.graph.sender.copy_((inputs.graph.sender + 1) % 5)
    found, _ = harmonic_aggregate(inputs)
    fresh = ReceiverCSR(inputs.graph.rowptr.clone(), inputs.graph.sender.clone(), inputs.graph.order)
    assert torch.equal(found, harmonic_aggregate(inputs._replace(graph=fresh))[0])
    assert not torch.equal(found, before)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("part", ["crow_indices", "col_indices"])
def test_an_adjacency_changed_between_forward_and_backward_cannot_reach_out_of_bounds(
    kind: str, kept: bool, counted: bool, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:  # as on a large graph
        monkeypatch.setattr(generated, "KEPT_FLOATS", 0)
    case, adjacency = ring(kind)
    expected = run(case)
    inputs = case.at(torch.float32)
    total, _ = cpu.aggregate(inputs)
    index = getattr(adjacency, part)()
    (index if counted else index.data).fill_(FAR)
    wanted = {name: t for name, t in inputs.tensors().items() if t is not None}
    try:
        found = torch.autograd.grad(total, list(wanted.values()), case.gradients[0].float())
    except ValueError as error:
        assert any(words in str(error) for words in ("node index", "rowptr must rise", "edges were changed"))  # noqa: PT017
    else:  # the gradients of the graph that the forward pass saw
        for name, gradient in zip(wanted, found, strict=True):
            assert torch.equal(gradient, expected[name]), name


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_second_pass_never_takes_other_edges(kind: str, create_graph: bool) -> None:
    case, adjacency = ring(kind)
    inputs = case.at(torch.float32)
    total, _ = cpu.aggregate(inputs)
    torch.autograd.grad(total.sum(), inputs.example, retain_graph=True)  # uses up what was kept
    adjacency.col_indices().copy_(adjacency.col_indices().flip(0))
    with pytest.raises(ValueError, match="the edges were changed in place between"):
        torch.autograd.grad(total.sum(), inputs.example, create_graph=create_graph)


def test_a_large_graph_never_takes_other_edges(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "KEPT_FLOATS", 0)
    case, adjacency = ring(kind)
    expected = run(case)
    inputs = case.at(torch.float32)
    total, _ = cpu.aggregate(inputs)
    adjacency.col_indices().copy_(adjacency.col_indices().flip(0))
    name = next(iter(inputs.tensors()))
    try:
        (found,) = torch.autograd.grad(total, inputs.example, case.gradients[0].float())
    except ValueError as error:
        assert "the edges were changed in place between" in str(error)  # noqa: PT017
    else:
        assert torch.equal(found, expected[name])


@pytest.mark.parametrize("part", ["crow_indices", "col_indices"])
def test_an_adjacency_changed_before_a_double_backward_is_refused(kind: str, part: str) -> None:
    case, adjacency = ring(kind)
    inputs = case.at(torch.float32)
    total, _ = cpu.aggregate(inputs)
    getattr(adjacency, part)().data.fill_(FAR)
    with pytest.raises(ValueError, match=r"node index|rowptr must rise"):
        torch.autograd.grad(total.sum(), inputs.example, create_graph=True)

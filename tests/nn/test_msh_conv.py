from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from transcription import transcribed

from mshgnn.nn import MSHConv
from mshgnn.nn.generator import FactoredGenerator, FullGenerator
from mshgnn.nn.msh_conv import Aggregation
from mshgnn.ops import set_backend
from mshgnn.testing import assert_gradients, assert_permutation_equivariant

pytestmark = pytest.mark.usefixtures("reference_backend")

# Node 4 is isolated, 3 -> 0 comes twice, 2 -> 2 is a loop, nothing is symmetric or sorted.
EDGES = torch.tensor([[3, 1, 2, 3, 0, 2, 5, 0], [0, 2, 0, 0, 3, 2, 2, 5]])


class Case(NamedTuple):
    rank: int | None
    sender_weight: str
    weighted: bool
    aggr: str
    phase: bool
    normalize: bool
    phase_scale: float | None
    root_weight: bool
    edge_dim: int | None
    frequencies: tuple[float, ...] | str
    bipartite: bool
    gate: str | None
    through_messages: bool


ALL_CASES = [
    Case(*options)  # type: ignore[arg-type]
    for options in itertools.product(
        (None, 0, 1, 3),
        ("one", "sqrt_degree"),
        (False, True),
        ("sum", "mean", "sqrt_degree"),
        (True, False),
        (True, False),
        (0.3, None),
        (True, False),
        (None, 2),
        ((1.0, 2.0, 4.0), (0.3, 1.7), "linear", "single", "none", "learned"),
        (False, True),
        (None, "sigmoid", "softmax"),
        (False, True),
    )
]
CASES = random.Random(0).sample(ALL_CASES, 160)


def build(case: Case) -> tuple[MSHConv, Tensor | tuple[Tensor, Tensor], Tensor | None]:
    conv = MSHConv(
        (3, 4) if case.bipartite else 3,
        5,
        2,
        case.frequencies,
        rank=case.rank,
        sender_weight=case.sender_weight,  # type: ignore[arg-type]
        aggr=case.aggr,  # type: ignore[arg-type]
        phase=case.phase,
        normalize=case.normalize,
        phase_scale=case.phase_scale,
        root_weight=case.root_weight,
        edge_dim=case.edge_dim,
    ).double()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    if case.through_messages:
        conv.register_message_forward_hook(lambda *_: None)
    sender = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    receiver = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    edge_attr = None if case.edge_dim is None else torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    return conv, (sender, receiver) if case.bipartite else sender, edge_attr


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(option) for option in case))
def test_layer_equals_the_literal_equations(case: Case) -> None:
    conv, x, edge_attr = build(case)
    leaves = [*conv.parameters(), *([x] if isinstance(x, Tensor) else x)]
    gate: Tensor | None = None
    if edge_attr is not None:
        leaves.append(edge_attr)
    if case.gate is None:
        weight = torch.rand(8, dtype=torch.float64).add(0.5).requires_grad_() if case.weighted else None
        leaves += [] if weight is None else [weight]
        actual, pooled = conv(x, EDGES, edge_attr, weight), None
        expected, expected_pooled = transcribed(conv, x, EDGES, edge_attr, edge_weight=weight)
    else:
        gate = torch.randn(5, dtype=torch.float64, requires_grad=True)
        leaves.append(gate)
        actual, pooled = conv.forward_gated(x, EDGES, edge_attr, gate, case.gate)  # type: ignore[arg-type]
        expected, expected_pooled = transcribed(conv, x, EDGES, edge_attr, gate, case.gate)
    assert float((actual - expected).abs().max()) < 1e-10
    loss, expected_loss = actual.sin().sum(), expected.sin().sum()
    if pooled is not None:
        assert float((pooled - expected_pooled).abs().max()) < 1e-10
        loss, expected_loss = loss + pooled.cos().sum(), expected_loss + expected_pooled.cos().sum()
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    expected_gradients = torch.autograd.grad(expected_loss, leaves, allow_unused=True, materialize_grads=True)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, expected_gradient, rtol=0, atol=1e-10)


@pytest.mark.parametrize("aggr", ["sum", "mean", "sqrt_degree"])
@pytest.mark.parametrize("edge_dim", [None, 2])
def test_layer_has_the_properties(aggr: Any, edge_dim: int | None) -> None:
    conv = MSHConv(3, 4, 2, "learned", aggr=aggr, edge_dim=edge_dim)
    x = torch.randn(6, 3)
    edge_attr = None if edge_dim is None else torch.randn(8, 2)
    assert_permutation_equivariant(conv, x, EDGES, edge_attr=edge_attr)
    assert_gradients(conv, x, EDGES, edge_attr=edge_attr)


def test_every_form_of_edges_gives_the_same() -> None:
    conv, x = MSHConv(3, 5, 2).double(), torch.randn(6, 3, dtype=torch.float64)
    edges = torch.tensor([[3, 1, 2, 0, 2, 5, 0], [0, 2, 0, 3, 2, 2, 5]])  # a matrix holds no edge twice
    expected = transcribed(conv, x, edges)[0]
    adjacency = torch.zeros(6, 6, dtype=torch.float64)
    adjacency[edges[1], edges[0]] = 1.0  # receivers are rows: PyG's adj_t
    forms = {
        "int32": edges.int(),
        "shuffled": edges[:, torch.randperm(7)],
        "EdgeIndex": EdgeIndex(edges, sparse_size=(6, 6)),
        "EdgeIndex of unknown size": EdgeIndex(edges),
        "EdgeIndex by column": EdgeIndex(edges, sparse_size=(6, 6)).sort_by("col").values,
        "csr": adjacency.to_sparse_csr(),
        "csc": adjacency.to_sparse_csc(),
        "coo": adjacency.to_sparse(layout=torch.sparse_coo),
    }
    hooked = copy.deepcopy(conv)
    hooked.register_message_forward_hook(lambda *_: None)
    for name, form in forms.items():
        for layer in (conv, hooked):
            assert float((layer(x, form) - expected).abs().max()) < 1e-12, name


def test_edge_features_of_a_sparse_adjacency_go_row_by_row() -> None:
    conv, x = MSHConv(3, 5, 2, edge_dim=2).double(), torch.randn(6, 3, dtype=torch.float64)
    adjacency = (torch.rand(6, 6) < 0.4).double()
    receiver, sender = adjacency.nonzero().t()
    edge_attr = torch.randn(receiver.numel(), 2, dtype=torch.float64)
    expected = conv(x, torch.stack([sender, receiver]), edge_attr)
    hooked = copy.deepcopy(conv)
    hooked.register_message_forward_hook(lambda *_: None)
    for form in (adjacency.to_sparse_csr(), adjacency.to_sparse_csc(), adjacency.to_sparse(layout=torch.sparse_coo)):
        for layer in (conv, hooked):
            torch.testing.assert_close(layer(x, form, edge_attr), expected, rtol=0, atol=1e-12)


def test_a_node_without_senders_gets_its_own_state_only() -> None:
    x = torch.randn(6, 3)
    conv = MSHConv(3, 5)
    assert conv.root is not None
    torch.testing.assert_close(conv(x, EDGES)[4], conv.root(x[4]))
    assert conv(x, EDGES[:, :0]).equal(conv.root(x))
    assert not MSHConv(3, 5, root_weight=False)(x, EDGES)[4].any()
    assert conv(x[:0], EDGES[:, :0]).shape == (0, 5)


def test_duplicate_edges_count_twice_and_directions_matter() -> None:
    conv, x = MSHConv(3, 5, root_weight=False).double(), torch.randn(6, 3, dtype=torch.float64)
    once = torch.tensor([[1], [0]])
    torch.testing.assert_close(conv(x, once.repeat(1, 2)), 2 * conv(x, once))
    assert conv(x, once)[1].eq(0).all()
    assert conv(x, once.flip(0))[0].eq(0).all()


def test_bipartite_sizes_may_differ() -> None:
    conv = MSHConv((3, 4), 5)
    out = conv((torch.randn(7, 3), torch.randn(2, 4)), torch.tensor([[6, 0, 5], [1, 1, 0]]))
    assert out.shape == (2, 5)
    with pytest.raises(ValueError, match=r"edge_index\[1\] holds node index 2, but there are only 2 nodes"):
        conv((torch.randn(7, 3), torch.randn(2, 4)), torch.tensor([[6], [2]]))


def test_edge_phases_and_messages_come_in_the_order_of_the_edges() -> None:
    conv, x = MSHConv(3, 5, 2).double(), torch.randn(6, 3, dtype=torch.float64)
    phases, messages = conv.edge_phases(x, EDGES), conv.edge_messages(x, EDGES)
    for edge in range(EDGES.size(1)):
        alone = EDGES[:, edge : edge + 1]
        torch.testing.assert_close(phases[edge : edge + 1], conv.edge_phases(x, alone))
        torch.testing.assert_close(messages[edge : edge + 1], conv.edge_messages(x, alone))
    assert conv.root is not None
    total = torch.zeros(6, 5, dtype=torch.float64).index_add(0, EDGES[1], messages)
    torch.testing.assert_close(conv(x, EDGES), total + conv.root(x))


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_single_and_double_precision_agree(backend: str) -> None:
    set_backend(backend)
    conv, x = MSHConv(3, 5), torch.randn(6, 3)
    assert conv(x, EDGES).dtype == torch.float32
    double = copy.deepcopy(conv).double()
    torch.testing.assert_close(conv(x, EDGES).double(), double(x.double(), EDGES), rtol=1e-4, atol=1e-5)
    set_backend("reference")


def test_autocast_keeps_the_phases_in_single_precision() -> None:
    # Phases of hundreds of radians: in bfloat16, with 8 bits, each would be wrong by whole turns.
    conv, x = MSHConv(3, 5, normalize=False, phase_scale=None, root_weight=False), 30 * torch.randn(6, 3)
    conv_phases = conv.edge_phases(x, EDGES)
    assert float(conv_phases.abs().max()) > 100
    exact = conv(x, EDGES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = conv(x, EDGES)
        gated = conv.forward_gated(x, EDGES, None, torch.randn(5))[1]
        assert conv(x.bfloat16(), EDGES).isfinite().all()
        assert conv.edge_phases(x, EDGES).equal(conv_phases)
    torch.testing.assert_close(mixed.float(), exact, rtol=1e-2, atol=1e-2)
    assert gated.isfinite().all()


def test_autocast_trains() -> None:
    conv, x = MSHConv(3, 5, edge_dim=2), torch.randn(6, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        conv(x, EDGES, torch.randn(8, 2)).square().sum().backward()
    for name, parameter in conv.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_half_precision_layers_run() -> None:
    conv = MSHConv(3, 5).bfloat16()
    assert conv(torch.randn(6, 3).bfloat16(), EDGES).dtype == torch.bfloat16


def test_reset_parameters_draws_everything_anew() -> None:
    torch.manual_seed(3)
    conv = MSHConv(3, 5, 2, "learned", edge_dim=2)
    first = {name: parameter.detach().clone() for name, parameter in conv.named_parameters()}
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.fill_(7.0)
    torch.manual_seed(3)
    conv.reset_parameters()
    torch.manual_seed(3)
    again = MSHConv(3, 5, 2, "learned", edge_dim=2)
    for name, parameter in conv.named_parameters():
        assert not parameter.eq(7.0).any(), name
        assert parameter.shape == first[name].shape
    torch.testing.assert_close(conv.encoding.frequencies, again.encoding.frequencies)
    torch.testing.assert_close(conv.generator.scale, again.generator.scale)


def test_it_is_a_message_passing_layer_with_a_readable_name() -> None:
    conv = MSHConv((3, 4), 5, num_projections=2, frequencies="single", aggr="mean")
    assert isinstance(conv, MessagePassing)
    assert repr(conv) == "MSHConv((3, 4), 5, num_projections=2, rank=2, frequencies=(1.0,), aggr=mean)"


def test_copies_and_pickles_compute_the_same() -> None:
    conv, x = MSHConv(3, 5, frequencies="learned"), torch.randn(6, 3)
    expected = conv(x, EDGES)
    assert copy.deepcopy(conv)(x, EDGES).equal(expected)
    assert pickle.loads(pickle.dumps(conv))(x, EDGES).equal(expected)


def test_hooks_of_message_passing_are_called_and_may_change_the_message() -> None:
    conv, x = MSHConv(3, 5, root_weight=False).double(), torch.randn(6, 3, dtype=torch.float64)
    expected = conv(x, EDGES)
    seen: list[str] = []
    handles = [
        conv.register_propagate_forward_pre_hook(lambda *_: seen.append("propagate pre")),
        conv.register_propagate_forward_hook(lambda *_: seen.append("propagate")),
        conv.register_message_forward_pre_hook(lambda *_: seen.append("message pre")),
        conv.register_aggregate_forward_pre_hook(lambda *_: seen.append("aggregate pre")),
        conv.register_aggregate_forward_hook(lambda *_: seen.append("aggregate")),
        conv.register_message_forward_hook(lambda _module, _inputs, message: 2 * message),
    ]
    torch.testing.assert_close(conv(x, EDGES), 2 * expected)
    assert sorted(seen) == sorted(["propagate pre", "propagate", "message pre", "aggregate pre", "aggregate"])
    for handle in handles:
        handle.remove()
    assert conv(x, EDGES).equal(expected)


def test_the_layer_starts_as_a_shared_fourier_map_with_phases_of_order_one() -> None:
    conv = MSHConv(64, 64)
    x = 100 * torch.randn(50, 64)
    edges = torch.randint(0, 50, (2, 500))
    assert 0.2 < float(conv.edge_phases(x, edges).std()) < 2.0
    paper = MSHConv(64, 64, rank=None, normalize=False, phase_scale=None)
    # method.md: Var(p) ~ (d + 1) / 3 for unit-variance features.
    spread = paper.edge_phases(torch.randn(200, 64), torch.randint(0, 200, (2, 2000))).std()
    assert float(spread) == pytest.approx((65 / 3) ** 0.5, rel=0.15)


def phase_turn(width: int, rank: int | None) -> float:
    """Largest turn of a phase after a step of 0.01 on all conditioning weights, in the worst direction."""
    conv = MSHConv(width, width, 4, rank=rank)
    x, edges = torch.randn(2, width), torch.tensor([[0], [1]])
    before = conv.edge_phases(x, edges)
    if isinstance(conv.generator, FullGenerator):
        assert conv.generator.shift is not None
        conditioning = [conv.generator.projection.weight, conv.generator.shift.weight]
    else:
        assert conv.generator.shift is not None
        conditioning = [conv.generator.receiver, conv.generator.shift.weight]
    before.sum().backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weight in conditioning:
            assert weight.grad is not None
            weight.add_(0.01 * weight.grad.sign())
    return float((conv.edge_phases(x, edges) - before).abs().max().detach())


@pytest.mark.parametrize("rank", [None, 2])
def test_a_step_turns_phases_little_at_any_width(rank: int | None) -> None:
    torch.manual_seed(0)
    narrow, wide = phase_turn(16, rank), phase_turn(256, rank)
    # The shift adds the same at any width, the projections with its root; read as sums both would grow with the width.
    assert wide < 4 * narrow
    assert wide < 0.2


@pytest.mark.parametrize("rank", [None, 0, 2])
def test_relative_phases_start_half_of_the_phases_on_differences(rank: int | None) -> None:
    torch.manual_seed(0)
    conv = MSHConv(6, 4, num_projections=5, rank=rank, normalize=False, relative_phases=True)
    with torch.no_grad():  # what a receiver adds to the shared projections
        if isinstance(conv.generator, FullGenerator):
            conv.generator.projection.weight.zero_()
        else:
            conv.generator.receiver.zero_()
    x, edge_index = torch.randn(7, 6), torch.randint(7, (2, 20))
    phases, moved = conv.edge_phases(x, edge_index), conv.edge_phases(x + 3.0, edge_index)
    assert torch.allclose(phases[:, :2], moved[:, :2], atol=1e-5)
    assert bool(((phases[:, 2:] - moved[:, 2:]).abs() > 1e-3).all())
    assert float(phases[:, :2].std()) > 0.1, "a difference of zero everywhere would pass, too"


@pytest.mark.parametrize(("rank", "shift"), [(None, "generator.shift.weight"), (2, "generator.shift.weight")])
def test_relative_phases_draw_nothing_else_anew(rank: int | None, shift: str) -> None:
    torch.manual_seed(0)
    plain = MSHConv(6, 4, num_projections=4, rank=rank).state_dict()
    torch.manual_seed(0)
    relative = MSHConv(6, 4, num_projections=4, rank=rank, relative_phases=True).state_dict()
    changed = [name for name in plain if not torch.equal(plain[name], relative[name])]
    assert changed == [shift]
    assert torch.equal(plain[shift][2:], relative[shift][2:])


@pytest.mark.parametrize(
    ("channels", "options"), [(6, {"phase": False}), (6, {"phase_scale": None}), ((6, 5), {"phase_scale": 0.3})]
)
def test_relative_phases_need_a_shift_its_scale_and_one_width(
    channels: int | tuple[int, int], options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="relative_phases needs"):
        MSHConv(channels, 4, relative_phases=True, **options)


@pytest.mark.parametrize("aggr", ["sum", "mean", "sqrt_degree"])
@pytest.mark.parametrize("through_messages", [False, True])
def test_centered_messages_are_what_is_left_of_the_mean_of_their_encoding(
    aggr: Aggregation, through_messages: bool
) -> None:
    torch.manual_seed(0)
    conv = MSHConv(6, 4, num_projections=3, frequencies=(1.0, 3.0), aggr=aggr, phase_scale=0.5, centered=True).double()
    if through_messages:
        conv.register_message_forward_hook(lambda *_: None)
    x, edge_index = torch.randn(7, 6, dtype=torch.float64), torch.randint(6, (2, 20))  # node 6 has no senders
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    phases = torch.from_numpy(0.5 * points).view(-1, 1).expand(-1, 3)
    mean = (torch.from_numpy(weights / weights.sum()).view(-1, 1) * conv.encoding(phases)).sum(dim=0)
    messages = conv.edge_messages(x, edge_index) - conv.output(mean)
    total = torch.zeros(7, 4, dtype=torch.float64).index_add(0, edge_index[1], messages)
    degree = torch.bincount(edge_index[1], minlength=7).clamp(min=1).double()[:, None]
    divisor = {"sum": torch.ones_like(degree), "mean": degree, "sqrt_degree": degree.sqrt()}[aggr]
    assert conv.root is not None
    torch.testing.assert_close(conv(x, edge_index), conv.root(x) + total / divisor)
    torch.testing.assert_close(conv(x, edge_index)[6], conv.root(x)[6])


def test_at_the_start_centered_messages_say_more_about_senders_than_about_nothing() -> None:
    shares = []
    for centered in (False, True):
        torch.manual_seed(0)
        conv = MSHConv(64, 32, aggr="mean", root_weight=False, centered=centered)
        out = conv(torch.randn(500, 64), torch.randint(500, (2, 10_000))).detach()
        shares.append(float(out.mean(dim=0).norm() / (out - out.mean(dim=0)).norm(dim=1).mean()))
    plain, left = shares
    assert plain > 3.0
    assert left < 1.0


@pytest.mark.parametrize("options", [{"phase_scale": None}, {"frequencies": "none"}])
def test_centered_needs_a_scale_and_frequencies(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="centered needs"):
        MSHConv(6, 4, centered=True, **options)


def as_full(factored: MSHConv, full: MSHConv) -> dict[str, Tensor]:
    """Parameters for ``full`` made of the factors, so that gradients reach these."""
    own = dict(factored.named_parameters())
    rank, F = factored.rank, factored.num_projections
    assert rank is not None
    width = own["generator.receiver"].size(1)
    shared, *B = own["generator.sender"].view(rank + 1, F, -1)
    A = own["generator.receiver"].view(rank, F, width)
    weight = sum(
        (torch.einsum("fi,fj->fij", b, a) for a, b in zip(A, B, strict=True)), shared.new_zeros(F, width, width)
    )
    # the full generator divides by the width, the factored one by its root
    made = {"projection.weight": weight.reshape(-1, width) * width**0.5, "projection.bias": shared.reshape(-1)}
    both = {f"generator.{name}": tensor for name, tensor in made.items()}
    return both | {name: own[name] for name, _ in full.named_parameters() if name not in both}


@pytest.mark.parametrize("rank", [0, 1, 2, 5])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_factored_layer_is_the_full_one_with_the_corresponding_weights(rank: int, normalize: bool) -> None:
    options: dict[str, Any] = {
        "edge_dim": 2,
        "normalize": normalize,
        "aggr": "sqrt_degree",
        "sender_weight": "sqrt_degree",
    }
    conv = MSHConv(5, 4, 3, "learned", rank=rank, **options).double()
    full = MSHConv(5, 4, 3, "learned", rank=None, **options).double()
    x, edge_attr, edge_weight = (torch.randn(*shape).double().requires_grad_() for shape in ((6, 5), (8, 2), (8,)))
    arguments = x, EDGES, edge_attr, edge_weight
    outputs = conv(*arguments), torch.func.functional_call(full, as_full(conv, full), arguments)
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=1e-10)
    leaves = {"x": x, "edge_attr": edge_attr, "edge_weight": edge_weight, **dict(conv.named_parameters())}
    found, expected = (
        torch.autograd.grad(out.sin().sum(), list(leaves.values()), allow_unused=True, materialize_grads=True)
        for out in outputs
    )
    for name, ours, theirs in zip(leaves, found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10, msg=name)
        assert ours.numel() == 0 or bool(ours.any()), name


def test_a_rank_as_large_as_the_width_reaches_any_full_generator() -> None:
    full = MSHConv(3, 4, 2, rank=None, normalize=False).double()
    conv = MSHConv(3, 4, 2, rank=3, normalize=False).double()
    assert isinstance(full.generator, FullGenerator)
    assert isinstance(conv.generator, FactoredGenerator)
    weight = full.generator.projection.weight.detach().view(2, 3, 3)  # projection, entry, feature of the receiver
    unit = torch.eye(3, dtype=torch.float64)
    with torch.no_grad():
        # B_r picks entry r of the projection, A_r is the row of W_f that makes it
        conv.generator.sender.copy_(
            torch.cat([full.generator.projection.bias.view(2, 3), *(unit[r].expand(2, 3) for r in range(3))])
        )
        assert full.generator.shift is not None
        conv.generator.receiver.copy_(torch.cat([weight[:, r] for r in range(3)]) / 3**0.5)
        conv.generator.shift = full.generator.shift
        conv.output, conv.root = full.output, full.root
    x = torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(conv(x, EDGES), full(x, EDGES), rtol=0, atol=1e-10)


def test_weights_of_edges_scale_their_messages() -> None:
    conv, x = MSHConv(3, 5, root_weight=False).double(), torch.randn(6, 3, dtype=torch.float64)
    doubled = torch.full((8,), 2.0, dtype=torch.float64)
    torch.testing.assert_close(conv(x, EDGES, edge_weight=doubled), 2 * conv(x, EDGES))
    with pytest.raises(ValueError, match=r"edge_weight must have one number per edge, shape \[8\], got \[7\]"):
        conv(x, EDGES, edge_weight=doubled[:7])


def test_the_weights_of_both_ends_are_those_of_gcn() -> None:
    conv = MSHConv(3, 5, aggr="sqrt_degree", sender_weight="sqrt_degree", root_weight=False).double()
    x = torch.randn(6, 3, dtype=torch.float64)
    edges = torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]])
    _, weight = gcn_norm(edges, num_nodes=6, add_self_loops=False, dtype=torch.float64)
    plain = MSHConv(3, 5, root_weight=False).double()
    plain.load_state_dict(conv.state_dict())
    torch.testing.assert_close(conv(x, edges), plain(x, edges, edge_weight=weight))


def in_precision(conv: MSHConv, x: Tensor, edges: Tensor, backend: str, dtype: torch.dtype) -> list[Tensor]:
    """Output and every gradient of the layer by a backend."""
    layer, leaf = copy.deepcopy(conv).to(dtype), x.to(dtype).requires_grad_()
    set_backend(backend)
    out = layer(leaf, edges)
    set_backend("reference")
    return [out.detach(), *torch.autograd.grad(out.sin().sum(), [leaf, *layer.parameters()])]


@pytest.mark.parametrize("width", [1, 5, 64, 100])
@pytest.mark.parametrize("rank", [2, 5])
def test_norm_tables_and_kernels_together_are_as_good_as_plain_float32(width: int, rank: int) -> None:
    for projections in (7, 16):
        conv, x = MSHConv(width, 5, projections, rank=rank), torch.randn(40, width)
        edges = torch.randint(40, (2, 200))
        exact = in_precision(conv, x, edges, "reference", torch.float64)
        plain = in_precision(conv, x, edges, "reference", torch.float32)
        for found, rough, truth in zip(in_precision(conv, x, edges, "fused", torch.float32), plain, exact, strict=True):
            error, allowed = ((t.double() - truth).abs().sum() for t in (found, rough))
            # few numbers, much luck; and at width one the norm's gradient is a difference of numbers 300 times larger
            luck = 40 if truth.numel() < 50 or width == 1 else 8
            assert error <= 3 * allowed + luck * torch.finfo(torch.float32).eps * truth.abs().sum()

"""Layer norm that hands on what it removes: torch's own layer norm and the formula, in float64, are the truth."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import forward_ad

from mshgnn.ops import get_backend, normalize, set_backend
from mshgnn.ops.normalize import EPSILON, open_norm

EPS32 = torch.finfo(torch.float32).eps
Given = tuple[Tensor, Tensor] | None


@pytest.fixture(autouse=True)
def _same_settings() -> Iterator[None]:
    backend, threads = get_backend(), torch.get_num_threads()
    yield
    set_backend(backend)
    torch.set_num_threads(threads)


def transcribed(x: Tensor, over: Given = None) -> Tensor:
    """The formula, with torch's layer norm for its first part."""
    removed = torch.stack([x.mean(1), (x.var(1, unbiased=False) + EPSILON).log()], 1)
    mean, variance = over or (removed.mean(0), removed.var(0, unbiased=False))
    normal = torch.nn.functional.layer_norm(x, (x.size(1),), eps=EPSILON)
    return torch.cat([normal, (removed - mean) / (variance + EPSILON).sqrt()], 1)


def drawn(rows: int, width: int, seed: int = 0, spread: float = 1.0) -> tuple[Tensor, Tensor]:
    """Rows of many sizes and offsets, exact in float32, and a gradient for the features."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, width, generator=generator) * (spread * torch.randn(rows, 1, generator=generator)).exp()
    x = x + 2 * spread * torch.randn(rows, 1, generator=generator)
    return x.double(), torch.randn(rows, width + 2, generator=generator).double()


def measured(backend: str, dtype: torch.dtype, x: Tensor, arriving: Tensor, over: Given) -> dict[str, Tensor]:
    set_backend(backend)
    leaf = x.to(dtype).requires_grad_()
    known = () if over is None else tuple(t.to(dtype) for t in over)
    features, mean, variance = open_norm(leaf, *known)
    (gradient,) = torch.autograd.grad(features, leaf, arriving.to(dtype))
    assert not mean.requires_grad
    assert not variance.requires_grad
    return {"features": features.detach(), "mean": mean, "variance": variance, "gradient": gradient}


def truth(x: Tensor, arriving: Tensor, over: Given) -> dict[str, Tensor]:
    leaf = x.clone().requires_grad_()
    features = transcribed(leaf, over)
    (gradient,) = torch.autograd.grad(features, leaf, arriving)
    removed = torch.stack([x.mean(1), (x.var(1, unbiased=False) + EPSILON).log()], 1)
    mean, variance = over or (removed.mean(0), removed.var(0, unbiased=False))
    return {"features": features.detach(), "mean": mean, "variance": variance, "gradient": gradient}


GIVEN: Given = (torch.tensor([0.3, -1.7]).double(), torch.tensor([2.1, 0.4]).double())

sizes = pytest.mark.parametrize(
    ("rows", "width"),
    [(1, 1), (1, 4), (1, 64), (1, 100), (2, 1), (50, 1), (50, 4), (50, 64), (50, 100), (9000, 5), (2000, 100)],
)
both = pytest.mark.parametrize("over", [None, GIVEN], ids=["over rows", "given"])


@sizes
@both
def test_plain_torch_is_the_formula(rows: int, width: int, over: Given) -> None:
    x, arriving = drawn(rows, width)
    expected = truth(x, arriving, over)
    for name, found in measured("auto", torch.float64, x, arriving, over).items():
        size = max(expected[name].abs().max().item(), 1.0)
        # at width one a row minus its mean is 0 in truth and times 1 / sqrt(epsilon) at most a rounding error
        torch.testing.assert_close(found, expected[name], rtol=1e-9, atol=1e-10 * size, msg=name)


@sizes
@both
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])  # at 2, the means of some rows are a thousand of their deviations
def test_the_kernels_are_as_good_as_plain_float32(rows: int, width: int, over: Given, spread: float) -> None:
    x, arriving = drawn(rows, width, spread=spread)
    expected = truth(x, arriving, over)
    plain = measured("reference", torch.float32, x, arriving, over)
    fused = measured("fused", torch.float32, x, arriving, over)
    for name, exact in expected.items():
        assert fused[name].shape == exact.shape, name
        assert fused[name].dtype == torch.float32
        error = (fused[name].double() - exact).abs().max().item()
        allowed = 3 * (plain[name].double() - exact).abs().max().item()
        luck = 8 * EPS32 * exact.abs().max().item()
        if name == "gradient":  # a difference of numbers as large as g / sqrt(epsilon) at width one
            luck += 8 * EPS32 * arriving.abs().max().item() / EPSILON**0.5 * (1 if width == 1 else 0)
        assert error <= allowed + luck, f"{name}: error {error:.2e}, plain float32 makes {allowed / 3:.2e}"


@pytest.mark.parametrize("create_graph", [False, True])
def test_numbers_moved_between_forward_and_backward_move_no_gradient(create_graph: bool) -> None:
    x, arriving = drawn(50, 4)
    assert GIVEN is not None
    expected = truth(x, arriving, GIVEN)["gradient"]
    leaf, mean, variance = x.float().requires_grad_(), GIVEN[0].float(), GIVEN[1].float()
    features, *_ = open_norm(leaf, mean, variance)
    mean.add_(1.0)
    variance.mul_(100.0)  # as a training step does between the two
    (found,) = torch.autograd.grad(features, leaf, arriving.float(), create_graph=create_graph)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


def test_which_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    plain = normalize._plain

    def watched(*arguments: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        taken.append("plain")
        return plain(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(normalize, "_plain", watched)
    x = torch.randn(5, 4)
    set_backend("auto")
    open_norm(x)
    assert taken == []
    open_norm(x.double())
    assert taken == ["plain"]
    set_backend("reference")
    open_norm(x)
    assert taken == ["plain"] * 2


@both
@pytest.mark.parametrize("width", [1, 4, 64])
def test_double_backward(width: int, over: Given) -> None:
    x, arriving = drawn(12, width, spread=0.5)
    results = []
    for dtype in (torch.float32, torch.float64):
        leaf, gradient = x.to(dtype).requires_grad_(), arriving.to(dtype).requires_grad_()
        known = () if over is None else tuple(t.to(dtype) for t in over)
        features = open_norm(leaf, *known)[0] if dtype == torch.float32 else transcribed(leaf, over)
        (first,) = torch.autograd.grad(features, leaf, gradient, create_graph=True)
        results.append([first, *torch.autograd.grad(first.sin().sum(), [leaf, gradient])])
    for found, expected in zip(*results, strict=True):
        # at width one, numbers of size g / sqrt(epsilon) cancel
        slack = 1.0 if width > 1 else EPSILON**-0.5
        size = max(expected.detach().abs().max().item(), slack)
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5 * size)


@both
def test_gradients_once_and_twice_in_float64(over: Given) -> None:
    x = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    known = over or ()
    assert torch.autograd.gradcheck(lambda t: open_norm(t, *known)[0], x)
    assert torch.autograd.gradgradcheck(lambda t: open_norm(t, *known)[0], x)


@both
def test_forward_mode(over: Given) -> None:
    x, direction = torch.randn(6, 4, dtype=torch.float64), torch.randn(6, 4, dtype=torch.float64)
    step = 1e-6
    expected = (transcribed(x + step * direction, over) - transcribed(x - step * direction, over)) / (2 * step)
    known = () if over is None else tuple(t.float() for t in over)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.float(), direction.float())  # type: ignore[no-untyped-call]
        features, _, _ = open_norm(dual, *known)
        tangent = forward_ad.unpack_dual(features).tangent  # type: ignore[no-untyped-call]
    torch.testing.assert_close(tangent.double(), expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


@both
def test_compile_and_transforms(over: Given) -> None:
    x = torch.randn(12, 6)
    known = () if over is None else tuple(t.float() for t in over)

    def loss(t: Tensor) -> Tensor:
        return open_norm(t, *known)[0].sin().sum()

    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(loss)(x), expected, rtol=1e-4, atol=1e-5)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), loss(x), rtol=1e-5, atol=1e-5)


def test_same_bits_on_any_number_of_threads_and_for_any_strides() -> None:
    x, arriving = drawn(20_000, 7)
    results = []
    for threads, given_x in ((1, x), (2, x), (4, x), (2, x.t().contiguous().t())):
        torch.set_num_threads(threads)
        results.append(measured("fused", torch.float32, given_x, arriving, None))
    for other in results[1:]:
        for name, expected in results[0].items():
            assert torch.equal(other[name], expected), name


def test_no_rows_and_inference_mode() -> None:
    features, mean, variance = open_norm(torch.empty(0, 4), torch.zeros(2), torch.ones(2))
    assert features.shape == (0, 6)
    assert mean.tolist() == [0, 0]
    assert variance.tolist() == [1, 1]
    assert open_norm(torch.empty(0, 4))[0].shape == (0, 6)
    x = torch.randn(5, 4)
    expected = open_norm(x)
    with torch.inference_mode():
        for found, wanted in zip(open_norm(x), expected, strict=True):
            assert torch.equal(found, wanted)


def test_running_numbers_are_left_as_they_are() -> None:
    mean, variance = torch.tensor([0.5, -1.0]), torch.tensor([2.0, 3.0])
    x = torch.randn(5, 4, requires_grad=True)
    features, used_mean, used_variance = open_norm(x, mean, variance)
    torch.autograd.grad(features.sum(), x)
    for tensor, value in ((mean, [0.5, -1.0]), (variance, [2.0, 3.0])):
        assert tensor.tolist() == value
        assert not tensor.requires_grad
        assert tensor.grad_fn is None
    assert torch.equal(used_mean, mean)
    assert torch.equal(used_variance, variance)


def test_constant_rows_and_equal_rows() -> None:
    # nothing varies: only epsilon stands between the formula and a division by zero
    for x in (torch.full((6, 4), 2.5), torch.arange(4.0).expand(6, 4).contiguous()):
        for name, found in measured("fused", torch.float32, x.double(), torch.ones(6, 6).double(), None).items():
            assert torch.isfinite(found).all(), name
        torch.testing.assert_close(open_norm(x)[0].double(), transcribed(x.double()), rtol=0, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 30), width=st.integers(1, 40), seed=st.integers(0, 1000), fixed=st.booleans())
def test_drawn_sizes(rows: int, width: int, seed: int, fixed: bool) -> None:
    x, arriving = drawn(rows, width, seed)
    over = GIVEN if fixed else None
    plain, fused = (measured(name, torch.float32, x, arriving, over) for name in ("reference", "fused"))
    for name, expected in plain.items():
        size = max(expected.abs().max().item(), 1.0, EPSILON**-0.5 * (width == 1))
        torch.testing.assert_close(fused[name], expected, rtol=1e-3, atol=1e-4 * size, msg=name)

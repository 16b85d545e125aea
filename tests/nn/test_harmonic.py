from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.nn import SCHEDULES, HarmonicEncoding

FREQUENCY_LISTS = st.lists(st.floats(0.1, 8.0), min_size=1, max_size=4)


def test_schedules_of_the_ablation() -> None:
    assert HarmonicEncoding("exponential").frequencies.tolist() == [1, 2, 4]
    assert HarmonicEncoding("linear").frequencies.tolist() == [1, 2, 3]
    assert HarmonicEncoding("single").frequencies.tolist() == [1]
    assert HarmonicEncoding("none").frequencies.tolist() == []
    assert HarmonicEncoding("learned").frequencies.tolist() == pytest.approx([1, 2, 4])
    assert set(SCHEDULES) == {"exponential", "linear", "single", "none", "learned"}
    assert HarmonicEncoding().frequencies.tolist() == [1, 2, 4]


def test_none_lets_the_phase_pass() -> None:
    phase = torch.randn(3, 5)
    encoding = HarmonicEncoding("none")
    assert encoding(phase).equal(phase)
    assert encoding.out_channels(5) == 5


@given(frequencies=FREQUENCY_LISTS, phases=st.lists(st.floats(-50, 50), min_size=1, max_size=5))
def test_the_encoding_against_math(frequencies: list[float], phases: list[float]) -> None:
    encoding = HarmonicEncoding(frequencies).double()
    encoded = encoding(torch.tensor([phases], dtype=torch.float64))[0].tolist()
    expected = [function(w * p) for w in frequencies for function in (math.sin, math.cos) for p in phases]
    assert encoded == pytest.approx(expected, abs=1e-12)
    assert encoding.out_channels(len(phases)) == len(expected)


@given(frequencies=FREQUENCY_LISTS, seed=st.integers(0, 2**31))
def test_kernel_identity_and_positive_semidefiniteness(frequencies: list[float], seed: int) -> None:
    """``psi(p) . psi(q) = sum_k sum_f cos(w_k (p_f - q_f))``, and the Gram matrix has no negative eigenvalue."""
    generator = torch.Generator().manual_seed(seed)
    phases = 5 * torch.randn(12, 3, dtype=torch.float64, generator=generator)
    encoded = HarmonicEncoding(frequencies).double()(phases)
    gram = encoded @ encoded.t()
    difference = phases.unsqueeze(0) - phases.unsqueeze(1)
    expected = sum(torch.cos(w * difference).sum(-1) for w in frequencies)
    assert isinstance(expected, torch.Tensor)
    torch.testing.assert_close(gram, expected, rtol=0, atol=1e-10)
    assert float(torch.linalg.eigvalsh(expected).min()) > -1e-9


def test_learned_frequencies_stay_positive_and_train() -> None:
    encoding = HarmonicEncoding("learned")
    optimizer = torch.optim.SGD(encoding.parameters(), lr=10.0)
    for _ in range(20):
        optimizer.zero_grad()
        encoding.frequencies.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert (encoding.frequencies > 0).all()
    assert (encoding.frequencies < 0.1).all()
    encoding.reset_parameters()
    assert encoding.frequencies.tolist() == pytest.approx([1, 2, 4])


def test_double_precision_has_all_digits() -> None:
    encoding = HarmonicEncoding((0.1, 1 / 3)).half().double()
    assert encoding.frequencies.tolist() == [0.1, 1 / 3]


def test_bad_frequencies_are_refused_by_value() -> None:
    for bad, word in [
        ((), r"\(\)"),
        ((1.0, 0.0), "0.0"),
        ((-2.0,), "-2.0"),
        ((math.nan,), "nan"),
        ((math.inf,), "inf"),
        ("cubic", "cubic"),
        (("a",), "a"),
        (3.0, "3.0"),
        (None, "None"),
    ]:
        with pytest.raises(ValueError, match=f"frequencies must .*{word}"):
            HarmonicEncoding(bad)  # type: ignore[arg-type]
    encoding = HarmonicEncoding("learned")
    with torch.no_grad():
        encoding.log_frequencies[1] = math.nan
    with pytest.raises(ValueError, match=r"frequencies must be finite, got \[1.0, nan"):
        encoding(torch.randn(2, 3))
    with pytest.raises(ValueError, match=r"phase must be a floating point tensor, got torch.int64"):
        HarmonicEncoding()(torch.ones(2, 3, dtype=torch.int64))


def test_repr_names_the_frequencies() -> None:
    assert repr(HarmonicEncoding("linear")) == "HarmonicEncoding(frequencies=(1.0, 2.0, 3.0), learnable=False)"

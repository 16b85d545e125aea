"""The harmonic encoding and its frequency schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from mshgnn.errors import UserError
from mshgnn.ops import harmonic_encoding

SCHEDULES: dict[str, tuple[float, ...]] = {
    "exponential": (1.0, 2.0, 4.0),
    "linear": (1.0, 2.0, 3.0),
    "single": (1.0,),
    "none": (),
    "learned": (1.0, 2.0, 4.0),
}
"""The frequency sets of the paper's ablation by name. ``none`` lets the phase pass unmodulated; ``learned`` starts at
the exponential set and trains it."""


class HarmonicEncoding(nn.Module):
    r"""Multi-scale sine and cosine features of a phase.

    .. math::
        \psi(p) = [\sin(\omega_1 p) \| \cos(\omega_1 p) \| \dots \| \sin(\omega_K p) \| \cos(\omega_K p)]

    Args:
        frequencies: positive numbers, or a schedule by name: ``exponential``, ``linear``, ``single``, ``none``,
            ``learned``.
        learnable: train the frequencies. They are kept as logarithms, so they stay positive.

    Shapes:
        - input: phases ``[*, F]``
        - output: ``[*, 2KF]`` (``[*, F]`` for the schedule ``none``)
    """

    fixed_frequencies: Tensor
    """Where they are not trained."""

    def __init__(self, frequencies: Sequence[float] | str = (1.0, 2.0, 4.0), learnable: bool = False) -> None:
        super().__init__()
        self.initial = checked_frequencies(frequencies)
        learnable = learnable or (isinstance(frequencies, str) and frequencies == "learned")
        self.learnable = learnable
        values = torch.tensor(self.initial, dtype=torch.get_default_dtype())
        if learnable:
            self.log_frequencies = nn.Parameter(values.log())
        else:
            self.register_buffer("fixed_frequencies", values, persistent=False)

    def reset_parameters(self) -> None:
        """Return learned frequencies to where they started."""
        if self.learnable:
            with torch.no_grad():
                self.log_frequencies.copy_(torch.tensor(self.initial, dtype=torch.float64).log())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or cast as any module, but never lose digits of the fixed frequencies on the way to double."""
        module: Self = super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if not self.learnable:
            self.fixed_frequencies.copy_(torch.tensor(self.initial, dtype=torch.float64))
        return module

    @property
    def frequencies(self) -> Tensor:
        """``w_1 .. w_K``, shape ``[K]``."""
        if not self.learnable:
            return self.fixed_frequencies
        frequencies = self.log_frequencies.exp()
        if torch.compiler.is_compiling() or frequencies.is_meta:
            return frequencies
        if not bool(torch.isfinite(frequencies).all()):
            raise UserError(f"frequencies must be finite, got {frequencies.tolist()}: training has diverged")
        return frequencies

    @property
    def num_bands(self) -> int:
        """Number of frequencies ``K``."""
        return len(self.initial)

    def out_channels(self, num_projections: int) -> int:
        """Width of the encoding of ``num_projections`` phases."""
        return 2 * self.num_bands * num_projections if self.num_bands else num_projections

    def forward(self, phase: Tensor) -> Tensor:
        """Encode phases ``[*, F]`` to ``[*, 2KF]``."""
        if not phase.is_floating_point():
            raise UserError(f"phase must be a floating point tensor, got {phase.dtype}")
        return harmonic_encoding(phase, self.frequencies.to(phase.dtype))

    def extra_repr(self) -> str:
        """The frequencies at the start, and whether they are trained."""
        return f"frequencies={self.initial}, learnable={self.learnable}"


def checked_frequencies(frequencies: Sequence[float] | str) -> tuple[float, ...]:
    """The frequencies of a schedule by name, or the given numbers: positive and finite, or ``ValueError``."""
    if isinstance(frequencies, str):
        if frequencies not in SCHEDULES:
            raise UserError(f"frequencies must be one of {', '.join(SCHEDULES)} or numbers, got {frequencies!r}")
        return SCHEDULES[frequencies]
    try:
        values = tuple(float(frequency) for frequency in frequencies)
    except (TypeError, ValueError):
        raise UserError(f"frequencies must be numbers or one of {', '.join(SCHEDULES)}, got {frequencies!r}") from None
    if not values:
        raise UserError("frequencies must hold at least one number, got (); use 'none' for no modulation")
    single = torch.finfo(torch.float32)
    for value in values:
        if not single.tiny <= value <= single.max:
            raise UserError(f"frequencies must be positive and finite in single precision, got {value}")
    return values

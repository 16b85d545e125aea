"""The one function of a harmonic layer: check, choose a backend, call it."""

from __future__ import annotations

from torch import Tensor

from mshgnn.ops.backends import choose
from mshgnn.ops.inputs import Inputs


def harmonic_aggregate(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    r"""Sum harmonic encodings over the incoming edges of every receiver.

    .. math::
        S_v = \sum_u c_{vu}\, \psi(p_{vu}), \qquad
        G_v = \sum_u \alpha_{vu}\, c_{vu}\, \psi(p_{vu}), \qquad \alpha_{vu} = \sigma(a^\top \psi(p_{vu}))

    with the phases :math:`p_{vu}` of :class:`Generated` or :class:`Factored` (plus ``edge_phase``) and
    :math:`c_{vu}` the ``edge_weight`` (1 without). ``W_o`` is linear and leaves the sum, so it is applied to ``S_v``
    and ``G_v`` afterwards: no message as wide as the features ever exists.

    Returns:
        ``S [N, 2KF]`` and ``G [N, 2KF]`` (``None`` without a gate). A receiver without edges gets zeros.
    """
    inputs.check()
    return choose(inputs).aggregate(inputs)

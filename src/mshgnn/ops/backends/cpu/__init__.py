"""The CPU kernels. Read in this order: ``operator`` (torch's side), ``generated`` and ``factored`` (running a pass),
``plan`` and ``threads`` (who does what), then the kernels: ``tile_kernels`` with ``edge_kernels``, ``factored_forward``
and ``factored_backward`` with ``factored_edges``, written in the words of ``loops``, ``sincos`` and ``simd``. The
folder is private: users choose it by :func:`mshgnn.ops.set_backend`.
"""

from mshgnn.ops.backends.cpu.operator import NAME, aggregate, obstacle

__all__ = ["NAME", "aggregate", "obstacle"]

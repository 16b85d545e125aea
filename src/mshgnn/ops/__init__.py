"""The arithmetic of one harmonic layer: one object of inputs, one function, interchangeable backends."""

from mshgnn.ops.aggregate import harmonic_aggregate
from mshgnn.ops.backends import get_backend, last_backend, set_backend
from mshgnn.ops.backends.reference import edge_phases, gate_values, harmonic_encoding
from mshgnn.ops.graph import ReceiverCSR, receiver_csr
from mshgnn.ops.inputs import Factored, Generated, Inputs

__all__ = [
    "Factored",
    "Generated",
    "Inputs",
    "ReceiverCSR",
    "edge_phases",
    "gate_values",
    "get_backend",
    "harmonic_aggregate",
    "harmonic_encoding",
    "last_backend",
    "receiver_csr",
    "set_backend",
]

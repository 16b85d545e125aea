"""Memory that a model would need, refused before it is allocated."""

from mshgnn.machine import check_memory

__all__ = ["check_memory"]

"""What is quadratic in the nodes, or worse, says how much memory it needs before it asks for it."""

from mshgnn.machine import MEMORY_LIMIT as LIMIT
from mshgnn.machine import check_memory

__all__ = ["LIMIT", "check_memory"]

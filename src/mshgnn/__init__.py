"""Harmonic message passing on graphs."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mshgnn.nn import MSHGNN, MSHConv

__all__ = ["MSHGNN", "MSHConv", "__version__"]

__version__ = version("mshgnn")


def __getattr__(name: str) -> object:
    """The layer and the model, imported when first asked for: torch takes seconds, which ``mshgnn --help`` has not."""
    if name in ("MSHConv", "MSHGNN"):
        return getattr(import_module("mshgnn.nn"), name)
    raise AttributeError(f"module 'mshgnn' has no attribute {name!r}")

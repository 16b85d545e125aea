"""Harmonic message passing on graphs."""

from importlib.metadata import version

__version__ = version("mshgnn")

"""``mshgnn demo``: the joint structure-frequency task, end to end."""

from __future__ import annotations


def demo() -> None:
    """The joint structure-frequency task for GCN, GAT and MSH-GNN: table and pictures."""
    raise NotImplementedError

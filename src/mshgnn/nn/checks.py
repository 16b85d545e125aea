"""Checks of what a user hands in: each raises ``ValueError`` naming the argument and the offending value."""

from __future__ import annotations

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops.graph import INDEX_DTYPES


def check_features(name: str, features: object, width: int, dtype: torch.dtype) -> None:
    """``features`` must be a tensor ``[rows, width]`` of ``dtype``; under autocast any floating point will do."""
    if not isinstance(features, Tensor):
        raise UserError(f"{name} must be a tensor, got {type(features).__name__}")
    if features.dim() != 2 or features.size(1) != width:
        raise UserError(f"{name} must have two dimensions and {width} columns, got shape {list(features.shape)}")
    if features.dtype == dtype:
        return
    if not (features.is_floating_point() and torch.is_autocast_enabled(features.device.type)):
        raise UserError(f"{name} must be {dtype} like the weights, got {features.dtype}")


def check_dense_features(name: str, features: object, width: int, dtype: torch.dtype) -> None:
    """The same of a tensor that must not be sparse."""
    check_features(name, features, width, dtype)
    assert isinstance(features, Tensor)
    if features.layout != torch.strided:
        raise UserError(f"{name} must be dense, got {features.layout}")


def check_edge_features(edge_attr: object, width: int | None, num_edges: int, dtype: torch.dtype) -> None:
    """``edge_attr`` must be there just when the layer was made with ``edge_dim``, one row an edge."""
    if width is None:
        if edge_attr is not None:
            raise UserError("edge_attr was given, but the layer was made without edge_dim")
        return
    if edge_attr is None:
        raise UserError(f"edge_attr is missing: the layer was made with edge_dim={width}")
    check_dense_features("edge_attr", edge_attr, width, dtype)
    assert isinstance(edge_attr, Tensor)
    if edge_attr.size(0) != num_edges:
        raise UserError(f"edge_attr must have one row an edge, shape {[num_edges, width]}, got {list(edge_attr.shape)}")


def complete_batch(batch: object, batch_size: int | None, num_nodes: int, device: torch.device) -> tuple[Tensor, int]:
    """The graph of every node, int64 ``[num_nodes]``, and the number of graphs, after checking what is given."""
    if batch is None:
        batch = torch.zeros(num_nodes, dtype=torch.int64, device=device)
        batch_size = 1 if batch_size is None else batch_size
    if not isinstance(batch, Tensor):
        raise UserError(f"batch must be a tensor, got {type(batch).__name__}")
    if batch.shape != (num_nodes,):
        raise UserError(f"batch must have one entry a node, shape {[num_nodes]}, got {list(batch.shape)}")
    if batch.dtype not in INDEX_DTYPES:
        raise UserError(f"batch must be int32 or int64, got {batch.dtype}")
    if torch.compiler.is_compiling() and batch_size is not None:
        # Looking at values would break the graph.
        return batch.long(), batch_size
    low, high = (int(bound) for bound in torch.aminmax(batch)) if num_nodes else (0, -1)
    if low < 0:
        raise UserError(f"batch holds the negative graph index {low}")
    if batch_size is None:
        batch_size = high + 1
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 0:
        raise UserError(f"batch_size must be an integer of at least 0, got {batch_size!r}")
    if high >= batch_size:
        raise UserError(f"batch holds graph index {high}, but batch_size is {batch_size}")
    return batch.long(), batch_size

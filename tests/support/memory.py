"""A tensor's memory, given back and taken again."""

from __future__ import annotations

import torch
from torch import Tensor


def put_where_it_lay(tensor: Tensor, content: Tensor) -> Tensor:
    """Free the memory of ``tensor``; a copy of ``content`` at the same address where the system gives it again."""
    before, copies = tensor.data_ptr(), [content]
    tensor.data = torch.empty(0, dtype=tensor.dtype)
    while len(copies) < 100 and copies[-1].data_ptr() != before:
        copies.append(content.clone())
    return copies[-1]

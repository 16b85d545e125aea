"""The header of a ``.npy`` file, alone or inside an ``.npz``: what it announces, before anything is allocated."""

from __future__ import annotations

from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np

_READERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class NpyHeader(NamedTuple):
    """Shape, order and type of the array that follows."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read it and leave the file behind it; a ``ValueError`` of one line where it is none."""
    try:
        version: tuple[int, int] = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call, unused-ignore]
        return NpyHeader(*_READERS[version](file))
    except (ValueError, KeyError, SyntaxError, TokenError, TypeError, EOFError, RecursionError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(f"its header cannot be read: {reason[:200]}") from error

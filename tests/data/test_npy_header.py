from __future__ import annotations

import io

import numpy as np
import pytest

from mshgnn.data.npy_header import read_npy_header


def packed(header: bytes, version: bytes = b"\x01\x00") -> io.BytesIO:
    return io.BytesIO(b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header)


def test_a_header_says_what_follows() -> None:
    written = io.BytesIO()
    np.save(written, np.zeros((3, 2), "<f4", order="F"))
    written.seek(0)
    assert read_npy_header(written) == ((3, 2), True, np.dtype("<f4"))
    assert len(written.read()) == 3 * 2 * 4


@pytest.mark.parametrize(
    "file",
    [
        io.BytesIO(b""),
        io.BytesIO(b"\x93NUMPY"),
        packed(b"{}", b"\x09\x00"),
        packed(b"{'descr': '<f4', 'shape': (3,"),  # numpy alone raises a TokenError
        packed(b"{'descr': '<f4', \n  'fortran_order'\n 1"),
        packed(b"[" * 3000),
        packed(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}" + b" " * 20_000),
        packed(b"{'descr': 'what', 'fortran_order': False, 'shape': (3,)}"),
        packed(b"{'descr': '<f4', 'fortran_order': False, 'shape': 3}"),
    ],
    ids=["empty", "cut", "version", "open", "indented", "deep", "long", "type", "shape"],
)
def test_what_is_no_header_is_one_kind_of_error(file: io.BytesIO) -> None:
    with pytest.raises(ValueError, match=r"\Aits header cannot be read: .*\Z"):
        read_npy_header(file)

from __future__ import annotations

import io
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from data_helpers import SMALL, write_tu_zip
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError
from mshgnn.data.sources.archives import read_npz, unpack_tu_zip


def test_only_the_named_texts_are_unpacked(tmp_path: Path) -> None:
    path = write_tu_zip(tmp_path / "SMALL.zip", SMALL)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("SMALL/README.txt", "read me")
    (tmp_path / "out").mkdir()
    unpack_tu_zip(path, tmp_path / "out", "SMALL")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(f"SMALL_{key}.txt" for key in SMALL)


@pytest.mark.parametrize("member", ["../SMALL_A.txt", "/tmp/SMALL_A.txt", "SMALL/../../SMALL_A.txt", "..\\SMALL_A.txt"])
def test_a_member_outside_is_refused(tmp_path: Path, member: str) -> None:
    path = tmp_path / "SMALL.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "1, 2\n")
    (tmp_path / "out").mkdir()
    with pytest.raises(DataError, match="outside the archive"):
        unpack_tu_zip(path, tmp_path / "out", "SMALL")
    assert list((tmp_path / "out").iterdir()) == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["SMALL.zip", "out"]


def test_truncated_altered_and_foreign_zips_are_refused(tmp_path: Path) -> None:
    path = write_tu_zip(tmp_path / "SMALL.zip", SMALL)
    whole = path.read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "page.zip").write_bytes(b"<html>404 not found</html>")
    (tmp_path / "empty.zip").write_bytes(b"")
    (tmp_path / "altered.zip").write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])
    for name in ("cut", "page", "empty", "altered"):
        with pytest.raises(DataError, match=rf"{name}\.zip: damaged"):
            unpack_tu_zip(tmp_path / f"{name}.zip", tmp_path, "SMALL")
    with pytest.raises(DataError, match=r"no OTHER_\*.txt"):
        unpack_tu_zip(path, tmp_path, "OTHER")


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_LIMITS", "unpacked=50000")
    path = write_tu_zip(tmp_path / "SMALL.zip", {"A": "1, 2\n" * 20_000})
    with pytest.raises(DataError, match="100,000 bytes unpacked, more than the limit of 50,000"):
        unpack_tu_zip(path, tmp_path, "SMALL")


def test_pickled_objects_are_refused_where_they_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, labels=np.array([{"a": 1}, None], dtype=object), x=[1.0])
    with pytest.raises(DataError, match="'labels' holds pickled objects"):
        read_npz(path, {"labels": "iu"})
    read_npz(path, {"x": "fiub"})  # Coauthor Physics has such an array beside those that are read


def test_missing_arrays_and_nan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=[1.0, float("nan")])
    with pytest.raises(DataError, match="'labels' is missing"):
        read_npz(path, {"labels": "iu"})
    with pytest.raises(DataError, match="NaN"):
        read_npz(path, {"x": "fiub"})


def test_text_in_place_of_numbers_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", labels=np.array(["cat", "dog"]))
    with pytest.raises(DataError, match="'labels' holds <U3, not whole numbers"):
        read_npz(tmp_path / "a.npz", {"labels": "iu"})


def test_numbers_of_another_byte_order_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", labels=np.arange(3).astype(">i4"))
    read = read_npz(tmp_path / "a.npz", {"labels": "iu"})["labels"]
    assert (read.tolist(), read.dtype.isnative) == ([0, 1, 2], True)


@pytest.mark.parametrize("shape", ["(2500000000,)", "(50000, 50000)", "(99999999999999999999,)", "(-4,)", "(5,)"])
def test_a_header_that_announces_what_is_not_there_is_refused_before_anything_is_allocated(
    tmp_path: Path, shape: str
) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\x00" * 32
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", raw)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"array 'x' cannot be read: .* by its header"):
        read_npz(tmp_path / "a.npz", {"x": "fiub"})
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@settings(max_examples=150, deadline=None)
@given(position=st.integers(0, 10**6), byte=st.integers(1, 255), cut=st.booleans())
def test_any_damage_to_an_npz_is_refused_or_harmless(position: int, byte: int, cut: bool) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, labels=np.arange(50), x=np.linspace(0, 1, 60))
    raw = bytearray(buffer.getvalue())
    position %= len(raw)
    if cut:
        del raw[position:]
    else:
        raw[position] ^= byte
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        path.write_bytes(raw)
        try:
            content = read_npz(path, {"labels": "iu", "x": "fiub"})
        except DataError:
            return
        assert content["labels"].tolist() == list(range(50))


@settings(max_examples=100, deadline=None)
@given(position=st.integers(0, 10**6), byte=st.integers(1, 255), cut=st.booleans())
def test_any_damage_to_a_zip_is_refused_or_harmless(position: int, byte: int, cut: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_tu_zip(Path(folder) / "SMALL.zip", SMALL)
        raw = bytearray(path.read_bytes())
        position %= len(raw)
        if cut:
            del raw[position:]
        else:
            raw[position] ^= byte
        path.write_bytes(raw)
        (Path(folder) / "out").mkdir()
        try:
            unpack_tu_zip(path, Path(folder) / "out", "SMALL")
        except DataError:
            return
        for file in (Path(folder) / "out").iterdir():
            assert file.read_text() in SMALL.values()


def test_a_member_whose_name_is_no_text_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, edges=np.zeros((1, 2)))
    content = bytearray(path.read_bytes())
    content[7] |= 8  # the local header says that its name is UTF-8, ..
    content[30] = 0x98  # .. which cannot begin like this
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"g\.npz: damaged or incomplete"):
        read_npz(path, {"edges": "f"})


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_packs_a_thousand_times_tighter_than_any_data_set_is_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("x.npy", b"1" * 1000)
    with pytest.raises(DataError, match=r"a.npz: is compressed in a way that data sets never are"):
        read_npz(tmp_path / "a.npz", {"x": "fiub"})

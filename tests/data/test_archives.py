from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from data_helpers import SMALL, write_tu_zip
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError
from mshgnn.data.sources import archives
from mshgnn.data.sources.archives import check_npz, unpack_tu_zip


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
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 50_000)
    path = write_tu_zip(tmp_path / "SMALL.zip", {"A": "1, 2\n" * 20_000})
    with pytest.raises(DataError, match="would unpack to"):
        unpack_tu_zip(path, tmp_path, "SMALL")


def test_pickled_objects_are_refused_where_they_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, labels=np.array([{"a": 1}, None], dtype=object), x=[1.0])
    with pytest.raises(DataError, match="'labels' holds pickled objects"):
        check_npz(path, ["labels"])
    check_npz(path, ["x"])  # Coauthor Physics has such an array beside those that are read


def test_missing_arrays_and_nan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=[1.0, float("nan")])
    with pytest.raises(DataError, match="'labels' is missing"):
        check_npz(path, ["labels"])
    with pytest.raises(DataError, match="NaN"):
        check_npz(path, ["x"])


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
            check_npz(path, ["labels", "x"])
        except DataError:
            return
        with np.load(path) as content:
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

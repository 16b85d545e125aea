from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import torch

from mshgnn.data import DataError
from mshgnn.data.sources import store
from mshgnn.data.sources.store import Kept, keep

CONTENT = Kept({"x": torch.arange(12.0).reshape(3, 4), "flag": torch.tensor([True])}, {"names": ["a", "b"]})


def build(work: Path) -> Kept:
    work.mkdir()
    (work / "unpacked.txt").write_text("left over")
    return CONTENT


def never(_: Path) -> Kept:
    raise AssertionError("built again")


def same(found: Kept) -> bool:
    return all(torch.equal(found.tensors[key], value) for key, value in CONTENT.tensors.items()) and dict(
        found.facts
    ) == dict(CONTENT.facts)


def test_what_is_kept_comes_back_without_being_built_again(tmp_path: Path) -> None:
    assert same(keep(tmp_path / "kept", build))
    assert same(keep(tmp_path / "kept", never))
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["data.safetensors", "sha256"]


def test_nobody_else_may_read_or_write_it(tmp_path: Path) -> None:
    keep(tmp_path / "new" / "kept", build)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "kept").stat().st_mode & 0o777 == 0o700


def test_a_hundred_flipped_bits_are_all_seen(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    keep(folder, build)
    chance = random.Random(0)
    files = sorted(folder.iterdir())
    whole = {path: path.read_bytes() for path in files}
    for _ in range(100):
        path = chance.choices(files, [len(whole[path]) for path in files])[0]
        raw = bytearray(whole[path])
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        path.write_bytes(raw)
        with pytest.raises(AssertionError, match="built again"):
            keep(folder, never)
        path.write_bytes(whole[path])
    assert same(keep(folder, never))


def test_damage_and_older_versions_are_made_again_and_what_is_foreign_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kept"
    keep(folder, build)
    shutil.copytree(folder, tmp_path / "other")  # whole, but of another name
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "data.pt").write_bytes(b"pickle")
    (tmp_path / "file").write_text("a file in place of a folder")
    monkeypatch.setattr(store, "FORMAT", 2)
    for name in ("kept", "other", "foreign", "file"):
        caplog.clear()
        assert same(keep(tmp_path / name, build))
        message, *more = [record.getMessage() for record in caplog.records]
        assert str(tmp_path / name) in message
        assert "made again" in message
        assert "\n" not in message
        assert same(keep(tmp_path / name, never))
        assert bool(more) == (name in ("foreign", "file"))
        assert all(f"it is kept as {name}.other" in line for line in more)
    assert (tmp_path / "foreign.other" / "data.pt").read_bytes() == b"pickle"
    assert (tmp_path / "file.other").read_text() == "a file in place of a folder"


def test_a_header_that_is_no_header_is_made_again(tmp_path: Path) -> None:
    import hashlib

    folder = tmp_path / "kept"
    for header in (b"[]", b"{}", b'{"__metadata__": {"mshgnn": "[1]"}}', b"[" * 5000, b"\xff"):
        folder.mkdir(exist_ok=True)
        raw = len(header).to_bytes(8, "little") + header
        (folder / "data.safetensors").write_bytes(raw)
        (folder / "sha256").write_text(hashlib.sha256(raw).hexdigest() + "\n")
        assert same(keep(folder, build))
        shutil.rmtree(folder)


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def fail(work: Path) -> Kept:
        build(work)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        keep(tmp_path / "all" / "kept", fail)
    assert [path.name for path in (tmp_path / "all").iterdir()] == [".kept.lock"]


def test_facts_are_plain_json(tmp_path: Path) -> None:
    keep(tmp_path / "kept", build)
    raw = (tmp_path / "kept" / "data.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["mshgnn"])["facts"] == {"names": ["a", "b"]}


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "kept", tmp_path / "file" / "deeper" / "kept"):
        with pytest.raises(DataError, match=r"cannot write there \(.*\); set MSHGNN_DATA"):
            keep(place, never)


def test_a_pipe_in_place_of_prepared_data_is_not_waited_for(tmp_path: Path) -> None:
    keep(tmp_path / "kept", build)
    (tmp_path / "kept" / "sha256").unlink()
    os.mkfifo(tmp_path / "kept" / "sha256")
    assert same(keep(tmp_path / "kept", build))

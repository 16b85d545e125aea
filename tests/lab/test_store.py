from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_helpers import make_data, make_experiment

from mshgnn.lab.errors import RunFolderLost, StoreError
from mshgnn.lab.runner import run_info
from mshgnn.lab.store import RunStore
from mshgnn.records.codec import encode
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.curves import CURVE_NAMES, Curves

KEY = FoldKey(0, 1)
INFO = run_info(make_experiment(), make_data())


def make_result(key: FoldKey = KEY, value: float = 0.1) -> FoldResult:
    curves = Curves(**{name: np.array([value, 1 / 3]) for name in CURVE_NAMES}, sizes=(4, 2, 2), higher_is_better=True)
    return FoldResult(key, curves, 1.5, 100.0, 42, INFO.environment)


def make_store(folder: Path) -> RunStore:
    store = RunStore(folder / "run")
    store.begin(INFO)
    return store


def test_a_fold_comes_back_bit_by_bit(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    assert store.load(KEY, INFO) is None
    store.save(make_result(), INFO)
    assert store.load(KEY, INFO) == make_result()
    assert store.results() == [make_result()]
    content = json.loads(gzip.decompress((store.folder / "folds" / "seed0-fold01.json.gz").read_bytes()))
    assert content["payload"]["curves"]["test_loss"] == [0.1, 1 / 3], "plain JSON, full precision"


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_any_damage_is_noticed_and_set_aside(tmp_path: Path, data: st.DataObject) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    path = store.folder / "folds" / "seed0-fold01.json.gz"
    path.with_name(path.name + ".damaged").unlink(missing_ok=True)  # of the example before
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    found = store.load(KEY, INFO)
    if found is None:
        assert not path.exists()
        assert path.with_name(path.name + ".damaged").read_bytes() == bytes(content)
    else:  # a flipped bit in gzip's own header (file time, system) does not touch the content
        assert found == make_result()


def test_no_changed_byte_of_a_fold_is_taken_for_other_data(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    path = store.folder / "folds" / f"{KEY}.json.gz"
    packed = path.read_bytes()
    plain = gzip.decompress(packed)  # a checksum of our own guards it, where gzip's cannot
    seen = 0
    for whole in (packed, plain):
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
            found = store.load(KEY, INFO)
            assert found in (None, make_result()), f"byte {place}"
            if found is None:
                seen += 1
                path.with_name(f"{path.name}.damaged").unlink()
    assert seen > 0.95 * len(packed + plain), "a header's free bytes apart, every change is seen"


def test_a_fold_in_the_wrong_file_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    folds = store.folder / "folds"
    (folds / "seed0-fold01.json.gz").rename(folds / "seed0-fold02.json.gz")
    assert store.load(FoldKey(0, 2), INFO) is None
    assert (folds / "seed0-fold02.json.gz.damaged").exists()
    (line,) = capsys.readouterr().err.splitlines()
    assert "seed0-fold02.json.gz: damaged (seed0-fold02.json.gz holds another fold)" in line


def test_the_folder_of_another_run_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    data = make_data()
    store.begin(run_info(make_experiment(about="a remark changes nothing"), data))
    with pytest.raises(StoreError, match=r"another experiment: training.epochs was 3, is now 4.*--out"):
        store.begin(run_info(make_experiment(training={"epochs": 4}), data))
    with pytest.raises(StoreError, match=r"another data set \(checksum\)"):
        store.begin(run_info(make_experiment(), make_data(graphs=44)))
    with pytest.raises(StoreError, match=r"another splits \(checksum\)"):
        store.begin(run_info(make_experiment(), data._replace(splits=replace(data.splits, checksum="other"))))


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": 1, "sha256": "0", "payload": {}}'])
def test_a_damaged_run_file_is_named(tmp_path: Path, content: str) -> None:
    store = make_store(tmp_path)
    (store.folder / "run.json").write_text(content)
    with pytest.raises(StoreError, match=r"run.json: damaged, or not the file of a run"):
        store.info()


def test_what_is_no_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        RunStore(tmp_path).info()


def test_a_full_disk_is_explained_and_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(tmp_path)
    store.save(make_result(value=0.1), INFO)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device"):
            store.save(make_result(value=0.9), INFO)
    assert store.load(KEY, INFO) == make_result(value=0.1)
    assert sorted(path.name for path in (store.folder / "folds").iterdir()) == ["seed0-fold01.json.gz"]


def test_half_written_files_of_a_kill_are_swept_away(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    (store.folder / "folds" / "seed0-fold02.json.gz.abc.writing").write_bytes(b"half")
    store.begin(store.info())
    assert [path.name for path in (store.folder / "folds").iterdir()] == ["seed0-fold01.json.gz"]


def test_a_users_own_files_are_never_touched(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    (folder / "folds").mkdir(parents=True)
    theirs = [folder / "draft.writing", folder / "folds" / "origami.writing", folder / "folds" / "paper.json.gz"]
    for path in theirs:
        path.write_text("mine")
    RunStore(folder).begin(INFO)
    RunStore(folder).begin(INFO)
    assert RunStore(folder).results() == []
    assert [path.read_text() for path in theirs] == ["mine"] * 3


def test_pipes_in_a_run_do_not_keep_a_reader_waiting(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    os.mkfifo(tmp_path / "run" / "folds" / f"{KEY}.json.gz")
    assert store.load(KEY, INFO) is None
    (tmp_path / "run" / "run.json").unlink()
    os.mkfifo(tmp_path / "run" / "run.json")
    with pytest.raises(StoreError, match="not a regular file"):
        store.info()


def test_a_folder_with_another_run_json_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"steps": [1, 2]}')
    leftover = tmp_path / "run.json.abc.writing"
    leftover.write_text("mine")
    with pytest.raises(StoreError, match=r"not the file of a run .*; choose another --out"):
        RunStore(tmp_path).begin(INFO)
    assert leftover.exists()


@pytest.mark.parametrize(
    "changes", [{"model": {"name": "gin"}}, {"training": {"epochs": 4}}, {"model": {"name": "gcn", "dropout": 0.3}}]
)
def test_folds_of_another_experiment_are_set_aside_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object]
) -> None:
    theirs = RunStore(tmp_path / "theirs")
    other = run_info(make_experiment(**changes), make_data())
    theirs.begin(other)
    theirs.save(make_result(), other)
    ours = make_store(tmp_path)
    name = "seed0-fold01.json.gz"
    for expected in (f"{name}.other", f"{name}.other2"):
        (ours.folder / "folds" / name).write_bytes((theirs.folder / "folds" / name).read_bytes())
        assert ours.results() == []
        assert (ours.folder / "folds" / expected).exists()
        (line,) = capsys.readouterr().err.splitlines()
        assert (
            f"computed for another experiment, other data or by another version of the code; kept as {expected}" in line
        )


def test_folds_of_another_version_of_the_numbers_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    newer = replace(INFO, numbers=INFO.numbers + 1)
    with pytest.raises(StoreError, match=r"another version of the numbers: was 1, is now 2"):
        store.begin(newer)
    (store.folder / "run.json").unlink()  # as if the folder had been cleaned by hand
    store.begin(newer)
    assert store.results() == []
    assert "counts as missing" in capsys.readouterr().err


def test_a_run_of_another_version_of_the_package_is_set_aside_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path)
    older = {**INFO.environment, "mshgnn": "0.0.1"}
    (store.folder / "run.json").unlink()
    before = replace(INFO, environment=older)
    store.begin(before)
    store.save(replace(make_result(), environment=older), before)
    assert len(store.results()) == 1, "its own version shows it"
    store.begin(INFO)
    assert store.results() == []
    assert store.info() == INFO
    run, fold = capsys.readouterr().err.splitlines()
    assert f"a run of mshgnn 0.0.1, this is {INFO.version}; kept as run.json.other, the run starts anew" in run
    assert "by another version of the code; kept as seed0-fold01.json.gz.other, the fold counts as missing" in fold


def test_a_fold_of_a_node_with_another_version_is_not_stored(tmp_path: Path) -> None:
    there = {**INFO.environment, "mshgnn": "0.0.1", "node": "far/1"}
    with pytest.raises(
        StoreError, match=r"seed0-fold01: was computed by mshgnn 0.0.1 on far/1, this is .*: not stored"
    ):
        make_store(tmp_path).save(replace(make_result(), environment=there), INFO)


def test_a_folder_from_before_digests_is_shown_but_not_continued(tmp_path: Path) -> None:
    old = replace(INFO, numbers=0)
    folder = tmp_path / "old"
    (folder / "folds").mkdir(parents=True)
    content = {key: value for key, value in old.to_json().items() if key != "numbers"}
    content["experiment"] = make_experiment().model_dump(mode="json")  # as it was: without the model's defaults
    (folder / "run.json").write_bytes(encode(content, compress=False))
    (folder / "folds" / "seed0-fold01.json.gz").write_bytes(encode(make_result().to_json(), compress=True))
    assert RunStore(folder).results() == [make_result()]
    with pytest.raises(StoreError, match="another version of the numbers: was 0, is now 1"):
        RunStore(folder).begin(INFO)


def test_a_folder_removed_in_the_middle_is_said(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(make_result(), INFO)
    shutil.rmtree(store.folder)
    with pytest.raises(RunFolderLost, match="run: was removed while the run went on; seed0-fold01 is not stored"):
        store.save(make_result(), INFO)
    assert not store.folder.exists()
    with pytest.raises(RunFolderLost, match="lost: seed0-fold00, seed0-fold01, seed0-fold02"):
        store.check_complete(INFO)


def test_a_second_writer_is_kept_out(tmp_path: Path) -> None:
    first, second = RunStore(tmp_path / "run"), RunStore(tmp_path / "run")
    with first.lock(), pytest.raises(StoreError, match="another process is running here"), second.lock():
        pass
    with second.lock():
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/run: cannot be written"), RunStore(tmp_path / "file" / "run").lock():
        pass

"""Hostile files: one line each, in bounded time and memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import load_experiment
from mshgnn.lab.yaml_file import MAX_BYTES, read_mapping

LEVELS = 30
ALIASES = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, LEVELS))
MERGES = "m0: &m0 {k: 1}\n" + "".join(f"m{i}: &m{i} {{<<: [*m{i - 1}, *m{i - 1}]}}\n" for i in range(1, LEVELS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("? [1, 2]\n: 3", "line 1 not valid YAML: a key must be a single value"),
        ("a:\n  {b: 1}: 2", "line 2 not valid YAML: a key must be a single value"),
        ("a: " + "[" * 50_000, "nested too deeply"),
        ("a: " + "{b: " * 20_000, "nested too deeply"),
        (ALIASES, "its aliases stand for more than 100,000 values"),
        (MERGES, "its aliases stand for more than 100,000 values"),
        ("a: &a [*a]", "line 1 not valid YAML: an alias stands for itself"),
        ("a: 2024-99-99", "month must be in"),
        ("a: 1\n" * 2, "line 2 not valid YAML: key 'a' is given twice"),
        ("a: '" + "x" * MAX_BYTES + "'", "is too large"),
        ("a: \x07", "not valid YAML"),
        ("a: 0x" + "f" * 6000, "line 1 not valid YAML: a number of 6,002 digits"),
        ("a: " + "1:" * 100_000 + "1", "line 1 not valid YAML: a number of 200,001 digits"),
        ("a: " + "1:" * 1000 + "1.5", "too large"),
        ("a: " + "9" * 400, "line 1 not valid YAML: a number of 400 digits"),
    ],
)
def test_a_hostile_text_is_one_line_and_quick(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    started = time.monotonic()
    with pytest.raises(ExperimentError, match=message) as caught:
        read_mapping(path)
    assert time.monotonic() - started < 20
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_modest_aliases_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: 1e-3}")
    assert read_mapping(path) == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 0.001}}


@pytest.mark.parametrize("base", ["/dev/zero", "pipe", "folder"])
def test_what_is_no_file_is_not_read(tmp_path: Path, base: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "try.yaml"
    path.write_text(f"extends: {base}\ndataset: {{name: MUTAG}}\nmodel: {{name: gcn}}")
    with pytest.raises(ExperimentError, match=r"cannot be read \(it is not a file\)"):
        load_experiment(path)

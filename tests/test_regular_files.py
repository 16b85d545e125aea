from __future__ import annotations

import os
from pathlib import Path

import pytest

from mshgnn.files import parse_json, read_regular


def test_a_pipe_in_the_place_of_a_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"content")
    assert read_regular(tmp_path / "plain") == b"content"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="not a regular file"):
            read_regular(path)


def test_a_whole_number_that_no_float_can_hold_is_no_json() -> None:
    assert parse_json('{"a": [1, -2.5, 1' + "0" * 200 + "]}")["a"] == [1, -2.5, 10**200]
    with pytest.raises(ValueError, match="a number of 401 digits"):
        parse_json('{"a": 1' + "0" * 400 + "}")

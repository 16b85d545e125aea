from __future__ import annotations

import os
from pathlib import Path

import pytest

from mshgnn.files import read_regular


def test_a_pipe_in_the_place_of_a_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"content")
    assert read_regular(tmp_path / "plain") == b"content"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="not a regular file"):
            read_regular(path)

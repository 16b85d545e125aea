"""Tests of data sets are not skipped in silence where the data is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest

@pytest.mark.skipif(True, reason="MSHGNN_MIRROR is not set")
def test_of_a_data_set():
    pass

@pytest.mark.skip(reason="another reason")
def test_of_something_else():
    pass
"""


@pytest.mark.parametrize("mirror", ["", "somewhere"])
def test_a_data_set_test_that_is_skipped_beside_the_mirror_fails(mirror: str, tmp_path: Path) -> None:
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "MSHGNN_MIRROR": mirror},
        cwd=tmp_path,
    )
    expected = ("1 skipped", "1 error") if mirror else ("2 skipped",)
    assert all(count in done.stdout for count in expected), done.stdout
    assert done.returncode == (1 if mirror else 0)

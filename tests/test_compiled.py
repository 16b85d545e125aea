"""Machine code without a folder to keep it in, and from a damaged cache."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
from mshgnn.compiled import compiled

@compiled(["i8(i8)"])
def twice(number):
    return 2 * number
"""

LAYER = """
import torch
from mshgnn import MSHConv
torch.manual_seed(0)
layer = MSHConv(4, 3, 2)
out = layer(torch.randn(5, 4), torch.tensor([[0, 1, 2, 3], [4, 0, 1, 2]]))
out.sum().backward()
print(torch.isfinite(out).all().item())
"""


def python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that finds modules in ``folder``, too."""
    found = os.pathsep.join([str(folder), *sys.path])
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": found, **environment},
    )


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """A place where no folder can be made, whoever asks: below a file."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "cache"


def module(folder: Path) -> Path:
    folder.mkdir()
    (folder / "doubling.py").write_text(SOURCE)
    (folder / "__pycache__").touch()  # a file: numba cannot write beside the source
    return folder


def test_without_a_folder_to_write_functions_are_compiled_in_memory(tmp_path: Path, nowhere: Path) -> None:
    places = {"NUMBA_CACHE_DIR": str(nowhere), "HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere)}
    done = python("from doubling import twice\nprint(twice(21))", module(tmp_path / "package"), **places)
    assert (done.stdout, done.stderr) == ("42\n", "")


def damaged(content: bytes, how: str) -> bytes:
    if how == "truncated":
        return content[: len(content) // 2]
    if how == "empty":
        return b""
    if how == "garbage":
        return random.Random(0).randbytes(len(content))
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("how", ["truncated", "empty", "garbage", "one bit"])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_file_of_the_cache_is_replaced(ending: str, how: str, tmp_path: Path) -> None:
    package, cache = module(tmp_path / "package"), tmp_path / "cache"
    code = "from doubling import twice\nprint(twice(21), sum(twice._compiled.stats.cache_hits.values()))"
    assert python(code, package, NUMBA_CACHE_DIR=str(cache)).stdout == "42 0\n"
    (file,) = cache.rglob(f"*.{ending}")
    whole = file.read_bytes()
    file.write_bytes(damaged(whole, how))
    runs = [python(code, package, NUMBA_CACHE_DIR=str(cache)) for _ in range(2)]
    assert [(run.stdout, run.stderr) for run in runs] == [("42 0\n", ""), ("42 1\n", "")]


def test_data_is_imported_and_the_reference_layer_runs_without_numba(tmp_path: Path) -> None:
    forbid = "import sys\nsys.modules['numba'] = None\nimport mshgnn.data\n"
    done = python(forbid + LAYER, tmp_path, MSHGNN_BACKEND="reference")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_the_layer_runs_where_nothing_can_be_written(backend: str, nowhere: Path, tmp_path: Path) -> None:
    places = {"NUMBA_CACHE_DIR": str(nowhere), "HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere)}
    no_tree = "from numba.core import caching\ncaching.CacheImpl._locator_classes.remove(caching.InTreeCacheLocator)\n"
    done = python(no_tree + LAYER, tmp_path, MSHGNN_BACKEND=backend, **places)
    assert done.stdout == "True\n", done.stderr

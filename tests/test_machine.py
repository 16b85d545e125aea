from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from mshgnn import machine
from mshgnn.errors import UserError

SCRIPT = """
import psutil
from mshgnn import machine
def resident():
    return psutil.Process().memory_info().rss / 2**20
block = bytearray(30 << 20)
del block  # malloc adapts: from here on it keeps blocks up to this size by itself
machine.{choice}()
before = resident()
block = bytearray({size} << 20)
held = resident() - before
del block
print(held, resident() - before)
"""

needs_mallopt = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="malloc here has no mallopt")


def held_and_left(choice: str, size: int) -> list[float]:
    """Resident MB that a block takes, and what stays of it when it is freed, in a process of its own."""
    script = SCRIPT.format(choice=choice, size=size)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


@needs_mallopt
def test_freed_blocks_are_kept_though_large() -> None:
    held, left = held_and_left("keep_freed_blocks", 200)
    assert held == pytest.approx(200, rel=0.1)
    assert left == pytest.approx(held, rel=0.1)


@needs_mallopt
def test_freed_blocks_are_returned_though_small() -> None:
    held, left = held_and_left("return_freed_blocks", 20)
    assert held == pytest.approx(20, rel=0.1)
    assert left < 0.1 * held


@needs_mallopt
def test_what_was_freed_before_is_returned_too() -> None:
    script = """
import psutil
from mshgnn import machine
blocks, last = [bytearray(8 << 10) for _ in range(4000)], bytearray(8 << 10)  # the last one keeps malloc from shrinking
del blocks
before = psutil.Process().memory_info().rss
machine.return_freed_blocks()
print((before - psutil.Process().memory_info().rss) / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 0.8 * 4000 * 8 / 1024


def test_the_old_number_of_threads_comes_back_even_after_an_error() -> None:
    before = torch.get_num_threads()
    with suppress(KeyError), machine.threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise KeyError
    assert torch.get_num_threads() == before


def test_a_graphics_card_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, found in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert machine.find_device("auto").type == found
        assert machine.find_device("cpu").type == "cpu"
    with pytest.raises(UserError, match=r"device 'cuda': .* no graphics card"):
        machine.find_device("cuda")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_the_peak_counts_what_was_held_since_the_reset_alone() -> None:
    code = """
import torch
from mshgnn import machine
big = torch.ones(80 << 20, dtype=torch.uint8)  # malloc always hands blocks above 32 MB back
del big
machine.reset_peak_memory()
at_rest = machine.resident_memory_bytes()
assert machine.peak_memory_bytes() - at_rest < 5 << 20
held = torch.ones(40 << 20, dtype=torch.uint8)
del held
print(machine.peak_memory_bytes() - at_rest)
assert machine.peak_memory_mb() == machine.peak_memory_bytes() / 2**20
"""
    # a process of its own: another test may have told this one's malloc to keep what is freed
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == pytest.approx(40 << 20, rel=0.1)


def test_the_environment_names_versions_and_the_commit() -> None:
    found = machine.environment()
    assert found["torch"] == torch.__version__.split("+")[0] or found["torch"] == torch.__version__
    assert set(machine.PACKAGES) < set(found)
    assert re.fullmatch(r"([0-9a-f]{12}(\+changes)?)?", found["commit"])
    assert all(isinstance(value, str) for value in found.values())
    assert machine.processor()


@pytest.mark.parametrize(
    ("text", "expected"), [("8G", 8_000_000_000), ("500m", 500_000_000), ("2e9", 2_000_000_000), ("1.5K", 1_500)]
)
def test_a_limit_may_have_a_unit(text: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.parse_bytes(text, "--memory") == expected
    monkeypatch.setenv("MSHGNN_MEMORY", text)
    assert machine.memory_limit() == expected


@pytest.mark.parametrize("text", ["", "G", "much", "-1", "0", "nan", "1e999"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--memory must be a number of bytes, got"):
        machine.parse_bytes(text, "--memory")


def test_a_wrong_limit_of_the_environment_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "much")
    with pytest.raises(UserError, match="MSHGNN_MEMORY must be a number of bytes"):
        machine.use_memory(None)

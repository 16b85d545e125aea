import ctypes
import subprocess
import sys

import pytest

SCRIPT = """
import psutil
from mshgnn.lab import malloc
def resident():
    return psutil.Process().memory_info().rss / 2**20
block = bytearray(30 << 20)
del block  # malloc adapts: from here on it keeps blocks up to this size by itself
malloc.{choice}()
before = resident()
block = bytearray({size} << 20)
held = resident() - before
del block
print(held, resident() - before)
"""

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="malloc here has no mallopt")


def held_and_left(choice: str, size: int) -> list[float]:
    """Resident MB that a block takes, and what stays of it when it is freed, in a process of its own."""
    script = SCRIPT.format(choice=choice, size=size)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def test_freed_blocks_are_kept_though_large() -> None:
    held, left = held_and_left("keep_freed_blocks", 200)
    assert held == pytest.approx(200, rel=0.1)
    assert left == pytest.approx(held, rel=0.1)


def test_freed_blocks_are_returned_though_small() -> None:
    held, left = held_and_left("return_freed_blocks", 20)
    assert held == pytest.approx(20, rel=0.1)
    assert left < 0.1 * held


def test_what_was_freed_before_is_returned_too() -> None:
    script = """
import psutil
from mshgnn.lab import malloc
blocks, last = [bytearray(8 << 10) for _ in range(4000)], bytearray(8 << 10)  # the last one keeps malloc from shrinking
del blocks
before = psutil.Process().memory_info().rss
malloc.return_freed_blocks()
print((before - psutil.Process().memory_info().rss) / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 0.8 * 4000 * 8 / 1024

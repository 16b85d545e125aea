"""The machine a number was made on: threads, device, malloc, memory, versions and commit."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, cast, get_args

import torch

from mshgnn.errors import UserError

PACKAGES = ("mshgnn", "torch", "torch-geometric", "numpy", "numba", "scikit-learn")

Device = Literal["cpu", "cuda", "auto"]


def check_device(name: str) -> Device:
    """The name of a device that is here."""
    for device in get_args(Device):
        if device == name:
            find_device(device)
            return cast(Device, device)
    raise UserError(f"device must be cpu, cuda or auto, got {name!r}")


def find_device(name: Device) -> torch.device:
    """The device of that name; ``auto`` is the graphics card where there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device 'cuda': torch finds no graphics card here; use 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch compute on ``count`` threads; the old number comes back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# What malloc does with freed blocks. On systems without glibc's ``mallopt`` nothing changes.

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
LARGE_BLOCK = 64 * 1024
NEVER = 2**31 - 1


def keep_freed_blocks() -> None:
    """Reuse every freed block: for a process that does nothing but train.

    A layer that makes a row for every edge allocates hundreds of MB per step. By default glibc returns such blocks to
    the system, which then clears each page again at the next step: on a whole graph up to half of the time goes there.
    Where ``MSHGNN_MEMORY`` states a limit, they are returned nevertheless: blocks that are kept count.
    """
    if MEMORY_VARIABLE in os.environ:
        return_freed_blocks()
        return
    _set_malloc({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: NEVER})


def return_freed_blocks() -> None:
    """Hand back all that is free now, and every large block when freed: reused blocks would hide a peak of memory."""
    _set_malloc({M_TRIM_THRESHOLD: LARGE_BLOCK, M_MMAP_THRESHOLD: LARGE_BLOCK})
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set_malloc(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)


# The memory of this process.

MEMORY_VARIABLE = "MSHGNN_MEMORY"
MEMORY_LIMIT = 16 * 10**9
"""Bytes that one thing may ask for at once, unless ``MSHGNN_MEMORY`` says otherwise."""
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def memory_limit() -> int:
    """The limit in bytes: ``MSHGNN_MEMORY`` as a number of bytes or with a unit (``8G``), else the default."""
    stated = os.environ.get(MEMORY_VARIABLE)
    return MEMORY_LIMIT if stated is None else parse_bytes(stated, MEMORY_VARIABLE)


def use_memory(limit: str | None) -> None:
    """Keep freed blocks, for speed; take ``limit``, such as ``8G``, in this process and those that it starts."""
    if limit is not None:
        os.environ[MEMORY_VARIABLE] = str(parse_bytes(limit, "--memory"))
    memory_limit()  # a wrong one is refused before the work, not in the middle of it
    keep_freed_blocks()


def parse_bytes(text: str, name: str) -> int:
    """``8G``, ``500M`` or ``2e9`` as a number of bytes; ``name`` is what an error calls it."""
    number, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in UNITS else (text, "")
    try:
        found = int(float(number) * UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        found = 0
    if found <= 0:
        raise UserError(f"{name} must be a number of bytes, got {text!r}; 8G, 500M and 2e9 are some")
    return found


def check_memory(what: str, num_bytes: int) -> None:
    """Refuse to allocate more bytes than the limit; ``what`` names the tensors and the sizes behind them."""
    limit = memory_limit()
    if num_bytes > limit:
        raise UserError(
            f"{what} needs {num_bytes / 1e9:,.1f} GB of memory, more than the limit of {limit / 1e9:,.1f} GB; "
            f"if the machine has it, {MEMORY_VARIABLE}={num_bytes} raises the limit"
        )


def resident_memory_bytes() -> int:
    """Resident memory now."""
    found = _status_bytes("VmRSS")
    if found is None:
        raise UserError("the resident memory can be measured on Linux only: there is no /proc/self/status here")
    return found


def reset_peak_memory() -> None:
    """Start a new peak where the system allows it (Linux); elsewhere the peak is that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory_bytes() -> int:
    """Largest resident memory since :func:`reset_peak_memory`."""
    found = _status_bytes("VmHWM")
    if found is None:
        found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return found


def peak_memory_mb() -> float:
    """:func:`peak_memory_bytes` in MB."""
    return peak_memory_bytes() / 2**20


def _status_bytes(field: str) -> int | None:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None


# Where numbers come from.


def environment() -> dict[str, str]:
    """Versions, commit, processor kind and the threads a fold computes on, as plain texts."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "threads": "1"}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["commit"] = commit()
    return found


def processor() -> str:
    """The processor's name as its maker writes it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def commit() -> str:
    """The commit of the source tree this package runs from, ``+changes`` when files differ, else empty."""
    package = Path(__file__).resolve().parent
    tree = package.parent.parent
    if not (tree / ".git").exists() or package != tree / "src" / "mshgnn":
        return ""  # installed from a wheel: the version says it all
    try:
        head = _git(tree, "rev-parse", "--short=12", "HEAD")
        changed = _git(tree, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+changes" if changed else "")


def _git(tree: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()

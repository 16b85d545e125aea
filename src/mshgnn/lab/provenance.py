"""Where numbers come from: versions, commit, threads and memory."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import mshgnn

PACKAGES = ("mshgnn", "torch", "torch-geometric", "numpy", "numba", "scikit-learn")


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


def commit() -> str:
    """The commit of the source tree this package runs from, ``+changes`` when files differ, else empty."""
    package = Path(mshgnn.__file__).resolve().parent
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


def reset_peak_memory() -> None:
    """Start a new peak where the system allows it (Linux); elsewhere the peak is the process's own."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float:
    """Largest resident memory since :func:`reset_peak_memory`, in MB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

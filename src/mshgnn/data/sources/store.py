"""Where prepared data is kept, and how it gets there: one process at a time, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from mshgnn.data.dataset import DataError


def data_root(root: Path | None = None) -> Path:
    """The folder of prepared data: ``root``, else ``MSHGNN_DATA``, else the platform's cache folder."""
    import platformdirs

    chosen = root or os.environ.get("MSHGNN_DATA") or platformdirs.user_cache_path("mshgnn") / "data"
    return Path(chosen).expanduser().absolute()


def mirror() -> Path | None:
    """The folder of upstream files given by ``MSHGNN_MIRROR``, or None."""
    given = os.environ.get("MSHGNN_MIRROR")
    if not given:
        return None
    folder = Path(given).expanduser().absolute()
    if not folder.is_dir():
        raise DataError(f"MSHGNN_MIRROR: {folder} is not a folder")
    return folder


def prepare(folder: Path, build: Callable[[Path], None]) -> None:
    """Make ``folder`` by ``build(temporary folder)`` unless it exists.

    The temporary folder stands beside it and is renamed when complete, so a crash or an error leaves nothing half
    written; a lock makes a second process wait and find the result.
    """
    from filelock import FileLock

    if folder.exists():
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.parent / f".{folder.name}.lock")
        with lock:
            if folder.exists():
                return
            for abandoned in folder.parent.glob(f".{folder.name}.*.tmp"):  # of a process that was killed
                shutil.rmtree(abandoned, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
            try:
                build(temporary)
                temporary.chmod(0o755)  # mkdtemp's 0700 would shut out others who share the cache
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except PermissionError as error:
        raise DataError(
            f"{folder.parent}: cannot write there ({error.strerror}); set MSHGNN_DATA to a folder of yours"
        ) from error


def discard(folder: Path) -> None:
    """Remove a prepared folder that turned out damaged, under the same lock."""
    from filelock import FileLock

    with FileLock(folder.parent / f".{folder.name}.lock"):
        shutil.rmtree(folder, ignore_errors=True)

"""Commands in processes of their own, one thread each, timed, and stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mshgnn.errors import Failure

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    processor_seconds: float


class CommandFailed(Failure):
    """A command that ended with an error, or was stopped."""


class Commands:
    """Runs commands, from several threads if need be; ``stop`` ends those under way and refuses new ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._stopped = False

    def run(self, command: Sequence[str], log: Path) -> Cost:
        """Run one to its end; what it prints goes to ``log``."""
        started = time.monotonic()
        with open(log, "wb") as output:
            with self._lock:
                if self._stopped:
                    raise CommandFailed("stopped")
                # A session of its own: Ctrl-C at the terminal reaches the parent alone, which stops the others.
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **ONE_THREAD},
                    start_new_session=True,
                )
                self._running.add(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            with self._lock:
                self._running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise CommandFailed(f"exit code {process.returncode}: {_last_line(log)}")
        return Cost(time.monotonic() - started, usage.ru_utime + usage.ru_stime)

    def stop(self) -> None:
        """End all, with their children."""
        with self._lock:
            self._stopped = True
            for pid in self._running:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGTERM)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return f"{lines[-1][:200]} ({log})" if lines else f"it said nothing ({log})"

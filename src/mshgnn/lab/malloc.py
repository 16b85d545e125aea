"""What malloc does with freed blocks. On systems without glibc's ``mallopt`` nothing changes."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
LARGE_BLOCK = 64 * 1024
NEVER = 2**31 - 1


def keep_freed_blocks() -> None:
    """Reuse every freed block: for a process that does nothing but train.

    A layer that makes a row for every edge allocates hundreds of MB a step. By default glibc returns such blocks to
    the system, which then clears each page again at the next step: on a whole graph up to half of the time goes there.
    """
    _set({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: NEVER})


def return_freed_blocks() -> None:
    """Hand back all that is free now, and every large block when freed: reused blocks would hide a peak of memory."""
    _set({M_TRIM_THRESHOLD: LARGE_BLOCK, M_MMAP_THRESHOLD: LARGE_BLOCK})
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)

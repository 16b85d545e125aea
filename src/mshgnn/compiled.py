"""Functions compiled by numba: when they are first called, kept on the disk where a folder can be written.

Numba alone raises at the decorator where it finds no such folder, as in most containers, and for ever on a damaged file
of its cache. Here the first is compiled in memory, the second is compiled again and replaced.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

DIGEST_BYTES = 32


Function = Callable[..., Any]


def compiled(signatures: Sequence[str] = (), **options: Any) -> Callable[[Function], Function]:
    """Decorate a function that numba compiles with ``options`` when it is first called, and imports only then.

    With ``signatures`` for exactly those types, else for the types of each call.
    """
    return lambda function: _Lazy(function, compile_now(signatures, **options))


def compile_now(signatures: Sequence[str] = (), **options: Any) -> Callable[[Function], Function]:
    """Decorate a function that numba compiles where it is defined, or takes from the disk."""

    def decorate(function: Function) -> Function:
        from numba import njit

        dispatcher: Any = njit(**options)(function)
        with suppress(RuntimeError):  # numba's "no locator available": there is no folder to write to
            dispatcher._cache = _make_cache(function)
        for signature in signatures:
            dispatcher.compile(signature)
        if signatures:
            dispatcher.disable_compile()
        return dispatcher

    return decorate


class _Lazy:
    """A function that becomes machine code when it is called."""

    def __init__(self, function: Function, decorate: Callable[[Function], Function]) -> None:
        self._function, self._decorate = function, decorate
        self.__doc__ = function.__doc__

    @cached_property
    def _compiled(self) -> Function:
        return self._decorate(self._function)

    def __call__(self, *arguments: Any) -> Any:
        return self._compiled(*arguments)


def _make_cache(function: Function) -> Any:
    """Numba's cache of a function, with files that carry the digest of their content."""
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class CheckedFiles(IndexDataCacheFile):
        """Damaged files count as missing: they are compiled and written again."""

        def _load_index(self) -> dict[Any, Any]:
            try:
                version, stamp, overloads = _unsealed(self._index_path)
            except OSError:
                return {}
            fresh = (version, stamp) == (self._version, self._source_stamp)
            return overloads if fresh else {}

        def _save_index(self, overloads: dict[Any, Any]) -> None:
            self._write(self._index_path, (self._version, self._source_stamp, overloads))

        def _load_data(self, name: str) -> Any:
            return _unsealed(self._data_path(name))

        def _save_data(self, name: str, data: Any) -> None:
            self._write(self._data_path(name), data)

        def _write(self, path: str, content: Any) -> None:
            data = self._dump(content)
            with self._open_for_write(path) as file:
                file.write(hashlib.sha256(data).digest() + data)

    class CheckedCache(FunctionCache):
        def __init__(self) -> None:
            super().__init__(function)
            locator = self._impl.locator
            self._cache_file = CheckedFiles(
                locator.get_cache_path(), f"checked-{self._impl.filename_base}", locator.get_source_stamp()
            )

        def _save_overload(self, *arguments: Any) -> None:
            with suppress(OSError):  # a disk that is full: the machine code in memory will do
                super()._save_overload(*arguments)

    return CheckedCache()


def _unsealed(path: str) -> Any:
    """What was written to a file; an ``OSError`` where it is missing or differs, which numba takes for missing."""
    with open(path, "rb") as file:
        digest, data = file.read(DIGEST_BYTES), file.read()
    if hashlib.sha256(data).digest() != digest:
        raise OSError(f"{path}: damaged")
    return pickle.loads(data)

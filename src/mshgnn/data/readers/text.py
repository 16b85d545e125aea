"""Text of a user's files, line by line, with the checks every reader needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from gzip import GzipFile
from pathlib import Path
from typing import IO

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import allowed, check_file, check_limit

BLANKS = ("", "nan", "na", "none", "null")
ClassName = int | str
TOO_LARGE = 2.0**128 - 2.0**103  # from here on a number is rounded to infinity in float32
TOO_LONG, NO_ROW = "\udfff", "\udffe"  # no decoder makes them; why it is no row stands after the second
# One way to read every text, or a cell of 100 kB that is no number would take minutes.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")  # what fits 64 bits, exactly


def text_lines(path: Path, *, marked: bool = False) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line; anything but UTF-8 and endless lines are refused, or ``marked``."""
    check_file(path)
    with path.open("rb") as file:
        yield from lines_of(file, path, marked=marked)


def lines_of(file: IO[bytes] | GzipFile, path: Path, *, marked: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of an open file. With ``marked`` a line that cannot be read is one that :func:`unreadable` knows.

    So a reader that goes on after bad rows sees the next line as it is. The first line, which may be a header, is
    never marked.
    """
    limit, number = allowed("line"), 0
    while raw := file.readline(limit + 1):
        number += 1
        if len(raw) > limit:
            if not marked or number == 1:
                check_limit("line", len(raw), f"{path}: line {number}")
            while not raw.endswith(b"\n") and raw:
                raw = file.readline(limit)
            yield number, TOO_LONG + "\n"
            continue
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            if not marked or number == 1:
                raise DataError(f"{path}: line {number}: not UTF-8 text (byte {error.start + 1})") from error
            yield number, raw.decode("utf-8", "surrogateescape")


def unreadable(text: str) -> str:
    """Why a marked line, or a cell of it, cannot be read; nothing for all others."""
    if text.isascii():  # at once, for nearly all
        return ""
    if NO_ROW in text:
        return text.partition(NO_ROW)[2]
    if TOO_LONG in text:
        return f"longer than the limit of {allowed('line'):,} bytes in a line"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"not UTF-8 text (character {error.start + 1})"
    return ""


def printable(text: str) -> str:
    """A marked text as it can be written: bytes that are no text as ``\\xNN``."""
    return (
        text.partition(NO_ROW)[0]
        .replace(TOO_LONG, "...")
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )


def is_blank(word: str) -> bool:
    """Whether a cell says that there is nothing."""
    return word.strip().casefold() in BLANKS


def number(word: str) -> float | None:
    """A plain decimal number, or None. Python's ``float`` would also take ``1_0``, ``inf`` and digits of any script."""
    stripped = word.strip()  # takes more than float does, such as a unit separator
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


def class_name(value: object) -> ClassName:
    """A target as a class: a whole number or a word. Real numbers, NaN and nothing are refused."""
    if isinstance(value, str):
        word = value.strip()
        if is_blank(word):
            raise ValueError("missing target")
        if _WHOLE.fullmatch(word):
            return int(word.partition(".")[0])
        read = number(word)
        if read is None:
            return word
        value = read
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if value is None:
        raise ValueError("missing target")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"target must be a whole number or a word, not {str(value)[:40]}")
    return value


def in_order(values: Iterable[ClassName]) -> tuple[ClassName, ...]:
    """The different values: numbers by size, before words."""
    return tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))


def classes(values: Sequence[ClassName]) -> tuple[tuple[str, ...], list[int]]:
    """The classes in order as text, and the class of every value, from 0."""
    number_of = {value: index for index, value in enumerate(in_order(values))}
    return tuple(str(value) for value in number_of), [number_of[value] for value in values]

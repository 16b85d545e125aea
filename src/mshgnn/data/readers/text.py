"""Text of a user's files, line by line, with the checks every reader needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mshgnn.data.dataset import DataError

MAX_LINE_BYTES = 8_000_000
ClassName = int | str


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line; anything but UTF-8 and endless lines are refused."""
    if not path.is_file():
        raise DataError(f"{path}: file not found")
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise DataError(f"{path}: line {number}: longer than {MAX_LINE_BYTES:,} bytes")
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(f"{path}: line {number}: not UTF-8 text (byte {error.start + 1})") from error


def class_name(value: object) -> ClassName:
    """A target as a class: a whole number or a word. Real numbers, NaN and nothing are refused."""
    if isinstance(value, str):
        word = value.strip()
        if word.casefold() in ("", "nan", "na", "none", "null"):
            raise ValueError("missing target")
        try:
            value = float(word)
        except ValueError:
            return word
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if value is None:
        raise ValueError("missing target")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"target must be a whole number or a word, not {str(value)[:40]}")
    return value


def class_numbers(names: Sequence[ClassName]) -> list[int]:
    """Classes numbered from 0 in the order of their names (numbers by size, before words)."""
    distinct = sorted(set(names), key=lambda name: (isinstance(name, str), name))
    number = {name: index for index, name in enumerate(distinct)}
    return [number[name] for name in names]

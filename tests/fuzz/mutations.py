"""Damage to files: bits, bytes, lines and tokens, as disks, editors and attackers make it."""

from __future__ import annotations

import random

TOKENS = [
    b"", b"0", b"-1", b"1e400", b"nan", b"inf", b"-0", b"9" * 30, b"1_0", b"null", b"true", b"[]", b"{}", b"[[", b"]]",
    b'"', b"'", b",", b":", b"\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", "é".encode(), "١".encode(), b" ", b"\t",
    b"[" * 2000, b"C1CC", b"#", b"..", b"num_nodes", b"edges", b"target", b"1e7", b"99999999",
]  # fmt: skip


def mutated(draw: random.Random, content: bytes) -> bytes:
    """One to four changes to a file that was good."""
    for _ in range(draw.choice([1, 1, 2, 4])):
        content = draw.choice(MUTATIONS)(draw, content)
    return content


def _place(draw: random.Random, content: bytes) -> int:
    return draw.randint(0, len(content))


def _flip(draw: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _remove(draw: random.Random, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + content[at + draw.choice([1, 1, 2, 8, 64]) :]


def _insert(draw: random.Random, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + draw.choice(TOKENS) + content[at:]


def _overwrite(draw: random.Random, content: bytes) -> bytes:
    at, token = _place(draw, content), draw.choice(TOKENS)
    return content[:at] + token + content[at + max(len(token), 1) :]


def _repeat(draw: random.Random, content: bytes) -> bytes:
    first, last = sorted((_place(draw, content), _place(draw, content)))
    return content[:last] + content[first:last] * draw.choice([1, 2, 5]) + content[last:]


def _swap_lines(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    draw.shuffle(lines)
    return b"\n".join(lines)


def _number(draw: random.Random, content: bytes) -> bytes:
    """Another number in the place of a digit."""
    digits = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return content
    at = draw.choice(digits)
    return content[:at] + str(draw.choice([0, 1, 2, 7, -1, 2**31, 2**63, 10**6, 0.5])).encode() + content[at + 1 :]


def _noise(draw: random.Random, content: bytes) -> bytes:
    return draw.randbytes(draw.randint(0, 80))


MUTATIONS = (_flip, _cut, _remove, _insert, _overwrite, _repeat, _swap_lines, _number, _number, _noise)

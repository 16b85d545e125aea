from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.records import codec
from mshgnn.records.codec import checksum, decode, encode, first_difference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_what_was_written_is_read(payload: dict[str, object], compress: bool) -> None:
    content = encode(payload, compress=compress)
    assert decode(content) == payload
    assert content == encode(payload, compress=compress)


@given(st.binary(max_size=200))
def test_other_bytes_are_a_value_error(content: bytes) -> None:
    for given_bytes in (content, b"\x1f\x8b" + content, gzip.compress(content)):
        with pytest.raises(ValueError, match=r"."):
            decode(given_bytes)


def test_a_bomb_is_refused_before_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match="unpack to more than 10,000"):
        decode(gzip.compress(b"1" * 10_000_000))


def test_deep_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="not readable"):
        decode(b'{"payload": ' + b"[" * 100_000)


def test_the_order_of_keys_does_not_change_the_checksum() -> None:
    assert checksum({"a": 1, "b": [2]}) == checksum({"b": [2], "a": 1}) != checksum({"a": 1, "b": [3]})


def test_the_first_difference_is_named() -> None:
    assert first_difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "a.b was 1, is now 2"
    assert first_difference({"a": 1}, {"a": 1, "c": 2}) == "c was None, is now 2"

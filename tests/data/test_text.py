from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mshgnn.data.readers.text import class_name, classes, number


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("1_10", "1_10"),
        ("11_0", "11_0"),
        ("inf", "inf"),
        ("0x10", "0x10"),
        ("\u0661", "\u0661"),  # a digit of another script
        (" 7 ", 7),
        ("+7.0", 7),
        ("-0", 0),
        ("1e2", 100),
        ("9007199254740993", 9007199254740993),
        (3.0, 3),
        ("yes", "yes"),
    ],
)
def test_only_plain_decimal_numbers_are_numbers(word: object, name: object) -> None:
    assert class_name(word) == name


@pytest.mark.parametrize("word", ["", "  ", "NaN", "none", None, "0.5", 0.5, True, float("inf"), "9" * 30, []])
def test_what_is_no_class(word: object) -> None:
    with pytest.raises(ValueError, match=r"missing target|whole number or a word"):
        class_name(word)


@given(st.text(max_size=8))
@example("0\x1f")  # white space for str.strip, not for float
def test_a_number_is_what_float_takes_but_not_all_of_it(word: str) -> None:
    read = number(word)
    if read is not None:
        assert read == float(word.strip())
        assert set(word.strip()) <= set("+-.0123456789eE")


def test_numbers_come_by_size_before_words() -> None:
    assert classes(["b", 10, 9, "a", 10]) == (("9", "10", "a", "b"), [3, 1, 0, 2, 1])

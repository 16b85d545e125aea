from __future__ import annotations

import time

from mshgnn.errors import LONGEST_LINE, UserError, did_you_mean


def test_a_line_as_long_as_a_file_loses_its_middle_and_keeps_both_ends() -> None:
    error = UserError(f"mine.csv: line 4: column {'[' * 5000}: not a number\nand a short line")
    long, short = str(error).split("\n")
    assert len(long) <= LONGEST_LINE
    assert long.startswith("mine.csv: line 4: column [[[")
    assert long.endswith("[[[: not a number")
    assert short == "and a short line"


def test_a_line_that_is_not_too_long_stays_as_it_is() -> None:
    exactly = "x" * LONGEST_LINE
    assert str(UserError(exactly)) == exactly
    assert str(UserError()) == ""


def test_the_nearest_word_or_all_of_them() -> None:
    assert did_you_mean("epoch", ["epochs", "seed"]) == "; did you mean 'epochs'?"
    assert did_you_mean("qqq", ["seed", "epochs"]) == "; valid: epochs, seed"


def test_a_wrong_word_is_not_compared_with_millions() -> None:
    started = time.monotonic()
    assert did_you_mean("smiles", (f"column{number}" for number in range(2_000_000))).startswith("; valid: column0, ")
    assert time.monotonic() - started < 5

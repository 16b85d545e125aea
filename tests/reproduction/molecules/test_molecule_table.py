"""The tables of the comparison from records that are there, and dashes for those that are not."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from mshgnn.errors import UserError
from mshgnn.reproduction.molecules.record import MoleculeRecord
from mshgnn.reproduction.molecules.table import accuracy, times


def measured(*values: tuple[str, int, float, float]) -> dict[str, object]:
    """Records of ESOL's random split by system, seed, value and seconds."""
    made: dict[str, object] = {}
    for system, seed, value, seconds in values:
        record = MoleculeRecord(
            "ESOL", "random", seed, system, "rmse", value, seconds, seconds / 2, 50, (8, 1, 1), "a", {}, "b"
        )
        made["molecules/" + record.cell.path.with_suffix("").as_posix()] = asdict(record)
    return made


def row(table: str, start: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {start}")]
    return line.strip("| ").split(" | ")


def test_mean_and_deviation_over_seeds_the_best_in_bold() -> None:
    found = measured(("msh-stable", 0, 0.5, 9), ("msh-stable", 1, 0.7, 9), ("chemprop", 0, 0.625, 9))
    cells = row(accuracy(found), "ESOL, random")
    assert cells == ["ESOL, random (RMSE)", "**0.600 ± 0.141**", "–", "–", "0.625"]
    assert row(accuracy(found), "HIV, scaffold")[1:] == ["–", "–", "–", "–"]


def test_time_is_compared_over_the_seeds_that_both_have() -> None:
    found = measured(("msh-stable", 0, 0.5, 30), ("msh-stable", 1, 0.5, 999), ("chemprop", 0, 0.6, 80))
    assert row(times(found), "ESOL, random") == ["ESOL, random", "80 (40)", "0.38 (0.38)", "–", "–"]
    assert row(times({}), "QM8, random") == ["QM8, random", "–", "–", "–", "–"]


def test_a_file_that_is_no_record_is_named() -> None:
    with pytest.raises(UserError, match="molecules/ESOL/random/x: is no record of molecules"):
        accuracy({"molecules/ESOL/random/x": {"rows": []}})

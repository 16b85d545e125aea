from __future__ import annotations

from importlib import import_module
from pathlib import Path

from mshgnn.models import MODELS, build
from mshgnn.reproduction.models_table import models_table

ROOT = Path(__file__).resolve().parents[2]


def rows() -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in models_table().splitlines()[2:]]
    return {row[0].split("`")[1]: row for row in cells}


def test_every_model_has_one_row_of_eight_cells() -> None:
    found = rows()
    assert set(found) == set(MODELS)
    assert len(models_table().splitlines()) == len(MODELS) + 2
    assert {len(row) for row in found.values()} == {8}
    assert all(all(row) for row in found.values())


def test_a_row_says_what_the_model_says() -> None:
    row = rows()["cin"]
    assert row[1:3] == ["CIN", "Bodnar et al., 2021"]
    assert row[3] == "messages between nodes, edges and rings"
    assert row[4:7] == ["graph", "no", "`rings-6`"]
    assert row[7] == f"{build('cin', 7, 2, task='graph').num_parameters:,}"
    assert rows()["gatv2"][4:7] == ["graph, node", "yes", "–"]


def test_a_row_leads_to_the_file_that_defines_the_model() -> None:
    for name, row in rows().items():
        file = ROOT / "docs" / row[0].partition("](")[2].rstrip(")")
        assert name in import_module(f"mshgnn.models.{file.stem}").MODELS
        assert file.is_file()

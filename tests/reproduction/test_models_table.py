from __future__ import annotations

from importlib import import_module
from pathlib import Path

from mshgnn.models import MODELS, build
from mshgnn.reproduction.models_table import models_table, origins_table

ROOT = Path(__file__).resolve().parents[2]


CONVOLUTIONS = "torch_geometric.nn.conv."
TASKS = (("graph", "node"), ("graph",), ("node",))


def rows(tasks: tuple[str, ...]) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in models_table(tasks).splitlines()[2:]]
    return {row[0].split("`")[1]: row for row in cells}


def test_every_model_has_one_row_of_six_cells_in_the_table_of_its_tasks() -> None:
    found = [(name, tasks, row) for tasks in TASKS for name, row in rows(tasks).items()]
    assert sorted(name for name, _, _ in found) == sorted(MODELS)
    for name, tasks, row in found:
        assert set(MODELS[name].tasks) == set(tasks)
        assert len(row) == 6
        assert all(row)


def test_a_row_says_what_the_model_says() -> None:
    row = rows(("graph",))["cin"]
    assert row[1:3] == ["CIN (Bodnar et al., 2021)", "messages between nodes, edges and rings"]
    assert row[3:5] == ["no", "`rings-6`: cells found"]
    assert row[5] == f"{build('cin', 7, 2, task='graph').num_parameters:,}"
    assert rows(("graph", "node"))["gatv2"][3:5] == ["yes", "–"]


def test_a_row_leads_to_the_file_that_defines_the_model() -> None:
    for name, row in ((name, row) for tasks in TASKS for name, row in rows(tasks).items()):
        file = ROOT / "docs" / row[0].partition("](")[2].rstrip(")")
        assert name in import_module(f"mshgnn.models.{file.stem}").MODELS
        assert file.is_file()


def test_every_model_says_whose_code_it_is_and_names_what_it_has_of_pyg() -> None:
    origins = {line.split("`")[1]: line.split(" | ")[1] for line in origins_table().splitlines()[2:]}
    assert sorted(origins) == sorted(MODELS)
    for name, origin in origins.items():
        model = build(name, 7, 2, task=MODELS[name].tasks[0])
        parts = {type(module) for module in model.modules() if type(module).__module__.startswith(CONVOLUTIONS)}
        unnamed = {part.__name__ for part in parts if f"`{part.__name__}`" not in origin}
        assert not unnamed or "PyG's convolution" in origin, name
        assert parts or "Conv`" not in origin, name

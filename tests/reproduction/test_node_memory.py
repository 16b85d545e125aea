"""What does not fit: formulas by hand, refusals that happen, and every OOM of the paper in its place."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.reproduction.node_memory import ATTENDING, node_memory
from mshgnn.reproduction.published import printed_entries
from mshgnn.reproduction.results import Results
from support.runs import make_record


def rows() -> dict[str, list[str]]:
    one = make_record("AmazonPhoto", "gps", 0.9)  # of one MB
    other = make_record("CoauthorPhysics", "msh-stable", 0.9)
    found = Results({("CoauthorPhysics", "msh-stable"): other}, {}, {}, {}, first_folds={("AmazonPhoto", "gps"): one})
    cells = [line.strip("| ").split(" | ") for line in node_memory(found).splitlines()[2:]]
    return {first: rest for first, *rest in cells}


def test_computed_memory_is_the_formula() -> None:
    found = rows()
    nodes, heads, layers = 34_493, 4, 4
    weights = heads * nodes**2 * (9 * layers + 8)
    distances = nodes**2 + 17 * 512 * nodes
    assert found["Physics, Graphormer"] == ["OOM", f"{weights / 1e9:.1f}", f"{distances / 1e9:.1f}", "–"]
    assert found["Photo, GraphGPS"] == ["95.06 ± 0.13", "6.1", "–", "0.0"]
    assert found["Physics, **MSH-GNN `stable`**"] == ["98.37 ± 0.08", "–", "–", "0.0"]


def test_every_entry_without_a_number_is_in_the_table() -> None:
    found = rows()
    printed = {name: printed_entries("node", name) for name in ATTENDING.values()}
    assert sum(value == "OOM" for figures in printed.values() for value in figures.values()) == 6
    assert sum(cells[0] == "OOM" for cells in found.values()) == 6


def test_what_is_called_refused_is_refused() -> None:
    refused = [name for name, cells in rows().items() if "refused" in cells[2]]
    assert refused == ["Physics, Specformer"]
    (spectrum,) = build("specformer", 1, 2, task="node").structure
    with pytest.raises(UserError, match=r"needs 33\.3 GB"):
        spectrum.of_graphs([Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=34_493)])


def test_the_paper_knows_no_other_oom() -> None:
    with (files("mshgnn.reproduction") / "published" / "node_classification.csv").open(encoding="utf-8") as lines:
        methods = {row["method"] for row in csv.DictReader(lines) if row["mean"] == "OOM"}
    assert methods <= {*ATTENDING.values()}

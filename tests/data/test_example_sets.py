from __future__ import annotations

import csv
import json
from pathlib import Path

import networkx as nx
import pytest
from rdkit import Chem

from mshgnn.data import DataError, load_own
from mshgnn.data.example_sets import KINDS, write_example


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_molecule_is_one_and_says_whether_it_has_a_nitro_group(tmp_path: Path) -> None:
    rows = rows_of(write_example("molecules", tmp_path / "molecules.csv", rows=200))
    nitro = Chem.MolFromSmarts("[N+](=O)[O-]")
    assert len(rows) == 200
    for row in rows:
        molecule = Chem.MolFromSmiles(row["smiles"])
        assert molecule is not None
        assert molecule.HasSubstructMatch(nitro) == (row["nitro"] == "yes")
    assert {row["nitro"] for row in rows} == {"yes", "no"}


def test_longer_chains_of_carbon_are_less_soluble_and_an_alcohol_is_more(tmp_path: Path) -> None:
    rows = rows_of(write_example("molecules", tmp_path / "molecules.csv", rows=2000))
    solubility = {row["smiles"]: float(row["solubility"]) for row in rows}
    assert solubility["CCC"] < solubility["CC"] < solubility["CO"]


def test_rings_have_a_cycle_and_trees_have_none(tmp_path: Path) -> None:
    path = write_example("graphs", tmp_path / "graphs.jsonl", rows=60)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        graph = nx.Graph(line["edges"])
        assert nx.is_connected(graph)
        assert len(graph) == line["num_nodes"]
        assert nx.is_tree(graph) == (line["target"] == "tree")
    assert load_own(path).num_classes == 2


def test_most_edges_of_the_network_stay_within_a_community(tmp_path: Path) -> None:
    path = write_example("nodes", tmp_path / "network", rows=90)
    community = {row["id"]: row["community"] for row in rows_of(path / "nodes.csv")}
    edges = rows_of(path / "edges.csv")
    inside = sum(community[edge["from"]] == community[edge["to"]] for edge in edges)
    assert len(edges) == 270
    assert 0.6 < inside / len(edges) < 0.95
    dataset = load_own(path, target="community")
    assert (dataset.task, dataset.num_items, dataset.num_classes) == ("node", 90, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_file_and_another_seed_another(kind: str, tmp_path: Path) -> None:
    paths = [write_example(kind, tmp_path / str(n) / KINDS[kind][1], seed=seed) for n, seed in enumerate((0, 0, 1))]
    first, again, other = (path / "nodes.csv" if path.is_dir() else path for path in paths)
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()


def test_a_mistyped_kind_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'molecules'"):
        write_example("molecule", tmp_path / "x.csv")
    with pytest.raises(DataError, match="at least 10"):
        write_example("nodes", tmp_path / "x", rows=3)

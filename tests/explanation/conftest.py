"""Models on data with a known rule, trained once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from explanation_helpers import houses, nitro, plain_backend, trained

from mshgnn.predictor.ensemble import Ensemble
from support.own_data import nodes

Links = list[set[tuple[int, int]]]
SMALL = {"hidden_channels": 16, "num_layers": 2}


@pytest.fixture(autouse=True)
def _plain_backend() -> Iterator[None]:
    with plain_backend():
        yield


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files and the models are."""
    pytest.importorskip("rdkit")
    return tmp_path_factory.mktemp("explanation")


@pytest.fixture(scope="package")
def house(place: Path) -> tuple[Ensemble, Path, Links]:
    """A model that finds houses, its data, and the links of each house."""
    data = place / "houses.jsonl"
    motifs = houses(data, 80)
    model = {"name": "msh-stable", "readout": "frequency", **SMALL}
    return trained(data, "target", place / "house", epochs=30, model=model), data, motifs


@pytest.fixture(scope="package")
def toxic(place: Path) -> tuple[Ensemble, Path]:
    """A model of the class of molecules that have a nitro group."""
    data = nitro(place / "nitro.csv", 80)
    model = {"name": "msh-stable", "head_layers": 1}  # what eighty molecules can teach
    return trained(data, "toxic", place / "toxic", epochs=60, ignore=("dose", "id"), id_column="id", model=model), data


@pytest.fixture(scope="package")
def dose(place: Path, toxic: tuple[Ensemble, Path]) -> tuple[Ensemble, Path]:
    """A regression on the number of nitro groups."""
    model = {"name": "gine", **SMALL}
    return trained(toxic[1], "dose", place / "dose", epochs=60, ignore=("toxic", "id"), model=model), toxic[1]


@pytest.fixture(scope="package")
def labels(place: Path, toxic: tuple[Ensemble, Path]) -> tuple[Ensemble, Path]:
    """An ensemble of three, barely trained, with two labels."""
    data = place / "labels.csv"
    lines = toxic[1].read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    data.write_text("\n".join(["smiles,a,b"] + [f"{r[1]},{int(r[2] == 'yes')},{len(r[1]) % 2}" for r in rows]) + "\n")
    return trained(
        data,
        "a b",
        place / "labels",
        epochs=2,
        model={"name": "gine", "hidden_channels": 8, "num_layers": 1},
        folds=3,
        objective="multilabel",
    ), data


@pytest.fixture(scope="package")
def ring(place: Path) -> tuple[Ensemble, Path]:
    """A node task: the class is the sign of the node's own feature."""
    data = nodes(place / "ring")
    return trained(data, "label", place / "node", epochs=25, model={"name": "gat", **SMALL}), data

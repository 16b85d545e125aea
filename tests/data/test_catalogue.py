from __future__ import annotations

from pathlib import Path

import pytest
from data_helpers import SMALL, write_tu_zip

from mshgnn.data import DataError, load
from mshgnn.data.catalogue import CATALOGUE, PAPER_SETS, find


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("mutag", "MUTAG"),
        ("imdb-b", "IMDB-BINARY"),
        ("IMDB_MULTI", "IMDB-MULTI"),
        ("RDT-B", "REDDIT-BINARY"),
        ("amazon photo", "AmazonPhoto"),
        ("coauthor-physics", "CoauthorPhysics"),
        ("roman-empire", "RomanEmpire"),
        ("ptc_mr", "PTC_MR"),
        ("Structure-Frequency-Fixed", "structure-frequency-fixed"),
    ],
)
def test_names_are_found_in_any_spelling(alias: str, name: str) -> None:
    assert find(alias).name == name


def test_every_name_finds_itself() -> None:
    assert all(find(name) is entry for name, entry in CATALOGUE.items())
    assert len(PAPER_SETS) == 13


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(DataError, match=r"unknown data set 'MUTGA'; nearest: MUTAG"):
        load("MUTGA")
    with pytest.raises(ValueError, match="nearest"):
        load("../etc/passwd")


def test_a_zip_of_another_name_in_the_mirror_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tu_zip(tmp_path / "mirror" / "SMALL.zip", SMALL)
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "mirror"))
    dataset = load("SMALL", root=tmp_path / "root")
    assert (len(dataset.graphs), dataset.num_features, dataset.num_classes) == (3, 3, 2)

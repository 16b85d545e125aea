from __future__ import annotations

import builtins
from pathlib import Path

import pytest

from mshgnn.data import DataError, load_own
from mshgnn.data.readers.molecules import molecule

pytest.importorskip("rdkit")


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "molecules.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_molecules(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path, 'id,smiles,target\n1,CCO,yes\n2,"c1ccccc1",no\n3,O,no\n'))
    assert [graph.num_nodes for graph in dataset.graphs] == [3, 6, 1]
    assert [graph.edge_index.shape[1] for graph in dataset.graphs] == [4, 12, 0]
    assert dataset.labels().tolist() == [1, 0, 0]
    assert (dataset.num_features, dataset.edge_dim) == (177, 30)
    assert dataset.graphs[0].x[:, :119].argmax(dim=1).tolist() == [6, 6, 8]  # atomic numbers
    assert dataset.graphs[1].x.sum(dim=1).tolist() == [9.0] * 6


def test_other_column_names(tmp_path: Path) -> None:
    path = write(tmp_path, "mol,active\nCC,1.0\nC,0\n")
    assert load_own(path, smiles="mol", target="active").labels().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("smiles,target\nCC,1\nC(C,0\n", r"line 3: not a molecule: 'C\(C'"),
        ("smiles,target\nCC,1\n,0\n", "line 3: not a molecule: ''"),
        ("smiles,target\nCC,1\nC,\n", "line 3: missing target"),
        ("smiles,target\nCC,1\nC,nan\n", "line 3: missing target"),
        ("smiles,target\nCC,1\nC,0.3\n", "line 3: target must be"),
        ("smiles,target\nCC,1\nC\n", "line 3: 1 cells, the header has 2"),
        ("smiles,target,target\nCC,1,0\n", "line 1: column .target. is there twice"),
        ("smiles,target\nCC,1\nC,1,2\n", "line 3: 3 cells"),
        ('smiles,target\nCC,1\n"C,1\n', "line 3: "),
        ("smile,target\nCC,1\n", "line 1: no column 'smiles'; columns are smile, target"),
        ("", "no column 'smiles'"),
        ("smiles,target\n", "no molecules"),
        (b"smiles,target\nCC,1\n\xff\xfe,0\n", "line 3: not UTF-8"),
        ("smiles,target\nCC,1\n" + "C" * 10_000_000 + ",1\n", "line 3: 8,000,001 bytes in a line"),
        ("smiles,target\nCC,1\n" + "C" * 200_000 + ",1\n", "line 3: field larger"),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_own(write(tmp_path, content))


def test_without_rdkit_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "rdkit":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"mshgnn\[chem\]"):
        molecule("C")

from __future__ import annotations

import builtins
import gzip
from pathlib import Path

import pytest
import torch
from torch_geometric.utils import from_smiles, one_hot
from torch_geometric.utils.smiles import x_map

from mshgnn.data import DataError, load_own, load_splits, read_own
from mshgnn.data.readers.asked import Asked
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
        ("smiles,target\nCC,1\nC(C,0\n", r"line 3: column 'smiles': not a molecule: 'C\(C'"),
        ("smiles,target\nCC,1\n,0\n", "line 3: column 'smiles': not a molecule: ''"),
        ("smiles,target\nCC,\nC,nan\n", "line 2: column 'target': every target is blank"),
        ("smiles,target\nCC,yes\nC,0.3\n", "line 2: column 'target': not a number: 'yes'"),
        ("smiles,target\nCC,0\nC,1\nO,inf\n", "line 4: column 'target': not a number: 'inf'"),
        ("smiles,target\nCC,1\nC\n", "line 3: 1 cells, the header has 2"),
        ("smiles,target,target\nCC,1,0\n", "line 1: column .target. is there twice; say .target.0. or"),
        ("smiles,target\nCC,1\nC,1,2\n", "line 3: 3 cells"),
        ('smiles,target\nCC,1\n"C,1\n', "line 3: "),
        ("smile,target\nCC,1\n", "line 1: no column 'smiles'; columns are smile, target"),
        ("smiles;target\nCC;1\n", "line 1: columns are parted by semicolons, those of a file with this name by commas"),
        ("smiles\ttarget\nCC\t1\n", "line 1: columns are parted by tabs, those of a file with this name by commas"),
        ("smiles,target\rCC,1\r", "line 1: a carriage return alone ends no line; save the file with line feeds"),
        ("", "line 1: there is no header; the file is empty"),
        ("smiles,target\n", "no molecules"),
        (b"smiles,target\nCC,1\n\xff\xfe,0\n", "line 3: not UTF-8"),
        ("smiles,target\nCC,1\n" + "C" * 10_000_000 + ",1\n", "line 3: 8,000,001 bytes in a line"),
        (
            "smiles,target\nCC,1\n" + "C" * 200_000 + ",1\n",
            "line 3: column 'smiles': 10,000 atoms, more than the limit",
        ),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_own(write(tmp_path, content))


def test_numbers_are_regressed_and_columns_may_be_several_with_blanks(tmp_path: Path) -> None:
    one = load_own(write(tmp_path, "smiles,target\nCC,1\nC,0.3\n"))
    assert (one.objective, one.metric, one.target_names) == ("regress", "rmse", ("target",))
    table = "name,smiles,a,b,c\nx,CC,0,1,0.5\ny,C,,0,1\n"
    labels = load_own(write(tmp_path, table), target=["a", "b"])
    assert (labels.objective, labels.target_names) == ("multilabel", ("a", "b"))
    assert labels.labels().isnan().tolist() == [[False, False], [True, False]]
    rest = load_own(write(tmp_path, table), target="*", ignore=["name"])
    assert (rest.objective, rest.target_names) == ("regress", ("a", "b", "c"))
    assert load_own(write(tmp_path, table), target="b", metric="roc_auc").objective == "rank"


def test_a_column_may_be_the_only_one_left_or_must_be_named(tmp_path: Path) -> None:
    assert load_own(write(tmp_path, "smiles,p_np\nCC,1\nC,0\n")).target_names == ("p_np",)
    with pytest.raises(DataError, match="which column is the target\\? columns are a, b"):
        load_own(write(tmp_path, "smiles,a,b\nCC,1,2\n"))
    with pytest.raises(DataError, match="no column 'c'; columns are smiles, a, b"):
        load_own(write(tmp_path, "smiles,a,b\nCC,1,2\n"), target="c")


def test_columns_of_one_name_are_numbered(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path, "smiles,e,e\nCC,1.5,2\nC,0,3.5\n"), target="*")
    assert (dataset.target_names, dataset.labels().tolist()) == (("e.0", "e.1"), [[1.5, 2.0], [0.0, 3.5]])


def test_many_whole_numbers_are_a_question(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,target\n" + "".join(f"{'C' * (i + 1)},{i}\n" for i in range(30)))
    with pytest.raises(DataError, match="30 different whole numbers"):
        load_own(path)
    assert load_own(path, objective="regress").objective == "regress"
    assert load_own(path, objective="classify").num_classes == 30


def test_a_split_column_divides(tmp_path: Path) -> None:
    words = ["train", "Valid", "test", "train", ""]
    path = write(tmp_path, "smiles,target,split\n" + "".join(f"C,{i % 2},{word}\n" for i, word in enumerate(words)))
    splits = load_splits(load_own(path))
    assert splits.source == "inside"
    assert [part.tolist() for part in splits.folds[0]] == [[0, 3], [1], [2]]
    with pytest.raises(DataError, match=r"line 2: column 'split': train, val, test or nothing, not 'dev'"):
        load_own(write(tmp_path, "smiles,target,split\nC,1,dev\n"))


def test_bad_molecules_can_be_left_out_with_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path, "smiles,target\nCC,1\nC(C,0\nO,0\nxx,1\n")
    read = read_own(path, Asked(on_error="skip"))
    assert read.dataset.labels().tolist() == [1, 0]
    assert [row for row, _ in read.skipped] == [1, 3]
    (record,) = caplog.records
    assert "line 3: column 'smiles': not a molecule" in record.getMessage()
    assert "1 more: left out of 4 rows" in record.getMessage()
    with pytest.raises(DataError, match="'stop' or 'skip'"):
        load_own(path, on_error="never")  # type: ignore[arg-type]


def test_gzipped_and_tab_separated_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_own(write(tmp_path, "smiles,target\nCC,1\nC,0\n"))
    (tmp_path / "a.tsv").write_text("smiles\ttarget\nCC\t1\nC\t0\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"smiles,target\nCC,1\nC,0\n"))
    for name in ("a.tsv", "b.csv.gz"):
        read = load_own(tmp_path / name)
        assert (read.checksum, read.name) == (plain.checksum, name[0])
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"smiles,target\n" * 100)[:-10])
    with pytest.raises(DataError, match=r"cut.csv.gz: damaged"):
        load_own(tmp_path / "cut.csv.gz")
    monkeypatch.setenv("MSHGNN_LIMITS", "unpacked=1000")
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"smiles,target\n" + b"C,1\n" * 10_000))
    with pytest.raises(DataError, match=r"bomb.csv.gz: 1,002 bytes unpacked, more than the limit of 1,000"):
        load_own(tmp_path / "bomb.csv.gz")


def test_parquet_is_read_or_the_package_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"a.parquet: (Parquet needs pyarrow|damaged)"):
        load_own(tmp_path / "a.parquet")


def test_features_are_pygs_categories_one_hot(tmp_path: Path) -> None:
    given, ours = from_smiles("C[C@H](N)c1ccccc1"), molecule("C[C@H](N)c1ccccc1")
    expected = torch.cat(
        [one_hot(codes, num_classes=len(values)) for codes, values in zip(given.x.t(), x_map.values(), strict=True)], 1
    )
    assert torch.equal(ours.x, expected)
    assert torch.equal(ours.edge_index, given.edge_index)


def test_without_rdkit_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "rdkit":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"mshgnn\[chem\]"):
        molecule("C")


def test_a_column_says_how_much_a_molecule_counts(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,y,w\nCC,1.5,2\nC,2.5,0\nno,1,1\nO,0.5,0.25\n")
    dataset = load_own(path, weight_column="w", on_error="skip")
    assert [graph.item_weight.tolist() for graph in dataset] == [[2.0], [0.0], [0.25]]
    assert dataset.target_names == ("y",), "the weight is no target"
    assert dataset.checksum != load_own(path, target="y", on_error="skip").checksum


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", "", "much"])
def test_a_weight_that_is_none_is_refused_with_its_place(tmp_path: Path, weight: str) -> None:
    path = write(tmp_path, f"smiles,y,w\nCC,1.5,2\nC,2.5,{weight}\n")
    with pytest.raises(DataError, match=r"molecules.csv: line 3: column 'w': "):
        load_own(path, weight_column="w")
    with pytest.raises(DataError, match="line 1: no column 'v'"):
        load_own(path, weight_column="v", target="y")


def test_rows_with_a_bad_weight_part_or_target_are_left_out_where_that_is_wished(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    rows = ["CC,1,train,1", "CCC,1,train,-1", "CCO,1,tset,1", "CO,inf,val,1", "C,0,test,2", "C1CC,0,train,x"]
    path.write_text("smiles,target,split,w\n" + "\n".join(rows) + "\n")
    read = read_own(path, Asked(weight="w", on_error="skip"))
    assert [row for row, _ in read.skipped] == [1, 2, 3, 5]
    reasons = "; ".join(reason for _, reason in read.skipped)
    for reason in ("line 3: column 'w': a weight must not be negative: '-1'", "line 4: column 'split': train, val"):
        assert reason in reasons
    assert read.dataset.labels().tolist() == [1, 0]
    assert [graph.split for graph in read.dataset.graphs] == ["train", "test"]

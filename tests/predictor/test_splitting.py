from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mshgnn.data import DataError, GraphDataset, load_own
from mshgnn.data.splits import Split
from mshgnn.predictor.splitting import make_folds, read_splits, settle, splits_json
from support.own_data import molecules, nodes

pytest.importorskip("rdkit")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> GraphDataset:
    """A hundred molecules of two classes: thirty rings, and chains, which share the empty scaffold."""
    rings = [f"C1{atom}{'C' * size}1" for atom in "CON" for size in range(1, 11)]
    texts = [rings[row % 30] + "C" * (row // 30) if row % 4 else "C" * (row + 1) for row in range(100)]
    path = tmp_path_factory.mktemp("data") / "m.csv"
    path.write_text("smiles,kind\n" + "".join(f"{text},{row % 3 == 0}\n" for row, text in enumerate(texts)))
    return load_own(path, target="kind")


def folds(dataset: GraphDataset, how: str, count: int = 1, seed: int = 0) -> list[Split]:
    return make_folds(dataset, how, seed=seed, folds=count, rows=range(dataset.num_items))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["random", "stratified", "scaffold"])
@pytest.mark.parametrize("count", [1, 5])
def test_every_item_is_in_one_part_and_in_one_test_part(dataset: GraphDataset, how: str, count: int) -> None:
    made = folds(dataset, how, count)
    for fold in made:
        assert sorted(torch.cat(list(fold)).tolist()) == list(range(100))
    if count > 1:
        assert sorted(torch.cat([fold.test for fold in made]).tolist()) == list(range(100))
    elif how != "scaffold":
        assert [len(part) for part in made[0]] == [80, 10, 10]


def test_the_seed_decides_the_split(dataset: GraphDataset) -> None:
    assert folds(dataset, "random")[0].test.tolist() == folds(dataset, "random")[0].test.tolist()
    assert folds(dataset, "random")[0].test.tolist() != folds(dataset, "random", seed=1)[0].test.tolist()


def test_stratified_parts_have_the_shares_of_the_whole(dataset: GraphDataset) -> None:
    labels = dataset.labels()
    whole = labels.float().mean()
    for part in folds(dataset, "stratified", 5)[2]:
        assert abs(float(labels[part].float().mean() - whole)) <= 1.5 / len(part)


def test_a_class_of_one_item_is_trained_on(tmp_path: Path) -> None:
    rows = "".join(f"{'C' * (1 + row % 9)},{row % 2}\n" for row in range(40))
    (tmp_path / "m.csv").write_text("smiles,target\n" + rows + "CO,7\n")
    for seed in range(5):
        assert 40 in folds(load_own(tmp_path / "m.csv"), "stratified", seed=seed)[0].train.tolist()


def test_no_scaffold_is_in_two_parts(dataset: GraphDataset) -> None:
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffold: Callable[..., str] = MurckoScaffold.MurckoScaffoldSmiles
    fold = folds(dataset, "scaffold")[0]
    found = [{scaffold(smiles=dataset.graphs[i].smiles) for i in part.tolist()} for part in fold]
    assert not found[0] & found[1] | found[0] & found[2] | found[1] & found[2]


def test_what_is_written_is_read_again_and_ranges_are_understood(tmp_path: Path) -> None:
    rows = [0, 1, 3, 4, 5, 6]  # row 2 of the file was left out
    split = Split(torch.tensor([0, 1, 2]), torch.tensor([3]), torch.tensor([4, 5]))
    path = tmp_path / "splits.json"
    path.write_text(splits_json([split], rows))
    assert [part.tolist() for part in read_splits(path, rows)[0]] == [[0, 1, 2], [3], [4, 5]]
    path.write_text(json.dumps({"train": "0-1,3", "val": [4], "test": "5-6"}))
    assert [part.tolist() for part in read_splits(path, rows)[0]] == [[0, 1, 2], [3], [4, 5]]
    path.write_text(json.dumps([{"train": [2], "val": [4], "test": [5]}]))
    with pytest.raises(DataError, match=r"splits\.json: fold 0: part 'train': there is no row 2 among 6"):
        read_splits(path, rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "fold 0: not an object with the parts train, val, test"),
        ("{", "not JSON"),
        ('[{"train": [0], "val": [1], "test": [3]}, {"train": [0], "val": [1]}]', "fold 1: there is no part 'test'"),
        ('{"train": [0], "val": ["a"], "test": [1]}', "fold 0: part 'val': not a list of rows"),
        ('{"train": "0-x", "val": [1], "test": [1]}', "fold 0: part 'train': not a list of rows"),
        ('{"train": "0-1", "val": [2], "test": "2-3"}', "fold 0: row 2 is in part 'val', and in part 'test' again"),
        ('{"train": "0-1", "val": [], "test": "2-3"}', "fold 0: part 'val' is empty"),
    ],
)
def test_a_wrong_file_of_splits_is_refused_with_its_fold_and_part(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "splits.json").write_text(content)
    with pytest.raises(DataError, match=r"splits\.json: ") as caught:
        read_splits(tmp_path / "splits.json", range(4))
    assert message in str(caught.value)


def test_rows_without_a_target_are_in_no_part_of_a_file_of_splits(tmp_path: Path) -> None:
    rows = "".join(f"{'C' * (1 + row)},{'' if row in (0, 5, 8) else 'ab'[row % 2]}\n" for row in range(12))
    (tmp_path / "m.csv").write_text("smiles,target\n" + rows)
    path = tmp_path / "splits.json"
    path.write_text(json.dumps({"train": "0-3", "val": "4-7", "test": "8-11"}))
    made = make_folds(load_own(tmp_path / "m.csv"), "file", seed=0, folds=1, rows=range(12), file=str(path))
    assert [part.tolist() for part in made[0]] == [[1, 2, 3], [4, 6, 7], [9, 10, 11]]
    path.write_text(json.dumps({"train": "1-3", "val": [5], "test": "8-11"}))
    with pytest.raises(DataError, match=r"splits\.json: .*fold 0: a part is empty"):
        make_folds(load_own(tmp_path / "m.csv"), "file", seed=0, folds=1, rows=range(12), file=str(path))


def test_what_cannot_be_split_so_is_refused(dataset: GraphDataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is for molecules"):
        folds(load_own(nodes(tmp_path / "graph")), "scaffold")
    with pytest.raises(DataError, match="2 scaffolds are too few for 10 parts"):
        folds(load_own(molecules(tmp_path / "few.csv"), target="logp"), "scaffold")
    with pytest.raises(DataError, match="needs classes"):
        folds(load_own(molecules(tmp_path / "m.csv"), target="logp"), "stratified")
    with pytest.raises(DataError, match="no column or key 'split' to follow"):
        folds(dataset, "column")
    assert settle("auto", dataset) == "stratified"


def test_a_split_column_is_followed(tmp_path: Path) -> None:
    parts = ["train"] * 8 + ["val", "test"]
    rows = "".join(f"{'C' * (1 + row)},{row}.5,{part}\n" for row, part in enumerate(parts))
    (tmp_path / "m.csv").write_text("smiles,target,split\n" + rows)
    dataset = load_own(tmp_path / "m.csv")
    assert settle("auto", dataset) == "column"
    assert [part.tolist() for part in folds(dataset, "column")[0]] == [list(range(8)), [8], [9]]

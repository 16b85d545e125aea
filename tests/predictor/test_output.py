from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mshgnn.data.readers.table import read_table
from mshgnn.errors import UserError
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.predict import predict_file
from mshgnn.predictor.train import train
from support.own_data import Silent, config, molecules

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(config(molecules(folder / "m.csv"), "logp", epochs=1), folder / "model", Silent())
    return folder / "model"


def test_predictions_have_the_form_that_their_name_says(trained: Path, tmp_path: Path) -> None:
    model = Ensemble.load(trained)
    (tmp_path / "new.csv").write_text('smiles,note\nCCO,"a,b"\nCCN,"a\tb"\n')
    names = ["out.csv", "out.tsv", "out.csv.gz", "out.tsv.gz"]
    for name in names:
        predict_file(model, tmp_path / "new.csv", tmp_path / name)
    tables = [read_table(tmp_path / name).columns for name in names]
    assert tables[0]["note"] == ["a,b", "a\tb"]
    assert all(table == tables[0] for table in tables)
    assert (tmp_path / "out.tsv").read_text().startswith("smiles\tnote\tlogp\t")
    packed = (tmp_path / "out.csv.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "out.csv").read_bytes()
    predict_file(model, tmp_path / "new.csv", tmp_path / "out.csv.gz")
    assert (tmp_path / "out.csv.gz").read_bytes() == packed  # no time in it


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.npz", "out"])
def test_a_name_of_another_form_is_refused_before_the_work(trained: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=rf"--out .*{name}: must end in \.csv, \.tsv, \.csv\.gz or \.tsv\.gz"):
        predict_file(Ensemble.load(trained), tmp_path / "missing.csv", tmp_path / name)
    assert not (tmp_path / name).exists()

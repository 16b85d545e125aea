from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mshgnn.data import DataError
from mshgnn.errors import UserError
from mshgnn.predictor.embed import embed_file, embedded
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.predict import PredictionFailed
from mshgnn.predictor.train import train
from support.own_data import Silent, config, endless_rows, molecules

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, reference_backend: None) -> Ensemble:
    folder = tmp_path_factory.mktemp("trained")
    train(config(molecules(folder / "m.csv"), "logp", epochs=1), folder / "model", Silent())
    return Ensemble.load(folder / "model")


def test_embeddings_as_npz_and_csv(model: Ensemble, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nCCO\nC(C\nCCC\nCCCO\n")
    done = embed_file(model, tmp_path / "new.csv", tmp_path / "e.npz", chunk=1)
    assert (done.rows, done.failed) == (3, 1)
    assert "line 3: column 'smiles': not a molecule" in done.first_problem
    with np.load(tmp_path / "e.npz", allow_pickle=False) as loaded:
        embeddings, rows = loaded["embeddings"], loaded["rows"]
    assert (embeddings.dtype, embeddings.shape, rows.tolist()) == (np.float32, (3, done.width), [0, 2, 3])
    whole = list(embedded(model, tmp_path / "new.csv"))
    assert np.allclose(whole[0].embeddings.numpy(), embeddings, atol=1e-5)
    embed_file(model, tmp_path / "new.csv", tmp_path / "e.csv", chunk=2)
    listed = np.loadtxt(tmp_path / "e.csv", delimiter=",", skiprows=1)
    assert (tmp_path / "e.csv").read_text().startswith("row,e0,e1,")
    assert listed[:, 0].tolist() == [0, 2, 3]
    assert np.allclose(listed[:, 1:], embeddings, atol=1e-5)


def test_no_more_rows_are_held_than_fit_a_chunk(model: Ensemble, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr("mshgnn.predictor.predict.stream_rows", endless_rows(taken))
    pieces = embedded(model, Path("new.csv"), chunk=4)
    assert [next(pieces).rows for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(taken) == 8


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_file_is_there_whole_or_not_at_all_and_its_folders_are_made(
    model: Ensemble, tmp_path: Path, ending: str
) -> None:
    data, out = molecules(tmp_path / "m.csv", rows=4), tmp_path / "made" / "here" / f"e.{ending}"
    embed_file(model, data, out)
    before = out.read_bytes()
    data.write_text(data.read_text() + "x,C(C,1,a,,\n")
    with pytest.raises(DataError, match="line 6: "):
        embed_file(model, data, out, on_error="stop", chunk=2)
    assert out.read_bytes() == before
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_mistakes_are_one_line(model: Ensemble, tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv", rows=4)
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "file").write_text("")
    for out, message in (
        (tmp_path / "e.txt", "must end in .npz or .csv"),
        (tmp_path / "folder.npz", "is a folder"),
        (data, "is the file to be read"),
        (tmp_path / "file" / "e.npz", "cannot be written"),
    ):
        with pytest.raises(UserError, match=message):
            embed_file(model, data, out)
    with pytest.raises(DataError, match="--member 3: the model has 1"):
        embed_file(model, data, tmp_path / "e.npz", member=3)
    data.write_text("smiles\nC(C\n")
    with pytest.raises(PredictionFailed, match=r"not one of 1 rows could be embedded, the first: .*line 2"):
        embed_file(model, data, tmp_path / "e.npz")
    data.write_text("smiles\n")
    with pytest.raises(DataError, match="there are no rows"):
        embed_file(model, data, tmp_path / "e.npz")
    assert not (tmp_path / "e.npz").exists()

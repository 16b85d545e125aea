from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mshgnn.errors import UserError
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import check_experiment, load_experiment

GOOD = """
dataset: {name: MUTAG}
model: {name: gcn, hidden_channels: 32}
training: {epochs: 7, learning_rate: 1e-3}
"""


def write(folder: Path, text: str, name: str = "try.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_becomes_an_experiment(tmp_path: Path) -> None:
    experiment = load_experiment(write(tmp_path, GOOD))
    assert experiment.name == "try"
    assert experiment.model.options == {"hidden_channels": 32}
    assert experiment.training.learning_rate == 0.001
    assert experiment.training.epochs == 7
    assert experiment.seeds == (0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "sedes: [1]", "unknown key 'sedes'; did you mean 'seeds'?"),
        (GOOD.replace("epochs", "epoch"), "unknown key 'training.epoch'; did you mean 'epochs'?"),
        (GOOD.replace("{name: MUTAG}", "{name: MUTAG, feature: x}"), "did you mean 'features'?"),
        (GOOD.replace("epochs: 7", "epochs: 0"), "training.epochs: Input should be greater than or equal to 1, got 0"),
        (GOOD.replace("epochs: 7", "epochs: many"), "training.epochs: .*'many'"),
        (GOOD + "seeds: [1, 1]", "seeds: must name at least one number and none twice"),
        (GOOD + "seeds: []", "seeds: must name at least one number"),
        (GOOD + "folds: [-1]", r"folds\.0"),
        (GOOD + "name: a//b", "name: .*'a//b'"),
        (GOOD + "name: ../b", "name: .*'../b'"),
        (GOOD + f"seeds: [{'9' * 240}]", r"seeds.0: .*less than .*got 9{80}… \(240 characters\)"),
        (GOOD + f"seeds: [0x{'f' * 4000}]", "line [0-9]+ not valid YAML: a number of 4,002 digits"),
        (GOOD + f"seeds: [{'9' * 5000}]", "line [0-9]+ not valid YAML: a number of 5,000 digits"),
        (GOOD.replace("{name: MUTAG}", "{name: MUTAG, encodings: {lapp: 3}}"), "encodings"),
        (GOOD.replace("epochs: 7", "epochs: 7, warmup_epochs: 7"), "warmup_epochs .7. must be less than epochs .7."),
        (
            GOOD.replace("epochs: 7", "epochs: 7, patience: 5") + "splits: cross-validation",
            "training.patience needs a validation part",
        ),
        (
            GOOD.replace("epochs: 7", "epochs: 7, schedule: plateau") + "splits: cross-validation",
            "training.schedule plateau needs a validation part",
        ),
        ("model: {name: gcn}", "key 'dataset' is missing"),
        ("dataset: [", "line 1 not valid YAML"),
        (GOOD + "seeds: [0]\nseeds: [1]", "line 6 not valid YAML: key 'seeds' is given twice"),
        ("- a\n- b", "must be a mapping"),
        ("", "must be a mapping"),
        ("a: !!python/object:os.system {}", "not valid YAML"),
        (GOOD + "extends: nowhere.yaml", "nowhere.yaml: no such file"),
        (GOOD + "extends: [a]", "extends must be the path of one file"),
    ],
)
def test_a_mistake_names_the_file_the_key_and_the_nearest(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ExperimentError, match=message) as caught:
        load_experiment(path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"gone.yaml: no such file"):
        load_experiment(tmp_path / "gone.yaml")
    with pytest.raises(ExperimentError, match="cannot be read"):
        load_experiment(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match=r"binary.yaml"):
        load_experiment(tmp_path / "binary.yaml")


def test_extends_fills_in_what_is_not_said(tmp_path: Path) -> None:
    write(tmp_path, "training: {epochs: 99, batch_size: 5}\nseeds: [3]", "defaults/base.yaml")
    experiment = load_experiment(write(tmp_path, "extends: ../defaults/base.yaml\n" + GOOD, "graph/a.yaml"))
    assert experiment.training.epochs == 7
    assert experiment.training.batch_size == 5
    assert experiment.seeds == (3,)


def test_extends_goes_one_level(tmp_path: Path) -> None:
    write(tmp_path, "extends: other.yaml", "base.yaml")
    with pytest.raises(ExperimentError, match="must not extend another file"):
        load_experiment(write(tmp_path, "extends: base.yaml\n" + GOOD))


def test_set_changes_values(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    changes = ["training.epochs=3", "model.num_layers=4", "seeds=[1, 2]", "training.learning_rate=5e-3", "about=x"]
    experiment = load_experiment(path, changes)
    assert experiment.training.epochs == 3
    assert experiment.training.learning_rate == 0.005
    assert experiment.model.options == {"hidden_channels": 32, "num_layers": 4}
    assert experiment.seeds == (1, 2)
    assert experiment.digest != load_experiment(path).digest
    assert load_experiment(path, ["about=x", "name=y"]).digest == load_experiment(path).digest


MSH = "dataset: {name: MUTAG}\nmodel: {name: msh-stable, num_projections: 8, dropout: 0.3, relative_phases: true}\n"


def test_another_model_leaves_out_the_files_options_that_it_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, MSH)
    experiment = load_experiment(path, ["model.name=gin"])
    assert experiment.model.options == {"dropout": 0.3}
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line == "mshgnn: model.name=gin: left out num_projections, relative_phases of the file, which gin does not have"
    )
    assert load_experiment(path, ["model.name=majority"]).model.options == {}
    capsys.readouterr()
    strict = load_experiment(path, ["model.name=gin", "model.num_projections=4"])
    with pytest.raises(UserError, match="num_projections"):
        strict.resolved()
    assert "relative_phases" in capsys.readouterr().err
    load_experiment(path, ["model.name=msh-stable", "model.dropout=0.2"])
    assert capsys.readouterr().err == ""


def test_what_is_resolved_is_the_experiment_itself(tmp_path: Path) -> None:
    experiment = load_experiment(write(tmp_path, MSH))
    resolved = experiment.resolved()
    assert resolved["model"]["num_layers"] == 3
    again = check_experiment(resolved, "again")
    assert again.resolved() == resolved
    assert again.digest == experiment.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.epochs", "must look like"),
        ("=3", "must look like"),
        ("training.epochs=[", "not a YAML value"),
        ("splits.own=3", "splits is a single value|splits"),
        ("training.epoch=3", "did you mean 'epochs'"),
    ],
)
def test_a_wrong_set_is_explained(tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        load_experiment(write(tmp_path, GOOD + "splits: default"), [change])


@given(st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_text_is_worse_than_an_explained_mistake(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(ExperimentError):
        load_experiment(path)


@given(
    st.dictionaries(
        st.sampled_from(["training", "seeds", "folds", "model", "splits"]),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
@settings(deadline=None)
def test_no_value_is_worse_than_an_explained_mistake(changes: dict[str, object]) -> None:
    content = {"name": "a", "dataset": {"name": "MUTAG"}, "model": {"name": "gcn"}} | changes
    explained = ""
    try:
        check_experiment(content, "file")
    except ExperimentError as error:
        explained = str(error)
    assert not explained or explained.startswith("file: ")

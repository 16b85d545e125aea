from __future__ import annotations

import pytest
from typer.testing import CliRunner

import mshgnn
from mshgnn.cli import app
from mshgnn.errors import UserError
from mshgnn.models import MODELS
from mshgnn.models.controls import CONTROLS


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_all_models_and_controls_are_listed_with_their_titles() -> None:
    shown = output("models")
    for name in [*MODELS, *CONTROLS]:
        assert f" {name} " in shown
    for builder in MODELS.values():
        assert builder.title in shown


@pytest.mark.parametrize("name", MODELS)
def test_a_models_options_are_shown_with_types_and_defaults(name: str) -> None:
    shown = output("models", name)
    assert MODELS[name].title in shown
    for option in MODELS[name].options:
        assert f" {option} " in shown


def test_a_preset_shows_its_own_defaults() -> None:
    rows = {line.split()[1]: line for line in output("models", "msh-paper").splitlines() if line.startswith("│")}
    assert "an integer from 1 to 1,000" in rows["num_layers"]
    assert rows["num_layers"].split()[-2] == "3"
    assert rows["readout"].split()[-2] == "frequency"
    assert rows["phase_scale"].split()[-2] == "None"


def test_a_control_is_shown_and_an_unknown_name_has_a_neighbour() -> None:
    assert "most frequent class" in output("models", "majority")
    with pytest.raises(UserError, match="unknown model 'ginn'; did you mean 'gin'"):
        output("models", "ginn")


def test_the_version_is_the_packages() -> None:
    assert output("--version") == f"mshgnn {mshgnn.__version__}\n"

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch_geometric.nn import GraphConv

from mshgnn.errors import UserError
from mshgnn.nn import MSHGNN, PRESETS, GraphModel

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])


def trained(preset: str, dtype: torch.dtype, **options: Any) -> MSHGNN:
    """A model whose weights and statistics are not those of a fresh one."""
    model = MSHGNN.from_preset(preset, 3, 2, hidden_channels=4, num_projections=2, **options).to(dtype)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 3, dtype=dtype), EDGES, torch.tensor([0, 0, 0, 1, 1])).square().sum().backward()
        optimizer.step()
    return model.eval()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_round_trip_to_the_same_bits(preset: str, dtype: torch.dtype, tmp_path: Path) -> None:
    model = trained(preset, dtype, frequencies=(0.1, 1 / 3), gate="softmax")
    model.save_pretrained(tmp_path / "model")
    loaded = MSHGNN.from_pretrained(tmp_path / "model").eval()
    assert loaded.options == model.options
    assert list(loaded.state_dict()) == list(model.state_dict())
    for name, tensor in model.state_dict().items():
        assert loaded.state_dict()[name].dtype == tensor.dtype, name
        assert loaded.state_dict()[name].equal(tensor), name
    x = torch.randn(5, 3, dtype=dtype)
    assert loaded(x, EDGES).equal(model(x, EDGES))


def test_learned_frequencies_and_a_second_save(tmp_path: Path) -> None:
    for seed in range(2):  # saving over an older model leaves only the new one
        torch.manual_seed(seed)
        model = trained("stable", torch.float64, frequencies="learned", edge_dim=None)
        model.save_pretrained(tmp_path)
    loaded = MSHGNN.from_pretrained(str(tmp_path)).eval()
    x = torch.randn(5, 3, dtype=torch.float64)
    assert loaded(x, EDGES).equal(model(x, EDGES))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_frequencies_given_as_a_tensor_are_saved(tmp_path: Path) -> None:
    MSHGNN(3, 2, frequencies=torch.tensor([1.0, 2.5])).save_pretrained(tmp_path)
    assert MSHGNN.from_pretrained(tmp_path).options["frequencies"] == [1.0, 2.5]


def test_a_model_around_a_message_of_ones_own_is_read_with_that_message(tmp_path: Path) -> None:
    def make(channels: int) -> GraphConv:
        return GraphConv(channels, channels)

    model, x = GraphModel(3, 2, make, hidden_channels=4).eval(), torch.randn(5, 3)
    model.save_pretrained(tmp_path)
    loaded = GraphModel.from_pretrained(tmp_path, make_message=make).eval()
    assert loaded.options == model.options
    assert loaded(x, EDGES).equal(model(x, EDGES))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    trained("stable", torch.float32).save_pretrained(folder)
    return folder


def damaged_copy(saved: Path, folder: Path, config: bytes | None = None, weights: bytes | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes((saved / "config.json").read_bytes() if config is None else config)
    (folder / "model.safetensors").write_bytes(
        (saved / "model.safetensors").read_bytes() if weights is None else weights
    )
    return folder


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_weights_file_is_refused(share: float, saved: Path, tmp_path: Path) -> None:
    weights = (saved / "model.safetensors").read_bytes()
    folder = damaged_copy(saved, tmp_path / "cut", weights=weights[: int(share * len(weights))])
    with pytest.raises(ValueError, match=r"model\.safetensors (is damaged|cannot be read)"):
        MSHGNN.from_pretrained(folder)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_config_is_refused(share: float, saved: Path, tmp_path: Path) -> None:
    config = (saved / "config.json").read_bytes().rstrip()
    folder = damaged_copy(saved, tmp_path / "cut", config=config[: int(share * len(config))])
    with pytest.raises(ValueError, match=r"config\.json"):
        MSHGNN.from_pretrained(folder)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_foreign_files_are_refused(content: bytes, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"config\.json"):
        MSHGNN.from_pretrained(damaged_copy(saved, tmp_path / "config", config=content))
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        MSHGNN.from_pretrained(damaged_copy(saved, tmp_path / "weights", weights=content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hiden_channels": 4}, "no option 'hiden_channels'; did you mean 'hidden_channels'"),
        ({"hidden_channels": "four"}, "hidden_channels must be an integer from 1 to 100,000, got 'four'"),
        ({"hidden_channels": 5}, "does not fit config.json"),
        ({"frequencies": []}, "frequencies must hold at least one number"),
        ({"frequencies": [1.0]}, "does not fit config.json"),
        ({"readout": "frequency"}, "unexpected or missing weights"),
        ({"aggr": 3}, "aggr must be one of sum, mean, sqrt_degree, got 3"),
        ({"phase": "no"}, "phase must be true or false, got 'no'"),
        ({"num_layers": True}, "num_layers must be an integer from 1 to 1,000, got True"),
        ({"num_layers": 10**9}, "num_layers must be an integer from 1 to 1,000, got 1000000000"),
        ({"hidden_channels": 100_000}, "does not fit config.json"),  # refused before it is allocated
    ],
)
def test_a_config_that_was_tampered_with_is_refused(
    change: dict[str, object], message: str, saved: Path, tmp_path: Path
) -> None:
    config = json.loads((saved / "config.json").read_text())
    config["options"].update(change)
    folder = damaged_copy(saved, tmp_path / "model", config=json.dumps(config).encode())
    with pytest.raises(ValueError, match=message):
        MSHGNN.from_pretrained(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"[]", "does not describe a saved mshgnn model"),
        (b"{}", "does not describe a saved mshgnn model"),
        (b"null", "does not describe a saved mshgnn model"),
        (b'{"format": "mshgnn-2", "model": 3, "options": {}}', "does not describe a saved mshgnn model"),
        (b'{"format": "mshgnn-1", "model": "MSHGNN", "options": {}}', "format mshgnn-1 of an earlier version"),
        (
            b'{"format": "mshgnn-2", "model": "gcn", "options": {"in_channels": 3, "out_channels": 2}}',
            r"holds a saved 'gcn', not a MSHGNN; mshgnn\.models\.from_pretrained reads any",
        ),
    ],
)
def test_a_foreign_config_is_refused(config: bytes, message: str, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        MSHGNN.from_pretrained(damaged_copy(saved, tmp_path / "model", config=config))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_pipe_does_not_keep_a_reader_waiting(name: str, saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "copy")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(UserError, match=f"{name} is damaged: not a regular file"):
        MSHGNN.from_pretrained(folder)


def test_missing_options_are_refused(saved: Path, tmp_path: Path) -> None:
    for options, message in (("[]", "holds no options"), ("{}", "in_channels")):
        config = f'{{"format": "mshgnn-2", "model": "MSHGNN", "options": {options}}}'.encode()
        with pytest.raises(ValueError, match=message):
            MSHGNN.from_pretrained(damaged_copy(saved, tmp_path / "model", config=config))


def test_foreign_folders_are_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"config\.json cannot be read"):
        MSHGNN.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"config\.json cannot be read"):
        MSHGNN.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"config\.json cannot be read"):
        MSHGNN.from_pretrained(saved / "config.json")
    folder = damaged_copy(saved, tmp_path / "half")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors cannot be read"):
        MSHGNN.from_pretrained(folder)


def test_weights_of_another_kind_are_refused(saved: Path, tmp_path: Path) -> None:
    state = load_file(saved / "model.safetensors")
    folder = damaged_copy(saved, tmp_path / "model")
    save_file({**state, "head.1.bias": state["head.1.bias"].long()}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"head\.1\.bias is torch\.int64, not torch\.float32"):
        MSHGNN.from_pretrained(folder)
    save_file({**state, "head.1.bias": state["head.1.bias"].double()}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"mixes precisions: torch\.float32, torch\.float64"):
        MSHGNN.from_pretrained(folder)

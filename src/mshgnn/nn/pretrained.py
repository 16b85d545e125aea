"""Models on disk: a JSON config and safetensors weights, never pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor, nn

from mshgnn.errors import UserError
from mshgnn.files import parse_json, read_regular

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
FORMAT = "mshgnn-2"
OLD_FORMAT = "mshgnn-1"

Built = TypeVar("Built", bound=nn.Module)


def write_pretrained(model: nn.Module, name: str, options: Mapping[str, object], folder: Path) -> None:
    """Write the name, the options and the state of ``model``; each file appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / f"{WEIGHTS_FILE}.tmp"
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, weights)
    config = folder / f"{CONFIG_FILE}.tmp"
    config.write_text(json.dumps({"format": FORMAT, "model": name, "options": options}, indent=2) + "\n")
    os.replace(weights, folder / WEIGHTS_FILE)
    os.replace(config, folder / CONFIG_FILE)


def read_config(folder: Path) -> tuple[str, dict[str, Any]]:
    """The name and the options of a saved model, as they were written: whoever builds it checks them."""
    path = folder / CONFIG_FILE
    try:
        config = parse_json(read_regular(path).decode())
    except OSError as error:
        raise UserError(f"{path} cannot be read, so this is no saved mshgnn model: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found == OLD_FORMAT:
        raise UserError(f"{path} has the format {OLD_FORMAT} of an earlier version, whose weights differ; train again")
    if found != FORMAT or not isinstance(config.get("model"), str):
        raise UserError(f"{path} does not describe a saved mshgnn model (format {FORMAT})")
    options = config.get("options")
    if not isinstance(options, dict):
        raise UserError(f"{path} holds no options")
    missing = [name for name in ("in_channels", "out_channels") if name not in options]
    if missing:
        raise UserError(f"{path} holds no {missing[0]}")
    return config["model"], options


def fill_weights(build: Callable[[], Built], folder: Path) -> Built:
    """Build a model and fill in the folder's weights, in their own precision."""
    state = _read_weights(folder / WEIGHTS_FILE)
    try:
        # Without memory first: options that do not fit the weights may ask for any amount of it.
        with torch.device("meta"):
            outline = build()
        _check_fit(state, outline, folder / WEIGHTS_FILE)
        model = build()
    except UserError as error:
        text = str(error)
        raise UserError(text if str(folder) in text else f"{folder / CONFIG_FILE}: {text}") from None
    model = model.to(next(tensor.dtype for tensor in state.values() if tensor.is_floating_point()))
    model.load_state_dict(state)
    return model


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load(read_regular(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read, so this is no saved mshgnn model: {error}") from None
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _check_fit(state: Mapping[str, Tensor], model: nn.Module, path: Path) -> None:
    expected = model.state_dict()
    if set(state) != set(expected):
        odd = sorted(set(state) ^ set(expected))
        raise UserError(f"{path} does not fit {CONFIG_FILE}: unexpected or missing weights {odd[:3]}")
    for name, tensor in expected.items():
        if state[name].is_floating_point() != tensor.is_floating_point():
            raise UserError(f"{path} does not fit {CONFIG_FILE}: {name} is {state[name].dtype}, not {tensor.dtype}")
        if state[name].shape != tensor.shape:
            raise UserError(
                f"{path} does not fit {CONFIG_FILE}: {name} has shape {list(state[name].shape)}, "
                f"expected {list(tensor.shape)}"
            )
    floats = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
    if len(floats) != 1:
        raise UserError(f"{path} mixes precisions: {', '.join(sorted(map(str, floats)))}")

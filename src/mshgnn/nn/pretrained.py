"""Models on disk: a JSON config and safetensors weights, never pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from mshgnn.errors import UserError
from mshgnn.nn.presets import check_option_names

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
FORMAT = "mshgnn-1"

Model = TypeVar("Model", bound=nn.Module)


def write_pretrained(model: nn.Module, options: Mapping[str, object], folder: Path) -> None:
    """Write ``options`` and the state of ``model``; each file appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / f"{WEIGHTS_FILE}.tmp"
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, weights)
    config = folder / f"{CONFIG_FILE}.tmp"
    config.write_text(
        json.dumps({"format": FORMAT, "model": type(model).__name__, "options": options}, indent=2) + "\n"
    )
    os.replace(weights, folder / WEIGHTS_FILE)
    os.replace(config, folder / CONFIG_FILE)


def load_pretrained(model: type[Model], folder: Path) -> Model:
    """Build ``model`` from the folder's options and fill in its weights, in their own precision."""
    options = _read_options(model, folder / CONFIG_FILE)
    try:
        built = model(**options)
    except (TypeError, ValueError) as error:
        raise UserError(f"{folder / CONFIG_FILE}: {error}") from None
    path = folder / WEIGHTS_FILE
    try:
        state = load_file(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read, so this is no saved mshgnn model: {error}") from None
    except SafetensorError as error:
        raise UserError(f"{path} is damaged: {error}") from None
    expected = built.state_dict()
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
    built = built.to(floats.pop())
    built.load_state_dict(state)
    return built


def _read_options(model: type, path: Path) -> dict[str, object]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read, so this is no saved mshgnn model: {error}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT or config.get("model") != model.__name__:
        raise UserError(f"{path} does not describe a saved {model.__name__} (format {FORMAT})")
    options = config.get("options")
    if not isinstance(options, dict):
        raise UserError(f"{path} holds no options")
    try:
        check_option_names(model, options)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    return options

"""A stopped training as one file: everything that decides the next epoch, so that it goes on to the same bits.

The file is safetensors with a JSON header: weights, their average, the optimiser's moments, the best weights so far and
the state of the random generators are tensors; curves and counters are JSON. The SHA-256 of both is in the header:
damage is seen. Reading it runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from mshgnn.errors import Failure, UserError
from mshgnn.files import parse_json, read_regular
from mshgnn.training.parallel import ALONE, Workers

SECONDS_BETWEEN = 5.0
"""So much work is lost at most, besides the epoch that was under way."""


class CheckpointFailed(Failure):
    """A checkpoint that could not be written: a full disk, say. The one before it is whole."""


class Moving(NamedTuple):
    """What an epoch changes besides curves: modules (weights, their average), optimiser, schedule, batch order."""

    modules: Mapping[str, nn.Module]
    optimiser: torch.optim.Optimizer
    plateau: ReduceLROnPlateau
    generator: torch.Generator


class Checkpoint:
    """The file of one fold. ``digest`` names what is trained: a file of anything else is not gone on with."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path, self.digest = path, digest
        self.seconds_before = 0.0
        """How long earlier sittings trained."""
        self._started = time.monotonic()
        self._written = -SECONDS_BETWEEN

    @property
    def seconds(self) -> float:
        """How long all sittings trained."""
        return self.seconds_before + time.monotonic() - self._started

    def is_due(self) -> bool:
        """Whether the last file is old enough to be written anew."""
        return time.monotonic() - self._written >= SECONDS_BETWEEN

    def write(self, moving: Moving, best_weights: Mapping[str, Tensor] | None, counters: Mapping[str, Any]) -> None:
        """Keep the state after an epoch; the file is replaced whole."""
        tensors = {f"{name}/{key}": value for name, module in moving.modules.items() for key, value in _state(module)}
        for number, moments in moving.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{number}/{key}": torch.as_tensor(value) for key, value in moments.items()}
        tensors |= {f"best/{key}": value for key, value in (best_weights or {}).items()}
        tensors |= {"random/order": moving.generator.get_state(), "random/torch": torch.get_rng_state()}
        header = {
            "digest": self.digest,
            "seconds": self.seconds,
            "rates": [group["lr"] for group in moving.optimiser.param_groups],
            "plateau": moving.plateau.state_dict(),
            **counters,
        }
        copied = {key: value.detach().cpu().clone().contiguous() for key, value in tensors.items()}
        state = json.dumps(header)
        self._replace(save(copied, {"state": state, "sha256": _checksum(copied, state)}))
        self._written = time.monotonic()

    def _replace(self, content: bytes) -> None:
        """Write beside, sync and rename: what fails on the way leaves the file before as it was."""
        temporary = self.path.with_name(f"{self.path.name}.writing")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            reason = error.strerror or error
            raise CheckpointFailed(
                f"{self.path}: cannot be written ({reason}); put that right, then the same command goes on"
            ) from None

    def read(self, moving: Moving, workers: Workers = ALONE) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Set everything back and return the best weights (none: empty) and the counters; None where there is no file.

        The file of another training, and one that cannot be read, say so before anything is changed. The first of the
        workers reads it for all.
        """
        content = workers.agree(self._content() if workers.is_first else None)
        if content is None:
            return None
        try:
            tensors, metadata = load(content), _metadata(content)
            header = parse_json(metadata["state"])
            if header["digest"] != self.digest:
                return None
            if metadata["sha256"] != _checksum(tensors, metadata["state"]):
                raise ValueError("its checksum is wrong")
            for name, module in moving.modules.items():
                module.load_state_dict(_under(tensors, name))
            moments: dict[int, dict[str, Tensor]] = {}
            for key, value in _under(tensors, "optimiser").items():
                number, _, moment = key.partition("/")
                moments.setdefault(int(number), {})[moment] = value
            groups = moving.optimiser.state_dict()["param_groups"]
            for group, rate in zip(groups, header["rates"], strict=True):
                group["lr"] = rate
            moving.optimiser.load_state_dict({"state": moments, "param_groups": groups})
            moving.plateau.load_state_dict(header["plateau"])
            moving.generator.set_state(tensors["random/order"])
            torch.set_rng_state(tensors["random/torch"])
            self.seconds_before = float(header["seconds"])
        except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
            reason = (str(error).splitlines() or [""])[0][:100]
            raise UserError(f"{self.path} is damaged ({reason}): delete it to train this fold anew") from error
        return _under(tensors, "best"), header

    def _content(self) -> bytes | None:
        try:
            return read_regular(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        except ValueError as error:
            raise UserError(f"{self.path}: cannot be read ({error})") from None

    def remove(self) -> None:
        """The fold is over."""
        self.path.unlink(missing_ok=True)


def _metadata(content: bytes) -> dict[str, str]:
    """What :meth:`Checkpoint.write` laid into the header: JSON after eight bytes with its length."""
    length = int.from_bytes(content[:8], "little")
    metadata: dict[str, str] = parse_json(content[8 : 8 + length])["__metadata__"]
    return metadata


def _checksum(tensors: Mapping[str, Tensor], state: str) -> str:
    """SHA-256 of names, types, shapes and bytes of the tensors, and of the JSON beside them."""
    total = hashlib.sha256(state.encode())
    for key, value in sorted(tensors.items()):
        total.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _state(module: nn.Module) -> Iterable[tuple[str, Tensor]]:
    state: dict[str, Tensor] = module.state_dict()
    return state.items()


def _under(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors of one part, by their own names."""
    return {key.removeprefix(f"{name}/"): value for key, value in tensors.items() if key.startswith(f"{name}/")}

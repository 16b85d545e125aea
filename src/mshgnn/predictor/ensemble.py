"""A folder that ``mshgnn train`` wrote, ready to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.readers.asked import Asked
from mshgnn.data.schema import Schema
from mshgnn.errors import UserError
from mshgnn.machine import Device, threads
from mshgnn.predictor.calibration import CALIBRATION_FILE, Calibration
from mshgnn.predictor.config import TrainConfig, load_config
from mshgnn.predictor.fold import FoldReport
from mshgnn.predictor.member import Member

OnError = Literal["stop", "skip"]
CONFIG_FILE = "config.yaml"


class Prediction(NamedTuple):
    """Of ``n`` items: the mean of the members' values, their spread ``[n, C or T]``, the distance ``[n]``.

    ``embeddings`` has those of each member, ``[n, d]``.
    """

    values: Tensor
    spread: Tensor
    distance: Tensor
    embeddings: tuple[Tensor, ...]


@dataclass(frozen=True)
class Ensemble:
    """The members of a trained model, one or several, and what they share."""

    folder: Path
    config: TrainConfig
    schema: Schema
    """Of the whole file that trained it: task, objective, columns, targets and classes; encodings are the members'."""
    members: tuple[Member, ...]
    calibration: Calibration | None
    device: Device = "cpu"

    @classmethod
    def load(cls, folder: Path, device: Device = "cpu") -> Ensemble:
        """Read a folder; nothing in it is run."""
        if not (folder / CONFIG_FILE).exists():
            raise UserError(f"{folder}: no trained model: there is no {CONFIG_FILE} in it (mshgnn train writes one)")
        config = load_config(folder / CONFIG_FILE)
        schema = Schema.load(folder / "schema.json")
        members = tuple(_load_member(path) for path in trained_folders(folder))
        widths = {member.model.options["out_channels"] for member in members}
        expected = len(schema.class_names) if schema.objective in ("classify", "rank") else len(schema.target_names)
        if widths != {expected}:
            given = ", ".join(map(str, sorted(widths)))
            raise UserError(f"{folder}: the weights give {given} outputs, schema.json names {expected}")
        said = attrgetter("task", "objective", "class_names", "target_names")
        if any(said(member.schema) != said(schema) for member in members):
            raise UserError(f"{folder}: schema.json is not that of its members")
        calibration = Calibration.load(folder)
        if calibration is not None and len(calibration.half_widths) != expected:
            found = len(calibration.half_widths)
            raise UserError(
                f"{folder / CALIBRATION_FILE} is damaged: {found} half_widths, schema.json names {expected}"
            )
        return cls(folder, config, schema, members, calibration, device)

    @property
    def target_names(self) -> tuple[str, ...]:
        """The targets as columns are called."""
        return self.schema.target_names or ("target",)

    def asked(self, on_error: OnError) -> Asked:
        """How a file is read for this model."""
        return Asked(schema=self.schema, directed=self.config.directed, id=self.config.id_column, on_error=on_error)

    def encode(self, graph: Data, where: str) -> tuple[Data, ...]:
        """A graph as it stands in a file, for each member; one that does not fit is a ``DataError``."""
        return tuple(member.encode(graph, where) for member in self.members)

    def predict(self, graphs: Sequence[tuple[Data, ...]]) -> Prediction:
        """Predict what ``encode`` made; on a node task the nodes of the one graph."""
        values, distances, embeddings = [], [], []
        with threads(1):  # sums depend on how many threads share them
            for member, encoded in zip(self.members, zip(*graphs, strict=True), strict=True):
                computed = member.compute(encoded, self.device)
                values.append(computed.values)
                embeddings.append(computed.embeddings)
                assert member.reach is not None  # ``Member.load`` reads it
                distances.append(member.reach.distance(computed.embeddings))
        stacked = torch.stack(values)
        distance = torch.stack(distances).mean(dim=0)
        return Prediction(stacked.mean(dim=0), stacked.std(dim=0, correction=0), distance, tuple(embeddings))


def member_folders(folder: Path) -> list[Path]:
    """The folders of trained folds, in their order."""
    found = [path for path in folder.glob("model_*") if path.name[6:].isdigit()]
    return sorted((p for p in found if FoldReport.load(p) is not None), key=lambda path: int(path.name[6:]))


def trained_folders(folder: Path) -> list[Path]:
    """The same, where there is at least one."""
    if found := member_folders(folder):
        return found
    raise UserError(f"{folder}: no member is trained yet; run mshgnn train again to finish it")


def _load_member(folder: Path) -> Member:
    """The member of a fold; of one in training that of its best epoch so far."""
    report = FoldReport.load(folder)
    return Member.load(folder / (report.kept if report else ""))

"""What ``mshgnn train`` is asked to do: one checked description, written beside the model, that runs again as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mshgnn.data.dataset import Metric, Objective
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.table import is_table
from mshgnn.data.schema import Unseen
from mshgnn.errors import UserError, did_you_mean
from mshgnn.lab.yaml_file import parse, read_mapping
from mshgnn.models import MODELS
from mshgnn.nn.model import Task
from mshgnn.training.settings import TrainingSettings

How = Literal["auto", "random", "stratified", "scaffold", "column", "file"]
DEFAULT_MODEL = "msh-stable"
DEFAULT_TRAINING = TrainingSettings(
    epochs=100, patience=30, optimiser="adamw", schedule="cosine", warmup_epochs=2, evaluate_train_every=5
)

MOLECULE_TRAINING = DEFAULT_TRAINING.model_copy(
    update={"epochs": 60, "batch_size": 64, "learning_rate": 2e-3, "weight_average": 0.99}
)
MOLECULE_OPTIONS = {"num_layers": 4, "head_layers": 2, "aggr": "sqrt_degree"}
"""What a table of molecules gets where nothing else is said, options for the models that have them; chosen on
validation parts alone. Molecules are many and small: larger batches at a higher rate cost less time, averaged weights
calm the choice of the epoch, and a fourth layer sees whole rings. A head of one layer would carry a sum over atoms on
in a straight line for molecules larger than any seen; a second one bends it."""
TASK_OPTIONS: dict[Task, dict[str, Any]] = {
    "node": {"aggr": "sqrt_degree", "centered": True},
    "graph": {"relative_phases": True},
}
"""What ``msh-stable`` gets, in the lab's suites as here: nodes of one graph differ in degree by hundreds."""


class TrainConfig(BaseModel):
    """Data, columns, split, model and training. Every key has the name of its option of ``mshgnn train``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    data: str = Field(min_length=1)
    target: tuple[str, ...] = ()
    """Target columns; ``*`` is all that are left. By default ``target``, or the only column left."""
    objective: Objective | None = None
    metric: Metric | None = None
    smiles_column: str = "smiles"
    id_column: str | None = None
    weight_column: str | None = None
    """How much each row counts in the training loss; every figure counts each row once."""
    ignore: tuple[str, ...] = ()
    directed: bool = False
    unseen: Unseen = "other"
    """Labels of nodes that the training part lacks: a column ``other`` for all of them, or an ``error``."""
    on_error: Literal["stop", "skip"] = "stop"
    split: How = "auto"
    """``auto``: the split column where there is one, else stratified for classes and random for numbers."""
    split_column: str | None = None
    split_file: str | None = None
    folds: Annotated[int, Field(ge=1, le=20)] = 1
    """1: one model, 80 % train, 10 % validation, 10 % test. K: one model for each of K folds, together an ensemble."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    model: dict[str, Any] = {"name": DEFAULT_MODEL}
    """The model's name and its options."""
    training: TrainingSettings = DEFAULT_TRAINING
    coverage: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """The share of new values that the intervals of a regression promise to hold."""
    controls: bool = True
    """Also measure what the model must beat."""

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(model.get("name"), str):
            raise ValueError("must have a name: {name: msh-stable}")
        return model

    @model_validator(mode="after")
    def _check_split(self) -> TrainConfig:
        if self.folds == 2:
            raise ValueError("folds must be 1, or at least 3: one part trains, one validates, one tests")
        if (self.split == "file") != (self.split_file is not None):
            raise ValueError("split 'file' and split_file go together")
        if self.folds > 1 and self.split in ("column", "file"):
            raise ValueError(f"the split {self.split!r} says itself how many folds there are; leave folds out")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """The options of the model."""
        return {key: value for key, value in self.model.items() if key != "name"}

    def asked(self) -> Asked:
        """What the reader of the file is asked for."""
        return Asked(
            target=self.target,
            smiles=self.smiles_column,
            objective=self.objective,
            metric=self.metric,
            id=self.id_column,
            split=self.split_column,
            weight=self.weight_column,
            ignore=self.ignore,
            directed=self.directed,
            on_error=self.on_error,
        )

    def placed(self) -> TrainConfig:
        """The same with absolute paths, so that it says the same in any working folder."""
        split_file = None if self.split_file is None else os.path.abspath(self.split_file)
        return self.model_copy(update={"data": os.path.abspath(self.data), "split_file": split_file})

    def to_yaml(self) -> str:
        """The whole description; ``load_config`` reads an equal one."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=118)


def load_config(path: Path, changes: Mapping[str, Any] | None = None) -> TrainConfig:
    """Read a file that ``to_yaml`` or ``mshgnn init`` wrote, with ``changes`` laid over it."""
    return check_config(_merged(read_mapping(path), changes or {}), str(path))


def check_config(content: Mapping[str, Any], source: str) -> TrainConfig:
    """A description out of plain values; what is wrong is one line that names ``source`` and the key."""
    try:
        values = dict(content)
        molecules = is_molecules(values.get("data"))
        training = values.get("training", {})
        if isinstance(training, Mapping):
            values["training"] = _training(training, MOLECULE_TRAINING if molecules else DEFAULT_TRAINING)
        model = values.get("model", {"name": DEFAULT_MODEL})
        if molecules and isinstance(model, Mapping):
            values["model"] = {**_options_of_molecules(model), **model}
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            valid = TrainingSettings.model_fields if "." in key else TrainConfig.model_fields
            raise UserError(f"{source}: unknown key {key!r}{did_you_mean(key.rpartition('.')[2], valid)}") from None
        problem = first["msg"].removeprefix("Value error, ")
        said = key and first["type"] != "missing" and not isinstance(first["input"], Mapping)
        given = f", not {str(first['input'])[:60]!r}" if said else ""
        raise UserError(f"{source}: {key + ': ' if key else ''}{problem}{given}") from None


def is_molecules(data: object) -> bool:
    """Whether data of this name are a table of molecules."""
    return isinstance(data, str) and is_table(Path(data)) and not Path(data).name.startswith("nodes.")


def _options_of_molecules(model: Mapping[str, Any]) -> dict[str, Any]:
    """Those that the model has; a preset of the paper keeps what the paper says."""
    name = model.get("name", "")
    if not isinstance(name, str) or name not in MODELS or name in ("msh-paper", "msh-released"):
        return {}
    return {option: value for option, value in MOLECULE_OPTIONS.items() if option in MODELS[name].options}


def settle_options(config: TrainConfig, task: Task) -> TrainConfig:
    """The description with the options that the task decides, each where the description says nothing of it."""
    if config.model["name"] != DEFAULT_MODEL or is_molecules(config.data):
        return config
    decided = TASK_OPTIONS[task]
    if config.model.get("phase_scale", 1) is None or config.model.get("frequencies") == "none":
        decided = {option: value for option, value in decided.items() if option != "centered"}  # which needs both
    return config.model_copy(update={"model": {**config.model, **decided, **config.options}})


def _training(given: Mapping[str, Any], defaults: TrainingSettings) -> dict[str, Any]:
    """The settings given, and the defaults for the others; a short training has a short warm-up."""
    settings = {**defaults.model_dump(mode="json"), **given}
    epochs = settings["epochs"]
    if "warmup_epochs" not in given and isinstance(epochs, int):
        settings["warmup_epochs"] = max(0, min(settings["warmup_epochs"], epochs - 1))
    return settings


def changes_of(settings: Sequence[str]) -> dict[str, Any]:
    """What ``--set`` changes: ``hidden_channels=32`` an option of the model, ``training.batch_size=64`` a setting."""
    changes: dict[str, Any] = {}
    for text in settings:
        path, equals, value = text.partition("=")
        section, dot, key = path.partition(".")
        if not equals or not path or (dot and (section not in ("model", "training") or not key)):
            raise UserError(f"--set {text}: must look like hidden_channels=32 or training.batch_size=64")
        try:
            changes.setdefault(section if dot else "model", {})[key if dot else path] = parse(value)
        except yaml.YAMLError:
            raise UserError(f"--set {text}: {value!r} is not a YAML value") from None
    return changes


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid over ``base``; another model takes none of the old one's options."""
    merged = {**base, **over}
    for key in ("model", "training"):
        old, new = base.get(key), over.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            other = key == "model" and new.get("name", old.get("name")) != old.get("name")
            merged[key] = dict(new) if other else {**old, **new}
    return merged

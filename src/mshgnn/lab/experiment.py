"""Experiments: checked descriptions of what is run, read from YAML.

extends: base.yaml                  # optional, one level: what this file does not say
name: mutag-gcn
dataset: {name: MUTAG}              # or your own graphs: {path: mine.jsonl}
model: {name: gcn, hidden_channels: 64}
training: {epochs: 200, learning_rate: 1e-3}
splits: default
seeds: [0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.overrides import merge, override
from mshgnn.lab.yaml_file import read_mapping
from mshgnn.records.codec import checksum
from mshgnn.records.run import NUMBERS_VERSION, decisive
from mshgnn.training.settings import TrainingSettings

Encoding = Literal["lappe", "rwpe"]
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]
Word = r"[A-Za-z0-9][A-Za-z0-9._-]*"
LONGEST_VALUE = 80
"""Characters of a wrong value that an error shows."""


class DatasetChoice(BaseModel):
    """Which data set, and what its nodes carry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    path: str | None = None
    """Your own graphs instead of a known set: a folder in TU text form, a ``.jsonl`` or a ``.csv`` of SMILES."""
    features: str = "default"
    largest_component: bool = False
    edge_features: bool = False
    """Give the set's ``edge_attr`` to the model."""
    encodings: dict[Encoding, Annotated[int, Field(ge=1, le=1024)]] = {}
    """Columns of positional encodings after the features: ``{lappe: 8, rwpe: 16}``."""

    @model_validator(mode="before")
    @classmethod
    def _name_own_graphs(cls, content: object) -> object:
        if isinstance(content, dict) and isinstance(content.get("path"), str):
            return {"name": Path(content["path"]).stem, **content}
        return content

    @model_validator(mode="after")
    def _check_own_graphs(self) -> DatasetChoice:
        if self.path is not None and self.name != Path(self.path).stem:
            raise ValueError(f"name {self.name!r} and path {self.path!r} are two data sets; give one of them")
        if self.path is not None and (self.features != "default" or self.largest_component):
            raise ValueError("features and largest_component are for known data sets, not for a path")
        return self


class ModelChoice(BaseModel):
    """A model or control by name; every other key is an option of that model, checked by the model."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(min_length=1)

    @property
    def options(self) -> dict[str, Any]:
        """The model's own options."""
        return dict(self.model_extra or {})


class Experiment(BaseModel):
    """One run: a data set, a model, a way to train it, splits and seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=rf"^{Word}(/{Word})*$", max_length=200)]
    """Names the run's folder and its record; by default the file's name. A suite's are ``SUITE/DATASET/MODEL``."""
    about: str = ""
    """Which published number this is, for readers."""
    dataset: DatasetChoice
    model: ModelChoice
    training: TrainingSettings = TrainingSettings()
    splits: str = "default"
    folds: tuple[Index, ...] | None = None
    """Only these folds; by default all."""
    seeds: tuple[Index, ...] = (0,)

    @field_validator("folds", "seeds")
    @classmethod
    def _check_distinct(cls, values: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if values is not None and (not values or len(set(values)) != len(values)):
            raise ValueError("must name at least one number and none twice")
        return values

    @model_validator(mode="after")
    def _check_validation_is_there(self) -> Experiment:
        watches = {
            "training.patience": self.training.patience is not None,
            "training.schedule plateau": self.training.schedule == "plateau",
        }
        for setting, watching in watches.items():
            if watching and self.splits == "cross-validation":
                raise ValueError(f"{setting} needs a validation part, and the splits cross-validation have none")
        return self

    def resolved(self) -> dict[str, Any]:
        """The whole experiment as plain JSON values, the defaults of training and of the model included."""
        from mshgnn.lab.registry import resolve  # with torch behind it, which a mistake in a file should not wait for

        content = self.model_dump(mode="json")
        content["model"] = {"name": self.model.name, **resolve(self.model.name, self.model.options)}
        return content

    def decisive(self) -> dict[str, Any]:
        """What decides the numbers: everything but the name and the remark."""
        return decisive(self.resolved())

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that change with anything that decides the numbers."""
        return checksum({"experiment": self.decisive(), "numbers": NUMBERS_VERSION})[:8]


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Read and check an experiment file; ``overrides`` are ``key.key=value`` texts as ``--set`` takes them."""
    content = read_mapping(path)
    if (base := content.pop("extends", None)) is not None:
        content = merge(_read_base(path, base), content)
    content.setdefault("name", path.stem)
    return check_experiment(override(content, overrides), str(path))


def check_experiment(content: Mapping[str, Any], source: str) -> Experiment:
    """An experiment out of plain values; ``source`` names the file in errors."""
    try:
        return Experiment.model_validate(content)
    except ValidationError as error:
        raise ExperimentError("\n".join(_explain(source, detail) for detail in error.errors())) from None


def _read_base(path: Path, base: object) -> dict[str, Any]:
    """The file that ``path`` extends: one level only, so that a reader needs to open one file more at most."""
    if not isinstance(base, str):
        raise ExperimentError(f"{path}: extends must be the path of one file, got {base!r}")
    base_path = path.parent / base
    content = read_mapping(base_path)
    if "extends" in content:
        raise ExperimentError(f"{base_path}: is extended by {path} and must not extend another file")
    return content


def _explain(source: str, detail: ErrorDetails) -> str:
    """One line for one thing wrong: file, key, what is wrong, and the nearest valid key."""
    location = detail["loc"]
    key = ".".join(str(part) for part in location)
    if detail["type"] == "extra_forbidden":
        return f"{source}: unknown key {key!r}{did_you_mean(str(location[-1]), _valid_keys(location[:-1]))}"
    if detail["type"] == "missing":
        return f"{source}: key {key!r} is missing"
    message = detail["msg"].removeprefix("Value error, ")
    given = "" if isinstance(detail["input"], dict) else f", got {_short(detail['input'])}"
    return f"{source}: {key or 'experiment'}: {message}{given}"


def _short(value: object) -> str:
    """A value as an error shows it: not all of its two hundred digits."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"


def _valid_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys allowed at a place in the file."""
    schema: type[BaseModel] = Experiment
    for part in location:
        inner = schema.model_fields[str(part)].annotation
        assert isinstance(inner, type)
        assert issubclass(inner, BaseModel)
        schema = inner
    return list(schema.model_fields) + (["extends"] if schema is Experiment else [])

"""How a model is trained: every knob of the loop, checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mshgnn.data.partition import Partitioner
from mshgnn.machine import Device
from mshgnn.training.objective import RegressionLoss

Batching = Literal["full", "neighbours", "partitions"]
OF_NEIGHBOURS, OF_PARTITIONS = ("neighbours", "with_replacement"), ("partitioner",)
OF_PARTS = ("batching", "nodes_per_step", *OF_NEIGHBOURS, *OF_PARTITIONS)
"""The settings of steps on parts of one large graph."""


class TrainingSettings(BaseModel):
    """Optimiser, schedule, epochs and stopping. Dropout belongs to the model's options."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    optimiser: Literal["adam", "adamw"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    schedule: Literal["none", "cosine", "plateau"] = "none"
    warmup_epochs: Annotated[int, Field(ge=0)] = 0
    """The rate rises linearly over so many epochs."""
    plateau_patience: Annotated[int, Field(ge=1)] = 20
    """Epochs without a lower validation loss, after which the rate falls ..."""
    plateau_factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """... to this share."""
    epochs: Annotated[int, Field(ge=1)] = 200
    patience: Annotated[int, Field(ge=1)] | None = None
    """Stop after so many epochs without a better validation metric; by default never."""
    batch_size: Annotated[int, Field(ge=1)] = 32
    """Graphs per step; a node task has ``batching`` instead."""
    batching: Batching = "full"
    """A step of a node task: the whole graph, sampled ``neighbours`` of some training nodes, or ``partitions``: a few
    of the parts that the graph is cut into."""
    nodes_per_step: Annotated[int, Field(ge=2)] = 1024
    """Training nodes of a step with ``neighbours``; all nodes of a step with ``partitions``."""
    neighbours: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (10,)
    """How many senders of each node are drawn: one number for all hops, or one for each, from the targets outwards."""
    with_replacement: bool = False
    """Draw neighbours with replacement."""
    partitioner: Partitioner = "growing"
    """How ``partitions`` cuts the graph: by code of our own, or by METIS (the package pymetis)."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    class_weights: Literal["none", "balanced"] = "none"
    """``balanced`` makes the rare classes of the training part count as much as the common ones."""
    regression_loss: RegressionLoss = "mse"
    """The distance that is trained on where targets are numbers."""
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    """Largest norm of the whole gradient."""
    weight_average: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Measure a running average of the weights that keeps this share of itself at every step; 0: the weights as
    they are."""
    evaluate_train_every: Annotated[int, Field(ge=1)] = 1
    """Measure the training graphs only every so many epochs; the rule whole_set_best is exact at 1."""
    sparse_features: Literal["auto", "never"] = "never"
    """``auto`` gives x as sparse CSR when it is wide and mostly zero; for models with an encoder of their own."""
    device: Device = "cpu"
    """Results are the same to the last bit on the processor alone."""

    @model_validator(mode="after")
    def _check_warmup(self) -> TrainingSettings:
        if self.warmup_epochs >= self.epochs and self.warmup_epochs > 0:
            raise ValueError(f"warmup_epochs ({self.warmup_epochs}) must be less than epochs ({self.epochs})")
        return self

    @model_validator(mode="after")
    def _check_batching(self) -> TrainingSettings:
        idle = {"full": OF_PARTS[1:], "partitions": OF_NEIGHBOURS, "neighbours": OF_PARTITIONS}[self.batching]
        for name in idle:
            if name in self.model_fields_set and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} has no meaning with batching {self.batching!r}")
        return self

    @model_serializer(mode="wrap")
    def _without_idle_settings(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """On whole graphs as ever, so that the digests of runs and the files of models stay what they were."""
        content: dict[str, Any] = write(self)
        return {key: value for key, value in content.items() if self.batching != "full" or key not in OF_PARTS}

"""How a model is trained: every knob of the loop, checked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mshgnn.machine import Device
from mshgnn.training.objective import RegressionLoss


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
    """Graphs per step; a node task's step is always the whole graph."""
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

"""The training loop: one model, one fold, six curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.splits import Split
from mshgnn.machine import find_device
from mshgnn.training.batches import GraphBatch
from mshgnn.training.checkpoint import Checkpoint, Moving
from mshgnn.training.curves import PARTS, Curves, oriented
from mshgnn.training.layerwise import LayerByLayer
from mshgnn.training.parallel import ALONE, Workers
from mshgnn.training.parts import Fold, Part, prepare
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings
from mshgnn.training.shared_rows import rows_shared


class EpochReport(NamedTuple):
    """One epoch as a display wants to see it."""

    epoch: int
    epochs: int
    train_loss: float
    validation_metric: float | None
    """``None`` where the fold has no validation part."""
    restored: bool = False
    """Measured in an earlier sitting; told again so that the history is whole."""


class Score(NamedTuple):
    """What a part of the fold was measured at."""

    loss: float
    metric: float


class Scores(NamedTuple):
    """All three parts after one epoch."""

    train: Score
    validation: Score
    test: Score


def train_fold(
    model: nn.Module,
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    seed: int,
    on_epoch: Callable[[EpochReport], None] | None = None,
    *,
    keep_best: bool = False,
    checkpoint: Checkpoint | None = None,
    on_checkpoint: Callable[[Mapping[str, Tensor], int], None] | None = None,
    workers: Workers = ALONE,
) -> Curves:
    """Train ``model`` in place on ``split.train`` and measure all three parts after every epoch.

    Everything is measured in evaluation mode. Training stops early after ``settings.patience`` epochs without
    a better validation metric (an equal metric with a lower loss counts as better), and at a loss that is no
    longer a number. With ``settings.weight_average`` the averaged weights are measured, and kept at the end.
    One thread and ``seed`` make the result the same to the last bit.

    With ``keep_best`` the model ends with the weights of its best validation epoch, the one that the rule
    ``best_validation`` reports, instead of the last ones; also when it is interrupted. The model ends on the processor.

    A ``checkpoint`` that an earlier sitting wrote is gone on with, to the same bits as one sitting would have reached.
    With ``keep_best``, ``on_checkpoint`` is called after each with the best weights so far and their epoch from 0.
    Several ``workers`` that call this alike train one model together; the first of them writes the checkpoint.
    """
    _check_validation(dataset, split, settings, keep_best)
    with one_thread(seed):
        kinds, hops = getattr(model, "structure", ()), getattr(model, "hops", None)
        fold = prepare(dataset, split, settings, kinds, hops=hops, seed=seed, workers=workers)
        generator = torch.Generator().manual_seed(seed)
        model.to(find_device(settings.device))
        optimiser = make_optimiser(model, settings)
        average = make_average(model, settings)
        measured = model if average is None else average.module
        plateau = ReduceLROnPlateau(optimiser, factor=settings.plateau_factor, patience=settings.plateau_patience)
        best = _Best(fold.objective.higher_is_better, keep_best)
        moving = Moving(
            {"model": model} if average is None else {"model": model, "average": average}, optimiser, plateau, generator
        )
        history = [] if checkpoint is None else _restored(checkpoint, moving, best, workers)

        def tell(epoch: int, *, restored: bool) -> None:
            if on_epoch is not None:
                shown = history[epoch].validation.metric if len(split.validation) else None
                on_epoch(EpochReport(epoch + 1, settings.epochs, history[epoch].train.loss, shown, restored))

        try:
            for epoch in range(len(history)):
                tell(epoch, restored=True)
            for epoch in range(len(history), settings.epochs):
                if _is_over(history, best.epoch, settings):
                    break
                if settings.schedule != "plateau" or epoch <= settings.warmup_epochs:
                    set_rate(optimiser, settings, epoch)
                train_epoch(model, fold, optimiser, settings, generator, average, workers)
                scores = _evaluate(measured, fold, _old_train_score(history, fold, settings), workers)
                history.append(scores)
                best.see(epoch, scores.validation, measured)
                if settings.schedule == "plateau" and epoch >= settings.warmup_epochs:
                    plateau.step(scores.validation.loss)
                if due := checkpoint is not None and workers.is_first and checkpoint.is_due():
                    checkpoint.write(moving, best.weights, {"history": history, **best.counters()})
                tell(epoch, restored=False)
                if due and on_checkpoint is not None and best.weights is not None:
                    on_checkpoint(best.weights, best.epoch)
        finally:
            if best.weights is not None or average is not None:
                model.load_state_dict(best.weights or measured.state_dict())
            model.cpu()
    curves = {
        f"{part}_{kind}": np.array([getattr(getattr(scores, part), kind) for scores in history])
        for part in PARTS
        for kind in Score._fields
    }
    sizes = (len(split.train), len(split.validation), len(split.test))
    return Curves(**curves, sizes=sizes, higher_is_better=fold.objective.higher_is_better)


def _is_over(history: Sequence[Scores], best_epoch: int, settings: TrainingSettings) -> bool:
    """Whether the last epoch ended the training: its loss is no number, or no epoch was better for too long."""
    if not history:
        return False
    patience = settings.patience
    too_long = patience is not None and len(history) - 1 - best_epoch >= patience
    return too_long or not math.isfinite(history[-1].train.loss)


def _restored(checkpoint: Checkpoint, moving: Moving, best: _Best, workers: Workers) -> list[Scores]:
    """The epochs of earlier sittings, everything else set back to where the last of them left it."""
    found = checkpoint.read(moving, workers)
    if found is None:
        return []
    weights, counters = found
    best.restore(weights, counters)
    return [Scores(*(Score(*score) for score in scores)) for scores in counters["history"]]


class _Best:
    """The best validation epoch so far, in the order of the rule ``best_validation``; its weights if they are kept."""

    def __init__(self, higher_is_better: bool, keep: bool) -> None:
        self.higher_is_better, self.keep = higher_is_better, keep
        self.epoch = 0
        self.weights: dict[str, Tensor] | None = None
        self._merit: tuple[float, float] | None = None

    def see(self, epoch: int, score: Score, model: nn.Module) -> None:
        """Compare one epoch more."""
        metric = oriented(score.metric, higher_is_better=self.higher_is_better)
        merit = float(metric), float(oriented(score.loss, higher_is_better=False))
        if self._merit is None or merit > self._merit:
            self._merit, self.epoch = merit, epoch
            if self.keep:  # clones: the optimiser writes into the weights themselves
                self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def counters(self) -> dict[str, object]:
        """What a checkpoint keeps besides the weights."""
        return {"best_epoch": self.epoch, "best_merit": self._merit}

    def restore(self, weights: dict[str, Tensor], counters: Mapping[str, Any]) -> None:
        """Go on from what a checkpoint kept."""
        self.weights, self.epoch = weights or None, counters["best_epoch"]
        self._merit = tuple(counters["best_merit"])


def _check_validation(dataset: GraphDataset, split: Split, settings: TrainingSettings, keep_best: bool) -> None:
    """Refuse to choose on a validation part that is not there."""
    choosing = {
        "patience": settings.patience is not None,
        "schedule 'plateau'": settings.schedule == "plateau",
        "keep_best": keep_best,
    }
    for name, chooses in choosing.items():
        if chooses and len(split.validation) == 0:
            raise DataError(f"{dataset.name}: {name} needs a validation part, and the split has none")


def make_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; the fused form does one call a step, which matters on small graphs."""
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return kind(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def make_average(model: nn.Module, settings: TrainingSettings) -> AveragedModel | None:
    """The running average of the weights and of the batch norms' statistics, or ``None`` when none is wanted."""
    if settings.weight_average == 0:
        return None
    moving = get_ema_multi_avg_fn(settings.weight_average)  # type: ignore[no-untyped-call]
    return AveragedModel(model, multi_avg_fn=moving, use_buffers=True)


def set_rate(optimiser: torch.optim.Optimizer, settings: TrainingSettings, epoch: int) -> None:
    """The learning rate of an epoch: linear warm-up, then constant or half a cosine wave down to zero."""
    rate = settings.learning_rate
    if epoch < settings.warmup_epochs:
        rate *= (epoch + 1) / (settings.warmup_epochs + 1)
    elif settings.schedule == "cosine":
        done = (epoch - settings.warmup_epochs) / (settings.epochs - settings.warmup_epochs)
        rate *= (1 + math.cos(math.pi * done)) / 2
    for group in optimiser.param_groups:
        group["lr"] = rate


def train_epoch(
    model: nn.Module,
    fold: Fold,
    optimiser: torch.optim.Optimizer,
    settings: TrainingSettings,
    generator: torch.Generator,
    average: AveragedModel | None = None,
    workers: Workers = ALONE,
) -> None:
    """One pass over the training part; ``average`` follows the weights."""
    model.train()
    workers.start_alike(model)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with rows_shared(model, workers):
        for batch, chosen, target, weights in fold.steps(generator):
            optimiser.zero_grad(set_to_none=True)
            outputs = forward(model, batch)
            loss = fold.loss(outputs if chosen is None else outputs[chosen], target, item_weights=weights)
            if workers.are_several:
                count = fold.counted(target).to(loss.dtype)
                torch.autograd.backward(loss * count)
                workers.mean_gradients(parameters, count)
            else:
                torch.autograd.backward(loss)
            if settings.gradient_clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_clip)
            optimiser.step()
            if average is not None:
                average.update_parameters(model)


def forward(model: nn.Module, batch: GraphBatch | LayerByLayer) -> Tensor:
    """The model's outputs for a batch; only a model that asked for structure is given any."""
    if isinstance(batch, LayerByLayer):
        return batch.outputs(model)
    asked: dict[str, Any] = {"structure": batch.structure} if batch.structure else {}
    if batch.neighbourhood is not None:
        asked["neighbourhood"] = batch.neighbourhood
    outputs: Tensor = model(
        batch.x, batch.edge_index, batch.batch, edge_attr=batch.edge_attr, batch_size=batch.num_graphs, **asked
    )
    return outputs


@torch.no_grad()
def predict(model: nn.Module, batches: Sequence[GraphBatch | LayerByLayer]) -> Tensor:
    """Outputs of all batches in evaluation mode, ``[n, out_channels]``."""
    model.eval()
    return torch.cat([forward(model, batch) for batch in batches])


def predict_together(
    model: nn.Module, batches: Sequence[GraphBatch | LayerByLayer], channels: int, workers: Workers
) -> Tensor:
    """The same, the batches shared out; each worker fills in its rows, and their sum is the whole."""
    whole = [batch.y for batch in batches if isinstance(batch, GraphBatch)]
    if not workers.are_several or len(whole) < len(batches):
        return predict(model, batches)
    own = workers.share(torch.arange(len(batches))).tolist()
    rows = [len(y) for y in whole]
    outputs = torch.zeros(sum(rows), channels, device=whole[0].device)
    if own:
        start = sum(rows[: own[0]])
        made = predict(model, [batches[number] for number in own])
        outputs[start : start + len(made)] = made
    return workers.sum(outputs)


def _evaluate(model: nn.Module, fold: Fold, old_train: Score | None, workers: Workers) -> Scores:
    """Measure the parts; the training part keeps ``old_train`` where one is given. A part of nothing has zeros."""
    # The three parts of a node task are the same whole graph: one forward pass serves all.
    made: dict[int, Tensor] = {}

    def score(part: Part) -> Score:
        if len(part.target) == 0:
            return Score(0.0, 0.0)
        key = id(part.batches)
        if key not in made:
            made[key] = predict_together(model, part.batches, fold.objective.out_channels, workers)
        outputs = made[key] if part.chosen is None else made[key][part.chosen]
        return Score(float(fold.objective.loss(outputs, part.target)), fold.objective.measure(outputs, part.target))

    train, validation, test = fold.parts
    # What is decided by the scores must be decided alike, also where processors round unlike.
    return workers.agree(Scores(old_train or score(train), score(validation), score(test)))


def _old_train_score(history: Sequence[Scores], fold: Fold, settings: TrainingSettings) -> Score | None:
    """The last training score where this epoch need not measure it anew; nodes are measured with the others."""
    epoch = len(history)
    due = epoch % settings.evaluate_train_every == 0 or epoch == settings.epochs - 1
    return None if not history or due or fold.parts.train.chosen is not None else history[-1].train

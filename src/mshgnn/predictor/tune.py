"""``mshgnn tune``: settings that are better on validation, found within a budget of time. Needs Optuna.

The test part is never looked at: the model of every trial is trained and measured on the other two. Trials are kept in
a database beside the result, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mshgnn.data.readers.read import Read
from mshgnn.data.splits import Split
from mshgnn.errors import UserError
from mshgnn.files import written
from mshgnn.models import MODELS, resolve
from mshgnn.predictor.config import TrainConfig, check_config
from mshgnn.predictor.fold import untrained
from mshgnn.predictor.output import check_out
from mshgnn.predictor.train import check_folds, gather
from mshgnn.predictor.units import Units
from mshgnn.records.codec import checksum
from mshgnn.training.curves import oriented
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.objective import objective_of
from mshgnn.training.seeding import fold_seed

TRIALS = ".db"
"""The ending of the database of trials, which has the name of the result."""
WIDTHS, DEPTHS, BATCHES = (32, 64, 128), (2, 3, 4, 5), (16, 32, 64)
DROPOUT, RATES = (0.0, 0.5), (1e-4, 1e-2)


class Tuned(NamedTuple):
    """The best description found, its validation metric, that of the first trial, and how many trials there are."""

    config: TrainConfig
    best: float
    first: float
    trials: int


def seconds_of(budget: str) -> float:
    """``90s``, ``30m`` or ``2h`` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget.strip())
    if found is None or float(found[1]) <= 0:
        raise UserError(f"--budget {budget}: must look like 90s, 30m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def tune(config: TrainConfig, out: Path, seconds: float, say: Callable[[str], None]) -> Tuned:
    """Try settings until the time is over and write the best as a config to ``out``; Ctrl-C ends it early."""
    try:
        import optuna
    except ImportError as error:
        raise UserError("tune needs Optuna: pip install 'mshgnn[tune]'") from error
    check_out(out, Path(config.data))
    if out.suffix == TRIALS:
        raise UserError(f"--out {out}: is the name of the trials beside it; take another ending, such as .yaml")
    folds = config.folds  # of the training afterwards; trials see one
    config, read, _, (split, *_) = gather(config.model_copy(update={"folds": 1}))
    check_folds(config.model_copy(update={"folds": folds}))
    units = Units.of(read.dataset.metric, read.schema.from_training(read.dataset, split.train))
    split = Split(split.train, split.validation, split.test[:0])
    better = objective_of(read.dataset).higher_is_better
    name = checksum([config.model_dump(mode="json"), read.dataset.checksum])[:16]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with _trials_beside(out) as trials:
        study = optuna.create_study(
            storage=f"sqlite:///{trials}",
            study_name=name,
            load_if_exists=True,
            direction="maximize" if better else "minimize",
            sampler=optuna.samplers.TPESampler(seed=config.seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=5),
        )
    if not study.trials:
        study.enqueue_trial(_as_it_is(config))  # so that the result is never worse than what was asked for
    else:
        say(f"{len(study.trials)} trials are there already")
    deadline = time.monotonic() + seconds

    def objective(trial: Any) -> float:
        tried = _suggested(config, trial)

        def see(report: EpochReport) -> None:
            if report.validation_metric is not None:
                trial.report(report.validation_metric, report.epoch)
            if trial.should_prune() or (trial.number and time.monotonic() > deadline):
                raise optuna.TrialPruned

        value = _validated(tried, read, split, see, higher_is_better=better)
        say(f"trial {trial.number + 1}: validation {units.restore(value):.4g}")
        return value

    try:
        study.optimize(objective, timeout=seconds, catch=())
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
    done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        raise UserError(f"--budget: not one trial was finished in {seconds:.0f} s; give it more")
    best = _suggested(config, optuna.trial.FixedTrial(study.best_params)).model_copy(update={"folds": folds})
    with written(out) as file:
        file.write(best.to_yaml().encode())
    first = done[0].value
    assert first is not None, "a complete trial has a value"
    return Tuned(best, units.restore(study.best_value), units.restore(first), len(study.trials))


@contextmanager
def _trials_beside(out: Path) -> Iterator[Path]:
    """The database beside the result; one that cannot be opened, or is somebody else's, is refused in one line."""
    from sqlalchemy.exc import SQLAlchemyError

    path = out.with_suffix(TRIALS)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with closing(sqlite3.connect(path)) as database:
                tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "trials" not in tables:
                raise UserError(f"{path}: is not a database of trials; move it, or choose another --out")
        yield path
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from None
    except (sqlite3.Error, SQLAlchemyError) as error:
        reason = getattr(error, "orig", None) or error  # SQLAlchemy tells its statement, too
        raise UserError(f"{path}: is not a database of trials ({reason}); move it, or choose another --out") from None


def _validated(
    config: TrainConfig, read: Read, split: Split, see: Callable[[EpochReport], None], *, higher_is_better: bool
) -> float:
    """The best validation metric of one training; numbers are in units of their deviation, the same in every trial."""
    member, dataset = untrained(config, read, split, 0)
    curves = train_fold(member.model, dataset, split, config.training, fold_seed(config.seed, 0), see)
    best = int(oriented(curves.validation_metric, higher_is_better=higher_is_better).argmax())
    return float(curves.validation_metric[best])


def _as_it_is(config: TrainConfig) -> dict[str, Any]:
    """The settings asked for, as the first trial."""
    options = resolve(config.model["name"], config.options)
    wanted = {key: options.get(key) for key in ("hidden_channels", "num_layers", "dropout")}
    wanted |= {"learning_rate": config.training.learning_rate, "batch_size": config.training.batch_size}
    return {key: value for key, value in wanted.items() if value is not None}


def _suggested(config: TrainConfig, trial: Any) -> TrainConfig:
    """The description with the settings of a trial; options that the model does not have are left out.

    What was asked for is among the choices, also where it lies outside of them.
    """
    known, asked = MODELS[config.model["name"]].options, _as_it_is(config)
    model, content = dict(config.model), config.model_dump(mode="json")
    for key, choices in (("hidden_channels", WIDTHS), ("num_layers", DEPTHS)):
        if key in known:
            model[key] = trial.suggest_categorical(key, _with(choices, asked.get(key)))
    if "dropout" in known:
        model["dropout"] = trial.suggest_float("dropout", *_between(DROPOUT, asked.get("dropout", 0.0)))
    training = content["training"]
    training["learning_rate"] = trial.suggest_float("learning_rate", *_between(RATES, asked["learning_rate"]), log=True)
    training["batch_size"] = trial.suggest_categorical("batch_size", _with(BATCHES, asked["batch_size"]))
    return check_config({**content, "model": model}, "tune")


def _with(choices: Sequence[int], value: int | None) -> list[int]:
    """The choices with the value among them."""
    return sorted({*choices, *(() if value is None else (value,))})


def _between(bounds: tuple[float, float], value: float) -> tuple[float, float]:
    """The bounds, moved where the value lies outside."""
    return min(bounds[0], value), max(bounds[1], value)

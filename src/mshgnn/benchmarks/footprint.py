"""What models cost at work: inference time and peak memory on the test graphs, in processes of their own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import torch

from mshgnn.benchmarks.measure import alternate
from mshgnn.lab.experiment import Experiment, check_experiment
from mshgnn.lab.setup import build_model, load_data
from mshgnn.machine import peak_memory_mb, reset_peak_memory, return_freed_blocks
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.loop import predict
from mshgnn.training.seeding import one_thread

ROUNDS = 15


class Footprint(NamedTuple):
    """Cost of one pass over all test graphs as one batch (or over the whole graph of a node task), one thread."""

    inference_seconds: float
    peak_memory_mb: float
    """Resident memory at the peak of the pass, beyond what model and data take at rest."""


def measure_footprints(experiments: Sequence[Experiment]) -> list[Footprint]:
    """Times in one fresh process, the models in turn; memory in a process of its own for each model."""
    seconds = _in_fresh_process("time", experiments)
    memory = [_in_fresh_process("memory", [experiment])[0] for experiment in experiments]
    return [Footprint(*cost) for cost in zip(seconds, memory, strict=True)]


def inference_seconds(experiments: Sequence[Experiment]) -> list[float]:
    """The median time of a pass, one sample of every model in each round: what disturbs one disturbs all."""
    passes = {str(place): _make_pass(experiment) for place, experiment in enumerate(experiments)}
    with one_thread(0):
        return [median(samples) for samples in alternate(passes, ROUNDS).values()]


def inference_memory_mb(experiments: Sequence[Experiment]) -> list[float]:
    """The peak of a pass of every model, measured here one after the other."""
    return [_peak_of(_make_pass(experiment)) for experiment in experiments]


MEASURES = {"time": inference_seconds, "memory": inference_memory_mb}


def _peak_of(run: Callable[[], object]) -> float:
    with one_thread(0):
        run()  # warm: compiles, sorts
        gc.collect()
        return_freed_blocks()
        reset_peak_memory()
        at_rest = peak_memory_mb()
        run()
        return peak_memory_mb() - at_rest


def _make_pass(experiment: Experiment) -> Callable[[], object]:
    """One pass of the experiment's untrained model over its test graphs."""
    data = load_data(experiment)
    dataset = data.dataset
    if dataset.task == "node":
        batch = whole_graph(dataset.graphs[0], sparse=experiment.training.sparse_features == "auto")
    else:
        batch = _one_batch(PackedGraphs.pack(dataset.graphs).take(data.splits.folds[0].test))
    return partial(predict, build_model(experiment, dataset), [batch])


def _one_batch(packed: PackedGraphs) -> GraphBatch:
    return next(packed.batches([0, len(packed)]))


def _in_fresh_process(measure: str, experiments: Sequence[Experiment]) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-m", "mshgnn.benchmarks.footprint", measure],
        input=json.dumps([experiment.resolved() for experiment in experiments]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    costs: list[float] = json.loads(done.stdout)
    return costs


if __name__ == "__main__":
    torch.set_num_threads(1)
    described = [check_experiment(experiment, "stdin") for experiment in json.load(sys.stdin)]
    print(json.dumps(MEASURES[sys.argv[1]](described)))

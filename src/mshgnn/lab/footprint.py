"""What a model costs at work: inference time and peak memory on the test graphs, in a process of its own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from statistics import median
from typing import NamedTuple

import torch

from mshgnn.lab.experiment import Experiment, check_experiment
from mshgnn.lab.fold import build_model, load_data
from mshgnn.lab.malloc import return_freed_blocks
from mshgnn.lab.provenance import peak_memory_mb, reset_peak_memory
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.loop import predict
from mshgnn.training.seeding import one_thread

REPEATS = 15


class Footprint(NamedTuple):
    """Cost of one pass over all test graphs as one batch (or over the whole graph of a node task), one thread."""

    parameters: int
    inference_seconds: float
    peak_memory_mb: float
    """Resident memory at the peak of the pass, beyond what model and data take at rest."""


def measure_footprint(experiment: Experiment) -> Footprint:
    """Measure in a fresh process, where nothing else has left its mark on the memory."""
    done = subprocess.run(
        [sys.executable, "-m", "mshgnn.lab.footprint"],
        input=json.dumps(experiment.resolved()),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Footprint(*json.loads(done.stdout))


def measure_here(experiment: Experiment) -> Footprint:
    """The measurement itself, in this process."""
    data = load_data(experiment)
    dataset = data.dataset
    if dataset.task == "node":
        batch = whole_graph(dataset.graphs[0], sparse=experiment.training.sparse_features == "auto")
    else:
        batch = _one_batch(PackedGraphs.pack(dataset.graphs).take(data.splits.folds[0].test))
    with one_thread(0):
        model = build_model(experiment, dataset)
        for _ in range(3):
            predict(model, [batch])
        seconds = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            predict(model, [batch])
            seconds.append(time.perf_counter() - started)
        return_freed_blocks()
        predict(model, [batch])
        gc.collect()
        reset_peak_memory()
        at_rest = peak_memory_mb()
        predict(model, [batch])
        peak = peak_memory_mb() - at_rest
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Footprint(parameters, median(seconds), peak)


def _one_batch(packed: PackedGraphs) -> GraphBatch:
    return next(packed.batches([0, len(packed)]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(measure_here(check_experiment(json.load(sys.stdin), "stdin"))))

"""How many folds to run side by side."""

from __future__ import annotations

import os

import psutil

from mshgnn.data.dataset import GraphDataset
from mshgnn.lab.errors import LabError
from mshgnn.lab.experiment import Experiment

SECONDS_PER_ELEMENT = 1e-6
"""Rough time of one epoch for one node or edge."""
SECONDS_TO_START = 8.0
"""A process needs this long to import torch and load its data."""
WORKER_MB = 700.0
"""Memory of a worker besides its data."""


def decide_workers(text: str, pending: int, experiment: Experiment, dataset: GraphDataset) -> int:
    """``--jobs`` as a number. ``auto`` uses every core, unless starting processes costs more than it saves
    or memory would not hold a copy of the data for each.
    """
    if text != "auto":
        return parse_workers(text)
    elements = sum(graph.num_nodes + graph.edge_index.size(1) for graph in dataset.graphs)
    seconds = elements * experiment.training.epochs * pending * SECONDS_PER_ELEMENT
    if seconds < 2 * SECONDS_TO_START:
        return 1
    fitting = psutil.virtual_memory().available / 2**20 / worker_mb(dataset)
    return max(1, min(_cores(), pending, int(fitting)))


def worker_mb(dataset: GraphDataset) -> float:
    """The memory of one worker, roughly: the program, the features and two copies of them."""
    features_mb = sum(graph.x.numel() * graph.x.element_size() for graph in dataset.graphs) / 2**20
    return WORKER_MB + 3 * features_mb


def parse_workers(text: str) -> int:
    """A number of jobs; anything else is the user's mistake."""
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise LabError(f"--jobs must be a number of at least 1 or auto, got {text!r}")
    return int(text)


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

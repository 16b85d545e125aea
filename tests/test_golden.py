"""Refactoring cannot move a committed number: short trainings, compared with what they gave when they were frozen.

``golden.json`` holds the curves of three epochs and the parameter names of four models on two tiny tasks. Floating
point sums depend on the processor's vectors, so the curves are compared to the bit where the file's processor and torch
are at hand, and closely elsewhere. ``python tests/test_golden.py`` freezes the present behaviour: a commit that does
so says which number moved, and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mshgnn.data import GraphDataset, Split, StructureFrequencyDataset, from_graphs
from mshgnn.models import build
from mshgnn.training.loop import train_fold
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings

FROZEN = Path(__file__).with_name("golden.json")
MODELS = ("msh-stable", "msh-paper", "gcn", "gin")
TASKS = ("graph", "node")
SETTINGS = TrainingSettings(epochs=3, learning_rate=5e-3, batch_size=16, weight_average=0.9, gradient_clip=2.0)
SEED = 7


def graph_task() -> GraphDataset:
    """Six graphs of each of the thirty classes of the joint task."""
    return StructureFrequencyDataset(nodes=12, graphs_per_class=6, seed=3).generate()


def node_task() -> GraphDataset:
    """A random graph of 80 nodes with three classes."""
    generator = torch.Generator().manual_seed(5)
    edges = to_undirected(torch.randint(80, (2, 200), generator=generator), num_nodes=80)
    y = torch.randint(3, (80,), generator=generator)
    x = torch.randn(80, 6, generator=generator) + y.unsqueeze(1)
    return from_graphs([Data(x=x, edge_index=edges, y=y)], task="node")


def train(name: str, task: str) -> dict[str, Any]:
    """The six curves and the parameter names of a short training."""
    dataset = graph_task() if task == "graph" else node_task()
    order = torch.randperm(dataset.num_items, generator=torch.Generator().manual_seed(11))
    train, validation, test = order.tensor_split((dataset.num_items * 6 // 10, dataset.num_items * 8 // 10))
    with one_thread(SEED):
        model = build(
            name,
            dataset.num_features,
            dataset.num_classes,
            task=dataset.task,
            options={"hidden_channels": 16, "num_layers": 2, "dropout": 0.2},
        )
    split = Split(train, validation, test)
    curves = train_fold(model, dataset, split, SETTINGS, SEED)
    return {
        "parameters": {name: list(parameter.shape) for name, parameter in model.named_parameters()},
        "curves": curves.to_dict(),
    }


def processor() -> dict[str, str]:
    """What decides the bits besides this package."""
    return {"torch": torch.__version__, "vectors": torch.backends.cpu.get_cpu_capability()}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MODELS)
def test_a_short_training_gives_what_it_gave_when_it_was_frozen(name: str, task: str) -> None:
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    expected, found = frozen["trainings"][f"{name}/{task}"], train(name, task)
    assert found["parameters"] == expected["parameters"]
    if processor() == frozen["processor"]:
        assert found["curves"] == expected["curves"]
    for curve, values in expected["curves"].items():
        np.testing.assert_allclose(found["curves"][curve], values, atol=0.06 if "metric" in curve else 5e-3)


if __name__ == "__main__":
    trainings = {f"{name}/{task}": train(name, task) for name in MODELS for task in TASKS}
    FROZEN.write_text(json.dumps({"processor": processor(), "trainings": trainings}, indent=1) + "\n", encoding="utf-8")

"""Costs of models that differ in width alone, on the generated task: no files are needed."""

from mshgnn.benchmarks.footprint import measure_footprints
from mshgnn.lab.experiment import Experiment, check_experiment


def of_width(width: int) -> Experiment:
    described = {
        "name": f"width-{width}",
        "dataset": {"name": "structure-frequency-fixed"},
        "model": {"name": "gcn", "hidden_channels": width, "num_layers": 1},
        "training": {"epochs": 1},
    }
    return check_experiment(described, "test")


def test_a_wider_model_needs_more_memory_and_the_order_is_kept() -> None:
    wide, narrow = measure_footprints([of_width(256), of_width(16)])
    assert wide.peak_memory_mb > 4 * narrow.peak_memory_mb > 0
    assert min(wide.inference_seconds, narrow.inference_seconds) > 0

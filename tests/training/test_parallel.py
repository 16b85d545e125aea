"""Real processes on the loopback against one process."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from mshgnn.data import Split, from_graphs
from mshgnn.errors import UserError
from mshgnn.training.curves import CURVE_NAMES
from mshgnn.training.parallel import ALONE, Workers
from mshgnn.training.parts import prepare
from mshgnn.training.settings import TrainingSettings
from mshgnn.training.shared_rows import rows_shared
from support.parallel_cases import (
    CASES,
    Trained,
    classes,
    go_on,
    same_bits,
    train,
    train_all,
    train_and_stop,
    train_slowly,
    untrained,
)
from support.processes import Kill, together

HARMONIC = "harmonic, dropout, unequal weights"


@pytest.fixture(scope="module")
def alone() -> dict[str, Trained]:
    return train_all(ALONE)


@pytest.fixture(scope="module")
def by_two() -> list[dict[str, Trained]]:
    return together(2, train_all)


@pytest.fixture(scope="module")
def by_four() -> list[dict[str, Trained]]:
    return together(4, train_all)


def assert_close(found: Trained, expected: Trained) -> None:
    for name in CURVE_NAMES:
        np.testing.assert_allclose(getattr(found.curves, name), getattr(expected.curves, name), rtol=1e-4, atol=1e-5)
    for name, value in expected.weights.items():
        np.testing.assert_allclose(found.weights[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


def assert_same(found: Trained, expected: Trained) -> None:
    assert same_bits(found, expected)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [2, 4])
def test_several_workers_end_where_one_process_does(
    size: int, case: str, alone: dict[str, Trained], request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue("by_two" if size == 2 else "by_four")
    assert_close(found[0][case], alone[case])


@pytest.mark.parametrize("case", CASES)
def test_all_workers_hold_the_same_bits(case: str, by_four: list[dict[str, Trained]]) -> None:
    for other in by_four[1:]:
        assert_same(other[case], by_four[0][case])


def test_a_slow_worker_changes_nothing(by_two: list[dict[str, Trained]]) -> None:
    assert_same(together(2, train_slowly, HARMONIC)[0], by_two[0][HARMONIC])


def test_a_lost_worker_ends_all_with_one_line_and_the_rest_go_on_from_the_checkpoint(
    tmp_path: Path, by_two: list[dict[str, Trained]], alone: dict[str, Trained]
) -> None:
    path = tmp_path / "checkpoint"
    said = together(2, train_and_stop, HARMONIC, path, 2)
    assert said == ["another worker was lost: the same command goes on from what is kept", None]
    content = path.read_bytes()
    again, seen = together(2, go_on, HARMONIC, path)[0]
    assert seen == [True, True, False, False]
    assert_same(again, by_two[0][HARMONIC])
    path.write_bytes(content)
    by_more, seen = together(4, go_on, HARMONIC, path)[0]
    assert seen == [True, True, False, False]
    assert_close(by_more, alone[HARMONIC])


def killed_and_resumed(size: int, path: Path, kills: int, epochs: int) -> tuple[Trained, int]:
    """A training of which a worker is killed at random moments; and how many kills came before its end."""
    draw = random.Random(0)
    for number in range(kills):
        kill = Kill(draw.randrange(size), draw.uniform(0.1, 1.2))
        found = together(size, go_on, HARMONIC, path, epochs, kill=kill)
        if all(isinstance(one, tuple) for one in found):
            return found[0][0], number
    return together(size, go_on, HARMONIC, path, epochs)[0][0], kills


@pytest.mark.parametrize("size", [2, 4])
def test_a_training_killed_at_random_moments_ends_in_the_same_bits(size: int, tmp_path: Path) -> None:
    killed, times = killed_and_resumed(size, tmp_path / "killed", kills=4, epochs=30)
    assert times > 1, "the kills came too late to mean anything"
    assert_same(killed, together(size, go_on, HARMONIC, tmp_path / "whole", 30)[0][0])


@pytest.mark.parametrize("size", [2, 4])
def test_meetings_and_bytes_are_those_of_gradients_statistics_and_one_gathering(
    size: int, request: pytest.FixtureRequest
) -> None:
    name, channels, epochs, steps = "batches of four", 3, 4, 4 * 9
    trained = request.getfixturevalue("by_two" if size == 2 else "by_four")[0][name]
    model = untrained(CASES[name], classes())
    weights = [tensor.numel() for tensor in model.state_dict().values() if tensor.is_floating_point()]
    gradients = [parameter.numel() for parameter in model.parameters()]
    norms = [module.num_features for module in model.modules() if isinstance(module, nn.BatchNorm1d)]
    measured = [36] * 3 + [12] * 8  # graphs: the training part every other epoch and at the end, the others always
    assert trained.meetings == epochs * 2 + steps * (1 + 2 * len(norms)) + len(measured)
    ring = 2 * (size - 1) / size
    of_gradients = ring * 4 * (sum(gradients) + len(gradients) + 1)  # which of them are used, and the targets
    of_norms = sum(norms) * ((size - 1) * 3 * 8 + ring * 2 * 4)  # mean, variance, rows; two sums backward
    of_outputs = ring * 4 * channels * sum(measured)
    assert trained.sent_bytes == pytest.approx(
        epochs * 4 * sum(weights) + steps * (of_gradients + of_norms) + of_outputs
    )


def test_one_process_sends_nothing(alone: dict[str, Trained]) -> None:
    assert ALONE.traffic.meetings == 0
    assert all(trained.meetings == trained.sent_bytes == 0 for trained in alone.values())


def test_shares_of_a_batch_in_turn_are_the_batch() -> None:
    batch = torch.randperm(11)
    shares = [Workers(rank, 4).share(batch) for rank in range(4)]
    assert torch.equal(torch.cat(shares), batch)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_more_workers_than_graphs_in_a_batch_are_refused() -> None:
    parts = Split(*torch.arange(60).tensor_split((40, 50)))
    with pytest.raises(UserError, match=r"^4 workers cannot share batches of 2 graphs: raise training.batch_size$"):
        prepare(classes(), parts, TrainingSettings(batch_size=3), workers=Workers(0, 4))


def test_one_graph_cannot_be_shared() -> None:
    graph = Data(x=torch.randn(6, 2), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.arange(6) % 2)
    dataset = from_graphs([graph], task="node", name="net")
    parts = Split(torch.arange(2), torch.arange(2, 4), torch.arange(4, 6))
    with pytest.raises(UserError, match=r"^net: is one graph, which workers cannot share"):
        prepare(dataset, parts, TrainingSettings(), workers=Workers(0, 2))


def test_statistics_that_cannot_be_shared_are_refused() -> None:
    with (
        pytest.raises(UserError, match=r"^BatchNorm2d: its statistics cannot be shared"),
        rows_shared(nn.Sequential(nn.BatchNorm2d(3)), Workers(0, 2)),
    ):
        pass


def test_the_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    with rows_shared(model, Workers(0, 2)):
        assert "forward" in model[0].__dict__
    assert all("forward" not in module.__dict__ for module in model)


def test_the_cases_are_not_all_the_same(alone: dict[str, Trained]) -> None:
    other = train(CASES[HARMONIC]._replace(options={"dropout": 0.0}))
    assert other.curves != alone[HARMONIC].curves

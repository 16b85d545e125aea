from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mshgnn.errors import UserError
from mshgnn.predictor.calibration import CALIBRATION_FILE, Calibration


def test_the_half_width_is_the_conformal_rank() -> None:
    truth = torch.zeros(19, 1)
    values = torch.arange(1.0, 20.0).unsqueeze(1)
    assert Calibration.of(values, truth, 0.9).half_widths == (18.0,)  # ceil(20 * 0.9) = 18
    assert Calibration.of(values[:8], truth[:8], 0.9).half_widths == (None,)  # ceil(9 * 0.9) = 9 > 8
    assert Calibration.of(values[:9], truth[:9], 0.9).half_widths == (9.0,)


def test_blanks_count_for_their_own_target_alone() -> None:
    truth = torch.zeros(20, 2)
    truth[10:, 1] = torch.nan
    values = torch.ones(20, 2) * torch.tensor([2.0, 3.0])
    assert Calibration.of(values, truth, 0.9).half_widths == (2.0, 3.0)


def test_new_values_are_held_as_often_as_promised_on_average() -> None:
    """Mean coverage over many draws of calibration and new items lies between c and c + 1 / (n + 1)."""
    held = []
    for _ in range(400):
        errors = torch.randn(40, 1).exp()  # any distribution
        width = Calibration.of(errors, torch.zeros(40, 1), 0.8).half_widths[0]
        assert width is not None
        held.append(float((torch.randn(200).exp() <= width).float().mean()))
    mean = sum(held) / len(held)
    assert 0.8 - 0.01 <= mean <= 0.8 + 1 / 41 + 0.01


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    calibration = Calibration(0.9, (1.5, None), 20)
    (tmp_path / CALIBRATION_FILE).write_text(calibration.to_json())
    assert Calibration.load(tmp_path) == calibration
    assert Calibration.load(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "not an object"),
        ('{"coverage": 0.9, "items": 3}', "no key 'half_widths'"),
        ('{"coverage": "x", "half_widths": [1.0], "items": 3}', "coverage cannot be 'x'"),
        ('{"coverage": 1.5, "half_widths": [1.0], "items": 3}', "coverage cannot be '1.5'"),
        ('{"coverage": 0.9, "half_widths": "12", "items": 3}', "half_widths cannot be '12'"),
        ('{"coverage": 0.9, "half_widths": [NaN], "items": 3}', "half_widths cannot be"),
        ('{"coverage": 0.9, "half_widths": [-1], "items": 3}', "half_widths cannot be"),
        ('{"coverage": 0.9, "half_widths": [1.0], "items": 1e999}', "items cannot be"),
    ],
)
def test_a_damaged_file_is_one_line_with_its_key(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(UserError, match=r"calibration\.json is damaged: ") as caught:
        Calibration.load(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)

from __future__ import annotations

import pytest

from mshgnn.errors import UserError
from mshgnn.models.memory import LIMIT, check_memory


def test_up_to_the_limit_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MSHGNN_MEMORY", raising=False)
    check_memory("attention", LIMIT)
    with pytest.raises(UserError, match=r"^attention needs 17\.0 GB of memory, more than the limit of 16\.0 GB"):
        check_memory("attention", 17 * 10**9)


def test_the_environment_moves_the_limit_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "2e10")
    check_memory("attention", 17 * 10**9)
    monkeypatch.setenv("MSHGNN_MEMORY", "1000")
    with pytest.raises(UserError, match="MSHGNN_MEMORY=2000 raises the limit"):
        check_memory("attention", 2000)


def test_a_limit_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "much")
    with pytest.raises(UserError, match="MSHGNN_MEMORY must be a number of bytes, got 'much'"):
        check_memory("attention", 1)

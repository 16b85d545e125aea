from __future__ import annotations

import pytest

from mshgnn.errors import UserError
from mshgnn.models.memory import check_memory


def test_what_fits_passes_and_what_does_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MSHGNN_MEMORY", raising=False)
    check_memory("a tensor", 16 * 10**9)
    with pytest.raises(UserError, match=r"a tensor needs about 17\.0 GB, above the limit of 16\.0 GB"):
        check_memory("a tensor", 17 * 10**9)


def test_the_environment_sets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "0.5")
    with pytest.raises(UserError, match=r"limit of 0\.5 GB"):
        check_memory("a tensor", 10**9)


@pytest.mark.parametrize("nonsense", ["much", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(nonsense: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", nonsense)
    with pytest.raises(UserError, match="MSHGNN_MEMORY must be a positive number of gigabytes"):
        check_memory("a tensor", 1)

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mshgnn.cli import main
from support.mirror import needs_mirror


@needs_mirror
def test_the_harness_benchmark_tells_both_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "harness.json"
    monkeypatch.setattr(sys, "argv", ["mshgnn", "bench", "harness", "--model", "gcn", "--out", str(out)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    found = json.loads(out.read_text())
    assert found["dataset"] == "MUTAG"
    assert all(ratio > 0 for ratio in found["models"]["gcn"].values())

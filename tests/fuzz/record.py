"""``results/fuzz.json``: what the last full run tried and found."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path

from fuzz.targets import Outcome, Target
from mshgnn.machine import commit, environment, processor

RECORD = Path(__file__).resolve().parents[2] / "results" / "fuzz.json"


def save(path: Path, target: Target, outcome: Outcome) -> None:
    """Put one target's outcome in its place; the others stay as they are."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = environment()
    entry = {
        "promise": target.promise,
        **outcome._asdict(),
        "date": datetime.now(UTC).date().isoformat(),
        "version": found["mshgnn"],
        "commit": commit(),
        "machine": f"{processor()}, {platform.system()}, torch {found['torch']}, numba {found['numba']}",
    }
    path.write_text(json.dumps(known | {target.name: entry}, indent=2) + "\n", encoding="utf-8")

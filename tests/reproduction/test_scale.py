"""What is extrapolated follows from the records by the stated rule."""

from __future__ import annotations

import pytest

from mshgnn.reproduction import scale
from mshgnn.reproduction.results import Results


def results(**measurements: object) -> Results:
    named = {f"scale/{name.replace('_', '-')}": value for name, value in measurements.items()}
    return Results({}, {}, {}, named)


def whole(per_node: float, per_edge: float) -> dict[str, object]:
    sizes = ((1e4, 1e5), (2e3, 1e5), (1e5, 1e6))
    rows = [
        {"nodes": n, "edges": m, "threads": 1, "step_seconds": per_node * n + per_edge * m, "said_seconds": 1.0,
         "peak_bytes": 2e9, "said_bytes": 1e9}
        for n, m in sizes
    ]  # fmt: skip
    return {"rows": rows}


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_rates_of_an_exact_machine_are_found() -> None:
    assert scale.rates(results(whole=whole(2e-5, 3e-7))) == pytest.approx((2e-5, 3e-7))
    assert scale.rates(results()) is None


def test_machines_follow_from_one_core() -> None:
    million = {"rows": [{"kind": "train", "rows": 10, "molecules": 10, "epoch_seconds": 0.02}]}
    huge = {"memory": "1G", "rows": [{"kind": "neighbours", "threads": 1, "edges": 9, "step_seconds": 0.5}]}
    rows = cells(scale.machines(results(whole=whole(1e-5, 1e-6), million=million, huge_9=huge)))
    # 24 s of nodes and 120 s of edges on one core; 1.7 times as fast on two
    assert rows[0][1] == "85 s"
    assert float(rows[0][2].removesuffix(" min")) == pytest.approx(0.5 * 1.2e6 / 1024 / 1.7 / 60, rel=0.05)
    assert float(rows[0][4].removesuffix(" h")) == pytest.approx(0.002 * 1e8 / 1.7 / 3600, rel=0.05)
    assert rows[-1][0] == "one graphics card, on paper"


def test_what_was_not_measured_is_a_dash() -> None:
    assert all(row[1:] == ["–"] * 4 for row in cells(scale.machines(results()))[:-1])
    assert cells(scale.whole(results())) == []

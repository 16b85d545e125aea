"""What is extrapolated follows from the records by the stated rule; the records keep what the pages promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mshgnn.machine import parse_bytes
from mshgnn.reproduction import scale
from mshgnn.reproduction.results import Results

RECORDS = Path(__file__).resolve().parents[2] / "results"
LONGER_THAN_SAID = {(10_000_000, 1_000_000)}
"""Edges and nodes of the one graph whose step took longer than was said, as docs/scale.md tells."""


def record(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_memory_and_seconds_of_a_step_were_said_within_a_quarter() -> None:
    rows = record("scale/whole")["rows"]
    assert {row["edges"] for row in rows} == {10**5, 10**6, 10**7}
    assert [row for row in rows if row["said_bytes"] != pytest.approx(row["peak_bytes"], rel=0.25)] == []
    late = [row for row in rows if row["said_seconds"] != pytest.approx(row["step_seconds"], rel=0.25)]
    assert {(row["edges"], row["nodes"]) for row in late} <= LONGER_THAN_SAID


@pytest.mark.parametrize("path", sorted((RECORDS / "scale").glob("huge-*.json")), ids=lambda path: path.stem)
def test_work_on_a_graph_on_the_disk_kept_within_its_limit(path: Path) -> None:
    found = record(f"scale/{path.stem}")
    assert [row["kind"] for row in found["rows"]] == ["open", "neighbours", "partitions", "inference"]
    assert all(row["edges"] > 10**8 and row["peak_bytes"] < parse_bytes(found["memory"], "") for row in found["rows"])


def test_predicting_a_million_molecules_took_the_memory_of_ten_thousand() -> None:
    peaks = {row["rows"]: row["peak_bytes"] for row in record("scale/million")["rows"] if row["kind"] == "predict"}
    assert peaks[10**6] == pytest.approx(peaks[10**4], rel=0.05)


def test_what_workers_count_is_what_the_loopback_carried() -> None:
    one, *several = record("bench-workers")["rows"]
    assert one["sent_bytes_per_step"] == 0
    assert [row["workers"] for row in several] == [2, 4]
    for row in several:
        ring = 2 * (row["workers"] - 1) / row["workers"]
        assert row["gradient_bytes_per_step"] == 4 * ring * row["parameters"]
        carried = row["loopback_bytes_per_step_and_worker"]  # with headers, and what the first worker says
        assert row["sent_bytes_per_step"] == pytest.approx(carried, rel=0.1)


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


def on_the_disk(threads: int) -> dict[str, object]:
    same = {"threads": threads, "edges": 4e7}
    return {
        "memory": "1G",
        "rows": [
            {"kind": "neighbours", "step_seconds": 0.5, **same},
            {"kind": "neighbours", "step_seconds": 9.0, "threads": 1, "edges": 9},
            {"kind": "inference", "inference_seconds": 100.0, **same},
        ],
    }


def test_machines_follow_from_one_core() -> None:
    million = {"rows": [{"kind": "train", "rows": 10, "molecules": 10, "epoch_seconds": 0.02}]}
    rows = cells(scale.machines(results(whole=whole(1e-5, 1e-6), million=million, huge_9=on_the_disk(1))))
    # 24 s of nodes and 120 s of edges on one core; 1.7 times as fast on two
    assert rows[0][1] == "85 s"
    assert float(rows[0][2].removesuffix(" min")) == pytest.approx(0.5 * 1.2e6 / 1024 / 1.7 / 60, rel=0.05)
    assert float(rows[0][3].removesuffix(" min")) == pytest.approx(100 * 1.6e9 / 4e7 / 1.7 / 60, rel=0.05)
    assert float(rows[0][4].removesuffix(" h")) == pytest.approx(0.002 * 1e8 / 1.7 / 3600, rel=0.05)
    assert rows[-1][0] == "one graphics card, on paper"


def test_what_two_cores_took_is_what_two_cores_take() -> None:
    rows = cells(scale.machines(results(huge_9=on_the_disk(2))))
    assert float(rows[0][2].removesuffix(" min")) == pytest.approx(0.5 * 1.2e6 / 1024 / 60, rel=0.05)
    assert float(rows[0][3].removesuffix(" min")) == pytest.approx(100 * 1.6e9 / 4e7 / 60, rel=0.05)
    # 22.7 times the first core instead of 1.7 times, and two digits without an exponent
    assert rows[1][3] == "5 min"
    assert rows[2][3] == "76 s"


def test_a_graphics_card_is_computed_from_bytes_and_operations() -> None:
    products, sampled, inference, molecules = cells(scale.machines(results()))[-1][1:]
    # per node 8,916 bytes kept and 167,424 operations, per edge 588 bytes and 1,872 operations, as the page has them
    assert products == f"{3 * (2.4e6 * (8916e-12 + 167424e-13) + 1.2e8 * (588e-12 + 1872e-13)):.2g} s"
    node, edge = 8916e-12 + 167424e-13, 588e-12 + 1872e-13
    step = 3 * 1024 * 1110 * (node + edge) + 1024 * 1110 * 400 / 2.5e10
    assert sampled == f"{step * 1.2e6 / 1024 / 60:.2g} min"
    brought = (1.1e8 * 400 + 1.6e9 * 3 * 256) / 2.5e10
    assert float(inference.removesuffix(" s")) == pytest.approx(1.1e8 * node + 1.6e9 * edge + brought, rel=0.02)
    seconds = 1e8 * (3 * (25.5 * node + 55 * edge) + 25.5 * 400 / 2.5e10)
    assert molecules == f"{seconds / 60:.2g} min"


def test_what_was_not_measured_is_a_dash() -> None:
    assert all(row[1:] == ["–"] * 4 for row in cells(scale.machines(results()))[:-1])
    assert cells(scale.whole(results())) == []

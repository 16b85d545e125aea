"""What a run would do: which folds are missing, where each would go, and what a worker needs. Nothing is started."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from mshgnn.lab.experiment import Experiment
from mshgnn.lab.runner import EngineName, run_info
from mshgnn.lab.setup import check_model, data_bytes, load_data
from mshgnn.lab.store import RunStore
from mshgnn.lab.workers import decide_workers, parse_workers, worker_mb
from mshgnn.records.run import FoldKey

SHOWN_FOLDS = 12
"""Folds that one line names; the rest are counted."""


class Place(NamedTuple):
    """A machine of a cluster."""

    name: str
    processors: int
    memory: str
    """How much, and what was measured."""


def plan_run(
    experiment: Experiment,
    folder: Path,
    *,
    jobs: str,
    engine: EngineName,
    ray_address: str | None,
    ray_workers: int | None,
) -> Iterator[str]:
    """The plan of one run, line by line. The data set is read and a cluster is asked for its nodes, no more."""
    data = load_data(experiment)
    forecast = check_model(experiment, data.dataset)
    info = run_info(experiment, data)
    store = RunStore(folder)
    if difference := store.difference(info):
        yield f"{folder}: holds a run of another {difference}; this run would be refused"
        return
    anew = store.is_of_another_version(info)
    if anew:
        yield f"{folder}: holds a run of mshgnn {store.info().version}, this is {info.version}; it would be set aside"
    missing = [key for key in info.keys if anew or not store.holds(key)]
    yield f"{info.name}: {len(info.keys) - len(missing)} folds finished, {len(missing)} missing, in {folder}"
    if not missing:
        return
    size, need = data_bytes(data) / 2**20, worker_mb(data.dataset)
    if engine == "local":
        places = [Place("this machine", decide_workers(jobs, len(missing), experiment, data.dataset), _free())]
        limit: int | None = None
    else:
        places = _nodes(ray_address) if ray_address else [_own_ray(jobs, ray_workers)]
        limit = None if jobs == "auto" else parse_workers(jobs)
    how = "put into each node's object store once" if engine == "ray" else "held by each process"
    yield f"data: {size:,.1f} MB, {how}; a worker takes about {need:,.0f} MB"
    if forecast:
        yield forecast
    if ray_workers is None:
        yield from _side_by_side(missing, places, limit)
    else:
        yield from _together(missing, places, ray_workers)


def _side_by_side(missing: Sequence[FoldKey], places: Sequence[Place], limit: int | None) -> Iterator[str]:
    """Which folds start where: processors in turn, one fold each."""
    slots = [place for turn in range(max(p.processors for p in places)) for place in places if turn < place.processors]
    started = list(zip(missing, slots[: limit or len(slots)], strict=False))
    for place in places:
        yield f"{_text(place)}: {_names([key for key, where in started if where is place]) or 'nothing'}"
    if len(missing) > len(started):
        yield f"then, to whoever is free first: {_names(missing[len(started) :])}"


def _together(missing: Sequence[FoldKey], places: Sequence[Place], workers: int) -> Iterator[str]:
    """Workers packed onto as few nodes as hold them, as Ray Train does."""
    left = workers
    for place in sorted(places, key=lambda place: -place.processors):
        here = min(left, place.processors)
        left -= here
        yield f"{_text(place)}: {here} of {workers} workers"
    if left:
        yield f"{left} workers find no processor: this run would be refused"
    yield f"one after another, each by all workers: {_names(missing)}"


def _nodes(address: str) -> list[Place]:
    """The nodes of a cluster that have processors."""
    from mshgnn.lab.engines.ray import cluster  # an optional extra

    with cluster(address, None) as ray:
        alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        return [
            Place(
                f"node {node['NodeManagerAddress']}/{node['NodeID'][:8]}",
                int(node["Resources"]["CPU"]),
                f"{node['Resources'].get('memory', 0.0) / 2**30:,.1f} GB for all tasks by Ray's count",
            )
            for node in alive
        ]


def _own_ray(jobs: str, ray_workers: int | None) -> Place:
    processors = ray_workers or (os.cpu_count() or 1 if jobs == "auto" else parse_workers(jobs))
    return Place("a Ray of its own on this machine", processors, _free())


def _free() -> str:
    return f"{psutil.virtual_memory().available / 2**30:,.1f} GB free now"


def _text(place: Place) -> str:
    processors = f"{place.processors} processor{'s' if place.processors != 1 else ''}"
    return f"{place.name} ({processors}, {place.memory})"


def _names(keys: Sequence[FoldKey]) -> str:
    more = f" and {len(keys) - SHOWN_FOLDS} more" if len(keys) > SHOWN_FOLDS else ""
    return ", ".join(str(key) for key in keys[:SHOWN_FOLDS]) + more

"""The ablations from records made by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mshgnn.cli import main
from mshgnn.cli.figure import ABLATIONS as NAMES
from mshgnn.errors import UserError
from mshgnn.lab.shipped import find_file
from mshgnn.lab.yaml_file import read_mapping
from mshgnn.records.record import make_record, save_record
from mshgnn.reproduction.ablations import ABLATIONS, ablation_panels
from support.runs import make_run


def write_records(results: Path, dataset: str, variants: list[str]) -> None:
    for place, variant in enumerate(variants):
        run = make_run(folds=4, seeds=(0, 1))
        higher = [replace(r, curves=replace(r.curves, test_metric=r.curves.test_metric + place)) for r in run.results]
        record = make_record(replace(run, results=tuple(higher)))
        save_record(record, results / "ablation" / dataset / f"{variant}.json.gz")


def test_every_variant_of_the_suite_is_in_an_ablation_and_no_other() -> None:
    suite = read_mapping(find_file(Path("ablation")))["models"]
    assert {variant for ablation in ABLATIONS.values() for variant in ablation.labels} == set(suite)
    assert tuple(ABLATIONS) == NAMES


def test_boxes_are_over_folds_and_seeds_in_the_order_of_the_labels(tmp_path: Path) -> None:
    write_records(tmp_path, "IMDB-BINARY", ["stable", "readout-mean", "frequency-1"])
    write_records(tmp_path, "NCI1", ["frequency-1"])
    panels = ablation_panels("ablation-readout", tmp_path)
    assert list(panels) == ["IMDB-B"]
    assert list(panels["IMDB-B"]) == ["mean", "sum"]
    mean, total = panels["IMDB-B"].values()
    assert len(mean) == len(total) == 8
    assert mean == pytest.approx([value + 100 for value in total])


def test_without_records_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="reproduce figure-3"):
        ablation_panels("ablation-encoding", tmp_path)


def test_the_picture_is_drawn_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for dataset in ("MUTAG", "PROTEINS"):
        write_records(tmp_path, dataset, list(ABLATIONS["ablation-encoding"].labels))
    out = tmp_path / "boxes.png"
    command = ["mshgnn", "figure", "ablation-encoding", "--out", str(out), "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert out.read_bytes().startswith(b"\x89PNG")

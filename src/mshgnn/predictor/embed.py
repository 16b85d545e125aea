"""``mshgnn embed``: what a model makes of each row before its last layer, chunk by chunk into a file."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from torch import Tensor

from mshgnn.data.dataset import DataError
from mshgnn.errors import UserError
from mshgnn.files import written
from mshgnn.predictor.ensemble import Ensemble, OnError
from mshgnn.predictor.output import check_out
from mshgnn.predictor.predict import CHUNK, PredictionFailed, predicted

ENDINGS = (".npz", ".csv")


class Piece(NamedTuple):
    """Embeddings ``[n, d]``, the rows of the file (from 0) they belong to, and why other rows have none."""

    rows: list[int]
    embeddings: Tensor
    problems: list[str]


@dataclass
class Embedded:
    """How many rows were written, how many numbers each has, how many rows were left out, and why the first."""

    rows: int = 0
    width: int = 0
    failed: int = 0
    first_problem: str = ""

    def counting(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The pieces that hold something, counted on their way."""
        for piece in pieces:
            self.failed += len(piece.problems)
            self.first_problem = self.first_problem or next(iter(piece.problems), "")
            if piece.rows:
                self.rows, self.width = self.rows + len(piece.rows), int(piece.embeddings.shape[1])
                yield piece


def embedded(
    model: Ensemble, path: Path, *, member: int = 0, on_error: OnError = "skip", chunk: int = CHUNK
) -> Iterator[Piece]:
    """The embeddings that the head of one member sees, ``chunk`` rows at a time."""
    if not 0 <= member < len(model.members):
        raise DataError(f"--member {member}: the model has {len(model.members)}, counted from 0")
    seen = 0
    for piece in predicted(model, path, on_error=on_error, chunk=chunk):
        problems = [problem for problem in piece.problems if problem]
        made = piece.found.embeddings[member] if piece.usable else piece.found.values
        yield Piece([seen + index for index in piece.usable], made, problems)
        seen += len(piece.rows)


def embed_file(
    model: Ensemble, path: Path, out: Path, *, member: int = 0, on_error: OnError = "skip", chunk: int = CHUNK
) -> Embedded:
    """Write the embeddings of a file of any size; rows that cannot be read are left out.

    ``out`` is a ``.npz`` with ``embeddings`` and ``rows``, or a ``.csv`` with a column for each number; it appears
    whole or not at all.
    """
    if out.suffix not in ENDINGS:
        raise UserError(f"--out {out}: must end in {' or '.join(ENDINGS)}")
    check_out(out, path)
    done = Embedded()
    pieces = done.counting(embedded(model, path, member=member, on_error=on_error, chunk=chunk))
    with written(out) as file:
        if out.suffix == ".npz":
            _write_arrays(pieces, file, out.parent)
        else:
            _write_lines(pieces, file)
        if not done.rows and not done.failed:
            raise DataError(f"{path}: there are no rows")
        if not done.rows:
            raise PredictionFailed(
                f"{path}: not one of {done.failed:,} rows could be embedded, the first: {done.first_problem}"
            )
    return done


def _write_lines(pieces: Iterator[Piece], file: IO[bytes]) -> None:
    """As ``.csv``, every row as it comes."""
    began = False
    for piece in pieces:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not began:
            writer.writerow(["row", *(f"e{column}" for column in range(piece.embeddings.shape[1]))])
            began = True
        for row, values in zip(piece.rows, piece.embeddings.tolist(), strict=True):
            writer.writerow([row, *(f"{value:.7g}" for value in values)])
        file.write(text.getvalue().encode())


def _write_arrays(pieces: Iterator[Piece], file: IO[bytes], folder: Path) -> None:
    """As ``.npz``: an array says first how long it is, so that its numbers wait in a file without a name."""
    width = count = 0
    with tempfile.TemporaryFile(dir=folder) as numbers, tempfile.TemporaryFile(dir=folder) as rows:
        for piece in pieces:
            width, count = int(piece.embeddings.shape[1]), count + len(piece.rows)
            numbers.write(piece.embeddings.numpy().astype("<f4").tobytes())
            rows.write(np.array(piece.rows, dtype="<i8").tobytes())
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            _add_array(archive, "embeddings", numbers, "<f4", (count, width))
            _add_array(archive, "rows", rows, "<i8", (count,))


def _add_array(archive: zipfile.ZipFile, name: str, source: IO[bytes], kind: str, shape: tuple[int, ...]) -> None:
    source.seek(0)
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(entry, header)
        shutil.copyfileobj(source, entry)

"""What the report page shows of single test items: embeddings, small drawings, frequency responses, edge weights.

Kept as ``shown.json.gz`` beside the model and bounded, so that no data set makes a folder or a page large.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.schema import Schema
from mshgnn.data.splits import Split
from mshgnn.errors import UserError
from mshgnn.files import read_regular, write_atomically
from mshgnn.predictor.drawings import Drawer
from mshgnn.predictor.inside import edge_weights, responses
from mshgnn.predictor.member import Computed, Member
from mshgnn.records.codec import decode, encode
from mshgnn.report.page.contents import Shown, Weighted
from mshgnn.report.page.drawing import unpack
from mshgnn.training.metrics import Array

SHOWN_FILE = "shown.json.gz"
MOST_ITEMS = 5_000
COMPONENTS = 30
MOST_WEIGHTED = 3
"""So many of the most wrong graphs, and of the most right ones, are shown with weights."""


def make_shown(
    dataset: GraphDataset, schema: Schema, folds: Sequence[Split], found: Sequence[Computed], members: Sequence[Member]
) -> Shown:
    """The test items that can be shown, at most ``MOST_ITEMS``, drawn at random where there are more.

    Args:
        dataset: as it was read.
        schema: of the whole file.
        folds: whose test parts were predicted.
        found: what each fold's member made of its test part.
        members: one for each fold.
    """
    tested = torch.cat([split.test for split in folds])
    chosen = torch.randperm(len(tested), generator=torch.Generator().manual_seed(0))[:MOST_ITEMS].sort().values
    fold_of = torch.cat([torch.full((len(split.test),), number) for number, split in enumerate(folds)])
    distances = torch.cat([_distances(member, made) for member, made in zip(members, found, strict=True)])
    drawer = Drawer(dataset, schema)
    drawings = tuple(drawer.draw(int(tested[item])) for item in chosen.tolist())
    first = members[0]
    shown = [int(tested[item]) for item in chosen[fold_of[chosen] == 0].tolist()]
    kind, weighted = _weighted(dataset, schema, first, tested, chosen, fold_of, found[0], drawings)
    return Shown(
        items=tuple(chosen.tolist()),
        components=_components([made.embeddings for made in found], fold_of, chosen),
        distances=tuple(distances[chosen].tolist()),
        drawings=drawings,
        vocabulary=drawer.vocabulary,
        responses=responses(first, dataset, schema, shown),
        weights_are=kind,
        weighted=weighted,
    )


def save_shown(shown: Shown, folder: Path) -> None:
    """Write it beside the model."""
    write_atomically(folder / SHOWN_FILE, encode(shown.to_json(), compress=True))


def load_shown(folder: Path) -> Shown | None:
    """Read it; None where a folder has none."""
    path = folder / SHOWN_FILE
    if not path.exists():
        return None
    try:
        return Shown.from_json(decode(read_regular(path)))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _distances(member: Member, made: Computed) -> Tensor:
    if member.reach is None:
        return torch.full((len(made.embeddings),), float("nan"))
    return member.reach.distance(made.embeddings)


def _components(embeddings: Sequence[Tensor], fold_of: Tensor, chosen: Tensor) -> Array:
    """``[n, COMPONENTS]``: the principal components within each fold; columns that a fold lacks are zero."""
    width = min(COMPONENTS, max(part.shape[1] for part in embeddings))
    placed = np.zeros((len(fold_of), width))
    for number, part in enumerate(embeddings):
        rows = part.double().numpy()
        if not len(rows) or not np.isfinite(rows).all():
            placed[fold_of.numpy() == number] = 0.0
            continue
        centred = rows - rows.mean(axis=0)
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        made = (left * singular)[:, :width]
        placed[fold_of.numpy() == number, : made.shape[1]] = made
    return placed[chosen.numpy()]


def _weighted(
    dataset: GraphDataset,
    schema: Schema,
    member: Member,
    tested: Tensor,
    chosen: Tensor,
    fold_of: Tensor,
    made: Computed,
    drawings: Sequence[str | None],
) -> tuple[str, tuple[Weighted, ...]]:
    """Edge weights of the most wrong and the most right graphs of the first fold that are drawn whole."""
    if dataset.task == "node":
        return "", ()
    error = _errors(dataset.labels()[tested[fold_of == 0]], made.values)
    first = [place for place, item in enumerate(chosen.tolist()) if fold_of[item] == 0]
    ranked = sorted(
        (place for place in first if drawings[place] is not None and not np.isnan(error[int(chosen[place])])),
        key=lambda place: -float(error[int(chosen[place])]),
    )
    picked = list(dict.fromkeys([*ranked[:MOST_WEIGHTED], *ranked[-MOST_WEIGHTED:]]))
    kind, weights = edge_weights(member, dataset, schema, [int(tested[int(chosen[place])]) for place in picked])
    found = []
    for place, (edges, layers) in zip(picked, weights, strict=bool(kind)):
        text = drawings[place]
        assert text is not None
        found.append(Weighted(place, tuple(_on(unpack(text).edges, edges, layer) for layer in layers)))
    return kind, tuple(found)


def _on(drawn: Sequence[tuple[int, int]], edges: Tensor, weights: Tensor) -> tuple[float, ...]:
    """The weight of each drawn edge, the mean of its two directions, from 0 (the smallest) to 1 (the largest)."""
    sums: dict[tuple[int, int], list[float]] = {}
    for sender, receiver, weight in zip(*edges.tolist(), weights.tolist(), strict=True):
        sums.setdefault((min(sender, receiver), max(sender, receiver)), []).append(weight)
    means = [sum(both) / len(both) for edge in drawn if (both := sums.get((min(edge), max(edge)), [0.0]))]
    low, high = min(means, default=0.0), max(means, default=0.0)
    return tuple(round((mean - low) / (high - low), 3) if high > low else 0.5 for mean in means)


def _errors(truth: Tensor, values: Tensor) -> Array:
    """How wrong each item is: one minus the probability of its class, or the mean absolute error."""
    if truth.dim() == 1:
        return (1 - values[torch.arange(len(values)), truth.clamp(min=0)]).double().numpy()
    return (values - truth).abs().nanmean(dim=1).double().numpy()

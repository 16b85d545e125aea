"""The structure of a data set's graphs: computed once, kept, and made without a look at targets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from mshgnn.data.dataset import GraphDataset, content_checksum
from mshgnn.data.sources.store import Kept, data_root, keep, prepared_folder
from mshgnn.structure import PackedStructure, Ragged, Structure


def structure_of(dataset: GraphDataset, kinds: Sequence[Structure]) -> PackedStructure:
    """The structure of all graphs of a data set, in their order.

    Args:
        dataset: any data set.
        kinds: at least one kind of structure.
    """
    return reduce(or_, (_kept(dataset, kind, data_root()) for kind in kinds))


def _kept(dataset: GraphDataset, kind: Structure, root: Path) -> PackedStructure:
    """One kind, from the store or computed into it; found by what the kind sees of the graphs."""
    seen = [kind.bare(graph) for graph in dataset.graphs]
    sizes = str([graph.num_nodes for graph in seen])
    checksum = hashlib.sha256(f"{content_checksum(seen)} {sizes}".encode()).hexdigest()

    def build(_: Path) -> Kept:
        made = kind.of_graphs(dataset.graphs)
        tensors = {f"tensor {name}": ragged.values for name, ragged in made.tensors.items()}
        starts = {f"start {name}": start for name, start in made.starts.items()}
        facts = {name: [ragged.rows, ragged.points_to] for name, ragged in made.tensors.items()}
        return Kept(tensors | starts, facts)

    folder = "-".join(re.sub(r"[^\w.-]", "_", part)[:60] for part in (dataset.name, checksum[:16], kind.name))
    tensors, facts = keep(prepared_folder(root, folder), build)
    named = {name: Ragged(tensors[f"tensor {name}"], *meaning) for name, meaning in facts.items()}  # type: ignore[misc]
    starts = {key.removeprefix("start "): value for key, value in tensors.items() if key.startswith("start ")}
    return PackedStructure(named, starts)

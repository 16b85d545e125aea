"""One trained model with all it needs to predict: weights, schema, and how far its training data reach.

A folder ``model_0`` holds ``config.json`` and ``model.safetensors`` (see ``save_pretrained``), ``schema.json`` and
``reach.safetensors``. Reading it runs no code of the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.mapped import MAPPED
from mshgnn.data.schema import Schema
from mshgnn.data.splits import Split
from mshgnn.errors import UserError
from mshgnn.files import read_regular, write_atomically
from mshgnn.machine import Device, find_device
from mshgnn.models import from_pretrained
from mshgnn.nn import Model
from mshgnn.predictor.coding import encoded
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.layerwise import LayerByLayer
from mshgnn.training.node_store import NodeStore

SCHEMA_FILE, REACH_FILE = "schema.json", "reach.safetensors"
MOST_REFERENCES = 2_000
"""So many training items stand for all of them when a distance is measured."""

LARGE = 2_000_000
"""Nodes and edges above which the one graph of a node task is taken in pieces."""


class Reach(NamedTuple):
    """Embeddings of training items ``[R, d]``, brought to one scale, and the distance that 99 % of held-out ones keep.

    The distance of an item is that to its nearest reference, in units of ``usual``: above 1 it is further away than
    99 of 100 items that the model was tested on.
    """

    references: Tensor
    mean: Tensor
    std: Tensor
    usual: Tensor

    @classmethod
    def of(cls, training: Tensor, held_out: Tensor, seed: int) -> Reach:
        """From the embeddings of both parts."""
        mean, std = training.mean(dim=0), training.std(dim=0, correction=0)
        std = torch.where(std > 1e-6, std, torch.ones_like(std))
        order = torch.randperm(len(training), generator=torch.Generator().manual_seed(seed))
        reach = cls((training[order[:MOST_REFERENCES]] - mean) / std, mean, std, torch.ones(1))
        usual = torch.quantile(reach.distance(held_out), 0.99).clamp(min=1e-6).reshape(1)
        return reach._replace(usual=usual)

    def check(self) -> None:
        """Refuse, as a ``ValueError``, tensors that are no reach: a file may hold any."""
        width = self.mean.numel()
        shapes = [list(tensor.shape) for tensor in self]
        if len(self.references) == 0 or shapes != [[len(self.references), width], [width], [width], [1]]:
            raise ValueError(f"its shapes are {shapes}")
        if {tensor.dtype for tensor in self} != {torch.float32}:
            raise ValueError(f"it holds {', '.join(sorted({str(tensor.dtype) for tensor in self}))}")

    def distance(self, embeddings: Tensor) -> Tensor:
        """``[n]``: to the nearest reference, in units of ``usual``."""
        if embeddings.size(1) != self.mean.numel():
            raise UserError(
                f"{REACH_FILE} is of another model: it measures {self.mean.numel()} numbers of an embedding, which has "
                f"{embeddings.size(1)}"
            )
        scaled = (embeddings - self.mean) / self.std
        # Of matrix products it would depend on how many rows there are.
        apart = torch.cdist(scaled, self.references, compute_mode="donot_use_mm_for_euclid_dist")
        return apart.amin(dim=1) / self.usual


class Computed(NamedTuple):
    """What a model says of ``n`` items: probabilities or numbers ``[n, C or T]``, and their embeddings ``[n, d]``."""

    values: Tensor
    embeddings: Tensor


@dataclass(frozen=True)
class Member:
    """A model, the schema of its training part, and the reach of that part (None while it is trained)."""

    model: Model
    schema: Schema
    reach: Reach | None = None

    def encode(self, raw: Data, where: str) -> Data:
        """A graph as it stands in a file, as this model takes it."""
        return encoded(raw, self.schema, where, width=self.model.in_channels, edge_dim=self.model.edge_dim)

    @torch.no_grad()
    def compute(self, graphs: Sequence[Data], device: Device = "cpu") -> Computed:
        """Predict encoded graphs; for a node task the nodes of the one graph."""
        place = find_device(device)
        self.model.eval().to(place)
        batches: Sequence[GraphBatch]
        if self.schema.task == "node" and self._goes_by_layers(graphs[0]):
            everything = torch.arange(int(graphs[0].num_nodes))
            embeddings = LayerByLayer(NodeStore.of(graphs[0]), everything, place).embeddings(self.model)
        else:
            if self.schema.task == "node":
                batches = [whole_graph(graphs[0], sparse=False)]
            else:
                packed = PackedGraphs.pack(_with_edge_features(graphs, self.model.edge_dim))
                batches = packed.evaluation_batches(1)
            embeddings = torch.cat([self._embed(batch.to(place)) for batch in batches])
        values = self.as_values(self.model.head(embeddings).cpu())
        return Computed(values, embeddings.cpu())

    def _embed(self, batch: GraphBatch) -> Tensor:
        return self.model.embed(
            batch.x, batch.edge_index, batch.batch, edge_attr=batch.edge_attr, batch_size=batch.num_graphs
        )

    def reaching(self, dataset: GraphDataset, split: Split, seed: int) -> Member:
        """The trained member with the reach of its training part, measured against the test part."""
        if dataset.task == "node":
            embeddings = self.compute(dataset.graphs).embeddings
            parts = embeddings[split.train], embeddings[split.test]
        else:
            train, test = ([dataset.graphs[index] for index in part.tolist()] for part in (split.train, split.test))
            parts = self.compute(train).embeddings, self.compute(test).embeddings
        return replace(self, reach=Reach.of(*parts, seed))

    def _goes_by_layers(self, graph: Data) -> bool:
        """Whether a graph is taken layer by layer: it is on the disk, or large, and the model allows it."""
        large = MAPPED in graph or int(graph.num_nodes) + graph.edge_index.size(1) > LARGE
        return large and getattr(self.model, "hops", None) is not None

    def as_values(self, outputs: Tensor) -> Tensor:
        """Outputs of the model as probabilities, or as numbers in the units of the file."""
        if self.schema.objective in ("classify", "rank"):
            return outputs.softmax(dim=1)
        if self.schema.objective == "multilabel":
            return outputs.sigmoid()
        return outputs * torch.tensor(self.schema.target_std) + torch.tensor(self.schema.target_mean)

    def save(self, folder: Path) -> None:
        """Write everything; each file appears whole or not at all."""
        self.model.save_pretrained(folder)
        write_atomically(folder / SCHEMA_FILE, self.schema.to_json().encode())
        if self.reach is not None:
            tensors = {name: value.contiguous() for name, value in self.reach._asdict().items()}
            write_atomically(folder / REACH_FILE, save(tensors))

    @classmethod
    def load(cls, folder: Path) -> Member:
        """Read what ``save`` wrote."""
        schema = Schema.load(folder / SCHEMA_FILE)
        model = from_pretrained(folder)
        path = folder / REACH_FILE
        try:
            reach = Reach(**load(read_regular(path)))
            reach.check()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from None
        except (SafetensorError, TypeError, ValueError) as error:
            raise UserError(f"{path} is damaged: {error}") from None
        outputs = model.options["out_channels"]
        if model.task != schema.task or (schema.objective == "regress" and len(schema.target_std) != outputs):
            raise UserError(f"{folder}: {SCHEMA_FILE} is of another model: {schema.task}, {schema.objective}")
        return cls(model, schema, reach)


def _with_edge_features(graphs: Sequence[Data], edge_dim: int | None) -> Sequence[Data]:
    """A data set's own graphs may carry edge features that this model does not take."""
    if edge_dim is not None or all(graph.edge_attr is None for graph in graphs):
        return graphs
    return [Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in graphs]

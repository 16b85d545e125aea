"""A model that needs more of a graph than its features and edges."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.structure import Structure, structure_of_batch


class StructuredModel(Model):
    """A model with ``structure``: a subclass says in ``_structured_embedding`` what the head sees.

    It is called like any other model; structure that is not given is computed in the call. Training computes it once
    for the data set and gives it.

    Args:
        in_channels: width of the node features.
        task: ``"graph"`` or ``"node"``.
        structure: the kinds that the model needs.
        edge_dim: width of the edge features, ``None`` for a model that takes none.
    """

    mixes_whole_graphs = True

    def __init__(
        self, in_channels: int, task: Task, structure: tuple[Structure, ...], edge_dim: int | None = None
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.structure = structure

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
        structure: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Logits, as of :class:`Model`.

        ``structure`` is what :func:`mshgnn.structure.structure_of_batch` gives, by name.
        """
        return self.head(
            self.embed(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size, structure=structure)
        )

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
        structure: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """The embedding of graphs or nodes that the head sees; arguments as in :meth:`forward`."""
        graphs = self._check_input(x, batch, edge_attr, batch_size)
        assert graphs is not None, "it mixes whole graphs"
        edges = as_edge_index(edge_index, x.size(0), x.size(0))
        if structure is None:
            structure = structure_of_batch(self.structure, x, edges, *graphs, edge_attr)
        elif not structure:
            raise UserError(f"structure is empty, but the model needs {', '.join(k.name for k in self.structure)}")
        return self._structured_embedding(x, edges, edge_attr, graphs, structure)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        """The embedding of checked input; ``graphs`` are those of a node task, too."""
        raise NotImplementedError

"""What every model can do, whatever its layers: logits, embeddings, and a place on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from mshgnn.errors import UserError
from mshgnn.nn.checks import check_features, complete_batch
from mshgnn.nn.pretrained import fill_weights, read_config, write_pretrained
from mshgnn.structure import Structure

Task = Literal["graph", "node"]
Graphs = tuple[Tensor, int]
"""The graph of every node, ``[N]``, and the number of graphs."""


class Model(nn.Module):
    """A model for graphs or nodes: a subclass makes ``head`` and says in ``_embedding`` what the head sees.

    Args:
        in_channels: width of the node features.
        task: ``"graph"`` or ``"node"``.
        edge_dim: width of the edge features, ``None`` for a model that takes none.
    """

    head: nn.Module
    options: dict[str, Any]
    """Everything the model was made with, defaults included, as JSON has it."""
    saved_as: str
    """The name under which a saved model is built again: its class, or its name among ``mshgnn.models``."""
    structure: tuple[Structure, ...] = ()
    """The kinds of structure that the model is called with; see :class:`mshgnn.nn.StructuredModel`."""
    mixes_whole_graphs: ClassVar[bool] = False
    """Whether a node hears others than by edges: ``_embedding`` is then given the graphs on node tasks, too."""

    def __init__(self, in_channels: int, task: Task, edge_dim: int | None = None) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.task = task
        self.edge_dim = edge_dim
        self.saved_as = type(self).__name__

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits: ``[num_graphs, out_channels]`` for graphs, ``[N, out_channels]`` for nodes.

        Args:
            x: node features ``[N, in_channels]``, dense, sparse CSR or sparse COO.
            edge_index: edges ``[2, M]``, an ``EdgeIndex``, or a sparse adjacency with receivers as rows.
            batch: graph of every node, ``[N]``; ``None``: all nodes are one graph.
            edge_attr: edge features ``[M, edge_dim]``.
            batch_size: number of graphs; saves reading ``batch`` and counts graphs without nodes.
        """
        return self.head(self.embed(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size))

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The embedding of graphs or nodes that the head sees; arguments as in :meth:`forward`."""
        return self._embedding(x, edge_index, edge_attr, self._check_input(x, batch, edge_attr, batch_size))

    def _check_input(
        self, x: Tensor, batch: Tensor | None, edge_attr: Tensor | None, batch_size: int | None
    ) -> Graphs | None:
        """The graphs of checked input, ``None`` on node tasks of a model that needs to know none."""
        check_features("x", x, self.in_channels, next(self.parameters()).dtype)
        if edge_attr is not None and self.edge_dim is None:
            raise UserError("edge_attr was given, but the model was made without edge_dim")
        if self.task == "node" and not self.mixes_whole_graphs:
            return None
        return complete_batch(batch, batch_size, x.size(0), x.device)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        """The embedding of checked input; ``graphs`` is ``None`` on node tasks unless it ``mixes_whole_graphs``."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in self.children():
            reset(module)
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):  # which PyG's reset passes over
                module.out_proj.reset_parameters()
                module._reset_parameters()

    @property
    def num_parameters(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into ``folder``."""
        write_pretrained(self, self.saved_as, self.options, Path(folder))

    @classmethod
    def from_pretrained(cls, folder: str | Path, **functions: Any) -> Self:
        """Read a model that :meth:`save_pretrained` wrote; a damaged or foreign folder is refused.

        A constructor's functions, such as ``make_message``, are not in the folder: give them again by name.
        A model built by name is read by :func:`mshgnn.models.from_pretrained`.
        """
        name, options = read_config(Path(folder))
        if name != cls.__name__:
            raise UserError(
                f"{folder} holds a saved {name!r}, not a {cls.__name__}; mshgnn.models.from_pretrained reads any"
            )
        return fill_weights(lambda: cls(**options, **functions), Path(folder))

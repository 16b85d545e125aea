"""A data set from graphs in memory: PyG's or networkx's, of any harmless shape and dtype."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import WEIGHT, DataError, GraphDataset, Metric, Objective, Task, content_checksum
from mshgnn.data.limits import check_limit
from mshgnn.data.targets import Wish, finite, settle, stacked
from mshgnn.data.transforms import DEGREE_CAP, set_degree

NO_FEATURES = {"y", "train_mask", "val_mask", "test_mask", WEIGHT}
"""What nodes may carry besides ``x``."""


def from_graphs(
    graphs: Iterable[Any] | Data,
    *,
    name: str = "own",
    task: Task = "graph",
    num_classes: int | None = None,
    metric: Metric | None = None,
    objective: Objective | None = None,
    class_names: Iterable[str] = (),
    target_names: Iterable[str] = (),
) -> GraphDataset:
    """Check graphs and make the data set object of them.

    Numbers of any dtype are converted (the given graphs stay as they are); ``edge_weight`` becomes a column of
    ``edge_attr``. Graphs whose nodes have no features get their degrees, one-hot. Anything that would fail or mislead
    later is refused here, with the graph's position.

    Args:
        graphs: PyG ``Data`` objects, a PyG data set, or networkx graphs whose nodes carry ``x`` or nothing (and ``y``)
            and, for graph tasks, ``graph.graph["y"]``. One graph may come without a list.
        name: what messages and tables call it.
        task: ``graph``: one target for each graph; ``node``: one for each node of a single graph.
        num_classes: classes, where not all of them occur.
        metric: one of ``METRICS``; the objective's first by default.
        objective: ``classify``, ``rank``, ``regress`` or ``multilabel``; by default the targets decide (see
            ``mshgnn.data.targets.settle``).
        class_names: names of the classes, in their order.
        target_names: names of the targets, in their order.
    """
    if task not in ("graph", "node"):
        raise DataError(f"{name}: task must be 'graph' or 'node', not {task!r}")
    listed = _listed(graphs, name)
    if not listed:
        raise DataError(f"{name}: there are no graphs")
    if task == "node" and len(listed) != 1:
        raise DataError(f"{name}: a node task has exactly one graph, not {len(listed)}")
    checked: list[Data] = []
    parts: list[Tensor] = []
    for index, given in enumerate(listed):
        try:
            graph = _checked(given, task)
            parts.append(_rows_of_targets(graph, task))
            if checked:
                _check_like_first(graph, checked[0], parts[-1].shape[1], parts[0].shape[1])
        except ValueError as error:
            raise DataError(f"{name}: graph {index}: {error}") from error
        checked.append(graph)
    degrees = "x" not in checked[0]
    if degrees:
        checked = [copy.copy(graph) for graph in checked]
        set_degree(checked, DEGREE_CAP, name)
    wish = Wish(objective, metric, num_classes, tuple(class_names), tuple(target_names))
    targets = settle(name, task, stacked(parts), wish)
    final = [
        _with(graph, y=rows)
        for graph, rows in zip(checked, torch.split(targets.values, [len(part) for part in parts]), strict=True)
    ]
    return GraphDataset(
        name,
        task,
        final,
        final[0].x.shape[1],
        targets.num_classes,
        targets.metric,
        content_checksum(final),
        edge_dim=_edge_dim(final[0]),
        objective=targets.objective,
        class_names=targets.class_names,
        target_names=targets.target_names,
        degree_columns=int(final[0].x.shape[1]) if degrees else 0,
    )


def as_data(given: object, task: Task) -> Data:
    """A graph as PyG's; a networkx graph is converted, anything else is a ``ValueError``."""
    graph = _from_networkx(given, task) if _is_networkx(given) else given
    if not isinstance(graph, Data):
        raise ValueError(f"expected a PyG Data or a networkx graph, not {_a(graph)}")
    return graph


def _listed(graphs: Iterable[Any] | Data, name: str) -> list[Any]:
    if isinstance(graphs, Data) or _is_networkx(graphs):
        return [graphs]
    try:
        return list(graphs)
    except TypeError as error:
        raise DataError(f"{name}: expected a list of graphs, not {_a(graphs)}") from error


def _checked(given: object, task: Task) -> Data:
    """The graph with features and edges in the data set's dtypes; ``ValueError`` says what is wrong with it."""
    graph = as_data(given, task)
    x = _tensor(graph, "x")
    changes: dict[str, Tensor] = {}
    if x is None:
        nodes = _counted_nodes(graph, given)
    else:
        changes["x"] = _floats(x.unsqueeze(1) if x.dim() == 1 else x, "x", "[nodes, features]")
        nodes = len(changes["x"])
    if nodes == 0:
        raise ValueError("it has no nodes")
    edge_index = changes["edge_index"] = _edges(_tensor(graph, "edge_index"), nodes)
    columns = [
        _floats(value.unsqueeze(1) if value.dim() == 1 else value, key, f"[{edge_index.shape[1]}, columns]")
        for key in ("edge_attr", "edge_weight")
        if (value := _tensor(graph, key)) is not None
    ]
    for value in columns:
        if value.shape[0] != edge_index.shape[1]:
            raise ValueError(f"edge_attr has {value.shape[0]} rows for {edge_index.shape[1]} edges")
    if columns:
        changes["edge_attr"] = columns[0] if len(columns) == 1 else torch.cat(columns, dim=1)
    changed = _with(graph, **changes)
    if "edge_weight" in changed:
        changed = copy.copy(changed)
        del changed["edge_weight"]
    return changed


def _counted_nodes(graph: Data, given: Any) -> int:
    """How many nodes a graph without ``x`` has; one whose nodes carry something else is not without features."""
    if _is_networkx(given):
        carried = {str(key) for _, attributes in given.nodes(data=True) for key in attributes}
    else:
        if graph.get("num_nodes") is None:  # PyG would guess it from the edges
            raise ValueError("x must be features [nodes, features]; it is missing, and so is num_nodes")
        carried = set(graph.node_attrs())
    if others := sorted(carried - NO_FEATURES):
        raise ValueError(
            f"x must be features [nodes, features]; it is missing, and nodes have {', '.join(others)[:100]}: "
            "put into x what the model shall see"
        )
    try:
        nodes = operator.index(graph.num_nodes)
    except TypeError:
        raise ValueError(f"num_nodes must be a whole number, not {_a(graph.num_nodes)}") from None
    check_limit("nodes", nodes, "its nodes")
    return max(nodes, 0)


def _check_like_first(graph: Data, first: Data, num_targets: int, first_targets: int) -> None:
    if ("x" in graph) != ("x" in first):
        there, missing = ("this", "the first") if "x" in graph else ("the first", "this")
        raise ValueError(f"x must be there for all graphs or for none; {there} graph has it, {missing} one has not")
    if "x" in graph and graph.x.shape[1] != first.x.shape[1]:
        raise ValueError(f"x has {graph.x.shape[1]} features, the first graph has {first.x.shape[1]}")
    if _edge_dim(graph) != _edge_dim(first):
        raise ValueError(f"edge_attr has {_edge_dim(graph)} columns, the first graph has {_edge_dim(first)}")
    if num_targets != first_targets:
        raise ValueError(f"y holds {num_targets} targets, the first graph has {first_targets}")


def _rows_of_targets(graph: Data, task: Task) -> Tensor:
    """``y`` as ``[1, T]`` or ``[n, T]``."""
    y, nodes = _tensor(graph, "y"), len(graph.x) if "x" in graph else int(graph.num_nodes)
    rows = 1 if task == "graph" else nodes
    if y is None:
        raise ValueError("y is missing (a missing target?)")
    if y.is_complex() or y.is_sparse:
        raise ValueError("y must hold plain numbers")
    if y.dim() == 0:
        y = y.reshape(1)
    if y.dim() not in (1, 2) or y.shape[0] != rows or y.numel() == 0:
        hint = ""
        if task == "graph" and nodes > 1 and y.shape[0] == nodes:
            hint = "; one target for each node is task='node'"
        shapes = f"[{rows}], or [{rows}, T] for T targets"
        raise ValueError(f"y must have the shape {shapes}, not {list(y.shape)}{hint}")
    return y.reshape(rows, -1)


def _tensor(graph: Data, key: str) -> Tensor | None:
    """An attribute as a plain tensor on the CPU; ``None`` where there is none."""
    value = graph.get(key)
    if value is None:
        return None
    if not isinstance(value, Tensor):
        try:
            value = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{key} must hold numbers, not {_a(value)}") from error
    if type(value) is not Tensor:  # PyG's EdgeIndex, a Parameter
        value = value.as_subclass(Tensor)
    return value.detach().cpu() if value.requires_grad or value.device.type != "cpu" else value


def _floats(value: Tensor, key: str, shape: str) -> Tensor:
    if value.dim() != 2 or value.layout != torch.strided or value.is_complex():
        raise ValueError(f"{key} must be a dense tensor {shape}, not {str(value.layout)[6:]} {list(value.shape)}")
    if key == "x" and value.shape[1] == 0:
        raise ValueError("x has no columns")
    value = value.to(torch.float32)
    if not finite(value):
        raise ValueError(f"{key} holds NaN or infinity")
    return value


def _edges(value: Tensor | None, nodes: int) -> Tensor:
    if value is None:
        raise ValueError("edge_index must be an int64 tensor [2, edges]; it is missing")
    if value.numel() == 0:
        return value if value.dtype == torch.int64 and value.shape == (2, 0) else torch.empty(2, 0, dtype=torch.int64)
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool or value.dim() != 2:
        kind = str(value.dtype).removeprefix("torch.")
        raise ValueError(f"edge_index must be an int64 tensor [2, edges], not {kind} {list(value.shape)}")
    if value.shape[0] != 2:
        raise ValueError(f"edge_index must have two rows, not {value.shape[0]}")
    value = value.to(torch.int64)
    if not 0 <= int(value.min()) <= int(value.max()) < nodes:
        raise ValueError(f"an edge names a node outside 0..{nodes - 1}")
    return value


def _with(graph: Data, **values: Tensor) -> Data:
    """The graph itself where it holds these very tensors or equal forms of them, else a copy that does."""
    new = {key: value for key, value in values.items() if not _same(graph.get(key), value)}
    if not new:
        return graph
    changed = copy.copy(graph)
    for key, value in new.items():
        changed[key] = value
    return changed


def _same(old: object, new: Tensor) -> bool:
    if old is new:
        return True
    if type(old) is not Tensor or old.requires_grad or old.device != new.device:
        return False
    return old.dtype == new.dtype and old.shape == new.shape and torch.equal(old, new)


def _edge_dim(graph: Data) -> int:
    value = graph.get("edge_attr")
    return 0 if value is None else int(value.shape[1])


def _is_networkx(graph: object) -> bool:
    networkx = sys.modules.get("networkx")  # whoever has such a graph has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def _from_networkx(graph: Any, task: Task) -> Data:
    from torch_geometric.utils import from_networkx

    if len(graph) == 0:
        raise ValueError("it has no nodes")
    try:
        data = from_networkx(graph)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"PyG's from_networkx: {error}") from error
    if "weight" in data and "edge_weight" not in data and "weight" in next(iter(graph.edges(data=True)), ({},))[-1]:
        data.edge_weight = data.weight
        del data["weight"]
    y = data.get("y")
    if task == "graph" and isinstance(y, Tensor) and y.dim() == 1:
        data.y = y.unsqueeze(0)  # a graph's own list of targets
    return data


def _a(value: object) -> str:
    return f"a {type(value).__name__}"

"""Pictures of data sets: one graph of each class, or how the targets are spread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.pictures import check_picture, save
from mshgnn.data.structure_frequency import NUM_MODES
from mshgnn.data.target_plots import draw_targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch_geometric.data import Data

MAX_CLASSES = 60
MAX_NODES = 500


def plot(dataset: GraphDataset, path: Path) -> str:
    """Draw what a data set has into ``path`` (png, svg or pdf), and say what did not fit.

    Of classes of graphs a graph is drawn for each, of numbers a histogram, of labels and classes of nodes the shares.
    """
    if dataset.task == "graph" and dataset.objective in ("classify", "rank"):
        plot_classes(dataset, path)
        return ""
    check_picture(path)
    figure, cut = draw_targets(dataset)
    save(figure, path)
    return cut


def plot_classes(dataset: GraphDataset, path: Path) -> None:
    """Draw the first graph of each class into ``path`` (png, svg or pdf).

    Nodes are coloured by their feature: the value when there is one, else the column of the largest. Graphs of the
    structure-frequency task are drawn on a circle, three rows of ten; others by forces.
    """
    from matplotlib.figure import Figure

    if dataset.task != "graph":
        raise DataError(f"{dataset.name}: only sets of graphs have one picture a class")
    if dataset.objective not in ("classify", "rank"):
        raise DataError(f"{dataset.name}: its targets are no classes to draw")
    check_picture(path)
    if dataset.num_classes > MAX_CLASSES:
        raise DataError(f"{dataset.name}: {dataset.num_classes} classes do not fit one picture")
    joint = dataset.name.startswith("structure-frequency")
    columns = NUM_MODES if joint else min(dataset.num_classes, 6)
    rows = -(-dataset.num_classes // columns)
    figure = Figure(figsize=(1.7 * columns, 1.8 * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flat
    first = {int(graph.y): graph for graph in reversed(dataset.graphs)}
    for label, axis in enumerate(axes):
        axis.set_axis_off()
        axis.set_aspect("equal")
        if label in first:
            _draw(axis, first[label], circular=joint)
            title = dataset.class_names[label] if joint else f"class {dataset.class_names[label]}"
            axis.set_title(title, fontsize=9, parse_math=False)  # a user's word is no formula
    figure.suptitle(f"{dataset.name}: one graph of each class", fontsize=11, parse_math=False)
    save(figure, path)


def _draw(axis: Axes, graph: Data, *, circular: bool) -> None:
    nodes = int(graph.num_nodes)
    if nodes > MAX_NODES:
        axis.text(0.5, 0.5, f"{nodes} nodes", ha="center", va="center", transform=axis.transAxes)
        return
    places = _circle(nodes) if circular else _by_forces(graph)
    sender, receiver = graph.edge_index.numpy()
    once = sender < receiver
    axis.plot(
        *np.stack([places[sender[once]], places[receiver[once]]]).transpose(2, 0, 1), color="0.7", lw=0.7, zorder=1
    )
    x = graph.x.numpy()
    if x.shape[1] == 1:
        limit = max(float(np.abs(x).max()), 1e-9)
        axis.scatter(places[:, 0], places[:, 1], c=x[:, 0], cmap="coolwarm", vmin=-limit, vmax=limit, s=14, zorder=2)
    else:
        axis.scatter(places[:, 0], places[:, 1], c=x.argmax(axis=1), cmap="tab20", vmin=0, vmax=19, s=14, zorder=2)


def _circle(nodes: int) -> npt.NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(nodes) / nodes
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def _by_forces(graph: Data) -> npt.NDArray[np.float64]:
    import networkx as nx

    drawn = nx.empty_graph(int(graph.num_nodes))
    drawn.add_edges_from(graph.edge_index.t().tolist())
    places = nx.spring_layout(drawn, seed=0)
    return np.array([places[node] for node in range(int(graph.num_nodes))])

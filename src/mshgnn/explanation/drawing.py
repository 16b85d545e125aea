"""Pictures of findings: molecules by RDKit, other graphs by networkx and matplotlib.

Orange speaks for the prediction, blue against it; the stronger the colour, the more.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.image import imread
from torch import Tensor

from mshgnn.explanation.explain import Explanation, Finding
from mshgnn.explanation.methods import METHODS
from mshgnn.files import written

FOR, AGAINST, PLAIN = (0.90, 0.42, 0.05), (0.10, 0.42, 0.80), (0.80, 0.80, 0.80)
INK = "#222222"
MOST_NODES = 60
"""Of a larger graph the most important nodes are drawn."""
NAMED_NODES = 30
LEAST_SHARE = 0.04
"""Below it an atom or bond is left plain: a white mark would cut into the coloured ones beside it."""
DARK_SHARE = 0.6
"""From it on the name of a node is white."""
Colour = tuple[float, float, float]


def shade(value: float, ground: Colour = (1.0, 1.0, 1.0)) -> Colour:
    """A share between -1 and 1 as a colour between blue, the ground and orange."""
    full, share = (FOR if value >= 0 else AGAINST), min(1.0, abs(value))
    red, green, blue = (g + share * (c - g) for c, g in zip(full, ground, strict=True))
    return red, green, blue


def shares(values: Tensor) -> Tensor:
    """Values in units of the greatest. Numbers without a sign start from their least, so that the rest stays pale."""
    if values.numel() and float(values.min()) > 0:
        values = values - values.min()
    greatest = float(values.abs().max()) if values.numel() else 0.0
    return values / greatest if greatest > 0 else torch.zeros_like(values)


def as_svg(explanation: Explanation, finding: Finding) -> str:
    """The finding as a picture for a page."""
    if explanation.smiles is not None:
        from rdkit.Chem.Draw import rdMolDraw2D

        return _molecule(explanation, finding, rdMolDraw2D.MolDraw2DSVG(460, 340))
    figure = Figure(figsize=(4.6, 3.4))
    _draw_graph(figure.add_axes((0, 0, 1, 1)), explanation, finding)
    file = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "mshgnn"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue().decode()


def save_png(explanation: Explanation, path: Path) -> Path:
    """All findings of an item side by side."""
    findings = explanation.findings
    columns = min(3, len(findings))
    lines = -(-len(findings) // columns)
    figure = Figure(figsize=(4.4 * columns, 3.7 * lines + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in grid:
        axes.axis("off")
    for axes, finding in zip(grid, findings, strict=False):
        if explanation.smiles is not None:
            from rdkit.Chem.Draw import rdMolDraw2D

            drawn: Any = _molecule(explanation, finding, rdMolDraw2D.MolDraw2DCairo(920, 680))
            axes.imshow(imread(BytesIO(drawn)), interpolation="antialiased")
        else:
            _draw_graph(axes, explanation, finding)
        measured = "" if finding.fidelity is None else f"  fidelity {finding.fidelity.score:.2f}"
        axes.set_title(METHODS[finding.method].title + measured, fontsize=11, color=INK, loc="left")
    truth = f", in the file {explanation.truth}" if explanation.truth else ""
    figure.suptitle(f"{explanation.title}: {explanation.prediction}{truth}", fontsize=13, color=INK, x=0.01, ha="left")
    figure.supxlabel(
        "orange speaks for the prediction, blue against it", fontsize=9, color="#555555", x=0.01, ha="left"
    )
    with written(path) as file:
        figure.savefig(file, dpi=110, format="png", facecolor="white")
    return path


def _molecule(explanation: Explanation, finding: Finding, canvas: Any) -> Any:
    """SVG text or PNG bytes, as the canvas has it."""
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    molecule = Chem.MolFromSmiles(explanation.smiles)
    atoms = {
        atom: shade(value)
        for atom, value in enumerate(shares(finding.importance.nodes).tolist())
        if abs(value) >= LEAST_SHARE
    }
    bonds = {}
    for (one, other), value in zip(
        explanation.links.t().tolist(), shares(finding.importance.links).tolist(), strict=True
    ):
        bond = molecule.GetBondBetweenAtoms(one, other)
        if bond is not None and abs(value) >= LEAST_SHARE:  # a loop has no bond
            bonds[bond.GetIdx()] = shade(value)
    options = canvas.drawOptions()
    options.useBWAtomPalette()
    options.highlightBondWidthMultiplier = 14
    options.highlightRadius = 0.36
    options.clearBackground = False
    options.padding = 0.08
    rdMolDraw2D.PrepareAndDrawMolecule(
        canvas,
        molecule,
        highlightAtoms=list(atoms),
        highlightAtomColors=atoms,
        highlightBonds=list(bonds),
        highlightBondColors=bonds,
    )
    canvas.FinishDrawing()
    return canvas.GetDrawingText()


def _draw_graph(axes: Axes, explanation: Explanation, finding: Finding) -> None:
    importance = finding.importance.nodes
    order = importance.abs().argsort(descending=True, stable=True)[:MOST_NODES].tolist()
    shown = sorted({*order, *([] if explanation.node is None else [explanation.node])})
    there = set(shown)
    of_links = shares(finding.importance.links).tolist()
    links = [
        (one, other, value)
        for (one, other), value in zip(explanation.links.t().tolist(), of_links, strict=True)
        if one in there and other in there and one != other
    ]
    graph = nx.Graph((one, other) for one, other, _ in links)
    graph.add_nodes_from(shown)
    position = _layout(graph)
    links.sort(key=lambda link: abs(link[2]))
    axes.add_collection(
        LineCollection(
            [[position[one], position[other]] for one, other, _ in links],
            colors=[shade(value, PLAIN) for _, _, value in links],
            linewidths=[1.0 + 4.0 * abs(value) for _, _, value in links],
            zorder=1,
        )
    )
    of_nodes = shares(importance)
    asked = explanation.node
    axes.scatter(
        [position[node][0] for node in shown],
        [position[node][1] for node in shown],
        c=[shade(float(of_nodes[node])) for node in shown],
        s=[190 if len(shown) <= NAMED_NODES else 60] * len(shown),
        edgecolors=[INK if node == asked else "#888888" for node in shown],
        linewidths=[2.4 if node == asked else 0.8 for node in shown],
        zorder=2,
    )
    if len(shown) <= NAMED_NODES:
        for node in shown:
            name = explanation.node_names[node].partition(" ")[0]
            colour = "white" if abs(float(of_nodes[node])) >= DARK_SHARE else INK
            axes.annotate(name, position[node], ha="center", va="center", fontsize=7, color=colour, zorder=3)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.axis("off")


def _layout(graph: nx.Graph) -> dict[int, Any]:
    if graph.number_of_edges() == 0:
        return nx.circular_layout(graph)
    if nx.is_connected(graph):
        return nx.kamada_kawai_layout(graph)
    start = nx.circular_layout(graph)
    found = nx.spring_layout(graph, pos=start, seed=0, k=1.6 / np.sqrt(len(graph)), iterations=200)
    return dict(found)

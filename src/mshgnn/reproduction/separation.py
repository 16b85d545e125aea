"""Who tells which graphs apart: what theory says, and what models with random weights do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby

import networkx as nx
import torch
from networkx.generators.atlas import graph_atlas_g
from torch import Tensor
from torch_geometric.data import Batch, Data

from mshgnn.machine import threads
from mshgnn.models import MODELS, build
from mshgnn.report.markdown import markdown
from mshgnn.reproduction import refinement
from mshgnn.reproduction.refinement import View, told_apart

SEEDS = (0, 1, 2)
ALIKE, APART = 1e-11, 1e-8
"""Largest difference of embeddings, relative to their largest entry, that is rounding, and least one that is not."""


@dataclass(frozen=True)
class Contender:
    """A model of the table, and the refinement that bounds it."""

    view: View
    bound: str
    options: Mapping[str, object]


def contenders() -> dict[str, Contender]:
    """The models, deep enough to see what they can, at their default kinds of substructure."""
    layers = {"hidden_channels": 16, "num_layers": 6}
    return {
        "msh-stable": Contender(refinement.nodes, "1-WL", {**layers, "num_projections": 8}),
        "gin": Contender(refinement.nodes, "1-WL", {**layers, "readout": "sum"}),
        "ign": Contender(refinement.nodes, "1-WL", {"hidden_channels": 64}),
        "ppgn": Contender(refinement.pairs, "3-WL", {"hidden_channels": 16, "num_layers": 4}),
        "gsn": Contender(refinement.edges_in_cycles(6), "1-WL with cycles ≤ 6 per edge", layers),
        "sin": Contender(refinement.cliques(2), "cliques ≤ 3", layers),
        "cin": Contender(refinement.rings(6), "rings ≤ 6", layers),
        "pin": Contender(refinement.paths(3), "paths ≤ 3", layers),
    }


def known_pairs() -> dict[str, list[tuple[nx.Graph, nx.Graph]]]:
    """Graphs that 1-WL does not tell apart, by name; no two of a pair are isomorphic."""
    triangle, pentagon = nx.cycle_graph(3), nx.cycle_graph(5)
    decalin = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
    bicyclopentyl = nx.Graph([*nx.disjoint_union(pentagon, pentagon).edges, (0, 5)])
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    torus = [(a, b) for a in range(4) for b in range(4)]
    steps = [(0, 1), (1, 0), (1, 1)]
    shrikhande = nx.Graph(((a, b), ((a + s) % 4, (b + t) % 4)) for a, b in torus for s, t in steps)
    circles = [nx.circulant_graph(41, [1, skip]) for skip in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)]
    integers = nx.convert_node_labels_to_integers
    return {
        "two triangles, hexagon": [(nx.disjoint_union(triangle, triangle), nx.cycle_graph(6))],
        "decalin, bicyclopentyl": [(decalin, bicyclopentyl)],
        "rook 4×4, Shrikhande": [(integers(rook), integers(shrikhande))],
        "circles of 41 nodes with skip links": list(combinations(circles, 2)),
        "atlas, up to 7 nodes": atlas_pairs(),
    }


def atlas_pairs() -> list[tuple[nx.Graph, nx.Graph]]:
    """All pairs of graphs of up to seven nodes that 1-WL does not tell apart."""

    def degrees(graph: nx.Graph) -> tuple[int, ...]:
        return tuple(sorted(degree for _, degree in graph.degree))

    found = []
    for _, members in groupby(sorted(graph_atlas_g()[1:], key=degrees), key=degrees):
        graphs = list(members)
        if len(graphs) > 1:
            classes = told_apart(refinement.nodes, graphs)
            alike = [(i, j) for i, j in combinations(range(len(graphs)), 2) if classes[i] == classes[j]]
            found += [(graphs[i], graphs[j]) for i, j in alike]
    return found


def in_theory(model: str, graphs: Sequence[nx.Graph]) -> Callable[[int, int], bool]:
    """What the refinement behind the model tells apart."""
    classes = told_apart(contenders()[model].view, graphs)
    return lambda one, other: classes[one] != classes[other]


def in_code(model: str, graphs: Sequence[nx.Graph]) -> Callable[[int, int], bool]:
    """What the model tells apart with any of three draws of its weights, in double precision, features constant."""
    return apart_in_code(model, contenders()[model].options, graphs)


def apart_in_code(model: str, options: Mapping[str, object], graphs: Sequence[nx.Graph]) -> Callable[[int, int], bool]:
    """The same for any options."""
    batch = Batch.from_data_list([as_data(graph) for graph in graphs])
    embeddings = [embedded(model, options, batch, seed) for seed in SEEDS]

    def apart(one: int, other: int) -> bool:
        gaps = [float((e[one] - e[other]).abs().max() / e[one].abs().max()) for e in embeddings]
        if ALIKE < max(gaps) < APART:
            raise RuntimeError(f"{model}: a difference of {max(gaps):.1g} is neither rounding nor none")
        return max(gaps) >= APART

    return apart


def embedded(model: str, options: Mapping[str, object], batch: Batch, seed: int) -> Tensor:
    """The embeddings ``[graphs, d]`` that one draw of weights gives.

    On one thread: the tensors are small, and two threads that share a busy processor wait for each other.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad(), threads(1):
        torch.manual_seed(seed)
        made = build(model, 1, 2, task="graph", options=options).double().eval()
        return made.embed(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)


def as_data(graph: nx.Graph) -> Data:
    """A graph of the nodes ``0, 1, ...`` whose only feature is 1."""
    one_way = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
    return Data(x=torch.ones(len(graph), 1).double(), edge_index=torch.cat([one_way, one_way.flip(0)], dim=1))


@dataclass(frozen=True)
class Verdict:
    """For every pair of a list whether it is told apart."""

    theory: tuple[bool, ...]
    code: tuple[bool, ...]


@cache
def separated() -> dict[str, dict[str, Verdict]]:
    """What is told apart, by name of the pairs and by model."""
    found: dict[str, dict[str, Verdict]] = {}
    for name, pairs in known_pairs().items():
        graphs = list({id(graph): graph for pair in pairs for graph in pair}.values())
        place = {id(graph): number for number, graph in enumerate(graphs)}
        places = [(place[id(one)], place[id(other)]) for one, other in pairs]
        found[name] = {}
        for model in contenders():
            theory, code = (verdict(model, graphs) for verdict in (in_theory, in_code))
            found[name][model] = Verdict(tuple(theory(*two) for two in places), tuple(code(*two) for two in places))
    return found


def who_separates() -> str:
    """The table: pairs told apart in theory and in code."""
    models = contenders()
    rows = [["*seen at best*", *(contender.bound for contender in models.values())]]
    for name, by_model in separated().items():
        cells = []
        for verdict in by_model.values():
            theory, code = (_count(apart) for apart in (verdict.theory, verdict.code))
            cells.append(code if verdict.theory == verdict.code else f"{code}, in theory {theory}")
        rows.append([name, *cells])
    return markdown(["told apart", *(MODELS[model].title for model in models)], rows)


def _count(apart: tuple[bool, ...]) -> str:
    return ("yes" if apart[0] else "no") if len(apart) == 1 else f"{sum(apart)} of {len(apart)}"

"""What models tell apart: theory and code say the same on every pair."""

from __future__ import annotations

import networkx as nx
import pytest

from mshgnn.reproduction import refinement
from mshgnn.reproduction.refinement import View, told_apart
from mshgnn.reproduction.separation import apart_in_code, contenders, known_pairs, separated

# How many pairs of each kind are told apart, in the order of known_pairs().
EXPECTED = {
    "msh-stable": (0, 0, 0, 0, 0),
    "gin": (0, 0, 0, 0, 0),
    "ign": (0, 0, 0, 0, 0),
    "ppgn": (1, 1, 0, 45, 26),
    "gsn": (1, 1, 0, 35, 26),
    "sin": (1, 0, 0, 9, 26),
    "cin": (1, 1, 1, 35, 26),
    "pin": (1, 0, 1, 9, 26),
}
NEVER = 99
SMALL = {"hidden_channels": 8, "num_layers": 5}


def twice(graph: nx.Graph) -> nx.Graph:
    return nx.disjoint_union(graph, graph)


def pair(name: str) -> tuple[nx.Graph, nx.Graph]:
    if name.startswith("C"):
        size = int(name[1:])
        return nx.cycle_graph(size), twice(nx.cycle_graph(size // 2))
    if name == "prism":
        return nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)
    return next(found[0] for known, found in known_pairs().items() if known.startswith(name))


def test_the_pairs_are_what_they_are_called() -> None:
    sizes = {name: len(found) for name, found in known_pairs().items()}
    assert list(sizes.values()) == [1, 1, 1, 45, 26]
    for name, found in known_pairs().items():
        for one, other in found:
            assert told_apart(refinement.nodes, [one, other]) == [0, 0]
            if "circles" not in name:  # which 3-WL tells apart
                assert not nx.is_isomorphic(one, other)


@pytest.mark.parametrize("model", contenders())
def test_theory_and_code_agree_on_every_pair(model: str) -> None:
    verdicts = [by_model[model] for by_model in separated().values()]
    for verdict in verdicts:
        assert verdict.code == verdict.theory
    assert tuple(sum(verdict.code) for verdict in verdicts) == EXPECTED[model]


# From which size of cell on each pair is told apart: simplices of a dimension, rings of a size, paths of a length.
THRESHOLDS = {
    "C6": (2, 3, 2),
    "C8": (NEVER, 4, 4),
    "C10": (NEVER, 5, 5),
    "decalin": (NEVER, 5, 5),
    "prism": (2, 3, 2),
    "rook": (3, 4, 3),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_cells_tell_apart_from_their_size_on(name: str) -> None:
    graphs = pair(name)
    least = dict(zip(("sin", "cin", "pin"), THRESHOLDS[name], strict=True))
    sizes = {"sin": (2, 3), "cin": (3, 4, 5), "pin": (1, 2, 3, 4, 5) if name != "rook" else (1, 2, 3)}
    views = {"sin": refinement.cliques, "cin": refinement.rings, "pin": refinement.paths}
    option = {"sin": "dimension", "cin": "largest_ring", "pin": "longest_path"}
    for model, tried in sizes.items():
        for size in tried:
            expected = size >= least[model]
            classes = told_apart(views[model](size), graphs)
            assert (classes[0] != classes[1]) == expected, (model, size)
            assert apart_in_code(model, {**SMALL, option[model]: size}, graphs)(0, 1) == expected, (model, size)


@pytest.mark.parametrize(
    ("options", "apart"),
    [
        ({"substructures": "cycles", "largest": 6}, False),
        ({"substructures": "induced-cycles", "largest": 4}, True),
        ({"substructures": "cliques", "largest": 3}, False),
        ({"substructures": "cliques", "largest": 4}, True),
    ],
)
@pytest.mark.parametrize("holder", ["edge", "node"])
def test_gsn_tells_rook_from_shrikhande_by_induced_squares_or_by_cliques_of_four(
    options: dict[str, object], holder: str, apart: bool
) -> None:
    assert apart_in_code("gsn", {**SMALL, **options, "holder": holder}, pair("rook"))(0, 1) == apart


@pytest.mark.parametrize(
    "view",
    [
        refinement.nodes,
        refinement.pairs,
        refinement.edges_in_cycles(5),
        refinement.cliques(2),
        refinement.rings(5),
        refinement.paths(3),
    ],
)
def test_refinement_never_tells_a_graph_from_itself_renamed(view: View) -> None:
    graph = nx.gnp_random_graph(8, 0.4, seed=1)
    renamed = nx.relabel_nodes(graph, {v: (3 * v + 1) % 8 for v in graph})
    assert told_apart(view, [graph, renamed, nx.path_graph(8)]) == [0, 0, 1]

r"""Structural entropy, and groups of nodes that make it small (Li & Pan, 2016; Wu et al., 2022).

.. math::
    H^T = - \sum_{a \neq \text{root}} \frac{g_a}{\mathrm{vol}(V)} \log_2 \frac{\mathrm{vol}(a)}{\mathrm{vol}(a^+)}

of a tree ``T`` whose leaves are nodes: :math:`\mathrm{vol}` is the sum of degrees below ``a``, :math:`g_a` the number
of edges that leave it, :math:`a^+` its parent.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from math import log2

import networkx as nx

Groups = list[list[int]]


def tree_entropy(graph: nx.Graph, levels: Sequence[Groups]) -> float:
    """The entropy of the tree whose groups of nodes are given level by level, from the finest to below the root."""
    total = 2.0 * graph.number_of_edges()
    entropy = 0.0
    for finer, coarser in pairwise([[[v] for v in graph], *levels, [list(graph)]]):
        above = {v: volume for nodes in coarser for volume in [nx.volume(graph, nodes)] for v in nodes}
        for nodes in finer:
            if leaving := nx.cut_size(graph, nodes):
                entropy -= leaving / total * log2(nx.volume(graph, nodes) / above[nodes[0]])
    return entropy


def partition(graph: nx.Graph, members: Groups) -> Groups:
    """Groups of ``members``, by their places: the tree of height 2 over them that the greedy search finds.

    All is merged two by two, then the tree is made flat. Ties go to the smaller places. A member that is left alone
    under the root is a group of its own.
    """
    tree = MergeTree(graph, members)
    tree.merge()
    tree.flatten()
    return tree.groups()


class MergeTree:
    """A tree over sets of nodes, which are its first rows; every union is one row more."""

    def __init__(self, graph: nx.Graph, members: Groups) -> None:
        owner = {v: number for number, nodes in enumerate(members) for v in nodes}
        self.leaves = len(members)
        self.volume = [float(nx.volume(graph, nodes)) for nodes in members]
        self.total = sum(self.volume)
        self.cuts: dict[int, dict[int, float]] = {number: {} for number in range(self.leaves)}
        """The edges between two groups that are not yet merged, by either."""
        for u, v in graph.edges:
            a, b = owner[u], owner[v]
            if a != b:
                self.cuts[a][b] = self.cuts[b][a] = self.cuts[a].get(b, 0.0) + 1
        self.leaving = [sum(self.cuts[number].values()) for number in range(self.leaves)]
        self.children: dict[int, list[int]] = {}
        self.parent: dict[int, int] = {}
        self.inside: dict[int, float] = {}
        """The edges between the children of a union."""
        self.height = [0] * self.leaves
        self.changes: list[float] = []
        """By how much each merge changed the entropy of the flat partition."""

    def change(self, a: int, b: int) -> float:
        r"""The change of the entropy of the flat partition, times the volume of all, if two groups become one:

        :math:`(v_a - g_a) \log(v / v_a) + (v_b - g_b) \log(v / v_b) - 2 c_{ab} \log(V / v)` with :math:`v = v_a + v_b`.
        """
        union = self.volume[a] + self.volume[b]
        grown = sum((self.volume[c] - self.leaving[c]) * log2(union / self.volume[c]) for c in (a, b))
        return grown - 2 * self.cuts[a][b] * log2(self.total / union)

    def merge(self) -> None:
        """Merge the two adjacent groups of least change until one is left; what stays apart hangs under a new root."""
        heap = [(self.change(a, b), a, b) for a in self.cuts for b in self.cuts[a] if a < b]
        heapq.heapify(heap)
        while heap:
            change, a, b = heapq.heappop(heap)
            if a not in self.cuts or b not in self.cuts:
                continue
            self.changes.append(change / self.total)
            new = self._join([a, b], self.cuts[a][b])
            around: dict[int, float] = {}
            for old in (a, b):
                for neighbour, cut in self.cuts.pop(old).items():
                    if neighbour in self.cuts:
                        del self.cuts[neighbour][old]
                        if neighbour != b:
                            around[neighbour] = around.get(neighbour, 0.0) + cut
            self.cuts[new] = around
            for neighbour, cut in around.items():
                self.cuts[neighbour][new] = cut
                heapq.heappush(heap, (self.change(neighbour, new), neighbour, new))
        if len(self.cuts) != 1 or self.leaves == 1:
            self._join(sorted(self.cuts), 0.0)

    def _join(self, children: list[int], inside: float) -> int:
        new = len(self.volume)
        self.volume.append(sum(self.volume[child] for child in children))
        self.leaving.append(sum(self.leaving[child] for child in children) - 2 * inside)
        self.height.append(1 + max((self.height[child] for child in children), default=0))
        self.children[new], self.inside[new] = children, inside
        self.parent |= dict.fromkeys(children, new)
        return new

    def flatten(self, height: int = 2) -> None:
        """Take out the inner row that raises the entropy least until the tree is no higher; its children move up."""
        root = len(self.volume) - 1
        heap = [(self.cost(a), a) for a in self.children if a != root]
        heapq.heapify(heap)
        while heap and self.height[root] > height:
            cost, a = heapq.heappop(heap)
            # Depths and heights only fall: what lies on no path that is too long never will.
            if a not in self.children or cost != self.cost(a) or self._depth(a) + self.height[a] <= height:
                continue
            moved, above = self.children.pop(a), self.parent.pop(a)
            self.children[above] = [child for child in self.children[above] if child != a] + moved
            self.inside[above] += self.inside.pop(a)
            self.parent |= dict.fromkeys(moved, above)
            for changed in (above, *moved):
                if changed in self.children and changed != root:
                    heapq.heappush(heap, (self.cost(changed), changed))
            self._lower(above)

    def cost(self, a: int) -> float:
        """The rise of the entropy of the tree, up to a factor, if an inner row is taken out."""
        return self.inside[a] * log2(self.volume[self.parent[a]] / self.volume[a])

    def _depth(self, a: int) -> int:
        depth = 0
        while a in self.parent:
            a, depth = self.parent[a], depth + 1
        return depth

    def _lower(self, a: int) -> None:
        """Heights from ``a`` upwards, as far as they change."""
        while (now := 1 + max(self.height[child] for child in self.children[a])) != self.height[a]:
            self.height[a] = now
            if a not in self.parent:
                return
            a = self.parent[a]

    def groups(self) -> Groups:
        """The leaves below each child of the root, in the order of their first."""
        found = []
        for child in self.children[len(self.volume) - 1]:
            below, waiting = [], [child]
            while waiting:
                row = waiting.pop()
                if row in self.children:
                    waiting += self.children[row]
                else:
                    below.append(row)
            found.append(sorted(below))
        return sorted(found)

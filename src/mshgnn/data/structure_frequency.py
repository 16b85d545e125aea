"""The joint structure-frequency task: 3 families of graphs x 10 Laplacian modes = 30 classes.

A graph's only feature is one eigenvector of its Laplacian ``L = D - A``, so a model must see both the structure and the
frequency. Everything is made of IEEE sums, products, quotients and roots in a fixed order (no LAPACK, no
trigonometry), so a seed gives the same bits on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.jacobi import symmetric_eigenvectors

FAMILIES = ("ring", "chain", "perturbed")
NUM_MODES = 10
SAME_EIGENVALUE = 1e-8
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StructureFrequencyDataset:
    """Generator of the task; ``generate()`` gives the data set object.

    Class ``10 s + k`` is family ``s`` of (ring, chain, perturbed ring) with mode ``k``, in the order of eigenvalues.

    Args:
        nodes: number of nodes, or the smallest and largest.
        graphs_per_class: graphs of each of the 30 classes.
        rewired: share of a perturbed ring's edges that get a new end. The ring stays connected.
        random_sign: multiply every signal by a random sign (an eigenvector has none).
        basis: in an eigenspace of more than one dimension (every ring mode but the first), ``solver`` takes
            the solver's vector, the same for every equal graph; ``random`` a uniformly random unit vector.
        seed: of everything random.
    """

    nodes: int | tuple[int, int] = 30
    graphs_per_class: int = 100
    rewired: float = 0.2
    random_sign: bool = True
    basis: Literal["solver", "random"] = "solver"
    seed: int = 0
    name: str = "structure-frequency"

    def __post_init__(self) -> None:
        """Refuse settings that have no meaning."""
        low, high = self.node_range
        if not NUM_MODES < low <= high:
            raise DataError(f"nodes must be more than {NUM_MODES} and in order, not {self.nodes}")
        if self.graphs_per_class < 1:
            raise DataError(f"graphs_per_class must be at least 1, not {self.graphs_per_class}")
        if not 0 <= self.rewired <= 0.5:
            raise DataError(f"rewired must be in 0..0.5, not {self.rewired}")
        if self.basis not in ("solver", "random"):
            raise DataError(f"basis must be 'solver' or 'random', not {self.basis!r}")

    @property
    def node_range(self) -> tuple[int, int]:
        """Smallest and largest number of nodes."""
        return self.nodes if isinstance(self.nodes, tuple) else (self.nodes, self.nodes)

    @classmethod
    def variant(cls, name: str, *, graphs_per_class: int = 100, seed: int = 0) -> StructureFrequencyDataset:
        """The named variants: ``fixed`` (n = 30), ``varied`` (n in 20..40), ``wellposed`` (random basis)."""
        full_name = f"structure-frequency-{name}"
        if graphs_per_class != 100:  # another size is another data set: it has other splits
            full_name += f"-{graphs_per_class}-per-class"
        if name == "fixed":
            return cls(30, graphs_per_class, seed=seed, name=full_name)
        if name == "varied":
            return cls((20, 40), graphs_per_class, seed=seed, name=full_name)
        if name == "wellposed":
            return cls((20, 40), graphs_per_class, basis="random", seed=seed, name=full_name)
        raise DataError(f"unknown structure-frequency variant {name!r}; one of fixed, varied, wellposed")

    def generate(self) -> GraphDataset:
        """Make the graphs, ordered by class."""
        random = np.random.default_rng(self.seed)
        low, high = self.node_range
        per_family = NUM_MODES * self.graphs_per_class
        modes = np.repeat(np.arange(NUM_MODES), self.graphs_per_class)
        graphs: list[Data] = []
        for family in range(len(FAMILIES)):
            sizes = random.integers(low, high + 1, size=per_family)
            made: dict[int, Data] = {}
            for n in range(low, high + 1):
                positions = np.flatnonzero(sizes == n)
                if positions.size:
                    targets = family * NUM_MODES + modes[positions]
                    made.update(zip(positions.tolist(), self._batch(random, n, targets), strict=True))
            graphs.extend(made[position] for position in range(per_family))
        names = [f"{family}, k = {mode}" for family in FAMILIES for mode in range(NUM_MODES)]
        return from_graphs(graphs, name=self.name, class_names=names)

    def ceiling(self) -> float:
        """The best accuracy any model can reach that does not see the order of the nodes.

        Chains and perturbed rings have distinct eigenvalues. Modes of a ring come in pairs: with a random basis the two
        look the same; with the solver's, they do when one is the other turned, mirrored or negated.
        """
        low, high = self.node_range
        told_apart = [self._distinct_ring_modes(n) / NUM_MODES for n in range(low, high + 1)]
        others = len(FAMILIES) - 1
        return (float(np.mean(told_apart)) + others) / len(FAMILIES)

    def eigenvalue_ceiling(self, rings: int = 400) -> float:
        """An estimate of the best accuracy from a graph's family, its size and the signal's eigenvalue alone.

        A chain's eigenvalue tells its mode, a ring's the pair of modes. A perturbed ring has a spectrum of its own, so
        that the place of an eigenvalue in it is a guess: the most frequent mode in each of fifty bins of eigenvalues.
        How good that is, is estimated for every size, from ``rings`` drawn perturbed rings on as many others.
        """
        random = np.random.default_rng(self.seed)
        low, high = self.node_range
        right = []
        for n in range(low, high + 1):
            told = _distinct_eigenvalues(np.linalg.eigvalsh(laplacian(ring(n))))
            perturbed = laplacian(rewired_rings(random, n, 2 * rings, round(self.rewired * n)))
            # Rounded, for what is equal but for the solver's last bits must not tell modes apart.
            guessed = _guessed_modes(*np.split(np.linalg.eigvalsh(perturbed)[:, :NUM_MODES].round(8), 2))
            right.append((told / NUM_MODES + 1.0 + guessed) / len(FAMILIES))
        return float(np.mean(right))

    def _distinct_ring_modes(self, n: int) -> int:
        values, vectors = symmetric_eigenvectors(laplacian(ring(n)[None]))
        if self.basis == "random":
            return _distinct_eigenvalues(values[0])
        # Two sinusoids of one frequency on a ring are the same up to its symmetries when their sorted values are.
        signals = vectors[0, :, :NUM_MODES].T
        looks = {min(tuple(np.sort(x).round(6) + 0.0), tuple(np.sort(-x).round(6) + 0.0)) for x in signals}
        return len(looks)

    def _batch(self, random: np.random.Generator, n: int, targets: Ints) -> list[Data]:
        """Graphs of one family and one size, all at once."""
        family, count = FAMILIES[targets[0] // NUM_MODES], len(targets)
        if family == "perturbed":
            adjacency = rewired_rings(random, n, count, round(self.rewired * n))
            values, vectors = symmetric_eigenvectors(laplacian(adjacency))
        else:
            one = ring(n)[None] if family == "ring" else chain(n)[None]
            values, vectors = symmetric_eigenvectors(laplacian(one))
            adjacency, values, vectors = (np.broadcast_to(a, (count, *a.shape[1:])) for a in (one, values, vectors))
        rows = np.arange(count)
        modes = targets % NUM_MODES
        signals = vectors[rows, :, modes]
        if self.basis == "random":
            signals = np.stack([_random_in_eigenspace(random, values[i], vectors[i], modes[i]) for i in rows])
        if self.random_sign:
            signals = signals * (2.0 * random.integers(0, 2, size=(count, 1)) - 1.0)
        x = torch.from_numpy(signals.astype(np.float32)).unsqueeze(-1)
        different = adjacency if family == "perturbed" else adjacency[:1]
        edges = [torch.from_numpy(np.stack(np.nonzero(matrix))) for matrix in different]
        y = torch.from_numpy(targets)
        return [Data(x=x[i], edge_index=edges[i % len(edges)], y=y[i : i + 1]) for i in range(count)]


def ring(n: int) -> Floats:
    """Adjacency matrix ``[n, n]`` of the cycle."""
    adjacency = chain(n)
    adjacency[0, -1] = adjacency[-1, 0] = 1.0
    return adjacency


def chain(n: int) -> Floats:
    """Adjacency matrix ``[n, n]`` of the path."""
    return np.eye(n, k=1) + np.eye(n, k=-1)


def laplacian(adjacency: Floats) -> Floats:
    """``L = D - A`` of a batch of graphs, ``[batch, n, n]``."""
    degrees: Floats = np.eye(adjacency.shape[-1]) * adjacency.sum(axis=-1, keepdims=True)
    return degrees - adjacency


def rewired_rings(random: np.random.Generator, n: int, count: int, rewired: int) -> Floats:
    """``count`` connected rings of which ``rewired`` edges got a new end, ``[count, n, n]``.

    An edge ``(i, i + 1)`` keeps ``i`` and gets a random new end that is not ``i`` and no neighbour of ``i``.
    Rings that fall apart are drawn again.
    """
    done = np.empty((0, n, n))
    while len(done) < count:
        drawn = _rewire(random, n, count, rewired)
        done = np.concatenate([done, drawn[_connected(drawn)]])
    return done[:count]


def _rewire(random: np.random.Generator, n: int, count: int, rewired: int) -> Floats:
    adjacency = np.repeat(ring(n)[None], count, axis=0)
    rows = np.arange(count)
    chosen = random.random((count, n)).argsort(axis=1, kind="stable")[:, :rewired]
    for kept in chosen.T:
        old = (kept + 1) % n
        keys = random.random((count, n))
        keys[adjacency[rows, kept] > 0] = -1.0  # neighbours, the old end among them
        keys[rows, kept] = -1.0
        new = keys.argmax(axis=1)
        adjacency[rows, kept, old] = adjacency[rows, old, kept] = 0.0
        adjacency[rows, kept, new] = adjacency[rows, new, kept] = 1.0
    return adjacency


def _connected(adjacency: Floats) -> npt.NDArray[np.bool_]:
    """Whether every node is reached from node 0: steps double by squaring the reachability matrix."""
    reached = adjacency + np.eye(adjacency.shape[-1])
    for _ in range(int(adjacency.shape[-1]).bit_length()):
        reached = (reached @ reached > 0).astype(np.float64)
    everywhere: npt.NDArray[np.bool_] = np.all(reached[:, 0] > 0, axis=1)
    return everywhere


def _distinct_eigenvalues(values: npt.NDArray[np.floating]) -> int:
    """How many of the eigenvalues of the modes, in ascending order, differ."""
    return 1 + int((np.diff(values[:NUM_MODES]) > SAME_EIGENVALUE).sum())


def _guessed_modes(known: Floats, new: Floats, bins: int = 50) -> float:
    """How often the most frequent mode of a bin of known eigenvalues ``[graphs, modes]`` is the mode of a new one."""
    edges = np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])
    counts = np.zeros((bins, known.shape[1]), dtype=np.int64)
    modes = np.broadcast_to(np.arange(known.shape[1]), known.shape)
    np.add.at(counts, (np.searchsorted(edges, known), modes), 1)
    return float(np.mean(counts.argmax(axis=1)[np.searchsorted(edges, new)] == modes))


def _random_in_eigenspace(random: np.random.Generator, values: Floats, vectors: Floats, mode: int) -> Floats:
    """A uniformly random unit vector of the eigenspace of ``values[mode]``.

    Its coordinates are a uniform point of the ball (by rejection from the cube), scaled to length 1.
    """
    space = vectors[:, np.abs(values - values[mode]) < SAME_EIGENVALUE]
    if space.shape[1] == 1:
        return space[:, 0]
    while True:
        point = np.multiply(2.0, random.random(space.shape[1])) - 1.0
        square = float(np.sum(point * point))
        if 1e-4 < square <= 1.0:
            break
    signal: Floats = (space * (point / np.sqrt(square))).sum(axis=1)
    return signal

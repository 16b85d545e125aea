"""Whether to believe an explanation: take its nodes away, keep them alone, and compare with nodes drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mshgnn.explanation.question import Question

SHARES = (0.1, 0.2, 0.3, 0.5)
"""Of the nodes, which are taken away or kept."""
DRAWS = 40
"""Random rankings that an explanation is compared with."""
BELIEVED = 0.95
"""An explanation counts as better than chance when it beats this share of the draws."""
FEWEST_NODES = 4


@dataclass(frozen=True)
class Fidelity:
    """How an explanation's ranking of nodes compares with random ones.

    ``necessity``: the share of random rankings whose nodes, taken away, change the score less. ``sufficiency``: the
    share whose nodes, kept alone, keep the score worse. A tie counts one half. ``curve`` has for each share of
    ``SHARES`` the score without these nodes and with them alone, ``random`` the means of the draws.
    """

    necessity: float
    sufficiency: float
    whole: float
    curve: tuple[tuple[float, float], ...]
    random: tuple[tuple[float, float], ...]

    @property
    def score(self) -> float:
        """Between 0 and 1, the mean of both; one half is chance."""
        return 0.5 * (self.necessity + self.sufficiency)

    @property
    def verdict(self) -> str:
        """In words."""
        needed, enough = self.necessity >= BELIEVED, self.sufficiency >= BELIEVED
        if needed and enough:
            return "believe it: without the nodes it ranks first the prediction goes, with them alone it stays"
        if needed:
            return "believe half of it: without these nodes the prediction goes, but they alone do not make it"
        if enough:
            return "believe half of it: these nodes alone make the prediction, but without them others do"
        return "do not believe it: nodes drawn at random explain the prediction about as well"


@dataclass(frozen=True)
class Ruler:
    """Measures rankings of the nodes of one question; the random ones are computed once.

    Several questions are members of an ensemble, all about the same nodes: their scores are averaged.
    """

    questions: tuple[Question, ...]

    @property
    def obstacle(self) -> str | None:
        """Why nothing can be measured."""
        few = len(self._free) < FEWEST_NODES
        return f"fidelity needs at least {FEWEST_NODES} nodes to take away" if few else None

    def measure(self, nodes: Tensor, *, signed: bool) -> Fidelity:
        """The fidelity of numbers ``[N]``, the greatest first."""
        order = self._free[nodes[self._free].argsort(descending=True, stable=True)]
        whole, curve = self._whole, self._curve(order)
        random = self._random
        lost, lost_random = (_lost(whole, c[..., 0], signed=signed) for c in (curve, random))
        off, off_random = ((whole - c[..., 1]).abs().mean(dim=-1) for c in (curve, random))
        return Fidelity(
            beaten(lost, lost_random),
            beaten(-off, -off_random),
            whole,
            tuple((float(without), float(alone)) for without, alone in curve),
            tuple((float(without), float(alone)) for without, alone in random.mean(dim=0)),
        )

    @cached_property
    def _free(self) -> Tensor:
        """The nodes that may be taken away: all but the one that a node task asks about."""
        question = self.questions[0]
        return torch.tensor([node for node in range(question.num_nodes) if node != question.node], dtype=torch.long)

    @cached_property
    def _whole(self) -> float:
        return float(self._scores([torch.ones(self.questions[0].num_nodes, dtype=torch.bool)]))

    @cached_property
    def _random(self) -> Tensor:
        """``[DRAWS, SHARES, 2]``."""
        generator = torch.Generator().manual_seed(0)
        orders = [self._free[torch.randperm(len(self._free), generator=generator)] for _ in range(DRAWS)]
        kept = [mask for order in orders for mask in self._kept(order)]
        return self._scores(kept).view(DRAWS, len(SHARES), 2)

    def _curve(self, order: Tensor) -> Tensor:
        """Scores ``[SHARES, 2]``: without the first nodes, with them alone."""
        return self._scores(self._kept(order)).view(len(SHARES), 2)

    def _kept(self, order: Tensor) -> list[Tensor]:
        kept = []
        for share in SHARES:
            count = max(1, round(share * len(order)))
            without = torch.ones(self.questions[0].num_nodes, dtype=torch.bool)
            without[order[:count]] = False
            alone = torch.ones_like(without)
            alone[order[count:]] = False
            kept += [without, alone]
        return kept

    def _scores(self, kept: list[Tensor]) -> Tensor:
        return torch.stack([question.scores_with(kept) for question in self.questions]).mean(dim=0)


def _lost(whole: float, without: Tensor, *, signed: bool) -> Tensor:
    """How far the score falls, or for numbers without a sign how far it moves: ``[SHARES] -> []``."""
    change = whole - without
    return (change if signed else change.abs()).mean(dim=-1)


def beaten(own: Tensor, random: Tensor) -> float:
    """The share of the random figures that the own one exceeds; a tie counts one half."""
    tied = torch.isclose(own, random, rtol=1e-4, atol=1e-5)
    return float(torch.where(tied, 0.5, (own > random).double()).mean())  # 38 of 40 are 0.95: single precision has less

"""Who is ranked over the graph sets: models that were run on all folds of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from mshgnn.errors import UserError
from mshgnn.evaluation.ranks import Ranking, rank_models
from mshgnn.evaluation.rules import HEADLINE
from mshgnn.reproduction.layout import FLOORS, GRAPH_SETS, MODELS
from mshgnn.reproduction.results import Results, of_old_preset


@dataclass(frozen=True)
class GraphRanking:
    """The ranks of models, as the results call them, over graph sets."""

    models: tuple[str, ...]
    sets: tuple[str, ...]
    ranking: Ranking

    @property
    def title(self) -> str:
        """What is ranked on which sets, and Friedman's test, in words."""
        sets = ", ".join(GRAPH_SETS[dataset] for dataset in self.sets)
        p = "p < 0.001" if self.ranking.p < 0.001 else f"p = {self.ranking.p:.3f}"
        return f"Average rank by test accuracy over {len(self.sets)} graph sets (1 is best; Friedman {p})\n{sets}"


def rank_graph_models(results: Results) -> GraphRanking:
    """Rank by the headline's mean, unrounded, every model of the tables that has all folds on all graph sets."""
    sets = tuple(GRAPH_SETS)
    models = [model for model in MODELS if model not in FLOORS and all(_is_whole(results, s, model) for s in sets)]
    if len(models) < 3:
        raise UserError(f"a ranking needs three models with all folds on {', '.join(sets)}; there are {len(models)}")
    means = [[results.records[dataset, model].rules[HEADLINE].mean for model in models] for dataset in sets]
    return GraphRanking(tuple(models), sets, rank_models(means))


def _is_whole(results: Results, dataset: str, model: str) -> bool:
    """Whether the model as it is today has as many folds of the set as any model has."""
    record = results.records.get((dataset, model))
    return record is not None and not of_old_preset(record) and results.is_whole(dataset, model)

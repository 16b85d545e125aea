"""Scores, removals and masks against what is computed by hand."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from mshgnn.explanation.fidelity import DRAWS, Fidelity, Ruler, beaten
from mshgnn.explanation.methods import METHODS
from mshgnn.explanation.question import Question, around_node
from mshgnn.models import build


def ring(nodes: int = 6) -> Data:
    ahead = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    return Data(x=torch.randn(nodes, 3), edge_index=torch.cat([ahead, ahead.flip(0)], dim=1))


def question(name: str = "gin", *, task: str = "graph", node: int | None = None, **options: object) -> Question:
    small = {"hidden_channels": 8, **options}
    model = build(name, 3, 3, task=task, options=small).eval()  # type: ignore[arg-type]
    return Question(model, ring(), "classify", 1, node=node)


def test_the_score_of_a_class_is_its_log_odds() -> None:
    asked = question()
    said = asked.score(asked.graph.x, asked.graph.edge_index)
    probability = asked.model(asked.graph.x, asked.graph.edge_index).softmax(dim=1)[0, 1]
    assert said.sigmoid().item() == pytest.approx(probability.item(), rel=1e-5)


def test_a_graph_is_computed_where_the_model_is_and_stays_where_it_was() -> None:
    model = build("gin", 3, 3, task="graph", options={"hidden_channels": 8}).to("meta")
    asked = Question(model, ring(), "classify", 1)
    assert {asked.placed.x.device.type, asked.placed.edge_index.device.type} == {"meta"}
    assert {asked.graph.x.device.type, asked.links.device.type} == {"cpu"}


def test_a_link_is_both_ways_of_an_edge() -> None:
    asked = question()
    assert asked.links.tolist() == [[0, 0, 1, 2, 3, 4], [1, 5, 2, 3, 4, 5]]
    assert asked.per_link(torch.ones(12)).tolist() == [2.0] * 6


def test_copies_of_a_graph_are_made_when_it_is_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, made, seen = question(), [], []

    def counted(nodes: torch.Tensor, *rest: object, **options: object) -> object:
        made.append(nodes)
        return subgraph(nodes, *rest, **options)

    monkeypatch.setattr("mshgnn.explanation.question.subgraph", counted)
    monkeypatch.setattr("mshgnn.explanation.question.MOST_ELEMENTS", 40)
    asked.model.register_forward_hook(lambda *_: seen.append(len(made)))
    assert len(asked.scores_with([torch.ones(6, dtype=torch.bool)] * 6)) == 6
    assert seen == [3, 5, 6]  # of 6 nodes and 12 edges, two fit


def test_nodes_go_with_their_edges() -> None:
    asked = question()
    kept = torch.tensor([True, True, True, False, True, True])
    path = Data(x=asked.graph.x[kept], edge_index=torch.tensor([[0, 1, 3, 4, 1, 2, 4, 0], [1, 2, 4, 0, 0, 1, 3, 4]]))
    expected = asked.score(path.x, path.edge_index)
    everything = torch.ones(6, dtype=torch.bool)
    found = asked.scores_with([everything, kept])
    assert torch.allclose(found[1], expected[0], atol=1e-5)
    assert torch.allclose(found[0], asked.score(asked.graph.x, asked.graph.edge_index)[0], atol=1e-5)


@pytest.mark.parametrize("name", ["msh-stable", "msh-paper", "gcn", "gin", "gat", "sage", "gatv2"])
def test_edge_masks_reach_every_message(name: str) -> None:
    assert question(name).masks_reach


@pytest.mark.parametrize("name", ["mlp", "graphormer"])
def test_models_without_messages_are_explained_by_their_nodes(name: str) -> None:
    asked = question(name)
    assert not asked.masks_reach
    for method in ("occlusion", "gradients", "gnnexplainer"):
        found = METHODS[method].compute(asked)
        assert found.nodes.shape == found.links.shape == (6,)
        assert found.nodes.isfinite().all()


@pytest.mark.parametrize("name", ["msh-stable", "gcn"])
def test_integrated_gradients_sum_to_the_score_less_that_of_nothing(name: str) -> None:
    asked = question(name)
    found = METHODS["gradients"].compute(asked)
    whole = float(asked.score(asked.graph.x, asked.graph.edge_index).detach())
    nothing = float(asked.score(torch.zeros_like(asked.graph.x), torch.empty(2, 0, dtype=torch.long)).detach())
    if name == "msh-stable":  # GCN divides by degrees, which an empty graph does not have
        assert float(found.nodes.sum()) == pytest.approx(whole - nothing, abs=0.05 * max(1.0, abs(whole - nothing)))
    assert METHODS["gradients"].compute(asked).nodes.equal(found.nodes)


def test_explaining_leaves_the_model_as_it_was() -> None:
    asked = question("msh-stable")
    before = {name: value.clone() for name, value in asked.model.state_dict().items()}
    said = asked.model(asked.graph.x, asked.graph.edge_index)
    for method in ("gnnexplainer", "gradients", "gnnexplainer"):
        METHODS[method].compute(asked)
        assert asked.masks_reach
    assert all(parameter.requires_grad for parameter in asked.model.parameters())
    assert torch.equal(asked.model(asked.graph.x, asked.graph.edge_index), said)
    assert {name for name in asked.model.state_dict() if "_edge_mask" not in name} == set(before)


def test_a_ranking_by_the_true_effect_beats_chance_and_one_by_noise_does_not() -> None:
    torch.manual_seed(1)
    asked = question("gin")
    graph = ring(40)
    graph.x = torch.zeros(40, 3)
    graph.x[:6] = 5.0  # six nodes that differ from all others
    asked = Question(asked.model, graph, "classify", 1)
    ruler = Ruler((asked,))
    true = METHODS["occlusion"].compute(asked).nodes
    assert ruler.measure(true, signed=True).necessity >= 1 - 1 / DRAWS
    noise = [ruler.measure(torch.randn(40), signed=True).necessity for _ in range(10)]
    assert 0.2 < sum(noise) / len(noise) < 0.8


def test_equal_nodes_are_chance() -> None:
    asked = question("gcn")
    asked.graph.x[:] = 1.0
    found = Ruler((asked,)).measure(torch.zeros(6), signed=True)
    assert 0.0 <= found.score <= 1.0
    assert Ruler((Question(asked.model, ring(3), "classify", 0),)).obstacle is not None


def test_a_node_keeps_its_output_in_the_part_that_counts() -> None:
    asked = question("gcn", task="node", node=2, num_layers=1)
    graph = ring(30)
    (part,), place, numbers = around_node([asked.model], [graph], 2)
    assert sorted(numbers.tolist()) == [0, 1, 2, 3, 4]
    whole = asked.model(graph.x, graph.edge_index)[2]
    assert torch.allclose(asked.model(part.x, part.edge_index)[place], whole, atol=1e-5)


def test_a_model_that_hears_the_whole_graph_keeps_it() -> None:
    asked = question("gps", task="node", node=2)
    _, place, numbers = around_node([asked.model], [ring(30)], 2)
    assert (place, len(numbers)) == (2, 30)


def test_better_than_95_of_100_random_rankings_is_believed() -> None:
    random = torch.arange(40.0)
    necessity = beaten(torch.tensor(37.5), random)
    assert necessity == 0.95  # 38 of 40, with no rounding below
    assert Fidelity(necessity, necessity, 1.0, (), ()).verdict.startswith("believe it")

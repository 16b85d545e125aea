"""NAGphormer's tokens against PyG's SIGN, and its readout by its formula."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import SIGN, AddRemainingSelfLoops
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.models.nagphormer import HopFeatures, NAGphormer

NODES = 9


def make(**options: object) -> NAGphormer:
    model = build("nagphormer", 4, 2, task="node", options={"hidden_channels": 8, "heads": 2, **options})
    assert isinstance(model, NAGphormer)
    return model.double().eval()


def case() -> tuple[Tensor, Tensor]:
    edges: Tensor = erdos_renyi_graph(NODES, 0.3)
    return (torch.rand(NODES, 4) > 0.5).double(), edges


def test_the_hops_are_those_of_sign_with_loops() -> None:
    x, edges = case()
    expected = SIGN(3)(AddRemainingSelfLoops()(Data(x=x.float(), edge_index=edges)))
    found = HopFeatures(3)(x, edges)
    assert found.shape == (NODES, 4, 4)
    for hop, name in enumerate(("x", "x1", "x2", "x3")):
        torch.testing.assert_close(found[:, hop].float(), expected[name])


def test_the_roots_of_the_degrees_are_the_same_in_every_hop() -> None:
    _, edges = case()
    degree = torch.bincount(edges[1], minlength=NODES) + 1.0
    found = HopFeatures(4)(degree.double().sqrt()[:, None], edges)
    torch.testing.assert_close(found, found[:, :1].expand_as(found))


def test_hops_are_kept_until_features_or_edges_change() -> None:
    x, edges = case()
    kept = HopFeatures(2)
    first = kept(x, edges)
    assert kept(x, edges) is first
    assert copy.deepcopy(kept)(x, edges) is not first
    x[0] += 1.0
    changed = kept(x, edges)
    torch.testing.assert_close(changed, HopFeatures(2)(x, edges))
    assert not torch.equal(changed, first)
    assert kept(x, edges.clone()) is not changed
    with torch.inference_mode():
        torch.testing.assert_close(kept(x, edges), changed)


def test_features_or_edges_exchanged_for_others_are_seen() -> None:
    x, edges = case()
    kept = HopFeatures(2)
    kept(x, edges)
    x.data = x + 1
    torch.testing.assert_close(kept(x, edges), HopFeatures(2)(x, edges))
    edges.data = edges.flip(0)[:, 1:]
    torch.testing.assert_close(kept(x, edges), HopFeatures(2)(x, edges))


def test_features_that_ask_for_a_gradient_get_one() -> None:
    x, edges = case()
    x.requires_grad_()
    for _ in range(2):
        torch.autograd.backward(make()(x, edges).square().sum())
    assert x.grad is not None
    assert x.grad.any()


def test_projecting_sparse_features_first_gives_the_same() -> None:
    x, edges = case()
    model = make()
    torch.testing.assert_close(model._tokens(x.to_sparse_csr(), edges), model._tokens(x, edges))
    torch.testing.assert_close(model(x.to_sparse_csr(), edges), model(x, edges))


def test_without_hops_it_never_looks_at_an_edge() -> None:
    x, edges = case()
    model = make(num_hops=0)
    torch.testing.assert_close(model(x, edges), model(x, edges[:, :0]))
    assert model.score is None


def test_blocks_that_add_nothing_and_a_flat_score_leave_the_mean_of_the_hops() -> None:
    x, edges = case()
    model = make(num_hops=2)
    assert model.score is not None
    with torch.no_grad():
        for block in model.blocks:
            for module in (block.get_submodule("attention.out_proj"), block.get_submodule("perceptron.3")):
                for weight in module.parameters():
                    weight.zero_()
        model.score.weight.zero_()
    tokens = model.norm(model.encoder(HopFeatures(2)(x, edges)))
    torch.testing.assert_close(model.embed(x, edges), tokens[:, 0] + tokens[:, 1:].mean(1))


def test_nodes_with_the_same_hops_get_the_same_output() -> None:
    square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    x = torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 3]] * 2, dtype=torch.float64)
    out = make()(x, square)
    torch.testing.assert_close(out[:2], out[2:])
    assert not torch.allclose(out[0], out[1])


@pytest.mark.parametrize(
    ("features", "classes", "options", "parameters"),
    [(755, 8, {}, 238_538), (782, 10, {"hidden_channels": 512}, 2_639_628), (8425, 5, {"num_hops": 5}, 1_220_103)],
    ids=["Photo", "Computers", "Physics"],
)
def test_it_has_the_authors_number_of_parameters(
    features: int, classes: int, options: dict[str, object], parameters: int
) -> None:
    model = build("nagphormer", features, classes, task="node", options=options)
    assert model.num_parameters == parameters - 1, "all but a factor that their code never reads"


def test_hops_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    monkeypatch.setenv("MSHGNN_MEMORY", "1000")
    with pytest.raises(UserError, match="hop features of 9 nodes, 4 hops and 4 columns needs"):
        model(*case())

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import get_laplacian, to_dense_adj

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.models.specformer import GraphLayer, Specformer, filtered
from mshgnn.structure import structure_of_batch
from mshgnn.structure.spectrum import full_spectrum

EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]])
EDGES = torch.cat([EDGES, EDGES.flip(0)], dim=1)
ONE = torch.zeros(6, dtype=torch.long)


def make(task: str = "node") -> Specformer:
    options = {"hidden_channels": 8, "heads": 2}
    model = build("specformer", 3, 2, task=task, options=options).double().eval()  # type: ignore[arg-type]
    assert isinstance(model, Specformer)
    return model


def spectrum() -> tuple[Tensor, Tensor]:
    made = structure_of_batch([full_spectrum("laplacian")], torch.ones(6, 1), EDGES, ONE, 1)
    return made["eigenbasis"].view(1, 6, 6).double(), made["frequency"].view(1, 6).double()


def test_filters_by_known_spectra_are_known_products() -> None:
    basis, frequency = spectrum()
    h = torch.randn(1, 6, 4, dtype=torch.float64)
    index, weight = get_laplacian(EDGES, normalization="sym")
    laplacian = to_dense_adj(index, edge_attr=weight)[0].double()
    near = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)
    near(filtered(basis, torch.full_like(frequency, 3), h), 3 * h)
    near(filtered(basis, frequency, h)[0], laplacian @ h[0])
    propagation = torch.eye(6, dtype=torch.float64) - laplacian
    near(filtered(basis, 1 - frequency, h)[0], propagation @ h[0])
    # Weights per hop, as GPR-GNN has them: the same polynomial of the eigenvalues.
    gamma = torch.tensor([0.5, -1.0, 0.25, 2.0], dtype=torch.float64)
    hops = sum(g * torch.linalg.matrix_power(propagation, k) @ h[0] for k, g in enumerate(gamma))
    polynomial = sum((g * (1 - frequency) ** k for k, g in enumerate(gamma)), torch.zeros(1))
    near(filtered(basis, polynomial, h)[0], hops)


@pytest.mark.parametrize("task", ["graph", "node"])
def test_signs_and_rotations_inside_an_eigenspace_change_nothing(task: str) -> None:
    ring = EDGES[:, [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]]  # whose eigenvalues are double but for the ends
    model, x = make(task), torch.randn(6, 3, dtype=torch.float64)
    structure = structure_of_batch(model.structure, x, ring, ONE, 1)
    basis, values = structure["eigenbasis"].view(6, 6).double(), structure["frequency"].double()
    assert torch.allclose(values[1], values[2])
    values = (values * 1e5).round() / 1e5
    cosine, sine = torch.cos(torch.tensor(0.7)), torch.sin(torch.tensor(0.7))
    turned = basis * torch.tensor([-1, 1, 1, -1, -1, -1])
    turned[:, 1:3] = turned[:, 1:3] @ torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64)
    results = [
        model(x, ring, ONE, structure={**structure, "eigenbasis": used.flatten(), "frequency": values})
        for used in (basis, turned)
    ]
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-6)


def test_weights_of_the_identity_alone_leave_a_perceptron() -> None:
    model, x = make(), torch.randn(6, 3, dtype=torch.float64)
    with torch.no_grad():
        model.weights[:, 1:] = 0
    torch.testing.assert_close(model(x, EDGES), model.to_logits(model.encoder(x).relu()))


def test_the_model_of_graphs_is_its_formula_pair_by_pair() -> None:
    model, x = make("graph"), torch.randn(6, 3, dtype=torch.float64)
    made = structure_of_batch(model.structure, x, EDGES, ONE, 1)
    basis, values = made["eigenbasis"].view(6, 6).double(), made["frequency"].double()
    spectra = model.filters(values[None], torch.ones(1, 6, dtype=torch.bool))[0]
    filters = [torch.eye(6).double(), *(basis @ torch.diag(spectra[:, s]) @ basis.T for s in range(2))]
    h = model.encoder(x)
    for layer in model.layers:
        assert isinstance(layer, GraphLayer)
        sent, heard = layer.message(h), torch.zeros_like(h)
        for v in range(6):
            for u in range(6):
                heard[v] += model.mix(torch.stack([kind[v, u] for kind in filters])) * sent[u]
        h = h + heard
        h = h + layer.update(h)
    torch.testing.assert_close(model(x, EDGES)[0], model.head(h.mean(0)))


def test_a_graph_too_large_names_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e8")
    large = torch.ones(3000, 3, dtype=torch.float64), torch.empty(2, 0, dtype=torch.long)
    with pytest.raises(UserError, match=r"spectrum-laplacian of 3,000 nodes needs 0\.3 GB of memory"):
        make()(*large)
    monkeypatch.setenv("MSHGNN_MEMORY", "1e6")
    batch = torch.arange(100).repeat_interleave(10)
    with pytest.raises(UserError, match="filters of 100 graphs of up to 10 nodes needs"):
        make("graph")(large[0][:1000], large[1], batch)

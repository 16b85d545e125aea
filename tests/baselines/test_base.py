from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import Tensor

from mshgnn.baselines.base import Encoder, Readout, dropout, pool


def sparse_rows(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(7, 5, generator=generator) * (torch.rand(7, 5, generator=generator) > 0.6)


def weight_gradient(encoder: Encoder, x: Tensor) -> Tensor:
    encoder.zero_grad()
    torch.autograd.backward(encoder(x).square().sum())
    assert encoder.weight.grad is not None
    return encoder.weight.grad.clone()


def test_an_encoder_that_meets_several_sparse_matrices_keeps_them_apart() -> None:
    encoder = Encoder(5, 3)
    dense = [sparse_rows(0), sparse_rows(1)]
    sparse = [x.to_sparse_csr() for x in dense]
    for turn in (0, 1, 0, 0, 1):
        torch.testing.assert_close(encoder(sparse[turn]), encoder(dense[turn]))
        expected = weight_gradient(encoder, dense[turn])
        torch.testing.assert_close(weight_gradient(encoder, sparse[turn]), expected)


def test_an_encoder_that_has_seen_sparse_features_can_be_copied() -> None:
    encoder = Encoder(5, 3, bias=False)
    x = sparse_rows(0)
    encoder(x.to_sparse_csr())
    torch.testing.assert_close(copy.deepcopy(encoder)(x), encoder(x))
    torch.testing.assert_close(pickle.loads(pickle.dumps(encoder))(x), encoder(x))
    assert set(encoder.state_dict()) == {"weight"}


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_pooling_matches_a_loop_and_is_zero_without_nodes(readout: Readout) -> None:
    h = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    batch = torch.tensor([3, 0, 0, 3, 1, 0])  # graphs 2 and 4 have no nodes, and the order is free
    pooled = pool(h, batch, 5, readout)
    reduce = {"sum": lambda rows: rows.sum(0), "mean": lambda rows: rows.mean(0), "max": lambda rows: rows.amax(0)}
    for graph in range(5):
        rows = h[batch == graph]
        expected = reduce[readout](rows) if len(rows) else torch.zeros(4)
        torch.testing.assert_close(pooled[graph], expected)
    assert pool(h, batch, None, readout).shape == (4, 4)
    torch.testing.assert_close(pool(h, None, None, readout)[0], reduce[readout](h))


def test_sparse_dropout_drops_entries_and_keeps_their_mean() -> None:
    torch.manual_seed(0)
    x = torch.ones(200, 50).to_sparse_csr()
    dropped = dropout(x, 0.4, training=True).to_dense()
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / 0.6))
    assert len(kept) / dropped.numel() == pytest.approx(0.6, abs=0.02)
    assert dropout(x, 0.4, training=False) is x

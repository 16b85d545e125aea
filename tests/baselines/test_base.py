from __future__ import annotations

import pytest
import torch

from mshgnn.baselines.base import Readout, dropout, pool


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

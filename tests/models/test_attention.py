from __future__ import annotations

import pytest
import torch
from torch import nn

from mshgnn.errors import UserError
from mshgnn.models.attention import SelfAttention, TransformerBlock, check_order


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_it_is_torchs_attention(padded: bool, training: bool) -> None:
    ours = SelfAttention(8, 2).double().train(training)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True).double().train(training)
    theirs.load_state_dict(ours.state_dict())
    z = torch.randn(3, 5, 8, dtype=torch.float64)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] + [True] * 4]) if padded else None
    heard, _ = ours(z, z, z, key_padding_mask=padding, need_weights=False)
    expected, _ = theirs(z, z, z, key_padding_mask=padding, need_weights=False)
    there = slice(None) if padding is None else ~padding
    torch.testing.assert_close(heard[there], expected[there])


def test_what_is_padded_is_not_heard_and_an_empty_graph_gives_finite_gradients() -> None:
    attention = SelfAttention(4, 2).double()
    z, padding = torch.randn(2, 4, 4, dtype=torch.float64), torch.tensor([[False, False, True, True], [True] * 4])
    heard, _ = attention(z, key_padding_mask=padding)
    alone, _ = attention(z[:1, :2])
    torch.testing.assert_close(heard[:1, :2], alone)
    torch.autograd.backward(heard[~padding].square().sum())
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in attention.parameters())


def test_weights_that_would_not_fit_are_refused_before_they_are_made() -> None:
    z = torch.zeros(1, 34_493, 8)
    with pytest.raises(UserError, match=r"attention between 34,493 tokens needs 80\.9 GB of memory"):
        SelfAttention(8, 4, dropout=0.5).train()(z)


def test_a_block_is_torchs_layer_with_norms_first() -> None:
    ours = TransformerBlock(8, 2, 16, 0.0, 0.0).double()
    theirs = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True).double()
    parts = {
        "self_attn": ours.attention,
        "norm1": ours.attention_norm,
        "norm2": ours.perceptron[0],
        "linear1": ours.perceptron[1],
        "linear2": ours.perceptron[3],
    }
    for name, module in parts.items():
        theirs.get_submodule(name).load_state_dict(module.state_dict())
    z = torch.randn(3, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(ours(z), theirs(z))


def test_nodes_of_a_graph_must_stand_together() -> None:
    check_order(torch.tensor([0, 0, 2, 3]))
    with pytest.raises(UserError, match="batch must be in rising order"):
        check_order(torch.tensor([0, 1, 0]))

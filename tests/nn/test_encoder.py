from __future__ import annotations

import copy
import pickle
import sys
import threading

import pytest
import torch
from torch import Tensor

from mshgnn import seen
from mshgnn.nn.encoder import Encoder


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


def test_values_changed_in_place_are_seen() -> None:
    encoder, x = Encoder(5, 3), sparse_rows(0)
    sparse = x.to_sparse_csr()
    encoder(sparse)
    sparse.values().mul_(10)
    torch.testing.assert_close(weight_gradient(encoder, sparse), weight_gradient(encoder, 10 * x), rtol=1e-4, atol=1e-4)


def test_features_of_inference_mode_changed_in_place_are_seen() -> None:
    encoder, x = Encoder(5, 3), sparse_rows(0)
    with torch.inference_mode():
        sparse = x.to_sparse_csr()
    weight_gradient(encoder, sparse)
    with torch.inference_mode():
        sparse.values().mul_(10)
    torch.testing.assert_close(weight_gradient(encoder, sparse), weight_gradient(encoder, 10 * x), rtol=1e-4, atol=1e-4)


def test_a_check_of_contents_sees_what_torch_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "COMPARES", True)
    encoder, x = Encoder(5, 3), sparse_rows(0)
    sparse = x.to_sparse_csr()
    weight_gradient(encoder, sparse)
    sparse.values().data.mul_(10)
    torch.testing.assert_close(weight_gradient(encoder, sparse), weight_gradient(encoder, 10 * x), rtol=1e-4, atol=1e-4)


def test_sparse_features_cannot_be_learned() -> None:
    with pytest.raises(ValueError, match="only dense features"):
        Encoder(5, 3)(sparse_rows(0).to_sparse_csr().requires_grad_())


def test_an_encoder_that_has_seen_sparse_features_can_be_copied() -> None:
    encoder = Encoder(5, 3, bias=False)
    x = sparse_rows(0)
    encoder(x.to_sparse_csr())
    torch.testing.assert_close(copy.deepcopy(encoder)(x), encoder(x))
    torch.testing.assert_close(pickle.loads(pickle.dumps(encoder))(x), encoder(x))
    assert set(encoder.state_dict()) == {"weight"}


def test_four_threads_with_one_encoder_get_their_own_gradients() -> None:
    encoder = Encoder(5, 3)
    dense = [sparse_rows(seed) for seed in range(4)]
    expected = [gradient_of(encoder, x) for x in dense]
    wrong: list[int] = []

    def train(turn: int) -> None:
        for _ in range(300):
            found = gradient_of(encoder, dense[turn].to_sparse_csr())
            if not torch.allclose(found, expected[turn], rtol=1e-4, atol=1e-5):
                wrong.append(turn)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=train, args=(turn,)) for turn in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def gradient_of(encoder: Encoder, x: Tensor) -> Tensor:
    """The weight's gradient, without a trace on the encoder."""
    (found,) = torch.autograd.grad(encoder(x).square().sum(), encoder.weight)
    return found

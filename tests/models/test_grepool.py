from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.errors import UserError
from mshgnn.models.grepool import GrePool, PruningLayer, head_weights
from mshgnn.testing import assert_batch_consistent, assert_permutation_invariant

MASK = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])


def test_with_ratio_one_it_is_torchs_encoder_layer_in_another_order() -> None:
    layer = PruningLayer(8, 2, ratio=1.0, dropout=0.0).eval()
    plain = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    state = {path.replace("attention.", "self_attn."): weight for path, weight in layer.state_dict().items()}
    state = {path.replace("feed_forward.0", "linear1"): weight for path, weight in state.items()}
    plain.load_state_dict({path.replace("feed_forward.3", "linear2"): weight for path, weight in state.items()})
    x = torch.randn(2, 7, 8)
    kept, mask = layer(x, MASK)
    expected = plain(x, src_key_padding_mask=~MASK)
    for graph in range(2):
        ours, theirs = kept[graph][mask[graph]], expected[graph][MASK[graph]]
        torch.testing.assert_close(ours[0], theirs[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(ours[ours[:, 0].argsort()], theirs[theirs[:, 0].argsort()], atol=1e-5, rtol=1e-5)


def test_each_graph_keeps_its_share_of_the_best_nodes_and_the_class_token() -> None:
    layer = PruningLayer(8, 2, ratio=0.5, dropout=0.0)
    scores = torch.tensor([[-1.0, 3, 1, 4, 1.5, 9, 2], [-1.0, 1, 2, 3, 99, 99, 99]])
    kept, mask = layer.best(scores, MASK)
    assert kept[0].tolist() == [0, 5, 3, 1]
    assert kept[1][mask[1]].tolist() == [0, 3, 2]
    assert mask.sum(1).tolist() == [4, 3]


def test_a_tenth_of_thirty_is_three() -> None:
    layer = PruningLayer(8, 2, ratio=0.1, dropout=0.0)
    kept, _ = layer.best(torch.randn(1, 31), torch.ones(1, 31, dtype=torch.bool))
    assert kept.size(1) == 4


def test_scores_are_the_formula() -> None:
    layer, x = PruningLayer(6, 3, ratio=0.5, dropout=0.0).eval(), torch.randn(1, 5, 6)
    q = x[0] @ layer.attention.in_proj_weight[:6].T + layer.attention.in_proj_bias[:6]
    k = x[0] @ layer.attention.in_proj_weight[6:12].T + layer.attention.in_proj_bias[6:12]
    p = [(q[:, i : i + 2] @ k[:, i : i + 2].T / 2**0.5).softmax(dim=1) for i in (0, 2, 4)]
    u = [(p[t] @ q[:, 2 * t : 2 * t + 2]).norm(dim=1) for t in range(3)]
    expected = sum(p[t][0] * u[t] / (u[0] + u[1] + u[2] + 1e-8) for t in range(3))
    _, weights = layer.attention(x, x, x, average_attn_weights=False)
    assert isinstance(expected, torch.Tensor)
    torch.testing.assert_close(layer.scores(x, weights)[0], expected)


def test_head_weights_sum_to_one_over_the_heads() -> None:
    weights = head_weights(torch.rand(2, 4, 5, 5), torch.randn(2, 4, 5, 3))
    torch.testing.assert_close(weights.sum(1), torch.ones(2, 5))


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.1])
def test_a_prediction_does_not_depend_on_its_batch(ratio: float) -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 19, 1)]
    assert_batch_consistent(GrePool(3, 2, hidden_channels=16, ratio=ratio).eval(), graphs)


def test_nor_on_the_order_of_nodes() -> None:
    x, edges, batch = torch.randn(9, 3), erdos_renyi_graph(9, 0.4), torch.zeros(9, dtype=torch.long)
    assert_permutation_invariant(GrePool(3, 2, hidden_channels=16), x, edges, batch)


def test_a_graph_too_large_is_refused_before_anything_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e9")
    with pytest.raises(UserError, match=r"attention of GrePool on a batch of 1 with up to 9,000 nodes"):
        GrePool(1, 2)(torch.ones(9000, 1), torch.empty(2, 0, dtype=torch.long))

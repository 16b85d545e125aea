from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from mshgnn.errors import UserError
from mshgnn.models import build, from_pretrained, measured_options, resolve
from mshgnn.models.pna import PNA, PNAMessage

STAR = torch.tensor([[1, 2, 3, 0, 0, 0], [0, 0, 0, 1, 2, 3]])


def by_hand(message: PNAMessage, h: Tensor, edge_index: Tensor) -> Tensor:
    """The formula of the paper node by node."""
    conv = message.conv
    rows = []
    for v in range(len(h)):
        senders = edge_index[0][edge_index[1] == v].tolist()
        sent = torch.stack([conv.pre_nns[0](torch.cat([h[v], h[u]])) for u in senders])
        parts = [sent.mean(0), sent.amin(0), sent.amax(0), sent.var(0, unbiased=False).sqrt()]
        heard, log = torch.cat(parts), torch.tensor(len(senders) + 1.0).log()
        delta = message.mean_log_degree
        rows.append(conv.post_nns[0](torch.cat([h[v], heard, heard * log / delta, heard * delta / log])))
    result: Tensor = conv.lin(torch.stack(rows))
    return result


def test_the_message_is_its_formula() -> None:
    message, h = PNAMessage(4, mean_log_degree=0.9).double(), torch.randn(4, 4).double()
    triangle_and_tail = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    torch.testing.assert_close(
        message(h, triangle_and_tail), by_hand(message, h, triangle_and_tail), atol=1e-6, rtol=1e-6
    )


def test_the_mean_log_degree_is_that_of_the_first_training_batch_and_stays() -> None:
    message, h = PNAMessage(4), torch.randn(4, 4)
    message.eval()(h, STAR)
    assert message.mean_log_degree == pytest.approx(torch.tensor(2.0).log().item())
    message.train()(h, torch.empty(2, 0, dtype=torch.long))
    assert not bool(message.degree_known)
    message(h, STAR)
    expected = (degree(STAR[1], 4) + 1).log().mean().item()
    assert message.mean_log_degree == pytest.approx(expected)
    message(h, STAR[:, :2])
    assert message.mean_log_degree == pytest.approx(expected)


def test_a_given_mean_log_degree_is_kept() -> None:
    message = PNAMessage(4, mean_log_degree=1.5)
    message.train()(torch.randn(4, 4), STAR)
    assert message.mean_log_degree == pytest.approx(1.5)


@pytest.mark.parametrize("name", ["pna", "pna-paper"])
def test_the_mean_log_degree_is_saved(name: str, tmp_path: Path) -> None:
    model = build(name, 3, 2, task="graph", options={"hidden_channels": 8})
    model(torch.randn(4, 3), STAR)
    model.save_pretrained(tmp_path)
    known = [m.mean_log_degree for m in from_pretrained(tmp_path).modules() if isinstance(m, PNAMessage)]
    assert known == pytest.approx([(degree(STAR[1], 4) + 1).log().mean().item()] * len(known))
    assert known


def test_towers_divide_the_width() -> None:
    with pytest.raises(UserError, match="model pna-paper: towers must divide hidden_channels, but 9 is no multiple"):
        build("pna-paper", 3, 2, task="graph", options={"hidden_channels": 9})


def test_edge_features_reach_the_message() -> None:
    model = PNA(3, 2, task="node", hidden_channels=8, edge_dim=2).eval()
    x, e = torch.randn(4, 3), torch.randn(6, 2)
    assert not torch.allclose(model.embed(x, STAR, edge_attr=e), model.embed(x, STAR, edge_attr=-e))
    with pytest.raises(UserError, match="edge_attr is missing"):
        model(x, STAR)


def test_the_training_graphs_give_the_mean_log_degree() -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    graphs = [Data(edge_index=STAR, num_nodes=4), Data(edge_index=none, num_nodes=2)]
    logs = (torch.tensor([3.0, 1, 1, 1, 0, 0]) + 1).log()
    for name in ("pna", "pna-paper"):
        measured = measured_options(name, graphs)
        assert measured == {"mean_log_degree": pytest.approx(logs.mean().item())}
        assert measured_options(name, graphs[1:]) == {}
        resolve(name, measured)

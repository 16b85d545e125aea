from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from mshgnn.models import build


def harmonic_mean(h: Tensor, adjacency: Tensor, own: dict[str, Tensor]) -> Tensor:
    """The mean over the senders of the messages, less their cosines' mean at the start, one edge beside the other."""
    mean, variance = h.mean(dim=1), h.var(dim=1, unbiased=False) + 1e-5
    removed = torch.stack([mean, variance.log()], dim=1)  # a fresh layer in evaluation mode: mean 0, variance 1
    x = torch.cat([(h - mean[:, None]) / variance.sqrt()[:, None], removed / (1 + 1e-5) ** 0.5], dim=1)
    width = x.size(1)
    shift = x @ own["message.generator.shift.weight"].T / width + own["message.generator.shift.bias"]
    t = (x @ own["message.generator.receiver"].T / width**0.5).view(len(x), 2, 16)
    u = (x @ own["message.generator.sender"].T / width**0.5).view(len(x), 3, 16)
    seen = u[None, :, 0] + (t[:, None] * u[None, :, 1:]).sum(dim=2)
    p = own["message.generator.scale"] * seen + shift[:, None]
    bands = [torch.cat([(w * p).sin(), (w * p).cos() - math.exp(-((0.3 * w) ** 2) / 2)], dim=-1) for w in (1, 2, 4)]
    messages = torch.cat(bands, dim=-1) @ own["message.output.weight"].T
    return torch.einsum("vu,vud->vd", adjacency / adjacency.sum(dim=1, keepdim=True), messages)


@pytest.mark.parametrize("name", ["gcn-tuned", "gat-tuned", "sage-tuned", "msh-tuned"])
@pytest.mark.parametrize("residual", [True, False])
def test_a_tuned_stack_is_its_formula(name: str, residual: bool) -> None:
    """Written out with dense matrices: a loop at every node; message, map of the input, norm, ReLU, twice; a head."""
    model = build(name, 5, 3, task="node", options={"residual": residual, "hidden_channels": 8}).eval()
    here = torch.arange(5)
    ring = torch.stack([torch.cat([here, (here + 1) % 5]), torch.cat([(here + 1) % 5, here])])
    x, edge_index = torch.randn(5, 5), ring[:, 1:]
    weights = model.state_dict()
    adjacency = torch.eye(5).index_put_((edge_index[1], edge_index[0]), torch.tensor(1.0))
    degree = adjacency.sum(dim=1)
    h = x
    for layer in range(2):
        own = {path.removeprefix(f"convs.{layer}."): weight for path, weight in weights.items()}
        if name == "gcn-tuned":
            m = (adjacency / (degree[:, None] * degree).sqrt()) @ (h @ own["lin.weight"].T) + own["bias"]
        elif name == "sage-tuned":
            m = (
                (adjacency / degree[:, None]) @ h @ own["lin_l.weight"].T
                + own["lin_l.bias"]
                + h @ own["lin_r.weight"].T
            )
        elif name == "msh-tuned":
            m = harmonic_mean(h @ own["lin.weight"].T, adjacency, own)
        else:
            sent = h @ own["lin.weight"].T
            score = (sent @ own["att_src"].flatten())[None, :] + (sent @ own["att_dst"].flatten())[:, None]
            score = nn.functional.leaky_relu(score, 0.2).masked_fill(adjacency == 0, -torch.inf)
            m = score.softmax(dim=1) @ sent
        if residual:
            m = m + h @ weights[f"maps.{layer}.weight"].T + weights[f"maps.{layer}.bias"]
        m = (m - m.mean(dim=1, keepdim=True)) / (m.var(dim=1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        h = m.relu()
    torch.testing.assert_close(model(x, edge_index), h @ weights["head.weight"].T + weights["head.bias"])

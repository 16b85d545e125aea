"""Full attention within each graph, and the transformer block around it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from mshgnn.errors import UserError
from mshgnn.models.gat import head_width
from mshgnn.models.memory import check_memory


def weights_bytes(pairs: int, layers: int = 1) -> int:
    """What a training step holds where all attention weights are made, with ``pairs`` of tokens counted per head.

    Each layer keeps its weights, what dropout left of them and the mask between the two; the gradients of one come on
    top.
    """
    return (9 * layers + 8) * pairs


class SelfAttention(nn.MultiheadAttention):
    """Torch's attention of a set to itself, always by ``scaled_dot_product_attention``.

    In evaluation torch takes a path of its own, which makes all ``B x heads x T x T`` weights even where nobody asks
    for them: 18 GB for 34,000 nodes. The function called here makes none, unless weights are dropped. Then what it
    needs is computed first, and refused if it is too much.

    Args:
        channels: width of the states, in all heads together.
        heads: number of heads.
        dropout: share of the attention weights dropped.
    """

    def __init__(self, channels: int, heads: int, dropout: float = 0.0) -> None:
        head_width(channels, heads)  # refuses what torch would only assert
        super().__init__(channels, heads, dropout=dropout, batch_first=True)

    def forward(  # type: ignore[override]
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, None]:
        """What each of the ``T`` tokens heard, ``[B, T, channels]``; where the mask ``[B, T]`` is true is no token.

        ``key`` and ``value`` are there for callers of torch's attention; they must be the query.
        """
        assert key is None or key is query
        assert value is None or value is query
        batch, tokens, _ = query.shape
        share = self.dropout if self.training else 0.0
        if share:
            check_memory(f"attention between {tokens:,} tokens", weights_bytes(batch * self.num_heads * tokens**2))
        parts = linear(query, self.in_proj_weight, self.in_proj_bias)
        q, k, v = parts.view(batch, tokens, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        mask = None
        if key_padding_mask is not None and bool(key_padding_mask.any()):
            mask = ~key_padding_mask[:, None, None, :]
        heard = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=share)
        return self.out_proj(heard.transpose(1, 2).flatten(2)), None


class TransformerBlock(nn.Module):
    r"""Attention and a perceptron, each on normalised states and added to them.

    .. math::
        y = z + \mathrm{drop}(\mathrm{attention}(\mathrm{LN}(z))), \qquad
        z' = y + \mathrm{drop}(W_2\,\mathrm{gelu}(W_1 \mathrm{LN}(y)))

    Args:
        channels: width of the states.
        heads: heads of the attention.
        hidden_channels: width inside the perceptron.
        dropout: share dropped of what is added.
        attention_dropout: share of the attention weights dropped.
    """

    def __init__(
        self, channels: int, heads: int, hidden_channels: int, dropout: float, attention_dropout: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(channels)
        self.attention = SelfAttention(channels, heads, attention_dropout)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(channels),
            nn.Linear(channels, hidden_channels),
            nn.GELU(),
            nn.Linear(hidden_channels, channels),
            nn.Dropout(dropout),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, z: Tensor, padding: Tensor | None = None) -> Tensor:
        """The next states ``[B, T, channels]``; where ``padding`` ``[B, T]`` is true is no token."""
        heard, _ = self.attention(self.attention_norm(z), key_padding_mask=padding)
        y = z + self.dropout(heard)
        return y + self.perceptron(y)


def check_order(batch: Tensor) -> None:
    """Graphs are padded to one size as they come, one after the other: ``batch`` must not fall."""
    if bool((batch.diff() < 0).any()):
        raise UserError("batch must be in rising order: the nodes of a graph stand together")

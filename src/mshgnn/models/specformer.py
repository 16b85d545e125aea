r"""Specformer: filters of the graph's spectrum that a transformer over all eigenvalues learns (Bo et al., 2023).

With :math:`L = U \mathrm{diag}(\lambda) U^\top`, every eigenvalue becomes a token

.. math::
    \rho(\lambda) = W [\lambda \,\|\, \sin(100 \lambda \omega) \,\|\, \cos(100 \lambda \omega)], \qquad
    \omega_t = 10000^{-2t/d}

and one block of a transformer, :math:`z' = z + \mathrm{drop}(\mathrm{MHA}(\mathrm{LN}\,z))`,
:math:`z'' = z' + \mathrm{drop}(\mathrm{FFN}(\mathrm{LN}\,z'))`, gives a new spectrum
:math:`\hat\lambda_s = (W z'')_s` per head :math:`s`.

On nodes, :math:`h^0 = \mathrm{MLP}(x)` is as wide as the logits, which :math:`h^L` is:

.. math::
    h^{l+1} = w_0 \odot h^l + \sum_s w_s \odot U (\hat\lambda_s \odot U^\top h^l)

On graphs the spectrum is that of :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}` and the filters
:math:`I, U \mathrm{diag}(\hat\lambda_s) U^\top` become one filter per channel, :math:`G = \mathrm{MLP}` of them pair by
pair:

.. math::
    h' = h + \mathrm{drop}\Big(\sum_u G_{vu} \odot \mathrm{GELU}(W h_u)\Big), \qquad
    h'' = h' + \mathrm{drop}(\mathrm{MLP}(h'))

then the mean over the nodes and a linear map. A function of :math:`\lambda` alone does not depend on the basis that was
found for it.

All is ours but torch's attention. Different from the release: no dropout on the attention weights, for whose sake they
would have to stand in memory, linear maps start as torch's do and not from N(0, 0.01), and edge features are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gat import head_width
from mshgnn.models.memory import check_memory
from mshgnn.models.rectangle import Rectangle, join_heads, split_heads
from mshgnn.nn import StructuredModel
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.structure.spectrum import full_spectrum


class SpectralFilters(nn.Module):
    """New spectra ``[G, n, heads]`` of eigenvalues ``[G, n]``, each a function of all eigenvalues of its graph."""

    omega: Tensor

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        head_width(channels, heads)
        self.heads = heads
        steps = torch.arange(0, channels, 2) / channels
        self.register_buffer("omega", 10_000**-steps, persistent=False)
        self.encoder = nn.Linear(1 + 2 * len(steps), channels)
        self.attention_norm, self.update_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.query, self.value, self.out = (nn.Linear(channels, channels) for _ in range(3))
        self.key = nn.Linear(channels, channels, bias=False)  # its bias would cancel in the softmax
        self.update = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, channels))
        self.decoder = nn.Linear(channels, heads)
        self.drop = nn.Dropout(dropout)

    def forward(self, frequency: Tensor, mask: Tensor) -> Tensor:
        """Where ``mask`` ``[G, n]`` is false there is no eigenvalue."""
        angle = 100 * frequency.unsqueeze(-1) * self.omega
        z = self.encoder(torch.cat([frequency.unsqueeze(-1), angle.sin(), angle.cos()], dim=-1))
        normal = self.attention_norm(z)
        q, k, v = (split_heads(linear(normal), self.heads) for linear in (self.query, self.key, self.value))
        # A graph without any eigenvalue looks at the padding: softmax over nothing is no number.
        keys = None if bool(mask.all()) else (mask | ~mask.any(1, keepdim=True))[:, None, None]
        z = z + self.drop(self.out(join_heads(scaled_dot_product_attention(q, k, v, keys))))
        return self.decoder(z + self.drop(self.update(self.update_norm(z))))


def filtered(basis: Tensor, spectrum: Tensor, h: Tensor) -> Tensor:
    r""":math:`U (\hat\lambda_s \odot U^\top h)` ``[G, n, d]`` for a basis ``[G, n, n]`` and a spectrum ``[G, n]``."""
    return basis @ (spectrum.unsqueeze(-1) * (basis.mT @ h))


class GraphLayer(nn.Module):
    """One layer of the graph model, with one filter per channel."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(channels, channels), nn.GELU())
        self.update = nn.Sequential(
            nn.Linear(channels, channels),
            batch_norm(channels),
            nn.ReLU(),
            nn.Linear(channels, channels),
            batch_norm(channels),
            nn.ReLU(),
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, h: Tensor, filters: Tensor, place: Rectangle) -> Tensor:
        """The next states ``[N, d]`` with filters ``[G, n, n, d]``."""
        sent = place.spread(self.message(h))  # zero where there is no node
        h = h + self.drop(place.collect(torch.einsum("gvud,gud->gvd", filters, sent)))
        return h + self.drop(self.update(h))


class Specformer(StructuredModel):
    """The model.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the eigenvalues' states, and of the nodes'.
        num_layers: number of filterings.
        heads: of attention, each with a spectrum of its own; they share the width.
        dropout: share dropped of the features and of their states.
        spectral_dropout: share dropped in the transformer over eigenvalues.
        filter_dropout: share dropped of what a filter gives.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 32,
        num_layers: Depth = 2,
        heads: Width = 4,
        dropout: Share = 0.3,
        spectral_dropout: Share = 0.2,
        filter_dropout: Share = 0.2,
    ) -> None:
        super().__init__(in_channels, task, (full_spectrum("laplacian" if task == "node" else "adjacency"),))
        self.filters = SpectralFilters(hidden_channels, heads, spectral_dropout)
        self.encoder = Encoder(in_channels, hidden_channels)
        self.drop = nn.Dropout(dropout)
        if task == "node":
            self.to_logits = nn.Linear(hidden_channels, out_channels)
            self.weights = nn.Parameter(torch.ones(num_layers, heads + 1, out_channels))
            self.filter_drop = nn.Dropout(filter_dropout)
            self.head: nn.Module = nn.Identity()
        else:
            self.mix = nn.Sequential(
                nn.Linear(heads + 1, hidden_channels),
                nn.GELU(),
                nn.Linear(hidden_channels, hidden_channels),
                nn.GELU(),
            )
            self.layers = nn.ModuleList(GraphLayer(hidden_channels, filter_dropout) for _ in range(num_layers))
            self.head = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        if self.task == "node":
            nn.init.ones_(self.weights)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        place, dtype = Rectangle(*graphs), self.encoder.weight.dtype
        basis = place.spread_pairs(structure["eigenbasis"]).to(dtype)
        # Pairs are kept in the order of the graph's nodes, and so are its eigenvalues.
        spectra = self.filters(place.spread(structure["frequency"].to(dtype)), place.mask)
        if self.task == "node":
            return self._filter_nodes(x, basis, spectra, place)
        h, filters = self.drop(self.encoder(x)), self._mixed(basis, spectra, place)
        for layer in self.layers:
            h = layer(h, filters, place)
        return pool_nodes(h, *graphs, "mean")

    def _filter_nodes(self, x: Tensor, basis: Tensor, spectra: Tensor, place: Rectangle) -> Tensor:
        # Sparse features are dropped after the first map alone: dropout would make them dense.
        given = self.drop(x) if x.layout == torch.strided else x
        h = place.spread(self.drop(self.to_logits(self.encoder(given).relu())))
        for weights in self.weights:
            parts = [h, *(filtered(basis, spectrum, h) for spectrum in spectra.unbind(-1))]
            h = sum(
                (self.filter_drop(part) * weight for part, weight in zip(parts, weights, strict=True)), h.new_zeros(1)
            )
        return place.collect(h)

    def _mixed(self, basis: Tensor, spectra: Tensor, place: Rectangle) -> Tensor:
        """One filter per channel, ``[G, n, n, d]``."""
        pairs, width = place.graphs * place.nodes**2, self.encoder.out_features
        what = f"filters of {place.graphs:,} graphs of up to {place.nodes:,} nodes"
        check_memory(what, basis.element_size() * pairs * width * (3 + len(self.layers)))
        own = torch.eye(place.nodes, dtype=basis.dtype, device=basis.device).expand_as(basis)
        stacked = [own, *((basis * spectrum.unsqueeze(1)) @ basis.mT for spectrum in spectra.unbind(-1))]
        return self.mix(torch.stack(stacked, dim=-1))


MODELS = {
    "specformer": ModelBuilder(
        "Specformer",
        "Bo et al., 2023",
        "ours; no dropout of attention weights, torch's start, no edge features",
        Specformer,
        options_of(Specformer),
    )
}

from __future__ import annotations

import pytest
import torch

from mshgnn.nn import MSHConv, frequency_response

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[3, 1, 2, 3, 0], [0, 2, 0, 0, 3]])


def test_shares_are_the_energies_of_the_bands() -> None:
    conv, x = MSHConv(3, 5, 2).double(), torch.randn(4, 3, dtype=torch.float64)
    shares = frequency_response(conv, x, EDGES)
    assert shares.shape == (5, 3)
    torch.testing.assert_close(shares.sum(1), torch.ones(5, dtype=torch.float64))
    phases = conv.edge_phases(x, EDGES)
    for edge in range(5):
        energies = []
        for band, w in enumerate((1, 2, 4)):
            psi = torch.cat([(w * phases[edge]).sin(), (w * phases[edge]).cos()])
            energies.append((conv.output.weight[:, 4 * band : 4 * (band + 1)] @ psi).square().sum())
        torch.testing.assert_close(shares[edge], torch.stack(energies) / sum(energies))


def test_a_layer_that_reads_one_band_puts_all_energy_there() -> None:
    conv, x = MSHConv(3, 5, 2), torch.randn(4, 3)
    with torch.no_grad():
        conv.output.weight[:, :4] = 0
        conv.output.weight[:, 8:] = 0
    torch.testing.assert_close(frequency_response(conv, x, EDGES), torch.tensor([[0.0, 1.0, 0.0]]).expand(5, 3))
    with torch.no_grad():
        conv.output.weight.zero_()
    assert not frequency_response(conv, x, EDGES).isnan().any()


def test_bipartite_edge_features_and_no_edges() -> None:
    conv = MSHConv((3, 4), 5, 2, edge_dim=2)
    x = torch.randn(4, 3), torch.randn(4, 4)
    assert frequency_response(conv, x, EDGES, torch.randn(5, 2)).shape == (5, 3)
    assert frequency_response(MSHConv(3, 5), x[0], EDGES[:, :0]).shape == (0, 3)


def test_a_layer_without_frequencies_has_no_response() -> None:
    with pytest.raises(ValueError, match="frequency_response needs frequencies"):
        frequency_response(MSHConv(3, 5, frequencies="none"), torch.randn(4, 3), EDGES)

"""MSHConv in the place of another PyG layer.

A node's label says whether it agrees with its neighbours: ``sum_u <x_v, x_u> > 0``. The message must depend on receiver
and sender together, which is what harmonic messages are made for.
"""

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATv2Conv, GCNConv
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.nn import MSHConv


class Net(nn.Module):
    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.encoder = nn.Linear(8, 32)
        self.conv = conv
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.head(self.conv(self.encoder(x), edge_index))


def accuracy_on_unseen_nodes(model: nn.Module, x: Tensor, edge_index: Tensor, y: Tensor) -> float:
    train = torch.arange(len(x)) < 0.8 * len(x)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x, edge_index)[train], y[train]).backward()
        optimiser.step()
    right = model(x, edge_index).argmax(1) == y
    return float(right[~train].float().mean())


def main() -> dict[str, float]:
    torch.manual_seed(0)
    x = torch.randn(5000, 8)
    edge_index = erdos_renyi_graph(len(x), 6 / len(x))
    agreement = torch.zeros(len(x)).index_add(0, edge_index[1], (x[edge_index[0]] * x[edge_index[1]]).sum(1))
    y = (agreement > 0).long()
    layers = {"GCNConv": GCNConv(32, 32), "GATv2Conv": GATv2Conv(32, 32), "MSHConv": MSHConv(32, 32, num_projections=8)}
    found = {name: accuracy_on_unseen_nodes(Net(layer), x, edge_index, y) for name, layer in layers.items()}
    for name, accuracy in found.items():
        print(f"{name}: {accuracy:.0%} of the unseen nodes right")
    return found


if __name__ == "__main__":
    main()

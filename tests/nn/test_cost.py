"""What a step costs on paper is what it costs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from mshgnn.models import build
from mshgnn.nn import MSHGNN
from mshgnn.nn.cost import Sizes, sizes_of, step_bytes, step_flops

NODES, EDGES = 2_000, 12_000


def model_of(width: int, layers: int) -> tuple[MSHGNN, Sizes]:
    model = MSHGNN(10, 7, task="node", hidden_channels=width, num_layers=layers, num_projections=16)
    sizes = sizes_of(model)
    assert sizes == Sizes(10, 7, width, layers, 16, 2, 3)
    return model, sizes


@pytest.mark.parametrize(("width", "layers"), [(64, 3), (32, 2)])
def test_autograd_keeps_what_the_formula_says(width: int, layers: int) -> None:
    model, sizes = model_of(width, layers)
    kept: dict[int, int] = {}

    def see(tensor: Tensor) -> Tensor:
        if tensor.dim() and tensor.size(0) == NODES:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    x, edge_index = torch.randn(NODES, 10), torch.randint(NODES, (2, EDGES))
    target = torch.zeros(NODES, dtype=torch.long)
    with torch.autograd.graph.saved_tensors_hooks(see, lambda tensor: tensor):
        loss = torch.nn.functional.cross_entropy(model(x, edge_index), target)
    assert loss.isfinite()
    given = x.untyped_storage().nbytes() + target.untyped_storage().nbytes()
    assert (sum(kept.values()) - given) / (4 * NODES) == pytest.approx(sizes.kept, rel=0.02)


def test_torch_counts_as_many_operations_of_a_node() -> None:
    model, sizes = model_of(64, 3)
    with FlopCounterMode(display=False) as counter, torch.no_grad():  # matrix products alone
        model.eval()(torch.randn(NODES, 10), torch.randint(NODES, (2, EDGES)))
    assert counter.get_total_flops() == pytest.approx(NODES * sizes.node_flops, rel=0.02)


def test_everything_grows_with_nodes_and_edges() -> None:
    _, sizes = model_of(64, 3)
    assert step_bytes(sizes, 2 * NODES, 2 * EDGES) == 2 * step_bytes(sizes, NODES, EDGES)
    assert step_flops(sizes, 2 * NODES, 2 * EDGES) == 2 * step_flops(sizes, NODES, EDGES)
    assert step_bytes(sizes, NODES, 2 * EDGES) - step_bytes(sizes, NODES, EDGES) == 36 * EDGES


@pytest.mark.parametrize("name", ["gcn", "msh-paper"])
def test_models_of_another_kind_say_nothing(name: str) -> None:
    assert sizes_of(build(name, 10, 7, task="node")) is None

"""Property assertions for graph layers and models: call them in the tests of your own.

Every function runs the module in evaluation mode, puts its mode back afterwards, and raises ``AssertionError`` with the
difference it measured. Modules are called as PyG's are: ``layer(x, edge_index)`` and ``model(x, edge_index, batch)``,
with ``edge_attr=...`` only when you give one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError
from torch_geometric.data import Batch, Data

__all__ = [
    "assert_batch_consistent",
    "assert_gradients",
    "assert_permutation_equivariant",
    "assert_permutation_invariant",
]


def assert_permutation_equivariant(
    layer: nn.Module,
    x: Tensor,
    edge_index: Tensor,
    *,
    edge_attr: Tensor | None = None,
    trials: int = 3,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Renaming the nodes and shuffling the edges renames the rows of the output and changes nothing else.

    Args:
        layer: called as ``layer(x, edge_index)``.
        x: node features ``[N, d]``.
        edge_index: edges ``[2, M]``.
        edge_attr: edge features ``[M, e]``, passed on by name.
        trials: number of random permutations.
        seed: of the permutations.
        tolerance: largest difference allowed, relative to the largest output (at least 1);
            ``None``: 1e-10 in double precision, 1e-4 otherwise.
    """
    generator = torch.Generator().manual_seed(seed)
    with _evaluating(layer):
        expected = layer(x, edge_index, **_edge_features(edge_attr))
        for _ in range(trials):
            order = torch.randperm(x.size(0), generator=generator)
            renamed, renamed_attr = _renamed_edges(edge_index, edge_attr, order, generator)
            measured = layer(x[order], renamed, **_edge_features(renamed_attr))
            _assert_close("the layer is not permutation equivariant", measured, expected[order], tolerance)


def assert_permutation_invariant(
    model: nn.Module,
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor | None = None,
    *,
    edge_attr: Tensor | None = None,
    trials: int = 3,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Renaming the nodes inside their graphs and shuffling the edges leaves the output of each graph as it was.

    Args:
        model: called as ``model(x, edge_index)``, or ``model(x, edge_index, batch)`` when ``batch`` is given.
        x: node features ``[N, d]``.
        edge_index: edges ``[2, M]``.
        batch: graph of every node ``[N]``, in rising order.
        edge_attr: edge features ``[M, e]``, passed on by name.
        trials: number of random permutations.
        seed: of the permutations.
        tolerance: as in :func:`assert_permutation_equivariant`.
    """
    generator = torch.Generator().manual_seed(seed)
    graphs = () if batch is None else (batch,)
    with _evaluating(model):
        expected = model(x, edge_index, *graphs, **_edge_features(edge_attr))
        for _ in range(trials):
            order = torch.randperm(x.size(0), generator=generator)
            if batch is not None:
                # Back into the order of the graphs, random inside each: many poolings want a rising batch.
                order = order[torch.argsort(batch[order], stable=True)]
            renamed, renamed_attr = _renamed_edges(edge_index, edge_attr, order, generator)
            measured = model(x[order], renamed, *graphs, **_edge_features(renamed_attr))
            _assert_close("the model is not permutation invariant", measured, expected, tolerance)


def assert_batch_consistent(model: nn.Module, graphs: Sequence[Data], *, tolerance: float | None = None) -> None:
    """A batch of graphs gives what the graphs give one by one, at graph or node level.

    Args:
        model: called as ``model(x, edge_index, batch)``.
        graphs: with ``x``, ``edge_index`` and perhaps ``edge_attr``; at least two.
        tolerance: as in :func:`assert_permutation_equivariant`.
    """
    if len(graphs) < 2:
        raise ValueError(f"graphs must hold at least two graphs, got {len(graphs)}")
    with _evaluating(model):
        together = _run_batch(model, graphs)
        one_by_one = torch.cat([_run_batch(model, [graph]) for graph in graphs])
    _assert_close("the batch differs from its graphs one by one", together, one_by_one, tolerance)


def assert_gradients(
    layer: nn.Module,
    x: Tensor,
    edge_index: Tensor,
    *,
    edge_attr: Tensor | None = None,
    seed: int = 0,
) -> None:
    """The gradient of every parameter and input exists, is finite, and agrees with finite differences.

    Finiteness is checked in the layer's own precision, the values by ``torch.autograd.gradcheck`` on a copy in double
    precision. Finite differences need a smooth point: features drawn at random, not zeros under a ReLU.

    Args:
        layer: called as ``layer(x, edge_index)``; give it a small graph and few channels.
        x: node features ``[N, d]``.
        edge_index: edges ``[2, M]``.
        edge_attr: edge features ``[M, e]``, passed on by name.
        seed: of the random directions that ``gradcheck`` takes.
    """
    inputs = {"x": x} if edge_attr is None else {"x": x, "edge_attr": edge_attr}
    with _evaluating(layer):
        _assert_finite_gradients(layer, inputs, edge_index)
        double = copy.deepcopy(layer).double()
    parameters = {name: p.detach() for name, p in double.named_parameters() if p.requires_grad}
    names = [*inputs, *parameters]
    values = [*(value.detach().double() for value in inputs.values()), *parameters.values()]

    def run(*tensors: Tensor) -> Tensor:
        given = dict(zip(names, tensors, strict=True))
        weights = {name: given[name] for name in parameters}
        out: Tensor = torch.func.functional_call(
            double, weights, (given["x"], edge_index), _edge_features(given.get("edge_attr"))
        )
        return out

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            torch.autograd.gradcheck(run, [value.clone().requires_grad_() for value in values], fast_mode=True)
        except GradcheckError as error:
            raise AssertionError(f"gradients differ from finite differences: {error}") from None


def _assert_finite_gradients(layer: nn.Module, inputs: dict[str, Tensor], edge_index: Tensor) -> None:
    leaves = {name: value.detach().clone().requires_grad_() for name, value in inputs.items()}
    parameters = {name: p for name, p in layer.named_parameters() if p.requires_grad}
    out = layer(leaves["x"], edge_index, **_edge_features(leaves.get("edge_attr")))
    tensors = {**leaves, **parameters}
    gradients = torch.autograd.grad(out.square().sum(), list(tensors.values()), allow_unused=True)
    for name, gradient in zip(tensors, gradients, strict=True):
        if gradient is None:
            raise AssertionError(f"{name} has no gradient: the output does not depend on it")
        broken = int((~torch.isfinite(gradient)).sum())
        if broken:
            raise AssertionError(
                f"the gradient of {name} has {broken} of {gradient.numel()} entries that are not finite"
            )


def _edge_features(edge_attr: Tensor | None) -> dict[str, Tensor]:
    return {} if edge_attr is None else {"edge_attr": edge_attr}


def _renamed_edges(
    edge_index: Tensor, edge_attr: Tensor | None, order: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor | None]:
    """The edges after node ``order[i]`` took the name ``i``, in random order."""
    new_name = torch.empty_like(order)
    new_name[order] = torch.arange(order.numel())
    shuffle = torch.randperm(edge_index.size(1), generator=generator)
    return new_name[edge_index.long()][:, shuffle], None if edge_attr is None else edge_attr[shuffle]


def _run_batch(model: nn.Module, graphs: Sequence[Data]) -> Tensor:
    batch = Batch.from_data_list(list(graphs))
    out: Tensor = model(batch.x, batch.edge_index, batch.batch, **_edge_features(batch.edge_attr))
    return out


def _assert_close(what: str, measured: Tensor, expected: Tensor, tolerance: float | None) -> None:
    if measured.shape != expected.shape:
        raise AssertionError(f"{what}: shape {list(measured.shape)} instead of {list(expected.shape)}")
    if tolerance is None:
        tolerance = 1e-10 if expected.dtype == torch.float64 else 1e-4
    if expected.numel() == 0:
        return
    scale = max(1.0, float(expected.detach().abs().max()))
    difference = float((measured - expected).detach().abs().max()) / scale
    # Written so that a NaN fails too.
    if not difference <= tolerance:
        raise AssertionError(f"{what}: largest relative difference {difference:.3g}, allowed {tolerance:.3g}")


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True

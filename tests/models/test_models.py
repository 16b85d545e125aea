from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from mshgnn.data import Split, from_graphs
from mshgnn.errors import UserError
from mshgnn.models import MODELS, build
from mshgnn.nn import Model
from mshgnn.nn.graph_model import Layer
from mshgnn.nn.model import Task
from mshgnn.structure import structure_of_batch
from mshgnn.testing import (
    assert_batch_consistent,
    assert_permutation_equivariant,
    assert_permutation_invariant,
)
from mshgnn.training.loop import train_fold
from mshgnn.training.settings import TrainingSettings

FEATURES, CLASSES = 5, 3
SHARED = ("gcn", "gat", "gatv2", "sage", "gin", "gine", "film", "transformer", "pna", "msh-stable")
TRANSFORMERS = ("gmt", "gps", "grepool", "gt", "n2", "san", "tokengt")
RANDOM_IDENTIFIERS = ("tokengt",)
"""Invariant in distribution only: tested in their own files."""
TIES = ("sep", "wit-topopool")
"""Invariant where no tie is broken by the numbers of nodes, as on a ring or a pair: tested in their own files."""
CHOSEN_BASIS = ("san",)
IN_ORDER = ("gps", "n2", "tokengt")
"""They refuse a batch whose graphs are mixed."""
LEARNER: dict[str, dict[str, object]] = {"san": {"position_hidden": 32}, "n2": {"num_steps": 2, "pseudo_nodes": 8}}
"""Options that let a model learn by heart in a second."""

TASKS = [(name, task) for name, builder in sorted(MODELS.items()) for task in builder.tasks]

every_model = pytest.mark.parametrize("name", sorted(MODELS))
pytestmark = pytest.mark.usefixtures("own_data_folder")


@pytest.fixture(scope="session")
def own_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Structure is kept in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MSHGNN_DATA", str(tmp_path_factory.mktemp("data")))
        yield


every_task = pytest.mark.parametrize(("name", "task"), TASKS)
every_graph_model = pytest.mark.parametrize("name", [name for name, task in TASKS if task == "graph"])
every_node_model = pytest.mark.parametrize("name", [name for name, task in TASKS if task == "node"])


def make(name: str, task: Task = "graph", options: Mapping[str, object] | None = None) -> Model:
    torch.manual_seed(0)
    return build(name, FEATURES, CLASSES, task=task, options=options or {})


def ring(nodes: int) -> Tensor:
    """Both directions of a ring's edges; no edge below two nodes."""
    if nodes < 2:
        return torch.empty(2, 0, dtype=torch.long)
    here = torch.arange(nodes)
    there = (here + 1) % nodes
    both = torch.cat([torch.stack([here, there]), torch.stack([there, here])], dim=1)
    return both if nodes > 2 else both[:, :2]


def graph(edge_index: Tensor, nodes: int, seed: int) -> Data:
    x = torch.randn(nodes, FEATURES, generator=torch.Generator().manual_seed(seed))
    return Data(x=x, edge_index=edge_index)


def odd_graphs() -> list[Data]:
    """A ring, a graph without edges, a single node, a pair."""
    edgeless = torch.empty(2, 0, dtype=torch.long)
    return [graph(ring(6), 6, 1), graph(edgeless, 4, 2), graph(ring(1), 1, 3), graph(ring(2), 2, 4)]


def structure(model: Model, batch: Batch) -> dict[str, dict[str, Tensor]]:
    """The argument ``structure`` for models that take it, computed once for many calls."""
    if not model.structure:
        return {}
    return {"structure": structure_of_batch(model.structure, batch.x, batch.edge_index, batch.batch, batch.num_graphs)}


def run(model: nn.Module, batch: Batch, **computed: dict[str, Tensor]) -> Tensor:
    logits: Tensor = model(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs, **computed)
    return logits


def embed(model: Model, batch: Batch) -> Tensor:
    return model.embed(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)


@every_task
def test_odd_graphs_in_one_batch(name: str, task: Task) -> None:
    batch = Batch.from_data_list(odd_graphs())
    rows = batch.num_graphs if task == "graph" else batch.num_nodes
    model = make(name, task)
    logits = run(model, batch)
    assert logits.shape == (rows, CLASSES)
    assert torch.isfinite(logits).all()
    assert embed(model, batch).shape[0] == rows


@every_task
def test_renaming_nodes_changes_nothing(name: str, task: Task) -> None:
    if name in RANDOM_IDENTIFIERS:
        pytest.skip("invariant in distribution only")
    if name in CHOSEN_BASIS:
        pytest.skip("it sees which basis was found for an eigenspace; its own test renames the basis, too")
    if name in TIES:
        pytest.skip("ties are broken by the numbers of nodes; its own test renames a graph without them")
    if task == "graph":
        batch = Batch.from_data_list(odd_graphs())
        assert_permutation_invariant(make(name), batch.x, batch.edge_index, batch.batch)
    else:  # ten nodes, some of them alone: an expander of more would be another one after renaming
        nodes = graph(torch.cat([ring(5), ring(3) + 5], dim=1), 10, 0)
        assert_permutation_equivariant(make(name, "node"), nodes.x, nodes.edge_index)


@every_task
def test_a_batch_gives_what_its_graphs_give_one_by_one(name: str, task: Task) -> None:
    assert_batch_consistent(make(name, task), odd_graphs())


@every_task
def test_a_larger_graph_in_the_batch_does_not_leak_into_a_small_one(name: str, task: Task) -> None:
    model, small = make(name, task).eval(), graph(ring(3), 3, 1)
    alone = run(model, Batch.from_data_list([small]))
    for seed in range(2):
        batch = Batch.from_data_list([graph(ring(12), 12, seed), small])
        torch.testing.assert_close(run(model, batch)[-len(alone) :], alone, atol=1e-5, rtol=1e-4)


@every_task
def test_the_order_of_the_nodes_may_mix_the_graphs(name: str, task: Task) -> None:
    model, batch = make(name, task).eval(), Batch.from_data_list(odd_graphs())
    # The first nodes of all graphs, then the second: those of one graph keep their order, but do not lie side by side.
    order = (torch.arange(batch.num_nodes) - batch.ptr[batch.batch]).argsort(stable=True)
    assert not torch.equal(batch.batch[order], batch.batch)
    arguments = batch.x[order], order.argsort()[batch.edge_index], batch.batch[order]
    if name in IN_ORDER:
        with pytest.raises(UserError, match="rising order"):
            model(*arguments, batch_size=batch.num_graphs)
        return
    mixed = model(*arguments, batch_size=batch.num_graphs)
    plain = run(model, batch)
    torch.testing.assert_close(mixed, plain if task == "graph" else plain[order], atol=1e-5, rtol=1e-4)


@every_task
@pytest.mark.parametrize("training", [True, False])
def test_one_node_and_nothing_at_all(name: str, task: Task, training: bool) -> None:
    model = make(name, task).train(training)
    lonely = graph(ring(1), 1, 0)
    assert torch.isfinite(model(lonely.x, lonely.edge_index)).all()
    no_nodes = torch.empty(0, FEATURES)
    no_edges = torch.empty(2, 0, dtype=torch.long)
    no_batch = torch.empty(0, dtype=torch.long)
    assert model(no_nodes, no_edges, no_batch, batch_size=0).shape == (0, CLASSES)
    two_empty_graphs = model(no_nodes, no_edges, no_batch, batch_size=2)
    assert two_empty_graphs.shape == (2 if task == "graph" else 0, CLASSES)
    assert torch.isfinite(two_empty_graphs).all()


@every_task
def test_gradients_reach_every_parameter(name: str, task: Task) -> None:
    # In evaluation mode no dropout hides a parameter and batch norm does not cancel a bias.
    model = make(name, task).eval()
    batch = Batch.from_data_list([graph(ring(nodes), nodes, nodes) for nodes in (3, 5, 6, 7, 8)])
    logits = run(model, batch)
    torch.autograd.backward((logits * torch.randn_like(logits)).sum())
    silent = [path for path, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert silent == []


@every_task
def test_odd_graphs_can_be_trained_on(name: str, task: Task) -> None:
    model, batch = make(name, task).train(), Batch.from_data_list(odd_graphs())
    torch.autograd.backward(run(model, batch).square().sum())
    broken = [path for path, weight in model.named_parameters() if weight.grad is not None and not finite(weight.grad)]
    assert broken == []


def finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_twenty_small_things_are_learnt_by_heart(name: str) -> None:
    """Twenty graphs, or for models of nodes the twenty nodes of a few graphs."""
    if name == "dcnn":
        pytest.skip("on rings all its hops are the same; tests/models/test_dcnn.py has graphs that are no rings")
    task: Task = MODELS[name].tasks[0]
    options = {option: 0.0 for option in MODELS[name].options if option.endswith("dropout")} | LEARNER.get(name, {})
    sizes = [4, 5, 6, 7] * 5 if task == "graph" else [4, 5, 6, 5]
    batch = Batch.from_data_list([graph(ring(nodes), nodes, seed) for seed, nodes in enumerate(sizes)])
    target = torch.randint(0, CLASSES, (20,), generator=torch.Generator().manual_seed(0))
    model = make(name, task, options)
    computed = structure(model, batch)
    # The harmonic phase is rough, a transformer deep: they want a rate of 0.001, the others learn faster at 0.01.
    careful = name.startswith("msh") or name in TRANSFORMERS
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001 if careful else 0.01)
    for _ in range(300):
        model.train()
        optimiser.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(run(model, batch, **computed), target))
        optimiser.step()
        model.eval()
        with torch.no_grad():
            accuracy = (run(model, batch, **computed).argmax(dim=-1) == target).float().mean()
        if accuracy > 0.95:
            return
    pytest.fail(f"{name} reached an accuracy of {accuracy:.2f} only")


@every_task
def test_a_seed_decides_everything(name: str, task: Task) -> None:
    batch = Batch.from_data_list([graph(ring(nodes), nodes, nodes) for nodes in (5, 6, 7, 8)])
    results = []
    for _ in range(2):
        model = make(name, task).train()
        torch.autograd.backward(run(model, batch).square().sum())
        results.append([weight.grad for weight in model.parameters()])
        model.eval()
        results[-1].append(run(model, batch))
    for first, second in zip(*results, strict=True):
        assert (first is None) == (second is None)
        assert first is None or torch.equal(first, second)


@every_task
def test_all_parameters_can_be_drawn_anew(name: str, task: Task) -> None:
    model = make(name, task)
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(torch.nan)
    model.reset_parameters()
    assert [path for path, weight in model.named_parameters() if not finite(weight)] == []


@every_task
def test_two_epochs_under_the_runner(name: str, task: Task) -> None:
    graphs = [*odd_graphs(), *odd_graphs()] if task == "graph" else [graph(ring(8), 8, 0)]
    for position, data in enumerate(graphs):
        data.y = torch.tensor([position % CLASSES]) if task == "graph" else torch.arange(8) % CLASSES
    dataset = from_graphs(graphs, task=task, num_classes=CLASSES)
    split = Split(torch.LongTensor([0, 1, 2, 3]), torch.LongTensor([4, 5]), torch.LongTensor([6, 7]))
    curves = train_fold(make(name, task), dataset, split, TrainingSettings(epochs=2, batch_size=2), seed=0)
    assert curves.epochs == 2
    assert curves.sizes == (4, 2, 2)


@every_node_model
def test_sparse_bag_of_words_gives_the_same_logits_and_gradients(name: str) -> None:
    edge_index = ring(12)
    x = (torch.rand(12, FEATURES, generator=torch.Generator().manual_seed(0)) > 0.5).float()
    results = []
    for features in (x, x.to_sparse_csr()):
        model = make(name, "node").eval()
        for _ in range(2):  # the second step sees a matrix it has seen before
            model.zero_grad()
            logits = model(features, edge_index)
            (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum().backward()
        results.append([logits, *[weight.grad for weight in model.parameters()]])
    for dense, sparse in zip(*results, strict=True):
        torch.testing.assert_close(sparse, dense, atol=1e-5, rtol=1e-4)


@every_graph_model
def test_sparse_features_of_graphs_give_the_same_logits(name: str) -> None:
    x = (torch.rand(12, FEATURES, generator=torch.Generator().manual_seed(0)) > 0.5).float()
    model, batch = make(name, "graph").eval(), torch.arange(12) // 6
    edge_index = torch.cat([ring(6), ring(6) + 6], dim=1)
    torch.testing.assert_close(model(x.to_sparse_csr(), edge_index, batch), model(x, edge_index, batch))


@every_node_model
def test_sparse_features_can_be_trained_on(name: str) -> None:
    x = (torch.rand(12, FEATURES, generator=torch.Generator().manual_seed(0)) > 0.5).float().to_sparse_csr()
    model = make(name, "node").train()
    model(x, ring(12)).sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.mark.parametrize(("name", "parameters"), [("joint-gcn", 6238), ("joint-gat", 6494)])
def test_the_joint_task_models_have_the_papers_parameter_counts(name: str, parameters: int) -> None:
    model = build(name, 1, 30, task="graph", options={})
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_in_the_shared_shell_only_the_message_differs() -> None:
    def outside_the_message(name: str) -> dict[str, tuple[int, ...]]:
        weights = make(name).state_dict()
        return {path: tuple(weight.shape) for path, weight in weights.items() if ".message." not in path}

    first = outside_the_message(SHARED[0])
    assert first
    assert all(outside_the_message(name) == first for name in SHARED[1:])


@pytest.mark.parametrize("name", ["gcn", "sage", "gin", "gat", "film"])
@given(st.integers(1, 12), st.data())
@settings(max_examples=25, deadline=None)
def test_the_shared_shell_gives_the_message_its_edges(name: str, nodes: int, data: st.DataObject) -> None:
    """The shell may hand a sparse product to PyG; the message must come out as from the plain list of edges."""
    node = st.integers(0, nodes - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=40))
    edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()
    model = make(name, "node", {"num_layers": 1, "hidden_channels": 8, "dropout": 0.0}).double().eval()
    x = graph(edge_index, nodes, 0).x.double()
    layer = next(module for module in model.modules() if isinstance(module, Layer))
    seen: list[tuple[Tensor, Tensor]] = []
    layer.message.register_forward_hook(lambda _, args, out: seen.append((args[0], out)))
    model(x, edge_index)
    h, message = seen[0]
    torch.testing.assert_close(message, layer.message(h, edge_index))


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_the_shared_readout_pools_the_encoded_nodes(readout: str) -> None:
    batch = Batch.from_data_list([graph(ring(5), 5, 0)])
    model = make("gin", options={"readout": readout, "hidden_channels": 8}).eval()
    assert isinstance(model.encoder, nn.Module)
    encoded = model.encoder(batch.x)
    expected = {"sum": encoded.sum(0), "mean": encoded.mean(0), "max": encoded.amax(0)}[readout]
    # A fresh batch norm in evaluation mode divides by sqrt(1 + eps), nothing else.
    torch.testing.assert_close(embed(model, batch)[0, :8], expected, atol=1e-4, rtol=1e-4)


def test_the_mlp_never_looks_at_an_edge() -> None:
    data = graph(ring(5), 5, 0)
    model = make("mlp").eval()
    torch.testing.assert_close(model(data.x, data.edge_index), model(data.x, torch.empty(2, 0, dtype=torch.long)))


@pytest.mark.parametrize("name", [name for name in sorted(MODELS) if name != "mlp"])
def test_every_other_model_does(name: str) -> None:
    data = graph(ring(5), 5, 0)
    model = make(name, MODELS[name].tasks[0]).eval()
    without = model(data.x, torch.empty(2, 0, dtype=torch.long))
    assert not torch.allclose(model(data.x, data.edge_index), without)


@pytest.mark.parametrize(("task", "share"), [("node", 0.5), ("graph", 0.0)])
@pytest.mark.parametrize("name", ["msh-stable", "gcn"])
def test_encoded_features_are_dropped_on_node_tasks_alone(name: str, task: Task, share: float) -> None:
    model = build(name, 3, 2, task=task, options={"dropout": 0.5})
    seen: list[Tensor] = []
    first = next(module for module in model.modules() if isinstance(module, Layer))
    first.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    model(torch.randn(200, 3), torch.randint(200, (2, 400)), torch.arange(200) // 100)
    assert float((seen[0] == 0).float().mean()) == pytest.approx(share, abs=0.05)

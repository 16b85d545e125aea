from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.data import DataError, read_own
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.stream import stream_rows
from mshgnn.predictor.coding import encoded, recoded
from support.own_data import nodes

ROWS = [
    {"edges": [[0, 1]], "node_labels": ["a", "b"], "target": 0},
    {"edges": [[0, 1], [1, 2]], "node_labels": ["b", "b", "a"], "target": 1},
    {"edges": [[0, 1], [0, 2], [0, 3]], "node_labels": ["a", "c", "c", "d"], "target": 1},
]


@pytest.mark.parametrize("described", ["labels", "degrees", "features"])
def test_a_file_read_whole_and_one_read_row_by_row_are_encoded_alike(tmp_path: Path, described: str) -> None:
    rows = []
    for row in ROWS:
        labels = row["node_labels"]
        assert isinstance(labels, list)
        other: dict[str, object] = {key: value for key, value in row.items() if key != "node_labels"}
        if described == "degrees":
            row = {**other, "num_nodes": len(labels)}
        elif described == "features":
            row = {**other, "node_features": [[float(index), 1.0] for index in range(len(labels))]}
        rows.append(row)
    path = tmp_path / "g.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    read = read_own(path)
    own = read.schema.from_training(read.dataset, torch.tensor([0, 1]), unseen="other")
    whole = recoded(read.dataset, read.schema, own, edge_features=False)
    streamed = stream_rows(path, Asked(schema=own))
    for graph, row_read in zip(whole.graphs, streamed, strict=True):
        assert row_read.graph is not None
        found = encoded(row_read.graph, own, row_read.where, width=whole.num_features, edge_dim=None)
        assert torch.equal(found.x, graph.x)
        assert torch.equal(found.edge_index, graph.edge_index)
    if described == "labels":
        assert own.node_labels == ("a", "b")
        assert whole.graphs[2].x.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    if described == "degrees":
        assert whole.num_features == 3  # the degree 3 of the last graph shares the column of 2
        assert whole.graphs[2].x[0].tolist() == [0, 0, 1]


def test_features_of_nodes_are_scaled_by_the_training_part(tmp_path: Path) -> None:
    read = read_own(nodes(tmp_path / "graph"))
    train = torch.arange(10)
    own = read.schema.from_training(read.dataset, train)
    x = recoded(read.dataset, read.schema, own, edge_features=False).graphs[0].x
    assert torch.allclose(x[train].mean(dim=0), torch.zeros(1), atol=1e-5)
    assert torch.allclose(x[train].std(dim=0), torch.ones(1), atol=1e-5)


def test_edge_features_of_another_width_are_refused(tmp_path: Path) -> None:
    read = read_own(nodes(tmp_path / "graph"))
    graph = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.ones(1, 3))
    with pytest.raises(DataError, match="here: 3 edge features, the model was trained on 2"):
        encoded(graph, read.schema, "here", width=1, edge_dim=2)
    bare = Data(x=torch.ones(2, 1), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert encoded(bare, read.schema, "here", width=1, edge_dim=2).edge_attr.shape == (0, 2)

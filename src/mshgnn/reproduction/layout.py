"""How pages show things: the titles of data sets and models."""

from __future__ import annotations

GRAPH_SETS = {
    "MUTAG": "MUTAG",
    "PTC": "PTC",
    "PROTEINS": "PROTEINS",
    "NCI1": "NCI1",
    "IMDB-BINARY": "IMDB-B",
    "IMDB-MULTI": "IMDB-M",
    "REDDIT-BINARY": "REDDIT-B",
    "COLLAB": "COLLAB",
}
NODE_SETS = {
    "AmazonPhoto": "Photo",
    "AmazonComputers": "Computers",
    "CoauthorPhysics": "Physics",
    "Minesweeper": "Minesweeper",
}
JOINT_SETS = {
    "structure-frequency-fixed": "fixed",
    "structure-frequency-varied": "varied",
    "structure-frequency-wellposed": "wellposed",
}
JOINT_SEEN = tuple(f"structure-frequency-fixed/{model}" for model in ("joint-gcn", "joint-gat", "gcn", "msh-stable"))
"""Cells of the suite ``joint`` whose embeddings are drawn."""
SETS = GRAPH_SETS | NODE_SETS | JOINT_SETS
MODELS = {
    "msh-stable": "**MSH-GNN `stable`**",
    "msh-paper": "MSH-GNN `paper`",
    "msh-released": "MSH-GNN `released`",
    "gcn": "GCN",
    "gat": "GAT",
    "gatv2": "GATv2",
    "sage": "GraphSAGE",
    "gin": "GIN",
    "gine": "GINE",
    "film": "FiLM",
    "transformer": "TransformerConv",
    "pna": "PNA",
    "edge-mlp": "edge perceptron",
    "pna-paper": "PNA of its paper",
    "dcnn": "DCNN",
    "dgcnn": "DGCNN",
    "sep": "SEP",
    "grepool": "GrePool",
    "gmt": "GMT",
    "rtpool": "RTPool",
    "wit-topopool": "Wit-TopoPool",
    "ign": "IGN",
    "ppgn": "PPGN",
    "n2": "N2",
    "natural": "Natural GN",
    "gsn": "GSN",
    "sin": "SIN",
    "cin": "CIN",
    "pin": "PIN",
    "appnp": "APPNP",
    "gpr": "GPR-GNN",
    "gt": "GT",
    "san": "SAN",
    "gps": "GraphGPS",
    "exphormer": "Exphormer",
    "graphormer": "Graphormer",
    "nagphormer": "NAGphormer",
    "tokengt": "TokenGT",
    "specformer": "Specformer",
    "joint-gcn": "GCN of the paper",
    "joint-gat": "GAT of the paper",
    "mlp": "MLP on summed features",
    "knn": "5-NN on degree and Rayleigh statistics",
    "wl-kernel": "1-WL kernel, support vectors",
    "wl-lookup": "1-WL lookup table",
    "gntk": "GNTK",
    "majority": "majority class",
}
TUNED = {"gcn-tuned": "GCN", "gat-tuned": "GAT", "sage-tuned": "GraphSAGE", "msh-tuned": "MSHConv"}
"""Models in the recipes of others, one per set: shown beside what was published for them, not among ``MODELS``."""
OURS = "msh-stable"
CONTROLS = frozenset({"majority", "wl-lookup", "wl-kernel", "gntk", "knn"})
"""Models that learn nothing of what a graph network learns: every result is to be read beside them."""
FLOORS = frozenset({"majority", "wl-lookup"})
"""Controls that see no likeness between graphs: neither ranked nor compared one by one."""


def plain_title(model: str) -> str:
    """A model's title without the marks of Markdown, for pictures."""
    return MODELS[model].replace("*", "").replace("`", "")

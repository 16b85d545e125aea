"""Data sets by name, the structure-frequency task, splits, and a user's own graphs."""

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.loading import load
from mshgnn.data.readers.own import load_own
from mshgnn.data.splits import Split, Splits, load_splits
from mshgnn.data.structure_frequency import StructureFrequencyDataset
from mshgnn.data.transforms import add_encoding

__all__ = [
    "DataError",
    "GraphDataset",
    "Split",
    "Splits",
    "StructureFrequencyDataset",
    "add_encoding",
    "from_graphs",
    "load",
    "load_own",
    "load_splits",
]

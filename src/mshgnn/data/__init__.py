"""Data sets by name, the structure-frequency task, splits, and a user's own graphs."""

from mshgnn.data.dataset import METRICS, DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.from_tables import from_tables
from mshgnn.data.loading import load, load_any
from mshgnn.data.readers.own import load_own, read_own
from mshgnn.data.schema import Schema
from mshgnn.data.splits import Split, Splits, load_splits
from mshgnn.data.structure_frequency import StructureFrequencyDataset
from mshgnn.data.transforms import add_encoding

__all__ = [
    "METRICS",
    "DataError",
    "GraphDataset",
    "Schema",
    "Split",
    "Splits",
    "StructureFrequencyDataset",
    "add_encoding",
    "from_graphs",
    "from_tables",
    "load",
    "load_any",
    "load_own",
    "load_splits",
    "read_own",
]

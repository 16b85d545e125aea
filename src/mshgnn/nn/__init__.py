"""What a PyG user imports: the layer, the readout and the models."""

from mshgnn.nn.graph_model import GraphModel
from mshgnn.nn.harmonic import SCHEDULES, HarmonicEncoding
from mshgnn.nn.model import Model
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.msh_gnn import MSHGNN, PRESETS
from mshgnn.nn.readout import FrequencyAwarePooling
from mshgnn.nn.response import frequency_response
from mshgnn.nn.structured import StructuredModel

__all__ = [
    "MSHGNN",
    "PRESETS",
    "SCHEDULES",
    "FrequencyAwarePooling",
    "GraphModel",
    "HarmonicEncoding",
    "MSHConv",
    "Model",
    "StructuredModel",
    "frequency_response",
]

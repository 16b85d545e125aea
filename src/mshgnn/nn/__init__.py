"""What a PyG user imports: the layer, the readout and the model."""

from mshgnn.nn.block import HarmonicBlock
from mshgnn.nn.harmonic import SCHEDULES, HarmonicEncoding
from mshgnn.nn.model import MSHGNN
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.pooling import FrequencyAwarePooling
from mshgnn.nn.presets import PRESETS
from mshgnn.nn.response import frequency_response

__all__ = [
    "MSHGNN",
    "PRESETS",
    "SCHEDULES",
    "FrequencyAwarePooling",
    "HarmonicBlock",
    "HarmonicEncoding",
    "MSHConv",
    "frequency_response",
]

"""Peak memory of one training step, a process of its own: ``python -m mshgnn.benchmarks.memory edges.pt N name 2``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from mshgnn.errors import UserError

_STATUS = Path("/proc/self/status")


def _status_bytes(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise UserError(f"{_STATUS} has no field {field}")


def resident_bytes() -> int:
    """Memory of this process now."""
    return _status_bytes("VmRSS")


def peak_bytes() -> int:
    """The most memory this process had since the last reset."""
    return _status_bytes("VmHWM")


def reset_peak() -> None:
    """Begin to look for the peak anew."""
    Path("/proc/self/clear_refs").write_text("5")


def main(arguments: list[str]) -> None:
    """Print the bytes of one training step above those before it, as JSON."""
    from mshgnn.benchmarks.contenders import CHANNELS, CONTENDERS
    from mshgnn.benchmarks.measure import training_step

    path, num_nodes, contender, threads = arguments
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    layer = CONTENDERS[contender]()
    edge_index = torch.load(path)
    x = torch.randn(int(num_nodes), CHANNELS)
    # Libraries, kernels and their own buffers come to life on a small graph.
    training_step(layer, torch.randn(10, CHANNELS), torch.randint(10, (2, 30)))()
    small = x.detach().requires_grad_()
    gradient = torch.randn(int(num_nodes), CHANNELS)
    before = resident_bytes()
    reset_peak()
    layer(small, edge_index).backward(gradient)
    print(json.dumps({"bytes": peak_bytes() - before}))


if __name__ == "__main__":
    main(sys.argv[1:])

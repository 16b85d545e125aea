"""Peak memory of one training step, a process of its own: ``python -m mshgnn.benchmarks.memory edges.pt N name 2``."""

from __future__ import annotations

import json
import sys

import torch

from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes


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
    before = resident_memory_bytes()
    reset_peak_memory()
    layer(small, edge_index).backward(gradient)
    print(json.dumps({"bytes": peak_memory_bytes() - before}))


if __name__ == "__main__":
    main(sys.argv[1:])

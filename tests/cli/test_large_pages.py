"""Commands that compute get large pages, measured in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mshgnn.cli.large_pages import VARIABLE

TRANSPARENT = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SCRIPT = """
import sys
from pathlib import Path
from mshgnn.__main__ import main
sys.argv = ["mshgnn", *{arguments}]
try:
    main()
except SystemExit:
    pass
import torch
tensor = torch.ones(2**24)
print(Path("/proc/self/smaps_rollup").read_text().split("AnonHugePages:")[1].split()[0])
"""
MOST_OF_THE_TENSOR = 2**15  # kB, of 2^16


@pytest.mark.skipif(
    not TRANSPARENT.is_file() or "[madvise]" not in TRANSPARENT.read_text(),
    reason="this system gives large pages to everyone or to no one",
)
@pytest.mark.parametrize(
    ("arguments", "setting", "large"),
    [(["models", "gin"], None, True), (["models", "gin"], "0", False), (["bench", "--help"], None, False)],
    ids=["a command", "the user said no", "layers as a user has them"],
)
def test_large_tensors_of_a_command_lie_in_large_pages(arguments: list[str], setting: str | None, large: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if setting is not None:
        environment[VARIABLE] = setting
    command = [sys.executable, "-c", SCRIPT.format(arguments=arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (int(done.stdout.split()[-1]) > MOST_OF_THE_TENSOR) == large

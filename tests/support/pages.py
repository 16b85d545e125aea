"""The code blocks of a page, and a reader who types them in: one folder and one Python session per page.

- ``python`` is executed, all blocks of a page in one namespace;
- ``bash`` is one ``mshgnn`` command per line;
- a block of any language with ``title="FILE"`` is a file that the reader saves;
- ``<!-- not run: REASON -->`` on the line above keeps a block from being run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from typer.testing import CliRunner

from mshgnn.cli import app

RUN = ("python", "bash")
SHOWN = ("text", "csv", "json", "yaml", "imports")
"""Languages of what is not run: saved where they have a title, else only shown."""
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>\S.*?) -->\n)?"
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``reason`` says why it is not run, ``title`` names the file that it is."""

    where: str
    language: str
    code: str
    title: str | None
    reason: str | None

    @property
    def is_run(self) -> bool:
        return self.reason is None and (self.language in RUN or self.title is not None)


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(f"{page.name}:{line}", match["language"], match["code"], match["title"], match["reason"]))
    return found


def play(blocks: list[Block]) -> None:
    """Do in the present folder what the blocks say."""
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        if not block.is_run:
            continue
        if block.title is not None:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.code, block.where, "exec"), names)
        else:
            for command in commands_of(block):
                result = CliRunner().invoke(app, command, catch_exceptions=False)
                assert result.exit_code == 0, f"{block.where}: mshgnn {shlex.join(command)}: {result.output}"


def commands_of(block: Block) -> Iterator[list[str]]:
    """The arguments of each ``mshgnn`` command of a block; a pattern like ``runs/*`` stands for the files there are.

    One by one, for such files may be made by the command before.
    """
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "mshgnn", f"{block.where}: cannot be run here, so its block needs a marker: {line}"
        yield [path for word in words[1:] for path in (sorted(glob(word)) or [word])]

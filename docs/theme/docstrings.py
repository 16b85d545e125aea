"""Docstrings speak Sphinx's dialect; this griffe extension says the same in the Markdown of the pages."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

BLOCK = re.compile(r"^\.\. math::\n((?:[ ]{4}.*\n?|\n)+)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]+)`")
ROLE = re.compile(r":(?:class|func|meth|data|mod|attr):`([^`]+)`")
LITERAL = re.compile(r"``([^`]+)``")


class PlainMarkdown(griffe.Extension):
    """Rewrite roles, double backticks and formulas of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that griffe has read."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring with ``$...$`` for formulas and single backticks for names."""
    text = BLOCK.sub(lambda block: f"$$\n\\begin{{align*}}\n{_lines(block[1])}\n\\end{{align*}}\n$$\n\n", text)
    text = INLINE.sub(r"$\1$", text)
    return LITERAL.sub(r"`\1`", ROLE.sub(r"`\1`", text))


def _lines(block: str) -> str:
    return textwrap.dedent(block).strip()

"""Strict YAML of bounded size: a key given twice is an error, 1e-3 is a number, and no file is a bomb."""

from __future__ import annotations

import re
import stat
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from mshgnn.files import MOST_DIGITS
from mshgnn.lab.errors import ExperimentError

MAX_BYTES = 256 * 1024
"""Larger than any experiment; PyYAML reads so much in a few seconds."""
MAX_VALUES = 100_000
"""How many values a file may stand for once its aliases are written out."""


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which alone would keep the last of two equal keys and read 1e-3 as text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a single value", problem_mark=key_node.start_mark)
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key!r} is given twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        """A whole number. Of hexadecimal digits, and of 1:59:59, PyYAML alone would read any amount."""
        if len(node.value) > MOST_DIGITS:
            problem = f"a number of {len(node.value):,} digits"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        value: int = self.construct_yaml_int(node)
        return value


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_whole)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def parse(text: str) -> Any:
    """The value that a piece of YAML stands for; ``yaml.YAMLError`` for anything that is not plain YAML."""
    loader = _StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > MAX_VALUES:
            raise yaml.YAMLError(f"its aliases stand for more than {MAX_VALUES:,} values")
        return loader.construct_document(node)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:  # a date or a number that Python cannot hold
        raise yaml.YAMLError(str(error)) from None
    except (LookupError, AttributeError):  # what PyYAML raises for !!bool maybe, !!int "", !!timestamp never
        raise yaml.YAMLError("a value is not of the type that its tag says") from None
    finally:
        loader.dispose()


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; anything else is an error that names the file and the line."""
    try:
        content = parse(_read_text(path))
    except FileNotFoundError:
        raise ExperimentError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path}: cannot be read ({error})") from None
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ExperimentError(f"{path}:{line} not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ExperimentError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ExperimentError(f"{path}: must be a mapping of keys to values")
    return content


def _read_text(path: Path) -> str:
    """The text of a regular file of reasonable size: a device or a pipe would be read for ever."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ExperimentError(f"{path}: cannot be read (it is not a file)")
    if status.st_size > MAX_BYTES:
        raise ExperimentError(f"{path}: is too large ({status.st_size:,} bytes, at most {MAX_BYTES:,})")
    with path.open("rb") as file:
        return file.read(MAX_BYTES).decode("utf-8")


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for, every alias written out."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in known:
        if known[id(node)] == 0:
            raise yaml.MarkedYAMLError(problem="an alias stands for itself", problem_mark=node.start_mark)
        return known[id(node)]
    known[id(node)] = 0
    pairs = isinstance(node, yaml.MappingNode)
    children = [child for pair in node.value for child in pair] if pairs else node.value
    known[id(node)] = 1 + sum(_size(child, known) for child in children)
    return known[id(node)]

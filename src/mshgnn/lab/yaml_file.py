"""Strict YAML: a key given twice is an error, and 1e-3 is a number."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from mshgnn.lab.errors import ExperimentError


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which alone would keep the last of two equal keys and read 1e-3 as text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key!r} is given twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def parse(text: str) -> Any:
    """The value that a piece of YAML stands for."""
    return yaml.load(text, Loader=_StrictLoader)  # a safe loader, made stricter


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; anything else is an error that names the file and the line."""
    try:
        content = parse(path.read_text(encoding="utf-8"))
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

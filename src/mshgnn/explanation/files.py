"""Explanations on disk: a page, pictures, JSON, by the ending of the name, or all of them in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from mshgnn.errors import UserError
from mshgnn.explanation.drawing import save_png
from mshgnn.explanation.explain import Explanation
from mshgnn.explanation.page import explanation_page
from mshgnn.explanation.words import as_data
from mshgnn.files import check_writable, written

ENDINGS = (".html", ".png", ".json")


def check_out(out: Path, items: int) -> None:
    """Refuse a name that cannot be written to before anything is computed."""
    if out.suffix and out.suffix not in ENDINGS and not out.is_dir():
        raise UserError(f"--out {out}: must be a folder, or end in .html, .png or .json")
    if out.suffix == ".png" and items > 1:
        raise UserError(f"--out {out}: a .png holds one row, {items} were asked for; give a folder")
    if out.suffix not in ENDINGS and out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file without an ending; give a folder")
    check_writable(out if out.suffix in ENDINGS else out / "explained.html")


def write_explanations(explanations: Sequence[Explanation], out: Path, source: str) -> list[Path]:
    """Write what ``out`` asks for; into a folder go ``explained.html``, ``explained.json`` and a picture per item."""
    if out.suffix in ENDINGS:
        return [_write(explanations, out, source)]
    paths = [_write(explanations, out / f"explained{ending}", source) for ending in (".html", ".json")]
    for explanation in explanations:
        name = re.sub(r"[^\w.-]+", "-", explanation.title).strip("-.") or "item"
        paths.append(save_png(explanation, out / f"{name}.png"))
    return paths


def _write(explanations: Sequence[Explanation], path: Path, source: str) -> Path:
    if path.suffix == ".png":
        return save_png(explanations[0], path)
    if path.suffix == ".html":
        text = explanation_page(explanations, source)
    else:
        text = json.dumps({"source": source, "explanations": [as_data(each) for each in explanations]}, indent=1) + "\n"
    with written(path) as file:
        file.write(text.encode())
    return path

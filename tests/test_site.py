"""The docs site builds without a warning and needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    assert built.returncode == 0, built.stderr
    return folder


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"?(https?:)?//", re.IGNORECASE)
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    assert [page for page in pages if fetched.search(page.read_text(encoding="utf-8"))] == []
    sheets = [*site.rglob("*.css")]
    assert [
        sheet for sheet in sheets if re.search(r"(@import|url\()\W*https?:", sheet.read_text(encoding="utf-8"))
    ] == []


def test_every_formula_is_drawn(site: Path) -> None:
    for name in ("method.html", "api/nn.html"):
        text = (site / name).read_text(encoding="utf-8")
        formulas = re.findall(r"<math.*?</math>", text, re.DOTALL)
        assert len(formulas) > 5
        assert "arithmatex" not in text
        for formula in formulas:
            assert not re.search(r"<mi>\\|&#x00026;|merror", formula), formula


def test_a_file_that_a_page_links_to_is_on_the_site(site: Path) -> None:
    assert "class Net" in re.sub(r"<[^>]+>", "", (site / "source/examples/drop_in_layer.py.html").read_text("utf-8"))
    assert (site / "source/results/bench-scale.png").read_bytes().startswith(b"\x89PNG")
    assert 'href="source/src/mshgnn/models/gin.py.html"' in (site / "models.html").read_text("utf-8")

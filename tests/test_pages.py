"""The pages lead where they say, and their Python runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch, Data

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    return (link for link in found if "://" not in link)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page not in reached:
            reached.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]
    assert set((ROOT / "docs").rglob("*.md")) - reached == set()


def test_the_effects_on_the_page_of_stability_are_those_of_the_notebook() -> None:
    page = ROOT / "docs" / "stability.md"
    rows = re.findall(r"^\|.*\((notebook/[a-z]+\.md)\) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.endswith(".md) |")]
    assert len(lines) == len(rows) > 10
    for line, notebook in zip(lines, rows, strict=True):
        figures = re.findall(r"\d+\.\d \(\d\.\d{3}\)", line)
        assert len(figures) == 2
        table = (page.parent / notebook).read_text(encoding="utf-8")
        assert all(f"| {figure} |" in table for figure in figures), line


def test_the_python_of_the_readme_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.M)
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    names = {"data": Batch.from_data_list([Data(x=torch.randn(3, 7), edge_index=ring) for _ in range(4)])}
    exec(code, names)
    assert names["logits"].shape == (4, 2)

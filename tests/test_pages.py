"""The pages lead where they say, and every code block on them does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mshgnn.errors import UserError
from support.pages import RUN, SHOWN, blocks_of, play

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_names_its_language_and_none_is_left_out_silently(page: Path) -> None:
    blocks = blocks_of(page)
    fences = re.findall(r"^```", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(blocks), "a fence that is not understood"
    for block in blocks:
        assert block.language in (*RUN, *SHOWN), f"{block.where}: {block.language!r}"
        assert block.language in RUN or not re.search(r"^\s*mshgnn ", block.code, re.MULTILINE), block.where


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(block.is_run for block in blocks_of(page))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_reader_can_type_in_the_blocks_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path / "prepared"))
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "reader"
    folder.mkdir()
    monkeypatch.chdir(folder)
    play(blocks_of(page))


def test_a_block_that_fails_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nassert False\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        play(blocks_of(page))
    page.write_text("```bash\nmshgnn models no-such-model\n```\n", encoding="utf-8")
    with pytest.raises(UserError, match="no-such-model"):
        play(blocks_of(page))
    page.write_text("```bash\nrm -rf something\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="needs a marker"):
        play(blocks_of(page))
    page.write_text("<!-- not run: it fails -->\n```python\nassert False\n```\n", encoding="utf-8")
    play(blocks_of(page))

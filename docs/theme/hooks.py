"""What the site does beyond Markdown: formulas become MathML, and files outside ``docs`` that a page links to join it.

The pages stay plain Markdown with relative links, readable without the site.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LINK = re.compile(r"(?<=\]\()((?:\.\./)+[^)#\s]+)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each linked file outside ``docs``: a page of its own for Markdown and Python, as it is otherwise."""
    pages = [file for file in files if file.src_uri.endswith(".md")]
    linked = {path for page in pages for path in _outside(page, config)}
    for path in sorted(linked):
        target = _uri(path, config)
        if path.suffix == ".py":
            code = path.read_text(encoding="utf-8")
            name = path.relative_to(_root(config))
            content = f"---\nsearch: {{exclude: true}}\n---\n# {path.name}\n\n`{name}`\n\n````python\n{code}````\n"
            files.append(File.generated(config, target, content=content))
        else:
            files.append(File.generated(config, target, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave ``docs`` to the files that :func:`on_files` has added."""
    if page.file.src_uri == "CONTRIBUTING.md":  # its own links start at the project's root
        return markdown.replace("](docs/", "](")
    folder = Path(page.file.abs_src_path).parent if page.file.abs_src_path else Path(config.docs_dir)
    up = "../" * page.file.src_uri.count("/")

    def inside(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve()
        return link[1] if path.is_relative_to(config.docs_dir) else up + _uri(path, config)

    return LINK.sub(inside, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Turn LaTeX between dollars into MathML, which browsers draw by themselves; keep a spread beside its figure."""
    return FORMULA.sub(_mathml, content).replace(" ± ", "&nbsp;±&nbsp;")


def _mathml(formula: re.Match[str]) -> str:
    latex = html.unescape(formula[2]).strip().replace(r"\Big(", r"\left(").replace(r"\Big)", r"\right)")
    return convert(latex, display="block" if formula[1] == "div" else "inline")


def _outside(page: File, config: MkDocsConfig) -> set[Path]:
    """The existing files outside ``docs`` that a page links to."""
    if page.abs_src_path is None:
        return set()
    folder = Path(page.abs_src_path).parent
    paths = {(folder / link).resolve() for link in LINK.findall(page.content_string)}
    return {path for path in paths if path.is_file() and not path.is_relative_to(config.docs_dir)}


def _uri(path: Path, config: MkDocsConfig) -> str:
    """Where on the site a file outside ``docs`` lies."""
    name = path.relative_to(_root(config)).as_posix()
    if path.suffix == ".py":
        return f"source/{name}.md"
    return name if path.suffix == ".md" else f"source/{name}"


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent

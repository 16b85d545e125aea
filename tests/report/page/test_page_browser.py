"""The page in a real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from page_helpers import classes, numbers, shown

from mshgnn.report.page.build import build

CHROMIUM = Path("/usr/bin/chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
if not CHROMIUM.exists():
    pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium", allow_module_level=True)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PRINTED = "matchMedia('print').matches"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, each made once."""
    folder = tmp_path_factory.mktemp("pages")
    several = [classes(), replace(classes(), name="gcn", shown=None, new_data=None)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mshgnn.report.page.embedding.tsne_points", lambda array, seed: array[:, 2:4])
        pages = {
            "classes": build(several),
            "numbers": build([numbers(targets=12, folds=2)]),
            "many": build([replace(numbers(5_000, folds=5), shown=shown(5_000))]),
        }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


class Opened:
    """A page with everything that it complained about."""

    def __init__(self, browser: Any, file: Path, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.goto(f"file://{file}")

    def _asked(self, url: str) -> None:
        if not url.startswith("file:"):
            self.complaints.append(f"asked for {url}")

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1600])
@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_a_page_is_drawn_without_complaint_or_overflow(
    browser: Any, files: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    with Opened(browser, files[name], width, scheme) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        empty = "[...document.querySelectorAll('[data-chart]')].filter((host) => !host.children.length).length"
        assert opened.page.evaluate(empty) == 0
        ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(251, 250, 248)", "dark": "rgb(21, 24, 27)"}[scheme]
        outside = "e => e.getBoundingClientRect().right > innerWidth + 1"
        wide = f"[...document.querySelectorAll('svg, canvas, figure')].filter({outside}).length"
        assert opened.page.evaluate(wide) == 0
        assert opened.complaints == []


@pytest.mark.parametrize(("name", "scheme"), [("classes", "light"), ("numbers", "dark")])
def test_axe_finds_nothing_serious(browser: Any, files: dict[str, Path], name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_core_python.sync_playwright")
    with Opened(browser, files[name], 1280, scheme) as opened:
        found = axe.Axe().run(opened.page, options={"resultTypes": ["violations"]})["violations"]
        assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found] == []


def test_the_button_changes_the_colours(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"]) as opened:
        button = opened.page.get_by_role("button", name="Dark")
        assert button.get_attribute("aria-pressed") == "false"
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
        assert opened.complaints == []


def test_pointing_at_a_dot_shows_its_graph_truth_and_prediction(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"]) as opened:
        figure = opened.page.locator("#embedding figure").first
        canvas, card = figure.locator("canvas"), figure.locator(".card")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        seen = set()
        for step in range(1, 20):
            opened.page.mouse.move(box["x"] + box["width"] * step / 20, box["y"] + box["height"] / 2)
            seen.add(card.inner_text())
        assert len(seen) > 3
        assert card.locator("svg.graph line").count() == 6
        for word in ("row", "fold", "true", "predicted", "%"):
            assert word in card.inner_text()
        assert opened.complaints == []


def test_points_can_be_walked_by_keyboard(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"]) as opened:
        canvas = opened.page.locator("#embedding canvas").first
        canvas.focus()
        said = set()
        for key in ("Home", "ArrowRight", "ArrowRight", "End", "ArrowLeft"):
            opened.page.keyboard.press(key)
            said.add(canvas.get_attribute("aria-valuetext"))
        assert len(said) == 5
        assert all("true" in str(text) and "predicted" in str(text) for text in said)


def test_the_values_of_a_curve_are_read_off_by_pointer_and_keyboard(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"]) as opened:
        figure = opened.page.locator("#curves figure").first
        picture, readout = figure.locator("svg[role=slider]"), figure.locator("output")
        picture.focus()
        opened.page.keyboard.press("End")
        assert readout.inner_text().startswith("epoch 20: msh-stable, training")
        picture.hover(position={"x": 120, "y": 60})
        assert readout.inner_text().startswith("epoch ")
        assert not readout.inner_text().startswith("epoch 20")


def test_projections_folds_and_targets_can_be_chosen(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["numbers"]) as opened:
        embedding = opened.page.locator("#embedding figure").first
        embedding.get_by_role("button", name="t-SNE").click()
        pressed = embedding.get_by_role("button", name="t-SNE")
        assert pressed.get_attribute("aria-pressed") == "true"
        assert pressed.evaluate("button => button === document.activeElement")
        embedding.get_by_label("show").select_option("fold 2")
        assert "fold 2" in embedding.locator(".card-title").inner_text()
        parity = opened.page.locator("#parity figure").first
        parity.get_by_label("show").select_option("property 11")
        parity.get_by_role("button", name="residuals").click()
        assert parity.get_by_label("show").input_value() == "property 11"
        assert parity.locator(".card dt").count() == 12
        assert opened.complaints == []


def test_on_paper_everything_is_light_and_unfolded(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"], scheme="dark") as opened:
        opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate(PRINTED)
        assert opened.page.locator("details:not([open])").count() == 0
        assert not opened.page.locator("nav").is_visible()
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(opened.page.pdf()) > 20_000
        opened.page.emulate_media(media="screen")
        opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert opened.page.locator("details[open]").count() == 0
        assert opened.complaints == []


def test_a_page_of_five_thousand_graphs_opens_within_two_seconds(browser: Any, files: dict[str, Path]) -> None:
    spent = []
    for _ in range(3):  # the quickest: a busy machine is not the page's fault
        with Opened(browser, files["many"]) as opened:
            spent.append(opened.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
            assert opened.complaints == []
    assert min(spent) < 2000


def test_a_narrower_window_is_drawn_again(browser: Any, files: dict[str, Path]) -> None:
    with Opened(browser, files["classes"], 1600) as opened:
        opened.page.set_viewport_size({"width": 400, "height": 800})
        opened.page.wait_for_function("document.documentElement.scrollWidth <= 400")
        assert opened.complaints == []

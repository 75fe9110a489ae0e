"""Pages in a real browser: the numbers under the pointer, both languages, no network, no code of tokens."""

from __future__ import annotations

import io
import re
import time
from base64 import b64decode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import as_map
from fontTools.ttLib import TTFont
from half_width import half_width_marks
from msgspec.structs import replace
from page_file import PageFile

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.compute.execute import execute_decoding
from attnviz.core.arcs import Arcs, Measures, Place, Row
from attnviz.core.levels import RANGE_BY_ID
from attnviz.i18n import language
from attnviz.model.edit.edits import rename_token
from attnviz.model.provenance import Region, sources
from attnviz.model.ranges import shown_range
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.spec.view import Cell, View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.value_sum import value_sum
from attnviz.pages import contents, page_html, save_page
from attnviz.pages.arrays import trace_of_weights
from attnviz.pages.fonts import font_rules


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the page of a document; fails on requests, errors and messages of the page."""
    faults: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on(
        "request", lambda request: faults.append(request.url) if not request.url.startswith("file:") else None
    )
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))

    def open_(document: Document, saved: Document | None = None, **options: Any) -> Any:
        file = save_page(saved or document, attnviz.run(document), tmp_path / "page.html", **options)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    page.close()
    assert faults == []


def somewhere(page: Any) -> tuple[float, float]:
    """A point over a cell of the map, found by trying; the cells are 40 pixels wide or more."""
    box = page.locator("#map").bounding_box()
    for y in range(80, int(box["height"]), 40):
        for x in range(80, int(min(box["width"], 700)), 40):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if page.evaluate("document.getElementById('value').textContent"):
                return box["x"] + x, box["y"] + y
    raise AssertionError("no cell was found")


def number(text: str) -> float:
    return float(text.split(" ")[0].replace("−", "-"))


def test_the_value_of_a_cell_is_that_of_the_trace(opened: Any) -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    page = opened(document)
    weights = attnviz.run(document)["weights"]
    page.locator("#map").focus()
    for _row in range(4):  # the document shows the last query
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#where") == "weights [a, a]"
    for column in range(4):
        for row in range(4):
            assert number(page.inner_text("#value")) == pytest.approx(
                float(weights[0, row, column]), rel=1e-6
            )
            page.keyboard.press("ArrowDown")
        for _row in range(4):
            page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")


def test_the_pointer_shows_a_cell_and_a_click_keeps_it(opened: Any) -> None:
    page = opened(as_map(load_preset("fluffy-blue-creature")))
    x, y = somewhere(page)
    said = page.inner_text("#where")
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    assert page.inner_text("#where") == said != ""


def test_a_score_opens_to_its_products_and_leads_to_q(opened: Any) -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    page = opened(document)
    trace = attnviz.run(document)
    page.click("#strip button:has-text('scores')")
    page.locator("#map").focus()
    page.keyboard.press("ArrowLeft")
    value = number(page.inner_text("#value"))
    assert value == pytest.approx(float(trace["scores"][0, 3, 0]), rel=1e-6)
    assert float(page.inner_text("#sources tr.sum td:last-child").replace("−", "-")) == pytest.approx(
        value, abs=6e-4
    )
    page.click("#sources .link >> nth=0")
    assert page.inner_text("#stage") == "q rotated"


EVERY_STAGE = """async () => {
  const found = [], ready = async () => {
    while (!document.documentElement.dataset.ready) await new Promise((done) => setTimeout(done));
  };
  for (let at = 0; at < data.sites.length; at++) {
    $("site").value = at;
    $("site").dispatchEvent(new Event("change"));
    await ready();
    for (const button of [...$("strip").children]) {
      button.click();
      await ready();
      found.push([at, $("stage").textContent, $("map").getAttribute("aria-label")]);
    }
  }
  return found;
}"""
"""Shows each stage of each site: its name, and what the picture says that it is."""


def test_every_stage_and_site_is_drawn(opened: Any) -> None:
    document = as_map(load_preset("encoder-decoder"))
    trace = attnviz.run(document)
    wanted = []
    for at, name in enumerate(trace.sites):
        for stage in trace.site(name).stages:
            title, (rows, columns) = STAGE_BY_ID[stage].title, trace.site(name).shape(stage)[-2:]
            wanted.append([at, title, f"{title}, {rows} × {columns}"])
    assert opened(document).evaluate(EVERY_STAGE) == wanted


EVERY_SOURCE = """(cells) => cells.map(([at, id, head, i, j]) => {
  Object.assign(state, { site: at, head: head, row: i, column: j });
  const row = stage(id);
  const plain = (part) => (Array.isArray(part) && part.length === 1 ? part[0] : part);
  return regions(row, i, j).map((one) => [one.row.id, sourceHead(one.row, row), ...one.at.map(plain)]);
})"""
"""The sources of cells: stage, head, row and column of each input; null is all of them."""


@pytest.mark.parametrize(
    "preset",
    ["grouped-query", "multi-head-latent", "transformer-xl", "deberta", "experts", "encoder-decoder"],
)
def test_the_sources_of_a_cell_are_those_of_the_program(opened: Any, preset: str) -> None:
    trace = attnviz.run(as_map(load_preset(preset)))
    cells, wanted = [], []
    for at, name in enumerate(trace.sites):
        site = trace.site(name)
        for stage in site.stages:
            row, shape = STAGE_BY_ID[stage], site.shape(stage)
            for i, j in ((0, 0), (shape[-2] - 1, shape[-1] - 1), (shape[-2] - 1, shape[-1] // 2)):
                head = site.experiment.heads.n_heads - 1
                own = head // site.experiment.heads.group_size if row.axes[0] == "kv_head" else head
                cells.append([at, stage, head, i, j])
                wanted.append([as_the_page(region) for region in sources(site, Cell(stage, i, j, own))])
    found = opened(as_map(load_preset(preset))).evaluate(EVERY_SOURCE, cells)
    for cell, one, other in zip(cells, found, wanted, strict=True):
        assert one == [region for region in other if region is not None], cell


def as_the_page(region: Region) -> list[Any] | None:
    """A region as the page writes it; None if it has no cells."""
    if () in (region.rows, region.columns):
        return None
    cells = (region.heads, region.rows, region.columns)
    heads, rows, columns = (part if part is None or len(part) > 1 else part[0] for part in cells)
    return [region.stage, heads, rows, list(columns) if isinstance(columns, tuple) else columns]


def test_both_languages_and_themes(opened: Any) -> None:
    page = opened(as_map(load_preset("fluffy-blue-creature")))
    page.click("#language") if page.inner_text("#language") == "中文" else None
    assert page.inner_text("#stage") == "权重" and page.evaluate("document.documentElement.lang") == "zh-CN"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.click("#language")
    assert page.inner_text("#stage") == "weights"


def test_the_theme_is_that_of_the_system_until_it_is_chosen(opened: Any) -> None:
    page = opened(as_map(load_preset("fluffy-blue-creature")))
    is_dark = "document.documentElement.classList.contains('dark')"
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector("html.dark" if scheme == "dark" else "html:not(.dark)")
    page.click("#theme")
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    assert page.evaluate(is_dark)


def test_a_dark_page_is_printed_light_with_its_colours(opened: Any) -> None:
    page = opened(as_map(load_preset("stories-en")), decoding=None)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html.dark[data-ready]")
    corner = """() => {
        const pen = Object.assign(document.createElement("canvas"), { width: 4, height: 4 }).getContext("2d");
        pen.drawImage(document.getElementById("map"), 0, 0);
        return [...pen.getImageData(2, 2, 1, 1).data].slice(0, 3);
    }"""
    on_screen = page.evaluate(corner)
    assert sum(on_screen) < 200
    for _again in range(2):
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(corner) == [255, 255, 255]
        page.emulate_media(media="print")
        for selector in ("#words span", "#masked i", "#map"):
            adjust = page.eval_on_selector(selector, "(one) => getComputedStyle(one).printColorAdjust")
            assert adjust == "exact"
        assert not page.is_visible("#theme") and not page.is_visible("#strip")
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.wait_for_selector("html.dark[data-ready]")
        assert page.evaluate(corner) == on_screen


@pytest.mark.parametrize(("picture", "canvas"), [("map", "#map"), ("lines", "#lines canvas")])
def test_a_picture_keeps_its_proportions_on_a_narrower_sheet(opened: Any, picture: str, canvas: str) -> None:
    document = as_map(load_preset("causal-decode"))
    page = opened(replace(document, view=replace(document.view, stage="weights", picture=picture)))
    page.emulate_media(media="print")
    page.add_style_tag(content="main { width: 760px; }")  # as a sheet does: without a resize of the window
    stretch = """(one) => {
        const box = one.getBoundingClientRect();
        return [box.width, box.width / box.height * one.height / one.width];
    }"""
    width, ratio = page.eval_on_selector(canvas, stretch)
    assert 200 < width < 760 and ratio == pytest.approx(1, abs=0.01)


def test_cells_of_nan_are_crossed_and_counted_and_not_hatched_as_masked(opened: Any) -> None:
    document = as_map(load_preset("fully-masked-row"))
    (layer,) = document.experiment.layers
    shown = replace(document.view, stage="mixed")
    experiment = replace(document.experiment, layers=(replace(layer, fully_masked_row="nan"),))
    page = opened(replace(document, experiment=experiment, view=shown))
    n_nan = int(np.isnan(attnviz.run(experiment)["mixed"][0]).sum())
    assert n_nan == 8
    assert page.inner_text("#nan") == "NaN: 8" and not page.is_visible("#infinite")
    titles = [button.inner_text() for button in page.query_selector_all("#strip button")]
    small = f"""() => {{
        const canvas = document.querySelector("#strip").children[{titles.index("mixed")}].firstElementChild;
        return [...canvas.getContext("2d").getImageData(0, 0, 1, 1).data];
    }}"""
    page.wait_for_selector("html[data-complete]")
    assert page.evaluate(small) == [0xB3, 0x26, 0x1E, 255]
    center = """() => {
        const { left, top, cell } = layout, ratio = devicePixelRatio || 1;
        const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
        const [x, y] = [left + cell[0] / 2, top + cell[1] / 2];
        pen.drawImage(document.getElementById("map"), -x * ratio, -y * ratio);
        return [...pen.getImageData(0, 0, 1, 1).data];
    }"""
    red, green, blue, _alpha = page.evaluate(center)
    assert red > 150 > max(green, blue), "the strokes of a cross meet there"


def test_a_narrow_window_has_one_column(opened: Any) -> None:
    page = opened(as_map(load_preset("fluffy-blue-creature")))
    page.set_viewport_size({"width": 480, "height": 900})
    widths = [page.locator(selector).bounding_box()["width"] for selector in ("header", "#cell", "#map")]
    assert widths[0] == widths[1] and widths[2] > 400
    assert page.evaluate("document.documentElement.scrollWidth") == 480


def fonts_of(page: Any, selector: str) -> dict[str, bool]:
    """The families that draw an element, and whether the page brings them."""
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    node = session.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    fonts = session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    return {font["familyName"]: font["isCustomFont"] for font in fonts}


def test_the_page_brings_the_glyphs_of_its_texts(opened: Any) -> None:
    with language("zh_CN"):
        document = as_map(load_preset("xiaoshenyang"))
    page = opened(document)
    page.click("#language") if page.inner_text("#language") == "中文" else None
    page.wait_for_selector("html[data-ready]")
    for selector, wanted in (
        ("#stage", {"Attnviz Sans SC"}),
        ("#formula", {"Attnviz Mono"}),
        ("h1", {"Attnviz Sans SC"}),
        ("footer span", {"Attnviz Sans SC", "Attnviz Sans"}),
    ):
        found = fonts_of(page, selector)
        assert set(found) == wanted and all(found.values()), selector
    assert page.evaluate("document.fonts.check('12px \"Attnviz Sans SC\"', '权')")


@pytest.mark.parametrize(
    ("texts", "families"),
    [("abc", ["Sans", "Sans", "Mono"]), ("abc小", ["Sans", "Sans", "Mono", "Sans SC"])],
)
def test_every_font_of_a_page_has_characters(texts: str, families: list[str]) -> None:
    """Browsers refuse a font whose table of characters is empty."""
    rules = re.findall(r'font-family: "Attnviz ([^"]*)"[^}]*base64,([^)]*)', font_rules(texts))
    assert [family for family, _data in rules] == families
    for family, data in rules:
        with TTFont(io.BytesIO(b64decode(data))) as font:
            known = font.getBestCmap()
        assert known, family
        assert family == "Sans SC" or set(range(0x20, 0x7F)) <= set(known)


def test_no_font_of_a_lesson_is_refused(browser: Any, tmp_path: Path) -> None:
    assert main(["lesson", "export", "softmax", "-o", str(tmp_path / "lesson.html")]) == 0
    page, said = browser.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "lesson.html").as_uri())
    page.evaluate("document.fonts.ready.then(() => null)")
    page.close()
    assert said == []


def test_the_page_of_a_lesson_brings_the_glyphs_of_its_texts(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "lesson.html"
    assert main(["--language", "zh_CN", "lesson", "export", "softmax", "-o", str(file)]) == 0
    page = browser.new_page()
    page.goto(file.as_uri())
    for selector in ("h1", "h2", "header p", "section p", "section li"):
        found = fonts_of(page, selector)
        assert "Attnviz Sans SC" in found and all(found.values()), (selector, found)
    page.close()


def test_every_control_has_a_name_in_both_languages(opened: Any) -> None:
    page = opened(as_map(load_preset("stories-induction")))
    for _language in range(2):
        names = page.evaluate(
            "[...document.querySelectorAll('button, select, input, [tabindex], nav, [role=group]')]"
            ".filter((one) => !one.hidden).map((one) => one.getAttribute('aria-label') || one.textContent)"
        )
        assert all(names), names
        page.click("#language")


@pytest.mark.parametrize("picture", ["map", "lines", "grid"])
def test_a_chinese_page_has_full_width_punctuation(opened: Any, picture: str) -> None:
    page = opened(as_map(load_preset("decoder-only")))
    page.evaluate("state.language = 'zh_CN'")
    page.select_option("#picture", picture)
    page.wait_for_selector("html[data-complete]")
    texts = page.evaluate(
        "[...document.querySelectorAll('body, [aria-label], [title]')]"
        ".flatMap((one) => [one.innerText, one.getAttribute('aria-label'), one.title])"
    )
    lines = [line for text in texts if text for line in text.splitlines()]
    assert any("，" in line for line in lines if "头 2" in line or "×" in line)
    assert [mark for line in lines for mark in half_width_marks(line)] == []


def test_the_strip_shows_the_selected_stage_in_a_narrow_window(opened: Any) -> None:
    page = opened(as_map(load_preset("decoder-only")))
    page.set_viewport_size({"width": 420, "height": 900})
    page.evaluate("draw()")
    page.wait_for_selector("html[data-ready]")
    strip, button = (page.locator(one).bounding_box() for one in ("#strip", "#strip [aria-pressed=true]"))
    assert strip["x"] <= button["x"] and button["x"] + button["width"] <= strip["x"] + strip["width"]
    assert page.evaluate("scrollY") == 0


def test_lines_are_those_of_the_weights(opened: Any) -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    weights = attnviz.run(document)["weights"]
    page = opened(document)
    page.select_option("#picture", "lines")
    page.wait_for_selector("html[data-ready]")
    for heads, of in (([0], "one"), (range(len(weights)), "all")):
        for queries, from_ in (([3], "one"), (range(4), "all")):
            page.evaluate("state.row = 3")
            page.select_option("#of", of)
            page.select_option("#from", from_)
            page.wait_for_selector("html[data-ready]")
            drawn = page.evaluate("words.lines.map((one) => [one.head, one.i, one.j, one.weight])")
            chosen = weights[np.ix_(heads, queries)]
            wanted = {
                (head, query, key): float(weights[head, query, key])
                for head in heads
                for query in queries
                for key in range(4)
                if weights[head, query, key] >= 0.01 * chosen.max()
            }
            assert {tuple(one[:3]): one[3] for one in drawn} == pytest.approx(wanted)


def test_the_keyboard_moves_the_query_and_the_key_of_the_lines(opened: Any) -> None:
    page = opened(as_map(load_preset("fluffy-blue-creature")))
    page.select_option("#picture", "lines")
    page.wait_for_selector("html[data-ready]")
    page.locator("#lines").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    assert page.inner_text("#where") == "weights [fluffy, fluffy]"
    assert page.get_attribute("#lines", "aria-label") == "Lines between tokens: weights, 4 × 4"


def test_every_head_of_every_layer_is_a_small_map(opened: Any) -> None:
    page = opened(as_map(load_preset("stories-induction")))
    page.select_option("#picture", "grid")
    page.wait_for_selector("html[data-complete]")
    assert page.locator(".layer").count() == 4 and page.locator(".layer canvas").count() == 16
    page.click(".layer:nth-child(3) button:nth-of-type(2)")
    page.wait_for_selector("html[data-ready]")
    assert page.input_value("#site") == "2" and page.input_value("#picture") == "map"
    assert page.inner_text("#heads [aria-pressed=true]") == "head 2"


DRAWN = """() => {
  const found = [], pen = CanvasRenderingContext2D.prototype, fillText = pen.fillText;
  pen.fillText = function (text, x, y) {
    const at = this.getTransform().transformPoint(new DOMPoint(x, y)), ratio = devicePixelRatio || 1;
    const width = this.measureText(text).width;
    if (this.textAlign === "center") found.push([text, at.x / ratio, at.y / ratio, width]);
    fillText.call(this, text, x, y);
  };
  drawMap(current);
  pen.fillText = fillText;
  return found;
}"""
"""The centred texts of the map: text, middle, line, and width in pixels."""


@pytest.mark.parametrize(("count", "features"), [(8, 16), (3, 128), (3, 300)])
def test_no_text_of_the_map_touches_its_neighbour(count: int, features: int, opened: Any) -> None:
    vectors = SeededVectors(count, features, 0)
    tokens = tuple(f"token {at}" for at in range(count))
    experiment = attnviz.one_layer(tokens, vectors, heads=Heads(1, 1, features))
    page = opened(Document(experiment, View(stage="q")))
    lines: dict[float, list[tuple[float, float]]] = {}
    for _text, middle, line, width in page.evaluate(DRAWN):
        lines.setdefault(line, []).append((middle - width / 2, middle + width / 2))
    assert len(lines) == (9 if features == 16 else 1)
    for line in lines.values():
        assert len(line) > 8
        assert all(end + 4 <= start for (_s, end), (start, _e) in pairwise(sorted(line)))


def test_the_sum_of_values_stands_below_arcs_with_the_numbers_of_the_trace(opened: Any) -> None:
    document = load_preset("stories-name")
    view, trace = document.view, attnviz.run(document)
    summed = value_sum(trace.shown(view.site), view.head, view.query)
    assert view.picture == "arcs" and summed is not None
    page = opened(document)
    arcs, card = (page.locator(id_).bounding_box() for id_ in ("#arcs", "#sum"))
    assert card["y"] > arcs["y"] and page.inner_text("#sum h2") == "What “she” takes over"
    assert page.inner_text("#sum .row .muted") == "layer 3 · head 3"
    rows = [row.split("\t") for row in page.locator("#sum table tr").all_inner_texts()]
    first, last = summed.order[0], rows[-1]
    expected = ["Lily", f"{summed.weights[first]:.3f}", f"× {summed.lengths[first]:.2f}"]
    assert rows[0][:3] == expected and last[:3] == ["result", "1.000", f"{summed.length():.2f}"]
    count, rest = summed.rest((*summed.order[:5], summed.own))
    assert rows[-2][:2] == [f"{count} others", f"{rest:.3f}"]
    # The result is the last arrow without an opacity of its own: it ends where the last step does.
    path = page.locator("#sum svg > g > path[fill='var(--ink)']").first.get_attribute("d")
    tip = np.array([float(one) for one in path[1:].split(" L")[0].split()])
    origin_path = page.locator("#sum svg > g > path[stroke='var(--ink)']").first.get_attribute("d")
    origin = np.array([float(one) for one in origin_path[1:].split(" L")[0].split()])
    way = (tip - origin) * (1, -1)
    projected = summed.path()[-1]
    np.testing.assert_allclose(way / np.hypot(*way), projected / np.hypot(*projected), atol=2e-3)
    page.click("#language")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#sum h2") == "“she”拿到什么"


def test_a_page_of_a_map_or_of_weights_alone_has_no_sum(opened: Any) -> None:
    document = load_preset("stories-name")
    assert opened(as_map(document)).locator("#sum").is_hidden()
    whole, without = page_html(document, trace := attnviz.run(document)), page_html(as_map(document), trace)
    assert 0 < len(whole) - len(without) < 40_000
    assert "What “she” takes over" in whole and "What “she” takes over" not in without
    alone, weights = trace_of_weights(np.eye(3)[None], ("a", "b", "c"))
    page = page_html(replace(alone, view=replace(alone.view, picture="arcs")), weights)
    assert '"sum":{"en":"","zh_CN":""}' in page


def test_a_token_of_html_in_the_sum_stays_text(opened: Any) -> None:
    document = load_preset("fluffy-blue-creature")
    experiment = rename_token(document.experiment, document.view.query, "<i>x</i>&")
    page = opened(Document(experiment, replace(document.view, picture="arcs")))
    assert "<i>x</i>&" in page.inner_text("#sum table") and "<i>x</i>&" in page.text_content("#sum svg")
    assert page.locator("#sum th i, #sum text i").count() == 0


def test_a_token_of_html_stays_text(opened: Any) -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    evil = "</script><img src=x onerror=alert(1)>"
    experiment = rename_token(document.experiment, 1, evil)
    page = opened(replace(document, experiment=experiment))
    assert page.locator("img").count() == 0
    assert evil in page.inner_text("#words")


@pytest.mark.parametrize("token", ["$&", "$$", "{token}"])
def test_a_token_of_signs_is_named_as_it_is(opened: Any, token: str) -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    page = opened(replace(document, experiment=rename_token(document.experiment, 3, token)))
    page.evaluate("state.language = 'en'; state.row = 3")
    page.evaluate("draw()")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#over") == f"The row of “{token}” over its keys:"


def test_the_steps_of_a_generation_are_played(opened: Any) -> None:
    document = as_map(load_preset("stories-induction"))
    decoding = execute_decoding(document.experiment)
    whole = replace(document, experiment=decoding.experiment)
    page = opened(whole, document, decoding=decoding)
    assert page.is_visible("#steps")
    # The map shows the tokens so far: a row more with each step.
    rows = "present('query', current.rows)"
    assert page.evaluate(rows) == document.experiment.n_queries
    page.locator("#step").fill(str(len(decoding.steps) - 1))
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(rows) == len(decoding.steps)
    assert page.locator("#text span").count() == len(decoding.steps)
    best = float(np.max(decoding.steps[-1].probabilities))
    assert page.inner_text("#next span >> nth=1") == f"{best:.4f}", "with the digits of the window"


LAST_LINES = """[...$("strip").querySelectorAll("canvas")].map((one, at) => {
  const copy = new OffscreenCanvas(one.width, 1).getContext("2d", { willReadFrequently: true });
  copy.drawImage(one, 0, 1 - one.height);
  const alphas = [...copy.getImageData(0, 0, one.width, 1).data].filter((_, i) => i % 4 === 3);
  return [site().stages[at].axes.at(-1), alphas];
})"""
"""The last axis of each stage, and the opacity of the lowest pixels of its small picture."""


def test_the_map_fills_its_card_at_every_step_and_so_do_the_small_pictures(opened: Any) -> None:
    document = as_map(load_preset("stories-induction"))
    decoding = execute_decoding(document.experiment)
    whole = replace(document, experiment=decoding.experiment)
    page = opened(whole, document, decoding=decoding)
    for step in (document.experiment.n_queries - 1, len(decoding.steps) - 1):
        page.locator("#step").fill(str(step))
        page.wait_for_selector("html[data-complete]")
        height = page.evaluate("layout.cell[1] * present('query', current.rows)")
        assert height == pytest.approx(page.evaluate("heightFor($('map'), layout.top)"), abs=1)
        # The last line of pixels of each small picture has colours, as features are never masked.
        lines = page.evaluate(LAST_LINES)
        of_features = [line for axis, line in lines if axis != "key"]
        assert len(of_features) > 5 and all(min(line) == 255 for line in of_features)


ARCS = (
    """() => ({ arcs, curves: arcs.queries.map((_, i) => arcs.keys.map((_, j) => curveOf(arcs, i, j))) })"""
)
"""The places of the words in the browser, and the curves of all pairs."""


@pytest.mark.parametrize("width", [1280, 480])
@pytest.mark.parametrize(
    "preset", ["fluffy-blue-creature", "stories-name", "xiaoshenyang", "cross-attention"]
)
def test_arcs_are_curves_of_the_window_between_the_words(preset: str, width: int, opened: Any) -> None:
    document = load_preset(preset)
    page = opened(replace(document, view=replace(document.view, picture="arcs", stage="weights")))
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("draw()")
    page.wait_for_selector("html[data-ready]")
    drawn = page.evaluate(ARCS)
    found = drawn["arcs"]
    measures = Measures(found["line"], 7, found["rise"], 15, 0, 72)
    queries, keys = (
        Row(0, tuple(Place(**place) for place in found[axis]), 0) for axis in ("queries", "keys")
    )
    is_one = document.experiment.memory is None
    window = Arcs(queries, queries if is_one else keys, tuple(found["tops"]), measures, width)
    assert len({place.row for place in queries.places}) > 1 or width == 1280 or len(queries.places) < 12
    for query, curves in enumerate(drawn["curves"]):
        for key, curve in enumerate(curves):
            np.testing.assert_allclose(window.curve(query, key), curve, atol=1e-3, err_msg=f"{query}, {key}")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_arcs_are_as_thick_as_the_weights_of_the_query(opened: Any) -> None:
    document = load_preset("stories-name")
    trace = attnviz.run(document)
    site, view = trace.shown(document.view.site), document.view
    page = opened(document)
    weights = site["weights"][view.head, view.query]
    drawn = page.evaluate(
        """[...document.querySelectorAll("#arcs path:not([stroke-dasharray])")].map((one) =>
        [Number(one.dataset.key), Number(one.getAttribute("stroke-width"))])"""
    )
    assert [key for key, _width in drawn][-1] == int(weights[1:].argmax()) + 1
    is_off = page.is_visible("#first_off")
    assert is_off == RANGE_BY_ID[shown_range(site, view, "weights")].skips_first
    measures = Measures(1, 1, 1, 15, 1, 1)
    wanted = {
        key: Arcs(Row(0, (), 0), Row(0, (), 0), (0.0,), measures, 1).thickness(float(weight))
        for key, weight in enumerate(weights)
        if weight > 0 and key >= is_off
    }
    assert dict(drawn) == pytest.approx(wanted, rel=1e-5)


def test_a_click_on_a_word_selects_its_query_and_one_on_an_arc_keeps_its_cell(opened: Any) -> None:
    document = load_preset("fluffy-blue-creature")
    page = opened(document)
    weights = attnviz.run(document)["weights"]
    page.click("#arcs .sentence span >> nth=3")
    page.hover("#arcs .sentence span >> nth=1")
    assert number(page.inner_text("#value")) == pytest.approx(float(weights[0, 3, 1]), rel=1e-6)
    page.click("#arcs .sentence span >> nth=2")
    key = int(page.evaluate("document.querySelector('#arcs path:last-child').dataset.key"))
    x, y = page.evaluate(
        "[$('peak').getBoundingClientRect().x + 10, $('peak').getBoundingClientRect().y + 9]"
    )
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    assert number(page.inner_text("#value")) == pytest.approx(float(weights[0, 2, key]), rel=1e-6)
    page.locator("#arcs").focus()
    page.keyboard.press("ArrowDown")
    assert number(page.inner_text("#value")) == pytest.approx(float(weights[0, 3, key]), rel=1e-6)


@pytest.mark.parametrize("picture", ["map", "lines", "arcs"])
def test_a_page_opens_with_the_picture_of_its_document(picture: Any, opened: Any) -> None:
    document = load_preset("stories-name")
    page = opened(replace(document, view=replace(document.view, picture=picture)))
    shown = [one for one in ("map", "lines", "arcs", "grid") if page.is_visible(f"#{one}")]
    assert shown == [picture]


def test_controls_of_a_caption_are_plain_words(opened: Any) -> None:
    caption = "Set [temperature](set temperature 2.0), or write [he](type he for she)."
    page = opened(replace(load_preset("stories-name"), caption=caption))
    assert page.inner_text("#caption") == "Set temperature, or write he."
    assert page.locator("#caption *").count() == 0
    assert page.inner_text("#in_program").startswith("Setting and typing works in the program")
    page = opened(replace(load_preset("stories-name"), caption="[she] attends to [Lily](key)."))
    assert not page.is_visible("#in_program")


def test_one_number_is_that_of_the_strongest_key_until_a_cell_is_chosen(opened: Any) -> None:
    document = load_preset("stories-name")
    view = document.view
    weights = attnviz.run(document).site(view.site)["weights"][view.head, view.query]
    page = opened(document)
    assert page.inner_text("#where") == "weights [\u2423she, \u2423Lily]"
    assert number(page.inner_text("#value")) == pytest.approx(float(weights[1:].max()), rel=1e-6)
    assert page.is_visible("#hint")
    page.click("#arcs .sentence span >> nth=3")
    page.hover("#arcs .sentence span >> nth=1")
    assert not page.is_visible("#hint")


COVERED = """(rows) => rows.filter((row) => {
  state.row = row;
  drawPicture();
  const peak = $("peak").getBoundingClientRect(), apart = 2;
  return [...document.querySelectorAll("#arcs .sentence span")].some((word) => {
    const box = word.getBoundingClientRect();
    return box.left < peak.right && peak.left < box.right
      && box.top + apart < peak.bottom && peak.top < box.bottom - apart;
  });
})"""
"""The queries of which the number at the thickest arc lies on a word."""


def test_on_a_phone_the_number_of_an_arc_covers_no_word(opened: Any) -> None:
    page = opened(load_preset("stories-name"))
    assert page.evaluate("peakOf(arcs, 20, 4)[1] < arcs.tops[0]")
    page.set_viewport_size({"width": 390, "height": 1200})
    page.evaluate("drawPicture()")
    tops = page.evaluate("arcs.tops")
    assert len(tops) == 3 and page.evaluate("arcs.queries[20].row - arcs.keys[4].row") == 2
    peak = page.evaluate("peakOf(arcs, 20, 4)[1]")
    assert any(top + 28 < peak < below for top, below in pairwise(tops))
    assert page.evaluate(COVERED, list(range(1, 21))) == []


def long_document(count: int) -> Document:
    """Eight heads of `count` tokens."""
    toy = as_map(load_preset("grouped-query"))
    tokens = tuple(f"t{i}" for i in range(count))
    experiment = replace(toy.experiment, tokens=tokens, vectors=SeededVectors(count, 16, 0), dtype="float32")
    return replace(toy, experiment=experiment)


def test_eight_heads_of_512_tokens_open_in_a_second(browser: Any, tmp_path: Path) -> None:
    """The time is that of the page alone, four times over, as the machine is shared."""
    document = long_document(512)
    trace = attnviz.run(document)
    file = save_page(document, trace, tmp_path / "page.html")
    assert file.stat().st_size < 20e6
    np.testing.assert_array_equal(PageFile(file.read_text(encoding="utf-8")).stage("masked"), trace["masked"])
    page, times = browser.new_page(), []
    for _ in range(2):
        started = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        times.append(time.perf_counter() - started)
    page.close()
    assert min(times) < 4, times


def test_the_numbers_in_the_file_are_the_traces(tmp_path: Path) -> None:
    for name in ("grouped-query", "fluffy-blue-creature"):
        document = load_preset(name)
        trace = attnviz.run(document)
        page = PageFile(save_page(document, trace, tmp_path / "page.html").read_text(encoding="utf-8"))
        assert page.names() == list(trace.only.stages)
        for stage in page.names():
            np.testing.assert_array_equal(page.stage(stage), trace[stage], err_msg=stage)
        assert page.data["sites"][0]["left_out"] == 0


def test_a_long_text_has_its_weights_and_the_stages_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    document = as_map(load_preset("stories-induction"))
    trace = attnviz.run(document)
    whole = PageFile(page_html(document, trace))
    size = sum(
        trace.site(name)[row["id"]].nbytes
        for name, site in zip(trace.sites, whole.data["sites"], strict=True)
        for row in site["stages"]
        if "repeats" not in row
    )
    monkeypatch.setattr(contents, "ROOM", size - 1)
    halved = PageFile(page_html(document, trace))
    for at, name in enumerate(trace.sites):
        assert halved.names(at) == whole.names(at)
        weights = halved.stage("weights", at)
        assert weights.dtype == np.float16
        np.testing.assert_allclose(weights, trace.site(name)["weights"], atol=2**-11)
        np.testing.assert_array_equal(halved.stage("q", at), trace.site(name)["q"])
    monkeypatch.setattr(contents, "ROOM", 1)
    least = PageFile(page_html(document, trace))
    at = least.data["site"]
    for site in range(len(trace.sites)):
        assert least.names(site) == (["weights"] if site == at else [])
    assert least.data["sites"][at]["left_out"] == len(trace.site(trace.sites[at]).stages) - 1


def test_the_numbers_of_the_first_picture_stand_before_the_script() -> None:
    document = as_map(load_preset("fluffy-blue-creature"))
    page = PageFile(page_html(document, attnviz.run(document)))
    (site,) = page.data["sites"]
    (weights,) = [row for row in site["stages"] if row["id"] == "weights"]
    assert sorted(page.first) == sorted([weights["blocks"][0], site["hidden"]])


def test_a_page_opens_as_its_document_and_equal_documents_make_equal_pages(tmp_path: Path) -> None:
    document = as_map(load_preset("grouped-query"))
    trace = attnviz.run(document)
    first = save_page(document, trace, tmp_path / "a.html")
    assert attnviz.load(first).experiment == document.experiment
    assert first.read_bytes() == save_page(document, trace, tmp_path / "b.html").read_bytes()


def test_the_command_writes_a_page_and_refuses_another_suffix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", "toy-attention", "-o", str(tmp_path / "x.html")]) == 0
    assert main(["page", "toy-attention", "-o", str(tmp_path / "x.pdf")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("open_stage", "first"), [("scores", "scores"), ("norm_1", "weights"), ("residual_1", "weights")]
)
def test_a_page_opens_with_a_picture_of_the_attention(open_stage: str, first: str) -> None:
    document = as_map(load_preset("decoder-only"))
    trace = attnviz.run(document)
    assert open_stage in trace.shown(document.view.site).stages
    page = PageFile(page_html(replace(document, view=replace(document.view, stage=open_stage)), trace))
    assert page.data["stage"] == first

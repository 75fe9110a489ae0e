"""Pages in a real browser: the numbers under the pointer, both languages, no network, no code of tokens."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.compute.execute import execute_decoding
from attnviz.model.edit.edits import rename_token
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededVectors
from attnviz.pages import save_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, as the machine has it."""
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield made
        made.close()


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

    def open_(document: Document, **options: Any) -> Any:
        file = save_page(document, attnviz.run(document), tmp_path / "page.html", **options)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    page.close()
    assert faults == []


def somewhere(page: Any) -> tuple[float, float]:
    """A point over a cell of the map, found by trying."""
    box = page.locator("#map").bounding_box()
    for y in range(30, int(box["height"]), 6):
        for x in range(30, int(min(box["width"], 700)), 6):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if page.evaluate("document.getElementById('value').textContent"):
                return box["x"] + x, box["y"] + y
    raise AssertionError("no cell was found")


def number(text: str) -> float:
    return float(text.split(" ")[0].replace("−", "-"))


def test_the_value_of_a_cell_is_that_of_the_trace(opened: Any) -> None:
    document = load_preset("fluffy-blue-creature")
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
    page = opened(load_preset("fluffy-blue-creature"))
    x, y = somewhere(page)
    said = page.inner_text("#where")
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    assert page.inner_text("#where") == said != ""


def test_a_score_opens_to_its_products_and_leads_to_q(opened: Any) -> None:
    document = load_preset("fluffy-blue-creature")
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


def test_every_stage_head_and_site_is_drawn(opened: Any) -> None:
    page = opened(load_preset("encoder-decoder"))
    for site in range(len(attnviz.run(load_preset("encoder-decoder")).sites)):
        page.select_option("#site", str(site))
        for button in page.locator("#strip button").all():
            button.click()
            assert page.inner_text("#stage")


def test_both_languages_and_themes(opened: Any) -> None:
    page = opened(load_preset("fluffy-blue-creature"))
    page.click("#language") if page.inner_text("#language") == "中文" else None
    assert page.inner_text("#stage") == "权重" and page.evaluate("document.documentElement.lang") == "zh_CN"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.click("#language")
    assert page.inner_text("#stage") == "weights"


def test_a_token_of_html_stays_text(opened: Any) -> None:
    document = load_preset("fluffy-blue-creature")
    evil = "</script><img src=x onerror=alert(1)>"
    experiment = rename_token(document.experiment, 1, evil)
    page = opened(replace(document, experiment=experiment))
    assert page.locator("img").count() == 0
    assert evil in page.inner_text("#words")


def test_the_steps_of_a_generation_are_played(opened: Any) -> None:
    document = load_preset("stories-induction")
    decoding = execute_decoding(document.experiment)
    page = opened(document, decoding=decoding)
    assert page.is_visible("#steps")
    page.locator("#step").fill(str(len(decoding.steps) - 1))
    assert page.locator("#text span").count() == len(decoding.steps)
    best = float(np.max(decoding.steps[-1].probabilities))
    assert number(page.inner_text("#next span >> nth=1")) == pytest.approx(best, abs=6e-4)


def test_eight_heads_of_512_tokens_open_in_a_second(browser: Any, tmp_path: Path) -> None:
    """The time is that of the page alone, twice over, as the machine is shared."""
    toy = load_preset("grouped-query")
    tokens = tuple(f"t{i}" for i in range(512))
    experiment = replace(toy.experiment, tokens=tokens, vectors=SeededVectors(512, 16, 0), dtype="float32")
    document = replace(toy, experiment=experiment)
    file = save_page(document, attnviz.run(document), tmp_path / "page.html")
    assert file.stat().st_size < 30 * 2**20
    page, times = browser.new_page(), []
    for _ in range(2):
        started = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        times.append(time.perf_counter() - started)
    page.close()
    assert min(times) < 4, times


def test_the_numbers_in_the_file_are_the_traces(tmp_path: Path) -> None:
    document = load_preset("grouped-query")
    trace = attnviz.run(document)
    text = save_page(document, trace, tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    block = gzip.decompress(b64decode(re.search(r'id="numbers">(.*?)</script>', text, re.S)[1]))  # type: ignore[index]
    for stage in data["sites"][0]["stages"]:
        count = int(np.prod(stage["shape"]))
        found = np.frombuffer(block, f"<{stage['type']}", count, stage["at"]).reshape(stage["shape"])
        np.testing.assert_array_equal(found, trace[stage["id"]])


def test_a_page_opens_as_its_document_and_equal_documents_make_equal_pages(tmp_path: Path) -> None:
    document = load_preset("grouped-query")
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

"""A page in Firefox without a network: the numbers and the sources of the cell under the pointer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from firefox import FIREFOX, Firefox

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.pages import save_page


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if FIREFOX is None:
        pytest.skip("no Firefox is installed")
    made = Firefox(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def point_at(firefox: Firefox, where: str) -> None:
    """Move the pointer over the map until a cell is under it."""
    box = "document.getElementById('map').getBoundingClientRect()"
    left, top, height = firefox.evaluate(f"(({{ left, top, height }}) => [left, top, height])({box})")
    for y in range(20, int(height), 40):
        for x in range(20, 460, 40):
            firefox.point(left + x, top + y)
            if firefox.evaluate("document.getElementById('where').textContent") == where:
                return
    raise AssertionError(f"no cell is {where}")


def test_a_page_shows_the_sources_of_the_cell_under_the_pointer(firefox: Firefox, tmp_path: Path) -> None:
    document = load_preset("fluffy-blue-creature")
    trace = attnviz.run(document)
    firefox.open(save_page(document, trace, tmp_path / "page.html"))
    firefox.wait("document.documentElement.dataset.complete")
    firefox.evaluate("document.querySelectorAll('#strip button')[6].click()")
    assert firefox.evaluate("document.getElementById('stage').textContent") == "scores"
    firefox.wait("document.documentElement.dataset.ready")
    tokens = document.experiment.tokens
    for query, key in ((3, 1), (0, 2)):
        point_at(firefox, f"scores [{tokens[query]}, {tokens[key]}]")
        shown = firefox.evaluate("document.getElementById('value').textContent").replace("−", "-")
        assert float(shown) == pytest.approx(float(trace["scores"][0, query, key]), rel=1e-6)
        # A product for each feature of q and k, and their sum; then q and k themselves.
        firefox.wait(f"document.querySelector('#sources .link').textContent.includes('[{tokens[query]}, :]')")
        rows = firefox.evaluate("[...document.querySelectorAll('#sources tr')].map((row) => row.textContent)")
        assert len(rows) == trace["q"].shape[-1] + 1 and rows[-1].startswith("Σ")
        assert firefox.evaluate("document.querySelectorAll('#sources .link').length") == 2


def test_the_picture_is_painted_in_the_fonts_of_the_page(firefox: Firefox, tmp_path: Path) -> None:
    document = load_preset("xiaoshenyang")
    firefox.open(save_page(document, attnviz.run(document), tmp_path / "page.html"))
    assert firefox.evaluate("document.fonts.check('12px \"Attnviz Sans SC\"', '权')")
    colors = firefox.evaluate(
        "new Set(new Uint32Array(document.getElementById('map').getContext('2d')"
        ".getImageData(0, 0, 400, 400).data.buffer)).size"
    )
    assert colors > 100
    for key in "\ue004" * 3:  # Tab: the theme, the language, the first stage
        firefox.press(key)
    assert firefox.evaluate("document.activeElement.parentElement.id") == "strip"

"""A notebook that a kernel has run, and its cells in a browser: each a frame that leaves the others alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from page_file import PageFile, shown_page

CELLS = (
    "import numpy as np\nimport attnviz\n"
    "weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4, 3))\n"
    "attention, tokens = [layer[None] for layer in weights], ['the', 'cat', 'sat']",
    "attnviz.show(attention, tokens)",
    "attnviz.presets.load_preset('toy-attention')",
)


THEMES = (
    ("document.body.dataset.jpThemeLight = 'false'", ".dark"),
    ("document.body.dataset.jpThemeLight = 'true'", ":not(.dark)"),
    (
        "delete document.body.dataset.jpThemeLight; document.body.dataset.vscodeThemeKind = 'vscode-dark'",
        ".dark",
    ),
    ("delete document.body.dataset.vscodeThemeKind; document.body.style.background = '#fff'", ":not(.dark)"),
    ("document.body.style.background = '#111'", ".dark"),
)
"""Changes of a notebook's page, each with the theme of the page in a cell behind it."""


@pytest.fixture(scope="module")
def cells() -> list[str]:
    """The outputs of the cells, made before a browser runs, beside whose loop nbclient leaves a thread."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    NotebookClient(book, timeout=60, kernel_name="python3").execute()
    return [cell.outputs[0]["data"]["text/html"] for cell in book.cells[1:]]


def test_cells_are_pages_in_frames_of_their_own(cells: list[str], browser: Any, tmp_path: Path) -> None:
    assert all(len(cell) < 250_000 for cell in cells)
    # The text of the frame is what a notebook shows that is not trusted; JupyterLab 4 drops the frame.
    assert all(">The picture runs in the browser: trust this notebook to see it.<" in cell for cell in cells)
    wanted = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4, 3))
    for layer in range(2):
        np.testing.assert_array_equal(PageFile(shown_page(cells[0])).stage("weights", layer), wanted[layer])
    file = tmp_path / "book.html"
    file.write_text(f"<!DOCTYPE html><p id='title'>Mine</p>{''.join(cells)}", encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    for at, (tokens, heads) in enumerate((("the\ncat\nsat", 4), ("one\ntwo\nthree\nfour", 1))):
        frame = page.frame_locator("iframe").nth(at)
        frame.locator("html[data-ready]").wait_for()
        assert "\n".join(frame.locator("#words span").all_inner_texts()) == tokens
        assert frame.locator("#heads button").count() == heads
        assert not frame.locator("footer").is_visible()
    # Numbers of another layer and head stand beside the first frame.
    frame = page.frame_locator("iframe").first
    frame.locator("#site").select_option("1")
    frame.locator("#heads button").nth(3).click()
    frame.locator("html[data-ready]").wait_for()
    frame.locator("#map").press("ArrowLeft")
    assert float(frame.locator("#value").inner_text().split(" ")[0]) == wanted[1, 3, 0, 0]
    for change, theme in THEMES:
        page.evaluate(change)
        page.frame_locator("iframe").first.locator(f"html{theme}").wait_for()
    assert page.inner_text("#title") == "Mine"
    page.close()

"""A lesson on paper: its figures hide what its questions ask for until the answer."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.core.text import number
from attnviz.figures.lesson import Sheet, lesson_page, sheets
from attnviz.study.lessons.table import shipped_lesson


def one(lesson: str, step: str) -> Sheet:
    made = sheets(shipped_lesson(lesson), "en", load_preset, execute)
    return next(sheet for sheet in made if sheet.step.id == step)


def texts(svg: bytes) -> list[str]:
    """The texts of an SVG, which lie over their outlines."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode("utf-8"))


@pytest.mark.parametrize(
    ("lesson", "step", "asked"),
    [
        ("projections", "both-near-one", {(3, 1), (3, 2)}),
        ("dot-product", "who-wins", {(3, 0), (0, 3)}),
        ("softmax", "shift", {(0, column) for column in range(4)}),
    ],
)
def test_a_figure_asks_for_the_cell_that_it_shows_after_the_answer(
    lesson: str, step: str, asked: set[tuple[int, int]]
) -> None:
    sheet = one(lesson, step)
    assert sheet.covered == asked
    before, after = texts(sheet.figure("svg")), texts(sheet.figure("svg", is_answered=True))
    scope = sheet.scope
    values = scope.site.window(scope.view.stage, scope.view.head)
    numbers = [number(float(value), 3) for value in values.ravel()]
    open_ones = [number(float(v), 3) for cell, v in np.ndenumerate(values) if cell not in asked]
    assert before.count("?") == len(asked) and "?" not in after
    for text in set(numbers):
        assert after.count(text) >= numbers.count(text)
        assert before.count(text) == open_ones.count(text)
    sums = [text for text in before if text.startswith("Σ")]
    rows = len(values) - len({row for row, _column in asked})
    assert len(sums) == (rows if scope.view.stage == "weights" else 0)


def test_a_page_shows_the_whole_figure_behind_its_fold_alone() -> None:
    lesson = shipped_lesson("projections")
    made = sheets(lesson, "en", load_preset, execute)
    page = lesson_page(lesson, "en", made, lambda _texts: "")
    folded = "".join(re.findall("<details>.*?</details>", page, re.DOTALL))
    pictures = re.compile(r"base64,([A-Za-z0-9+/=]+)")
    answers = pictures.findall(folded)
    assert len(answers) == sum(bool(sheet.covered) for sheet in made) == 2
    assert not any("?" in texts(base64.b64decode(data)) for data in answers)
    shown = pictures.findall(re.sub("<details>.*?</details>", "", page, flags=re.DOTALL))
    assert len(shown) == len(made)
    assert sum("?" in texts(base64.b64decode(data)) for data in shown) == 2

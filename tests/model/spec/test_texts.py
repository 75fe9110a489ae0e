"""Every text of a document and of a lesson has a limit, which its message names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attnviz.errors import InputError
from attnviz.model.io.files import loads
from attnviz.model.io.json_text import write
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.field import LONGEST_NAME, LONGEST_TEXT, LONGEST_TOKEN
from attnviz.study.lessons.reading import read_lesson

DOCUMENT = json.loads(write(load_preset("causal-decode"), {}))
CELL = {"stage": "weights", "row": 0, "column": 0, "head": 0}

TEXTS = (
    ("title", LONGEST_NAME, lambda text: {"title": text}),
    ("caption", LONGEST_TEXT, lambda text: {"caption": text}),
    ("view.site", LONGEST_NAME, lambda text: {"view": {"site": text}}),
    ("view.target", LONGEST_NAME, lambda text: {"view": {"target": text}}),
    ("view.locked.site", LONGEST_NAME, lambda text: {"view": {"locked": CELL | {"site": text}}}),
    ("view.grid.token", LONGEST_TOKEN, lambda text: {"view": {"grid": {"token": text}}}),
    ("tokens[1]", LONGEST_TOKEN, lambda text: {"experiment": _tokens(text)}),
    ("sampling.stop.strings[0]", LONGEST_TOKEN, lambda text: {"experiment": _stop(text)}),
    ("vocabulary.tokens[1]", LONGEST_TOKEN, lambda text: {"experiment": _vocabulary(["a", text])}),
    ("classes.labels[1]", LONGEST_NAME, lambda text: {"experiment": _vocabulary(["a", "b"], ["c", text])}),
    ("checkpoint.path", LONGEST_TEXT, lambda text: {"checkpoint": {"path": text, "size": 1, "digest": "a"}}),
)


SHOWN = ("title", "caption", "view.site", "view.locked.site", "view.grid.token", "tokens[1]")
"""Those whose text may be any other; the rest must fit other fields as well."""


def _tokens(text: str) -> dict[str, Any]:
    first, _second, *rest = DOCUMENT["experiment"]["tokens"]
    return {**DOCUMENT["experiment"], "tokens": [first, text, *rest]}


def _stop(text: str) -> dict[str, Any]:
    writing = {"sampling": {"stop": {"strings": [text]}}}
    return {**DOCUMENT["experiment"], "writing": writing}


def _vocabulary(tokens: list[str], labels: list[str] | None = None) -> dict[str, Any]:
    classes = {"classes": {"labels": labels}} if labels else {}
    vocabulary = {"tokens": tokens, "embedding": [[1, 0], [0, 1]], "unembedding": None, **classes}
    return {**DOCUMENT["experiment"], "vocabulary": vocabulary}


@pytest.mark.parametrize(("path", "most", "changed"), TEXTS, ids=[row[0] for row in TEXTS])
def test_a_text_has_a_limit(path: str, most: int, changed: Any) -> None:
    with pytest.raises(InputError) as caught:
        loads(json.dumps({**DOCUMENT, **changed("x" * (most + 1))}))
    said = f"{path} must be a text of at most {most:,} characters; got length {most + 1:,}."
    assert str(caught.value).endswith(said)
    if path in SHOWN:
        loads(json.dumps({**DOCUMENT, **changed("猫" * most)}))


@pytest.mark.parametrize(
    ("path", "most", "lesson"),
    [
        ("title", LONGEST_NAME, "---\nlesson: 1\ntitle: {}\npreset: half-each\n---\n# a\n## en: One\nText."),
        (
            "about",
            LONGEST_NAME,
            "---\nlesson: 1\ntitle: T\nabout: {}\npreset: x\n---\n# a\n## en: A\nText.",
        ),
        ("en.title", LONGEST_NAME, "---\nlesson: 1\ntitle: T\npreset: half-each\n---\n# a\n## en: {}\nText."),
        ("en.paragraphs", LONGEST_TEXT, "---\nlesson: 1\ntitle: T\npreset: x\n---\n# a\n## en: One\n{}"),
        ("en.points", LONGEST_TEXT, "---\nlesson: 1\ntitle: T\npreset: x\n---\n# a\n## en: One\n1. {}"),
    ],
)
def test_a_text_of_a_lesson_has_a_limit(path: str, most: int, lesson: str) -> None:
    with pytest.raises(InputError) as caught:
        read_lesson(lesson.format("x" * (most + 1)))
    said = f"{path} must be a text of at most {most:,} characters; got length {most + 1:,}."
    assert str(caught.value) == said
    read_lesson(lesson.format("x" * most))

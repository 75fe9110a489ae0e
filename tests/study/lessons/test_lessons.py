"""Lessons: what a file may say, what is refused, and every number of those that ship."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import isclose

import numpy as np
import pytest
from msgspec.structs import replace as with_fields

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.gui.panels.table import PANEL_NAMES
from attnviz.i18n import LANGUAGES, current_language
from attnviz.model.captions import Anchor
from attnviz.model.controls import Setting
from attnviz.model.edit.switching import LastOfKind
from attnviz.model.sites.sites import put
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import shown_head
from attnviz.resources import font_files, path
from attnviz.study.claims.scope import Scope, holds, value_of
from attnviz.study.lessons.checking import problems, scope_of
from attnviz.study.lessons.judging import is_close
from attnviz.study.lessons.lesson import Lesson, Step
from attnviz.study.lessons.markup import markup
from attnviz.study.lessons.reading import load_lesson, read_lesson
from attnviz.study.lessons.scene import covered_cells, document_of, lit_cells
from attnviz.study.lessons.table import CLAIMS, LESSONS, shipped_claims, shipped_lesson
from attnviz.study.lessons.text import (
    CellLink,
    ControlLink,
    Number,
    PageLink,
    Plain,
    StepLink,
    TokenLink,
    pieces,
    shown,
)

_cached = cache(lambda id_, code: load_preset(id_))
"""Presets by id and language, whose words some of them have."""


def cached_preset(id_: str) -> Document:
    return _cached(id_, current_language())


HALVES = """---
lesson: 1
title: Two adjectives
title.zh_CN: 两个形容词
preset: half-each
---

# halves
stage: weights
query: 3
set: temperature = 2
light: "creature"
predict: weights["creature", "fluffy"]
tolerance: 0.02
task: weights[3, 1] > 0.9
holds: weights[3, 1] == weights[3, 2]

## en: One half each
At [creature], [fluffy](key) has {scores[3, 1] | .2f}
and so on.

1. First.
2. Second.

? How much?

! {weights[3, 1] | .3f} each.

> Break it.

## zh_CN: 各占一半
在 [creature]，
分数相同。

? 多少？

! 各 {weights[3, 1] | .3f}。

> 打破它。
"""


def test_a_file_is_read_line_by_line() -> None:
    lesson = read_lesson(HALVES)
    (step,) = lesson.steps
    words = step.words["en"]
    assert lesson.titles == {"en": "Two adjectives", "zh_CN": "两个形容词"}
    assert words.paragraphs == ("At [creature], [fluffy](key) has {scores[3, 1] | .2f} and so on.",)
    assert words.points == ("First.", "Second.")
    assert (words.question, words.task) == ("How much?", "Break it.")
    assert step.words["zh_CN"].paragraphs == ("在 [creature]，分数相同。",)
    assert (step.predict, step.tolerance) == ('weights["creature", "fluffy"]', 0.02)
    assert list(problems(lesson, load_preset, execute)) == []


def test_a_step_sets_the_program() -> None:
    (step,) = read_lesson(HALVES).steps
    document = document_of(step.scene, load_preset)
    assert document.attention.temperature == 2
    assert (document.view.stage, document.view.query, document.view.locked) == ("weights", 3, None)
    assert lit_cells(step.scene, scope_of(step.scene, load_preset, execute)) == {(3, c) for c in range(4)}


def test_pieces_of_a_text() -> None:
    text = r"**Now** [she] and [Lily](key Tom), [here](cell 2, 1), [back](#one)"
    text += r", [p](https://a.b), {1 | .2f} \[x\]"
    found = [piece for piece in pieces(text) if piece not in (Plain(" "), Plain(", "))]
    assert found == [
        Plain("Now", is_strong=True),
        TokenLink("she", Anchor("query", "she")),
        Plain(" and "),
        TokenLink("Lily", Anchor("key", "Tom")),
        CellLink("here", "2", "1"),
        StepLink("back", "one"),
        PageLink("p", "https://a.b"),
        Number("1", ".2f"),
        Plain(" [x]"),
    ]


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(-0.5, ".2f", "−0.50"), (0.125, "%", "12%"), (12345.6, ".0f", "12,346"), (0.01234, "g", "0.0123")],
)
def test_numbers_in_their_formats(value: float, form: str, text: str) -> None:
    assert shown(value, form) == text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lesson: 1", "lesson: 9", "lesson must be 1, which this program reads; got '9'."),
        ("title: Two adjectives\n", "title Two\n", "Line 3 must be key: value; got 'title Two'."),
        ("preset: half-each", "color: red", "must be one of 'lesson', 'title', 'about', 'preset', 'panels'"),
        ("# halves", "# Both Halves", "Line 8: step must be a name of small letters"),
        ("query: 3", "query: three", "Line 10: query must be a value of this key; got 'three'."),
        ("query: 3", "run: rm", "Line 10: key must be one of 'preset'"),
        ("query: 3", "section: masks", "Line 10: section must be one of 'heads'"),
        ("query: 3", "panels: stage costs", "Line 10: panels must be one of 'tokens'"),
        ("title.zh_CN", "hides: coast\ntitle.zh_CN", "hides must be one of 'tokens'"),
        ("temperature = 2", "temperature 2", "A change must be path = value"),
        ("temperature = 2", "temperature = NaN", "A value must be JSON"),
        ("## zh_CN", "## fr", "language must be one of 'en', 'zh_CN'; got 'fr'."),
        ("? How much?\n", "", "must have a question ? with predict"),
        ("> Break it.\n", "", "must have a text > with a task"),
        ("? How much?\n", "? How much?\n- This\n", "halves.en.answers must be 0 answers"),
        ("---\nlesson", "lesson", "A lesson must begin with lines between"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(old: str, new: str, said: str) -> None:
    assert old in HALVES
    with pytest.raises(InputError) as caught:
        read_lesson(HALVES.replace(old, new, 1), panels=PANEL_NAMES)
    assert said in str(caught.value)


@pytest.mark.parametrize(("folder", "ids"), [("lessons", LESSONS), ("claims", CLAIMS)])
def test_every_shipped_file_names_panels_of_the_window(folder: str, ids: tuple[str, ...]) -> None:
    for id_ in ids:
        assert load_lesson(path(folder, f"{id_}.md"), PANEL_NAMES).steps


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("preset: half-each", "preset: nothing", "preset must be one of"),
        ("temperature = 2", "temperature = -1", "temperature must be"),
        ("temperature = 2", "color = 2", "set must be one of"),
        ("[fluffy](key)", "[furry](key)", "A link must name a token of the text; got 'furry'."),
        (
            "{scores[3, 1] | .2f}",
            "{scores[3, 9] | .2f}",
            "The index must be a whole number from -4 to 3; got 9.",
        ),
        ("{scores[3, 1] | .2f}", "0.52", "A number in en must be an expression in braces; got 0.52."),
        ("{scores[3, 1] | .2f}", "{scores[3, 1]}", "The format of 'scores[3, 1]' after |"),
        ("> 0.9", "< 0.9", "The task 'weights[3, 1] < 0.9' must not be done at the beginning."),
        (
            "holds: weights[3, 1] ==",
            "holds: weights[3, 1] <",
            "The condition 'weights[3, 1] < weights[3, 2]'",
        ),
        ("stage: weights", "stage: logits", "must have the stage 'logits'"),
        ("[creature],", "[creature](#two),", "step must be 'halves'; got 'two'."),
        (
            "[creature],",
            "[creature](http://x),",
            "must be query, key, cell r, c, set, type, mask, head, #step or https",
        ),
        ("[creature],", "[creature](temperature 4),", "#step or https://…; got 'temperature 4'."),
        ("[creature],", "[creature](head 9),", "head must be 1; got 9."),
        ("[creature],", "[creature](mask shadow),", "mask must be one of 'causal'"),
        ("[creature],", "[creature](set position.base 9),", "position.base must be a number"),
        ("query: 3", "lock: two, 1", "lock must be a row and a column, such as 2, 1; got 'two, 1'."),
        ("query: 3", "lock: 4, 1", "lock must be a cell of 4x4; got '4, 1'."),
        ("query: 3", "cover: 4", "The index must be a whole number from -4 to 3; got 4."),
        ('light: "creature"', "light: 9", "The index must be a whole number from -4 to 3; got 9."),
    ],
)
def test_the_checker_names_what_is_wrong(old: str, new: str, said: str) -> None:
    assert old in HALVES
    lesson = read_lesson(HALVES.replace(old, new, 1))
    found = [str(problem.message) for problem in problems(lesson, load_preset, execute)]
    assert any(said in one for one in found), found


@pytest.mark.parametrize("id_", LESSONS)
def test_every_number_of_a_lesson_is_computed_in_both_languages(id_: str) -> None:
    """The document of each step is set up and run; numbers, links, conditions and answers are those of it."""
    lesson = shipped_lesson(id_)
    assert [(one.step, str(one.message)) for one in problems(lesson, cached_preset, execute)] == []
    assert 5 <= len(lesson.steps) <= 9
    codes = {language.code for language in LANGUAGES}
    assert set(lesson.titles) == set(lesson.abouts) == codes
    for step in lesson.steps:
        assert set(step.words) == codes


@pytest.mark.parametrize("id_", LESSONS)
def test_both_languages_state_the_same_numbers(id_: str) -> None:
    for step in shipped_lesson(id_).steps:
        stated = [
            sorted(
                (piece.expression, piece.format)
                for text in words.all
                for piece in pieces(text)
                if isinstance(piece, Number)
            )
            for words in step.words.values()
        ]
        assert all(one == stated[0] for one in stated), step.id


@pytest.mark.parametrize(
    ("id_", "read"), [(id_, shipped_lesson) for id_ in LESSONS] + [(id_, shipped_claims) for id_ in CLAIMS]
)
def test_both_languages_have_the_same_controls(id_: str, read: Callable[[str], Lesson]) -> None:
    for step in read(id_).steps:
        controls = [
            sorted(
                str(piece.control)
                for text in (*words.all, words.cure)
                for piece in pieces(text)
                if isinstance(piece, ControlLink)
            )
            for words in step.words.values()
        ]
        assert all(one == controls[0] for one in controls), step.id


@pytest.mark.parametrize(
    ("id_", "read"), [(id_, shipped_lesson) for id_ in LESSONS] + [(id_, shipped_claims) for id_ in CLAIMS]
)
def test_a_word_quoted_in_english_is_quoted_in_chinese(id_: str, read: Callable[[str], Lesson]) -> None:
    """Without its signs “小” reads as “small”."""
    for step in read(id_).steps:
        english, chinese = (
            "\n".join((*step.words[code].all, step.words[code].cure)) for code in ("en", "zh_CN")
        )
        assert chinese.count("“") >= english.count("“"), step.id
        assert chinese.count("“") == chinese.count("”"), step.id


class Hand:
    """Presses controls in a document, as the window does."""

    def __init__(self, document: Document) -> None:
        self.document, self.remembered = document, LastOfKind()

    def edit(self, function: Callable[[Experiment], Experiment]) -> None:
        self.document = with_fields(self.document, experiment=function(self.document.experiment))

    def edit_attention(self, function: Callable[[Site], Site]) -> None:
        self.edit(lambda experiment: put(experiment, function(self.document.attention)))

    def look(self, *, head: int) -> None:
        self.document = self.document.looking(head=head)


def in_tasks() -> Iterator[tuple[Step, ControlLink]]:
    """The controls in the tasks of the lessons."""
    for id_ in LESSONS:
        for step in shipped_lesson(id_).steps:
            for piece in pieces(step.words["en"].task):
                if isinstance(piece, ControlLink):
                    yield step, piece


FAR = {"temperature": 10.0, "dropout.p": 0.0, "heads.n_kv_heads": 1}
"""Values to which a reader drags the numbers of tasks."""


@pytest.mark.parametrize(("step", "link"), list(in_tasks()), ids=str)
def test_a_task_is_done_by_the_control_in_its_sentence(step: Step, link: ControlLink) -> None:
    hand = Hand(document_of(step.scene, cached_preset))
    control = link.control
    if isinstance(control, Setting) and control.is_number:
        control.enter(hand, FAR[control.path])
    else:
        control.press(hand)
    assert holds(step.task, Scope(execute(hand.document.experiment), hand.document.view))


def test_controls_are_links_in_the_window_and_words_on_paper() -> None:
    text = "Raise [T](set temperature 1.0), type [he](type he for she)."
    assert 'Raise <a class="control" href="control:set temperature 1.0">T</a>, type ' in markup(text, None)
    assert markup(text, None, is_live=False) == "Raise T, type he."


NUMBERS = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?")


def stated(texts: tuple[str, ...], scope: Scope) -> list[float]:
    """Every number that a reader sees in these texts."""
    shown = " ".join(re.sub("<[^>]*>", "", markup(text, scope)) for text in texts)
    return [float(one.replace(",", "").replace("−", "-")) for one in NUMBERS.findall(shown)]


@pytest.mark.parametrize("id_", LESSONS)
def test_no_answer_is_told_before_it_is_revealed(id_: str) -> None:
    """Neither a text nor a map, of an earlier step or of the step itself, shows the number that is asked."""
    told: dict[str, list[float]] = {language.code: [] for language in LANGUAGES}
    painted: list[float] = []
    for step in shipped_lesson(id_).steps:
        scope = scope_of(step.scene, cached_preset, execute)
        stage, covered = scope.view.stage, covered_cells(step, scope)
        cells = np.ndenumerate(scope.site.window(stage, shown_head(scope.site.experiment, scope.view, stage)))
        painted += [float(value) for cell, value in cells if cell not in covered and value not in (0, 1)]
        for code, words in step.words.items():
            before = (words.title, *words.paragraphs, *words.points, words.question, *words.answers)
            told[code] += stated((*before, words.claim, words.task), scope)
            if step.predict:
                value = value_of(step.predict, scope)
                said = [one for one in told[code] if is_close(one, value, step.tolerance)]
                assert not said, (step.id, code)
                assert not any(isclose(one, value, rel_tol=1e-6) for one in painted if one not in (0, 1)), (
                    step.id
                )
            told[code] += stated((words.reveal, words.why), scope)


def test_a_lesson_asks_and_gives_something_to_try() -> None:
    for id_ in LESSONS:
        steps = shipped_lesson(id_).steps
        assert any(step.predict or step.choose for step in steps), id_
        assert any(step.task for step in steps), id_


SOLUTIONS: dict[str, tuple[tuple[str, object], ...]] = {
    "dot-product": (
        ("vectors.values", [[0.2, 0.8, 0.3], [0.3, 0.7, 0.4], [0.9, 0.9, 0.2], [0.8, 0.2, 0.7]]),
    ),
    "softmax/saturated": (("scale", {"kind": "value", "value": 0.01}),),
    "by-hand": (("vectors", {"kind": "explicit", "values": [[0, 0, 9], [0, 1, 0], [1, 0, 0], [0, 0, 12]]}),),
    "masks": (("masks", [{"kind": "causal"}]),),
    "padding": (("masks", [{"kind": "causal"}]),),
    "projections": (
        ("vectors.values", [[0.2, 0.1, 0.0], [4.5, 0.5, 0.0], [2.5, -0.5, 0.0], [3.0, 0.0, 1.0]]),
    ),
    "heads": (("heads.n_kv_heads", 1),),
    "architectures": (("masks", []),),
    "positions": (("tokens", ["man", "bites", "dog"]), ("vectors.values", "reversed")),
    "block": (("block.residual", False),),
    "cache": (("heads.n_kv_heads", 1),),
    "sampling": (("temperature", 20.0),),
    "cost": (("masks", [{"kind": "causal"}, {"kind": "window", "left": 9, "right": 0}]),),
    "training/cheat": (("masks", [{"kind": "causal"}]),),
    "training/try": (("dropout.training", False),),
    "recurrent": (("masks", [{"kind": "causal"}, {"kind": "window", "left": 9, "right": 0}]),),
}
"""Changes after which the task of a lesson is done."""


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_task_can_be_done(name: str) -> None:
    id_, _slash, wanted = name.partition("/")
    step = next(one for one in shipped_lesson(id_).steps if one.task and one.id.startswith(wanted))
    start = document_of(step.scene, cached_preset)
    changes = tuple(
        (path, start.experiment.vectors.values.array[::-1].tolist() if value == "reversed" else value)  # type: ignore[union-attr]
        for path, value in SOLUTIONS[name]
    )
    scene = replace(step.scene, changes=step.scene.changes + changes)
    assert holds(step.task, scope_of(scene, cached_preset, execute))


def test_the_shipped_fonts_have_every_character_of_a_lesson() -> None:
    tools = pytest.importorskip("fontTools.ttLib")
    known = {code for file in font_files() for code in tools.TTFont(file).getBestCmap()}
    for id_ in LESSONS:
        text = path("lessons", f"{id_}.md").read_text(encoding="utf-8")
        assert {one for one in text if ord(one) > 32 and ord(one) not in known} == set(), id_


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("now", "it is", "now it is"),
        ("写在", "这里", "写在这里"),
        ("全模型的", "“主干”上", "全模型的“主干”上"),
        ("依次是 1、", "{n | .0f}", "依次是 1、{n | .0f}"),
        ("从", "{n | .0f} 起", "从 {n | .0f} 起"),
    ],
)
def test_lines_join_with_a_space_but_not_at_chinese_signs(first: str, second: str, joined: str) -> None:
    text = HALVES.replace("分数相同。", f"{first}\n{second}")
    (step,) = read_lesson(text).steps
    assert step.words["zh_CN"].paragraphs[0].endswith(joined)

"""Texts joined in the languages of the program."""

from __future__ import annotations

import pytest

from attnviz.core.phrases import enumerated, named, phrased, sequenced, with_remark
from attnviz.i18n import language

JOINED = (
    (lambda: named("a", "b"), "a: b", "a：b"),
    (lambda: with_remark("a", "b"), "a (b)", "a（b）"),
    (lambda: enumerated(("a", "b", "c")), "a, b, c", "a、b、c"),
    (lambda: enumerated(("a",)), "a", "a"),
    (lambda: enumerated(()), "", ""),
    (lambda: phrased(("a", "b", "c")), "a, b, c", "a，b，c"),
    (lambda: phrased(("{a}", "{b}")), "{a}, {b}", "{a}，{b}"),
    (lambda: phrased(()), "", ""),
    (lambda: sequenced(("a", "b", "c")), "a; b; c", "a；b；c"),
    (lambda: sequenced(()), "", ""),
)


@pytest.mark.parametrize("row", JOINED)
def test_each_language_joins_with_its_own_signs(row: tuple[object, str, str]) -> None:
    join, english, chinese = row
    assert callable(join)
    for code, text in (("en", english), ("zh_CN", chinese)):
        with language(code):
            assert join() == text

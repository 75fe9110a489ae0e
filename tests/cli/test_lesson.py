"""`attnviz lesson`: the list of lessons, and what the checker prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnviz.cli.shell import main
from attnviz.model.lessons.table import LESSONS
from attnviz.resources import path

Capture = pytest.CaptureFixture[str]


def test_the_list_names_every_lesson(capsys: Capture) -> None:
    assert main(["--language", "zh_CN", "lesson", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(LESSONS)
    assert "点积" in lines[0]


def test_a_lesson_without_problems(capsys: Capture) -> None:
    assert main(["--language", "en", "lesson", "check", "dot-product"]) == 0
    assert capsys.readouterr().out == "no problem in 6 steps\n"


def test_problems_are_named_by_step(tmp_path: Path, capsys: Capture) -> None:
    text = path("lessons", "dot-product.md").read_text(encoding="utf-8")
    file = tmp_path / "mine.md"
    file.write_text(text.replace("[沈](key)", "[她](key)"), encoding="utf-8")
    assert main(["--language", "en", "lesson", "check", str(file)]) == 1
    assert "who-wins: A link must name a token of the text; got '她'." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check"], "lesson check needs a file or the name of a lesson"),
        (["check", "nothing.md"], "nothing.md: No such file or directory"),
        (["mend", "x.md"], "invalid choice"),
    ],
)
def test_a_refusal_is_one_sentence(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["--language", "en", "lesson", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine.md").write_text("---\nlesson 1\n---\n", encoding="utf-8")
    assert main(["--language", "en", "lesson", "check", str(tmp_path / "mine.md")]) == 2
    assert "mine.md: Line 2 must be key: value" in capsys.readouterr().err

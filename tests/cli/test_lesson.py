"""`attnviz lesson`: the list of lessons, and what the checker prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnviz
from attnviz.cli.shell import main
from attnviz.resources import path
from attnviz.study.lessons.table import LESSONS, shipped_lesson

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
    file.write_text(text.replace("[friend](key)", "[她](key)"), encoding="utf-8")
    assert main(["--language", "en", "lesson", "check", str(file)]) == 1
    said = "one-number: A link must name a token of the text; got '她'."
    assert said in capsys.readouterr().out
    assert main(["--language", "en", "lesson", "export", str(file), "-o", str(tmp_path / "mine.html")]) == 2
    assert said in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["mine.md"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check"], "lesson check needs a file or the name of a lesson"),
        (["check", "nothing.md"], "nothing.md: The file must exist in "),
        (["mend", "x.md"], "invalid choice"),
        (["list", "nope"], "attnviz: lesson list must stand without a lesson; got nope\n"),
        (["export", "softmax"], "lesson export needs --output with the suffix .html, .pdf"),
        (["export", "softmax", "-o", "x.docx"], "lesson export needs --output"),
    ],
)
def test_a_refusal_is_one_sentence(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["--language", "en", "lesson", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine.md").write_text("---\nlesson 1\n---\n", encoding="utf-8")
    assert main(["--language", "en", "lesson", "check", str(tmp_path / "mine.md")]) == 2
    assert "mine.md: Line 2 must be key: value" in capsys.readouterr().err


def test_a_lesson_becomes_a_page_with_its_numbers_and_figures(tmp_path: Path) -> None:
    out = tmp_path / "softmax.html"
    assert main(["--language", "zh_CN", "lesson", "export", "softmax", "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    steps = shipped_lesson("softmax").steps
    assert page.count("<section>") == len(steps)
    # The step that asks about its figure has the whole figure behind the fold.
    assert page.count("data:image/svg+xml;base64,") == len(steps) + 1
    assert "分数变成份额" in page and '<span class="number">0.9943</span>' in page
    assert page.count("<details>") == sum(bool(step.predict or step.choose) for step in steps)
    assert "✗ 错误" in page or "≈" in page  # the claim of the third step, with its verdict
    assert attnviz.load(out).title == "softmax 与 ÷√d"
    page = re.sub(r'<script type="text/plain" id="attnviz">[A-Za-z0-9+/=]*</script>', "", page)
    named = re.sub(r"https://(arxiv|openfontlicense)\.org", "", page)  # sources, and the fonts' licence
    assert "<script" not in page and "http" not in named and "token:" not in page


@pytest.mark.parametrize(("options", "pages"), [(["--slides"], 8), ([], 7)])
def test_slides_and_paper_have_a_page_for_each_step(options: list[str], pages: int, tmp_path: Path) -> None:
    """Slides have the title before the steps; long texts get smaller letters, so that none has two."""
    out = tmp_path / "lesson.pdf"
    # A process of its own: the shell makes an application without widgets.
    shell = [sys.executable, "-m", "attnviz", "lesson", "export", "block", "-o", str(out), *options]
    subprocess.run(shell, check=True, timeout=100)
    data = out.read_bytes()
    assert data.startswith(b"%PDF") and data.count(b"/Type /Page\n") == pages


def test_what_a_teacher_wrote_is_text_on_the_page(tmp_path: Path) -> None:
    text = path("lessons", "dot-product.md").read_text(encoding="utf-8")
    file, out = tmp_path / "mine.md", tmp_path / "mine.html"
    file.write_text(text.replace("One number for two vectors", "<script>alert(1)</script>"), encoding="utf-8")
    assert main(["--language", "en", "lesson", "export", str(file), "-o", str(out)]) == 0
    assert "&lt;script&gt;" in out.read_text(encoding="utf-8")
    assert "<script>" not in out.read_text(encoding="utf-8")

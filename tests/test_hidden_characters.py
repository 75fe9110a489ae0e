"""No written file and no printed line has a character of a token, a title or a lesson that is not seen."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cases import experiment

import attnviz
from attnviz.cli import main
from attnviz.figures.kinds.pairs import circuit_csv
from attnviz.model.io.carriers.csvw import metadata
from attnviz.model.io.carriers.record import Record
from attnviz.model.spec.document import Document
from attnviz.study.contrast.contrast import Shown, contrast, contrast_csv
from attnviz.study.lessons.reading import read_lesson

HOSTILE = (
    "\x00\x1b",
    "\u202eevil",
    "a\x07\u2028|\ud800",
    "\ufffe\uffff\x85",
    "\U000e0041\u200d\x7f",
    "",
    "\r",
)
TITLE = "a \u202etitle\x1b \ud800 \ufffe"


def document(title: str = TITLE) -> Document:
    return Document(experiment(tokens=HOSTILE), title=title, caption=f"caption {TITLE}")


def hidden(text: str) -> set[str]:
    """Code points of the characters that a reader does not see; line ends are none."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    found = {c for c in text if unicodedata.category(c) in kinds or ord(c) & 0xFFFE == 0xFFFE}
    return {f"U+{ord(c):04X}" for c in found - set("\n\r\t\ufeff")}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return attnviz.save(document(), tmp_path / "hostile.json")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["table"], "t.csv"),
        (["table"], "t.md"),
        (["table", "--format", "booktabs"], "t.tex"),
        (["script"], "a.py"),
        (["script"], "a.ipynb"),
        (["page"], "p.html"),
        *((["render", "--caption", "--kind", kind], "f.svg") for kind in ("stage", "lines", "plane")),
    ],
)
def test_a_file_shows_every_character_of_its_texts(
    command: list[str], name: str, hostile: Path, tmp_path: Path
) -> None:
    assert main([*command[:1], str(hostile), *command[1:], "-o", str(tmp_path / name)]) == 0
    text = (tmp_path / name).read_bytes().decode("utf-8")
    assert hidden(text) == set()
    if name.endswith(".svg"):
        assert "⟨U+202E⟩" in "".join(ET.fromstring(text).itertext())
    else:
        assert "U+202E" in text.replace("\\", "")
    assert attnviz.load(tmp_path / name).experiment.tokens == HOSTILE


def test_the_heading_and_the_title_of_a_page_run_one_way(hostile: Path, tmp_path: Path) -> None:
    assert main(["page", str(hostile), "-o", str(tmp_path / "p.html")]) == 0
    texts: list[str] = []
    parser = HTMLParser()
    parser.handle_data = texts.append  # type: ignore[method-assign]
    parser.feed((tmp_path / "p.html").read_text("utf-8"))
    (data,) = (json.loads(text) for text in texts if text.startswith('{"titles"'))
    shown = "a ⟨U+202E⟩title␛ ⟨U+D800⟩ ⟨U+FFFE⟩"
    assert shown in texts
    assert data["titles"] == {"en": shown, "zh_CN": shown}
    assert data["captions"]["en"] == f"caption {shown}"


@pytest.mark.parametrize("command", [["decode"], ["decode", "--json"], ["table"], ["script"], ["heads"]])
def test_a_printed_line_shows_every_character(
    command: list[str], hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command[:1], str(hostile), *command[1:]]) == 0
    said = capsys.readouterr()
    assert hidden(said.out + said.err) == set()
    if "--json" in command:
        assert json.loads(said.out)["steps"][0]["token"] == HOSTILE[0]


def test_the_pairs_of_a_circuit_and_the_cells_of_a_comparison_show_theirs() -> None:
    first, second = (
        Shown(attnviz.run(experiment(tokens=HOSTILE, temperature=t)).only, 0) for t in (1.0, 2.0)
    )
    compared = contrast(first, second, "weights", "position")
    for text in (circuit_csv([(*HOSTILE[:2], 1.0)]).decode("utf-8-sig"), contrast_csv(compared)):
        rows = list(csv.reader(io.StringIO(text)))
        assert hidden(text) == set()
        assert any("␀␛" in row for row in rows)


def test_the_metadata_of_a_table_hold_any_title() -> None:
    data = metadata("t.csv", Record.of(document()))
    assert hidden(data.decode("utf-8")) == set()
    assert json.loads(data)["dc:title"] == TITLE


def test_a_dollar_in_a_table_of_markdown_begins_no_formula(tmp_path: Path) -> None:
    tokens = ("$x_1$", "a$", "$b", "|", "&lt;", "f", "g")
    file = attnviz.save(experiment(tokens=tokens), tmp_path / "d.json")
    assert main(["table", str(file), "-o", str(tmp_path / "t.md")]) == 0
    text = (tmp_path / "t.md").read_text("utf-8")
    assert text.startswith(r"|  | \$x\_1\$ | a\$ | \$b | \| | \&lt; | f | g |")


LESSON = """---
lesson: 1
title: Te\u202est\x1b
about: About\x1b
preset: toy-attention
---

# one

## en: Step\u202e\x1b
A [one](key) word\x1b\u202e of **bold\u202e**.
"""


def test_a_lesson_shows_every_character(tmp_path: Path) -> None:
    lesson = read_lesson(LESSON)
    assert (lesson.title("en"), lesson.about("en")) == ("Te⟨U+202E⟩st␛", "About␛")
    (tmp_path / "mine.md").write_text(LESSON, encoding="utf-8")
    assert main(["lesson", "export", str(tmp_path / "mine.md"), "-o", str(tmp_path / "mine.html")]) == 0
    text = (tmp_path / "mine.html").read_text("utf-8")
    assert hidden(text) == set()
    assert "<title>Te⟨U+202E⟩st␛</title>" in text and "1. Step⟨U+202E⟩␛" in text

"""Docstrings, comments and pages keep the rules of `docs/style.md` that a program can check."""

from __future__ import annotations

import ast
import functools
import io
import itertools
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "docs/style.md"
SOURCES = sorted(
    path for folder in ("attnviz", "resources", "docs", "tests") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def quoted(heading: str) -> list[str]:
    """The words in italics of the paragraph of `docs/style.md` that begins with `heading`."""
    found = re.search(rf"^{re.escape(heading)}(.*?)(?:\n\n|\Z)", read(STYLE), re.MULTILINE | re.DOTALL)
    assert found, heading
    return re.findall(r"\*([^*]+)\*", found[1])


OPENINGS = re.compile(rf"(?:{'|'.join(quoted('No docstring opens with'))})\b")
PHRASES = re.compile(
    rf"\b(?:{'|'.join(quoted('These phrases occur nowhere'))})\b".replace(" ", r"\s+"), re.IGNORECASE
)

Faults = Iterator[tuple[int, str]]
"""(line, what is wrong)."""


def phrases(text: str, first: int = 1) -> Faults:
    """The phrases in a text that begins on line `first`; code and quotations in it may hold any word."""
    plain = re.sub(
        r"```.*?```|`[^`]*`|\"[^\"]*\"|\*[^*\n]+\*",
        lambda hit: "…" + "\n" * hit[0].count("\n"),
        text,
        flags=re.DOTALL,
    )
    for hit in PHRASES.finditer(plain):
        yield first + plain.count("\n", 0, hit.start()), " ".join(hit[0].split())


@functools.cache
def docstrings(source: str) -> list[tuple[bool, int, str]]:
    """(True of a function, first line, text) of every docstring, those after an assignment too."""
    return [
        (isinstance(before, ast.FunctionDef), statement.value.lineno, statement.value.value)
        for owner in ast.walk(ast.parse(source))
        if isinstance(owner, OWNERS)
        for before, statement in zip([owner, *owner.body], owner.body, strict=False)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement.value.value, str)
    ]


def phrases_of_comments(source: str) -> Faults:
    """A wrapped comment continues on the next line.

    Tokens are slow to find: a file without a phrase behind any # is not searched for them.
    """
    behind = " ".join(line.partition("#")[2].lstrip("# ") for line in source.splitlines() if "#" in line)
    if not PHRASES.search(behind):
        return
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = [
        (token.start[0], token.string.lstrip("# ")) for token in tokens if token.type == tokenize.COMMENT
    ]
    # Of lines that follow each other, the number less the place in the list is the same.
    for _run, block in itertools.groupby(enumerate(lines), key=lambda item: item[1][0] - item[0]):
        numbers, texts = zip(*(line for _place, line in block), strict=True)
        yield from phrases("\n".join(texts), numbers[0])


def phrases_of_docstrings(source: str) -> Faults:
    for _of, line, text in docstrings(source):
        yield from phrases(text, line)


def openings_of_docstrings(source: str) -> Faults:
    for is_of_function, line, text in docstrings(source):
        is_predicate = is_of_function and text.lstrip().startswith("Whether ")
        if OPENINGS.match(text.lstrip()) or is_predicate:
            yield line, f"opens with {text.split()[0]}"


RULES = (phrases_of_comments, phrases_of_docstrings, openings_of_docstrings)


def faults(source: str) -> list[str]:
    """The broken rules of a Python file."""
    return [f"line {line}: {what}" for rule in RULES for line, what in rule(source)]


def test_the_rules_are_found_and_can_fail() -> None:
    assert {"What", "How"} <= set(quoted("No docstring opens with"))
    assert len(quoted("These phrases occur nowhere")) >= 10
    assert faults('"""What a row is."""') == ["line 1: opens with What"]
    assert faults('def f():\n    """Whether it holds."""') == ["line 2: opens with Whether"]
    assert faults("# the layer that is\n# looked at\n\n# is\nlegal = 1\n") == ["line 2: looked at"]
    assert faults("x = 1\n# the layer that\n# is looked\n# at\n") == ["line 3: looked at"]
    assert faults('x = 1\n"""One.\n\n`there\nis` a row that\nis looked  at."""') == ["line 6: looked at"]
    assert faults('"""A name, `what is given up`."""\nx = 1\n"""Whether x holds."""') == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_docstrings_and_comments_keep_the_rules(rule: Callable[[str], Faults]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}" for path in SOURCES for line, what in rule(read(path))
    ]
    assert not found, "\n".join(found)


def test_pages_keep_the_rules() -> None:
    """The last column of the glossary holds the words that do not stand for a term."""
    found = [
        f"{page.relative_to(ROOT)}:{line}: {what}"
        for page in PAGES
        for line, what in phrases(re.sub(r"\|[^|\n]*\|$", "|", read(page), flags=re.MULTILINE))
    ]
    assert not found, "\n".join(found)


def test_no_file_is_named_by_a_past_participle() -> None:
    """Nouns that end like one are those of a control and of a margin that the field calls so."""
    nouns = {"segmented", "received", "labelled"}
    named = {path.stem for path in (ROOT / "attnviz").rglob("*.py") if re.search(r"[^e]ed$", path.stem)}
    assert named <= nouns


LONG, REASON = 500, re.compile(r"^Over 500 lines because .*\.$", re.MULTILINE)


def test_a_long_file_of_the_package_says_why() -> None:
    long = [path for path in (ROOT / "attnviz").rglob("*.py") if read(path).count("\n") > LONG]
    assert long
    for path in long:
        assert REASON.search(ast.get_docstring(ast.parse(read(path))) or ""), path.relative_to(ROOT)

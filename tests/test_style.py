"""Docstrings, comments and pages keep the rules of `docs/style.md` that a program can check."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "docs/style.md"
SOURCES = sorted(
    path for folder in ("attnviz", "resources", "docs", "tests") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def quoted(heading: str) -> list[str]:
    """The words in italics of the paragraph of `docs/style.md` that begins with `heading`."""
    found = re.search(
        rf"^{re.escape(heading)}(.*?)(?:\n\n|\Z)", STYLE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return re.findall(r"\*([^*]+)\*", found[1])


OPENINGS = re.compile(rf"(?:{'|'.join(quoted('No docstring opens with'))})\b")
PHRASES = re.compile(rf"\b(?:{'|'.join(quoted('These phrases occur nowhere'))})\b", re.IGNORECASE)


def plain(text: str) -> str:
    """`text` on one line without code and quotations, which may hold any word."""
    text = re.sub(r"```.*?```|`[^`]*`|\"[^\"]*\"|\*[^*\n]+\*", "…", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def strings(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Constant]]:
    """Every docstring with its owner: a module, a class, a function, or the assignment before it."""
    for owner in ast.walk(tree):
        if not isinstance(owner, OWNERS):
            continue
        for before, statement in zip([owner, *owner.body], owner.body, strict=False):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                if isinstance(statement.value.value, str):
                    yield before, statement.value


def comments(source: str) -> str:
    """All comments of a file, one after the other, as a wrapped one continues on the next line.

    Tokens are slow to find: a file without a phrase behind any # is not searched for them.
    """
    behind = " ".join(line.partition("#")[2].lstrip("# ") for line in source.splitlines() if "#" in line)
    if not PHRASES.search(re.sub(r"\s+", " ", behind)):
        return ""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return " ".join(token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)


def faults(source: str) -> list[str]:
    """The broken rules of a Python file."""
    found = [f"comment: {hit[0]}" for hit in PHRASES.finditer(plain(comments(source)))]
    for owner, constant in strings(ast.parse(source)):
        text = str(constant.value).strip()
        found += [f"line {constant.lineno}: {hit[0]}" for hit in PHRASES.finditer(plain(text))]
        is_predicate = isinstance(owner, ast.FunctionDef) and text.startswith("Whether ")
        if OPENINGS.match(text) or is_predicate:
            found.append(f"line {constant.lineno}: opens with {text.split()[0]}")
    return found


def test_the_rules_are_found_and_can_fail() -> None:
    assert {"What", "How"} <= set(quoted("No docstring opens with"))
    assert len(quoted("These phrases occur nowhere")) >= 10
    assert faults('"""What a row is."""') == ["line 1: opens with What"]
    assert faults('def f():\n    """Whether it holds."""') == ["line 2: opens with Whether"]
    assert faults("# the layer that is looked at\n") == ["comment: looked at"]
    assert faults('"""A name, `what is given up`."""\nx = 1\n"""Whether x holds."""') == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_and_comments_keep_the_rules(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_keep_the_rules(page: Path) -> None:
    """The last column of the glossary holds the words that do not stand for a term."""
    text = re.sub(r"\|[^|\n]*\|$", "|", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [hit[0] for hit in PHRASES.finditer(plain(text))] == []


def test_no_file_is_named_by_a_past_participle() -> None:
    """Nouns that end like one are those of a control and of a margin that the field calls so."""
    nouns = {"segmented", "received", "labelled"}
    named = {path.stem for path in (ROOT / "attnviz").rglob("*.py") if re.search(r"[^e]ed$", path.stem)}
    assert named <= nouns

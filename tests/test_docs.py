"""The pages in `docs` speak of the code as it is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"]


def test_the_pages_are_found() -> None:
    assert {"style.md", "glossary.md", "architecture.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    """Paths of the repository, and those inside the package, which pages write without its name."""
    named = set(
        re.findall(r"`((?:[\w.]+/)+(?:[\w.]+\.(?:py|md|json|svg))?)`", page.read_text(encoding="utf-8"))
    )
    missing = [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "attnviz"))]
    assert missing == []


def test_the_source_layout_has_every_folder_of_the_package() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    folders = set(re.findall(r"^\| (`[\w/]+`) \|", page, re.MULTILINE))
    rooms = {f"`attnviz/{path.parent.name}/`" for path in (ROOT / "attnviz").glob("*/__init__.py")}
    assert folders >= rooms > {"`attnviz/core/`"}


def script(name: str) -> ModuleType:
    """A script of `docs`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_fields_is_the_table_s() -> None:
    listing = script("list_fields")
    assert (ROOT / "docs/fields.md").read_text(encoding="utf-8") == listing.page(), "run docs/list_fields.py"
    assert "| `dropout.p` | Dropout rate | ≥ 0, < 1 | The probability" in listing.page()


def test_the_picture_of_the_architecture_is_drawn_from_the_imports() -> None:
    drawing = script("draw_architecture")
    assert drawing.PICTURE.read_text("utf-8") == drawing.picture(), "run docs/draw_architecture.py"
    assert drawing.PAGE.read_text("utf-8") == drawing.page(), "run docs/draw_architecture.py"
    drawn = re.findall(r">([^<]+)<", drawing.picture())
    assert {"core", "engines", "families", "widgets"} <= set(drawn)
    assert ("engines", "core") in drawing.arrows() and ("core", "engines") not in drawing.arrows()

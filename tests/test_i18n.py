"""The languages: every text of the source is translated, nothing else is, and switching works at once."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import string
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo
from fontTools.ttLib import TTFont

import attnviz.version
from attnviz import i18n, resources
from attnviz.cli import main
from attnviz.cli.shell import WORDS

CODES = [language.code for language in i18n.LANGUAGES if language.code != "en"]


@pytest.fixture(scope="module")
def update() -> ModuleType:
    """The maintainer's command, `resources/i18n/update.py`."""
    spec = importlib.util.spec_from_file_location("i18n_update", resources.path("i18n", "update.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(update: ModuleType) -> Catalog:
    return update.extract(Path(attnviz.version.__file__).parent)


def po_path(code: str) -> Path:
    return resources.path("i18n", code, "LC_MESSAGES", "attnviz.po")


def ids(catalog: Catalog) -> set[object]:
    return {(tuple(forms(message.id)), message.context) for message in catalog if message.id}


def forms(text: str | Iterable[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def fields(text: str) -> list[str]:
    """The `{named}` fields of a message, with their formats, sorted."""
    found = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    return sorted(f"{{{name}:{spec}}}" for name, spec in found)


def is_brace_format(message: Message) -> bool:
    return "python-brace-format" in message.flags


@pytest.mark.parametrize("code", CODES)
def test_catalogue_has_each_message_of_the_source_and_no_other(
    code: str, source: Catalog, update: ModuleType
) -> None:
    catalog = update.read(po_path(code))
    assert sorted(map(str, ids(source) - ids(catalog))) == [], "missing: run resources/i18n/update.py"
    assert sorted(map(str, ids(catalog) - ids(source))) == [], "unused: run resources/i18n/update.py"
    assert not catalog.obsolete


@pytest.mark.parametrize("code", CODES)
def test_filters_of_files_keep_the_parentheses_that_qt_reads(code: str, update: ModuleType) -> None:
    filters = [message for message in update.read(po_path(code)) if "({patterns})" in str(message.id)]
    assert len(filters) >= 3
    assert [m.string for m in filters if not m.string.endswith(" ({patterns})")] == []


@pytest.mark.parametrize("code", CODES)
def test_everything_is_translated_and_keeps_its_fields(code: str, update: ModuleType) -> None:
    problems = []
    for message in update.read(po_path(code)):
        if not message.id:
            continue
        if message.fuzzy:
            problems.append(f"fuzzy: {message.id!r}")
        translations = forms(message.string)
        if not all(translations):
            problems.append(f"not translated: {message.id!r}")
            continue
        for translation in translations if is_brace_format(message) else []:
            # English may write "one thing" without the field; the plural form has them all.
            if fields(translation) != fields(forms(message.id)[-1]):
                problems.append(f"other fields: {message.id!r} -> {translation!r}")
    assert problems == []


@pytest.mark.parametrize("code", CODES)
def test_compiled_catalogue_is_the_one_of_its_source(code: str, update: ModuleType) -> None:
    def messages(catalog: Catalog) -> dict[tuple[str, ...], list[str]]:
        finished = [message for message in catalog if message.id and all(forms(message.string))]
        return {tuple(forms(message.id)): forms(message.string) for message in finished}

    with po_path(code).with_suffix(".mo").open("rb") as file:
        stored = read_mo(file)
    assert messages(stored) == messages(update.read(po_path(code))), (
        "not compiled: run resources/i18n/update.py"
    )


def test_every_character_of_every_language_is_in_a_shipped_font(update: ModuleType) -> None:
    has: set[int] = set()
    for file in resources.font_files():
        with TTFont(file) as font:
            has |= set(font.getBestCmap())
    texts = [language.own_name for language in i18n.LANGUAGES]
    for code in CODES:
        for message in update.read(po_path(code)):
            texts += forms(message.id) + forms(message.string) if message.id else []
    missing = {character for text in texts for character in text if ord(character) not in has}
    assert missing - {"\n", "\t"} == set()


def test_messages_are_translated_where_they_are_shown() -> None:
    stored = i18n.N_("weights")
    assert stored == "weights" and i18n._(stored) == "weights"
    i18n.set_language("zh_CN")
    assert i18n.current_language() == "zh_CN"
    assert i18n._(stored) == "权重"
    assert i18n._("no such message") == "no such message"
    assert i18n._("") == "", "not the header of the catalogue"
    i18n.set_language("en")
    assert i18n._(stored) == "weights"


def test_unknown_languages_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="^language must be one of en, zh_CN; got 'fr'"):
        i18n.set_language("fr")
    assert i18n.current_language() == "en"


def test_plurals() -> None:
    assert i18n.ngettext("{n} thing", "{n} things", 1) == "{n} thing"
    assert i18n.ngettext("{n} thing", "{n} things", 2) == "{n} things"


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8"}, "zh_CN"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh_CN"),
        ({"LANG": "C.UTF-8"}, "en"),
    ],
)
def test_the_system_language_follows_the_locale(
    environment: dict[str, str], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, environment.get(name, ""))
    assert i18n.system_language() == code


def test_messages_inside_f_strings_and_conditions_are_found(update: ModuleType) -> None:
    text = (
        """f"{_('self') if own else N_('cross')} {x}"; _("a" if x == "y" else "b"); ngettext("n", "ns", 2)"""
    )
    found = set(update.messages(ast.parse(text)))
    assert found == {"self", "cross", "a", "b", ("n", "ns")}


def test_a_reworded_message_keeps_its_translation(update: ModuleType, tmp_path: Path) -> None:
    source, tests, po = tmp_path / "attnviz", tmp_path / "tests", tmp_path / "zh_CN/LC_MESSAGES/attnviz.po"
    for folder in (source, tests, po.parent):
        folder.mkdir(parents=True)
    (source / "a.py").write_text(
        'key = "old"\né = _("old") + _(\n    "a long "\n    "text"\n)  # why\n'
        'ngettext("{n} a", "{n} as", 2)\n'
    )
    (tests / "test_a.py").write_text('assert shown == "old"\n')
    catalog = Catalog(locale="zh_CN", domain="attnviz", charset="utf-8", fuzzy=False)
    catalog.add("old", "旧")
    catalog.add("a long text", "长")
    catalog.add(("{n} a", "{n} as"), ("{n} 个",))
    po.write_bytes(update.text(catalog))

    names = {"old": "new", "a long text": 'w"' * 60 + " end", "{n} as": "{n} bs", "not there": "x"}
    assert update.rename(names, source, tests, [po]) == ["not there"]

    code = (source / "a.py").read_text()
    assert set(update.messages(ast.parse(code))) == {"new", names["a long text"], ("{n} a", "{n} bs")}
    assert 'key = "old"' in code and "# why" in code, "only messages change"
    assert (tests / "test_a.py").read_text() == 'assert shown == "new"\n'
    kept = {tuple(forms(message.id)): forms(message.string) for message in update.read(po) if message.id}
    assert kept == {("new",): ["旧"], (names["a long text"],): ["长"], ("{n} a", "{n} bs"): ["{n} 个"]}


def test_argparse_speaks_the_language_too(capsys: pytest.CaptureFixture[str]) -> None:
    source = inspect.getsource(argparse)
    assert [word for word in WORDS if word not in source] == [], "argparse says something else now"
    try:
        with pytest.raises(SystemExit):
            main(["--language", "zh_CN", "render", "--help"])
        shown = capsys.readouterr().out
        assert shown.startswith("用法：attnviz render") and "\n选项：\n" in shown and "options" not in shown
        assert all(text in shown for text in ("  图上方的名称（默认", "不画每行权重旁的总和", "PNG 每英寸"))
        assert main(["--language", "zh_CN", "render"]) == 2
        assert "缺少必需的参数：DOC, -o/--output" in capsys.readouterr().err
    finally:
        i18n.set_language("en")
    assert main(["render"]) == 2
    assert "the following arguments are required: DOC, -o/--output" in capsys.readouterr().err

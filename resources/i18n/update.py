"""Bring the message catalogues up to date with the source: extract, merge, compile.

    python resources/i18n/update.py

Run it after adding or changing a text, translate what it lists in `<language>/LC_MESSAGES/attnviz.po`, and
run it again: it compiles the .mo files that the program reads. Messages that the source no longer has are
dropped. A new language is a folder with a .po file that has a header, and a row in `attnviz.i18n.LANGUAGES`.
Needs Babel.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

HERE = Path(__file__).resolve().parent
KEYWORDS = {"_": 1, "N_": 1, "ngettext": 2}
"""The functions that take messages, and how many of their arguments are."""


def package_root() -> Path:
    """The folder of the source: the package in the checkout that this file belongs to."""
    return HERE.parent.parent / "attnviz"


def extract(source: Path) -> Catalog:
    """The messages of every Python file under `source`, with the files they stand in."""
    catalog = Catalog(project="attnviz", charset="utf-8")
    for file in sorted(source.rglob("*.py")):
        for message in messages(ast.parse(file.read_bytes(), str(file))):
            # A file without its line: numbers that move with every edit would hide what really changed.
            catalog.add(message, locations=[(file.relative_to(source).as_posix(), 0)])
    return catalog


def messages(tree: ast.Module) -> Iterator[str | tuple[str, str]]:
    """The messages that calls in `tree` are given; two forms where the call counts.

    Read from the syntax tree: Babel's own reader of tokens passes over calls inside f-strings.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            given = node.args[: KEYWORDS[node.func.id]]
            if len(given) == 2:
                one, many = (literals(argument)[0] for argument in given)
                yield one, many
            elif given:
                yield from literals(given[0])


def literals(argument: ast.expr) -> list[str]:
    """The texts written in `argument`: its own, or those of both branches of a condition."""
    if isinstance(argument, ast.IfExp):
        return literals(argument.body) + literals(argument.orelse)
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return [argument.value]
    return []


def read(path: Path) -> Catalog:
    """The catalogue in the .po file `path`."""
    return read_po(io.BytesIO(path.read_bytes()), locale=path.parent.parent.name, domain="attnviz")


def compiled(catalog: Catalog) -> bytes:
    """The .mo file of `catalog`; unfinished (fuzzy) messages are left out."""
    target = io.BytesIO()
    write_mo(target, catalog)
    return target.getvalue()


def text(catalog: Catalog) -> bytes:
    """The .po file of `catalog`, in the order of the messages, so that a merge touches few lines."""
    target = io.BytesIO()
    write_po(target, catalog, width=110, sort_output=True, ignore_obsolete=True, include_lineno=False)
    return target.getvalue()


def done(message: Message) -> bool:
    """Whether every form of `message` has a translation."""
    return all(message.string) if isinstance(message.string, (list, tuple)) else bool(message.string)


def main() -> None:
    """Merge the messages of the source into each catalogue, compile it, and list what has no translation."""
    template = extract(package_root())
    for path in sorted(HERE.glob("*/LC_MESSAGES/attnviz.po")):
        catalog = read(path)
        catalog.update(template, no_fuzzy_matching=True, update_creation_date=False)
        path.write_bytes(text(catalog))
        path.with_suffix(".mo").write_bytes(compiled(catalog))
        missing = [message.id for message in catalog if message.id and (message.fuzzy or not done(message))]
        print(f"{path.parent.parent.name}: {len(catalog)} messages, {len(missing)} to translate")
        for message in missing:
            print(f"  {message!r}")


if __name__ == "__main__":
    main()

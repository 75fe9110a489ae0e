"""Bring the message catalogues up to date with the source: extract, merge, compile.

    python resources/i18n/update.py
    python resources/i18n/update.py --rename FILE

Run it after adding or changing a text, translate what it lists in `<language>/LC_MESSAGES/attnviz.po`, and
run it once more, which compiles the translations into the .mo files that the program reads. Messages that the
source no longer has are dropped. A new language is a folder with a .po file that has a header, and a row in
`attnviz.i18n.LANGUAGES`.

An English text is the key of its translations, so rewording it by hand drops them. `--rename` rewords the
messages that FILE lists, a JSON object {old: new}, in the source, in the tests, and in each catalogue, where
the translations stay. A text inside an f-string is left for the hand. Lines become longer or shorter, so run
`ruff format .` afterwards. Needs Babel.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

WIDTH = 100
"""Reworded texts are split over lines of at most this many characters."""
HERE = Path(__file__).resolve().parent
KEYWORDS = {"_": 1, "N_": 1, "ngettext": 2, "Message": 1, "must_be": 1}
"""The functions that take messages, and how many of their arguments are."""


def package_root() -> Path:
    """The folder of the source: the package in the checkout that this file belongs to."""
    return HERE.parent.parent / "attnviz"


def extract(source: Path) -> Catalog:
    """The messages of every Python file under `source`, with their files."""
    catalog = Catalog(project="attnviz", charset="utf-8")
    for file in sorted(source.rglob("*.py")):
        for message in messages(ast.parse(file.read_bytes(), str(file))):
            # A file without its line: numbers that move with every edit would hide what really changed.
            catalog.add(message, locations=[(file.relative_to(source).as_posix(), 0)])
    return catalog


def messages(tree: ast.Module) -> Iterator[str | tuple[str, str]]:
    """The messages in the calls of `tree`; two forms for plurals.

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
    """True if every form of `message` has a translation."""
    return all(message.string) if isinstance(message.string, (list, tuple)) else bool(message.string)


def rename(names: dict[str, str], source: Path, tests: Path, catalogs: list[Path]) -> list[str]:
    """Reword the messages `names` (old: new) everywhere and keep their translations.

    Returns: the old texts that no catalogue has.
    """
    taken: set[str] = set()
    for path in catalogs:
        catalog = read(path)
        renamed = Catalog(
            locale=catalog.locale,
            domain=catalog.domain,
            header_comment=catalog.header_comment,
            charset="utf-8",
            fuzzy=False,
        )
        renamed.mime_headers = catalog.mime_headers
        for message in catalog:
            if message.id:
                forms = message.id if isinstance(message.id, tuple) else (message.id,)
                taken.update(form for form in forms if form in names)
                new = tuple(names.get(form, form) for form in forms)
                renamed.add(
                    new if isinstance(message.id, tuple) else new[0],
                    message.string,
                    locations=message.locations,
                    flags=message.flags,
                )
        path.write_bytes(text(renamed))
    for file in (*sorted(source.rglob("*.py")), *sorted(tests.rglob("*.py"))):
        before = file.read_text(encoding="utf-8")
        after = reworded(before, names, only_messages=source in file.parents)
        if after != before:
            file.write_text(after, encoding="utf-8")
    return sorted(set(names) - taken)


def reworded(code: str, names: dict[str, str], only_messages: bool) -> str:
    """`code` with the literals that equal a key of `names` replaced: those of messages, or all of them."""
    tree = ast.parse(code)
    nodes: list[ast.expr] = []
    for node in ast.walk(tree):
        if not only_messages:
            nodes += [node] if isinstance(node, ast.Constant) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            for argument in node.args[: KEYWORDS[node.func.id]]:
                nodes += [part for part in ast.walk(argument) if isinstance(part, ast.Constant)]
    # Columns of the syntax tree count bytes.
    lines = code.encode().splitlines(keepends=True)
    found = {(n.lineno, n.col_offset): n for n in nodes if isinstance(n, ast.Constant) and n.value in names}
    for (line, column), node in sorted(found.items(), reverse=True):
        assert node.end_lineno is not None and node.end_col_offset is not None
        whole = b"".join(lines[line - 1 : node.end_lineno])
        tail = lines[node.end_lineno - 1][node.end_col_offset :]
        # Python 3.11 reports other columns for expressions inside an f-string.
        try:
            matches = ast.literal_eval(f"({whole[column : len(whole) - len(tail)].decode()})") == node.value
        except (SyntaxError, ValueError):
            matches = False
        if not matches:
            continue
        lines[line - 1 : node.end_lineno] = [
            lines[line - 1][:column] + literal(names[node.value], column).encode() + tail
        ]
    return b"".join(lines).decode()


def literal(value: str, column: int) -> str:
    """`value` as a string literal, in pieces of whole words if it is longer than a line."""
    pieces, room = [""], WIDTH - column
    for word in re.findall(r"\S+\s*|\s+", value):
        if len(pieces[-1]) + len(word) > max(room, 40):
            pieces.append("")
        pieces[-1] += word
    return ("\n" + " " * column).join(json.dumps(piece, ensure_ascii=False) for piece in pieces)


def catalogs() -> list[Path]:
    """The .po file of each language."""
    return sorted(HERE.glob("*/LC_MESSAGES/attnviz.po"))


def main() -> None:
    """Merge the messages of the source into each catalogue, compile it, and list what has no translation."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rename", metavar="FILE", type=Path, help="a JSON object {old: new} of messages")
    given = parser.parse_args()
    if given.rename is not None:
        names = json.loads(given.rename.read_text(encoding="utf-8"))
        for unknown in rename(names, package_root(), package_root().parent / "tests", catalogs()):
            print(f"no such message: {unknown!r}")
    template = extract(package_root())
    for path in catalogs():
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

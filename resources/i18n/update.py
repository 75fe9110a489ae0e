"""Bring the message catalogues up to date with the source: extract, merge, compile.

    python resources/i18n/update.py

Run it after adding or changing a text, translate what it lists in `<language>/LC_MESSAGES/attnviz.po`, and
run it again: it compiles the .mo files that the program reads. Messages that the source no longer has are
dropped. A new language is a folder with a .po file that has a header, and a row in `attnviz.i18n.LANGUAGES`.
Needs Babel.
"""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

HERE = Path(__file__).resolve().parent
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}


def package_root() -> Path:
    """The folder of the source: the package in the checkout that this file belongs to."""
    return HERE.parent.parent / "attnviz"


def extract(source: Path) -> Catalog:
    """The messages of every Python file under `source`, with the places and translators' notes they have."""
    catalog = Catalog(project="attnviz", charset="utf-8")
    found = extract_from_dir(
        source, method_map=[("**.py", "python")], keywords=KEYWORDS, comment_tags=("Translators:",)
    )
    for file, _line, message, comments, context in found:
        # A file without its line: numbers that move with every edit would hide what really changed.
        catalog.add(message, locations=[(Path(file).as_posix(), 0)], auto_comments=comments, context=context)
    return catalog


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

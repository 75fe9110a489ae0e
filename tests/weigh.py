"""Count the lines of the package by room and by kind: `python tests/weigh.py [--lone]`.

An import statement counts with all its lines, a docstring with its quotation marks; what is none of them, no
comment and not blank, is code. `--lone` lists the files that one other file of the same folder alone imports:
neighbours that may be one idea.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "attnviz"
KINDS = ("code", "imports", "docstrings", "comments", "blank")


def kinds_of_lines(text: str) -> Counter[str]:
    """The number of lines of each kind in a module."""
    lines = text.splitlines()
    kinds = [
        "blank" if not line.strip() else "comments" if line.lstrip().startswith("#") else "code"
        for line in lines
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            kind = "imports"
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            kind = "docstrings"
        else:
            continue
        assert node.end_lineno is not None
        kinds[node.lineno - 1 : node.end_lineno] = [kind] * (node.end_lineno - node.lineno + 1)
    return Counter(kinds)


def files() -> list[Path]:
    """The modules of the package, in the order of their paths."""
    return sorted(PACKAGE.rglob("*.py"))


def room(file: Path) -> str:
    """The folder of the package that a module is in, with one folder more in the large rooms."""
    folders = file.relative_to(PACKAGE).parts[:-1]
    return "/".join(folders[:2] if folders[:1] in (("gui",), ("model",)) else folders[:1])


def imported_by() -> dict[str, set[str]]:
    """The modules that import each module of the package, by dotted names."""
    readers: dict[str, set[str]] = defaultdict(set)
    names = {dotted(file): file for file in files()}
    for name, file in names.items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for wanted in {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}:
                    if wanted in names:
                        readers[wanted].add(name)
    return readers


def dotted(file: Path) -> str:
    """`attnviz.core.masks`."""
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def lone_neighbours() -> list[tuple[str, str, int]]:
    """(module, the one module that imports it, its lines), both in one folder."""
    sizes = {dotted(file): len(file.read_text(encoding="utf-8").splitlines()) for file in files()}
    return [
        (name, reader, sizes[name])
        for name, readers in sorted(imported_by().items())
        for reader in sorted(readers)
        if len(readers) == 1 and reader.rpartition(".")[0] == name.rpartition(".")[0]
    ]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--lone", action="store_true")
    if options.parse_args().lone:
        for name, reader, size in lone_neighbours():
            print(f"{size:4} {name} <- {reader.rpartition('.')[2]}")
        return
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files():
        counted = kinds_of_lines(file.read_text(encoding="utf-8"))
        rooms[room(file)] += counted + Counter(files=1)
        rooms["all"] += counted + Counter(files=1)
    print(f"{'room':24}{'files':>7}{'lines':>8}" + "".join(f"{kind:>12}" for kind in KINDS))
    for name, counted in sorted(rooms.items(), key=lambda item: (item[0] == "all", item[0])):
        lines = sum(counted[kind] for kind in KINDS)
        print(f"{name:24}{counted['files']:7}{lines:8}" + "".join(f"{counted[kind]:12}" for kind in KINDS))
    print(f"imports: {rooms['all']['imports'] / sum(rooms['all'][kind] for kind in KINDS):.1%} of the lines")


if __name__ == "__main__":
    main()

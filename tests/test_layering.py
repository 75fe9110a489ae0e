"""The house rules that can be read from the source: who imports whom, and what nobody uses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import attnviz.version
from attnviz.gui.panels.table import PANELS

PACKAGE = Path(attnviz.version.__file__).resolve().parent
FILES = sorted(
    file for file in PACKAGE.rglob("*.py") if "resources" not in file.relative_to(PACKAGE).parts[:-1]
)

EVERYWHERE = {"attnviz.errors", "attnviz.resources", "attnviz.i18n", "attnviz.version"}
"""Modules that every layer may import; they import nothing but the standard library and each other."""

MAY_IMPORT = {
    "core": {"core"},
    "operations": {"core", "operations"},
    "model": {"core", "operations", "model"},
    "explain": {"core", "operations", "model", "explain"},
    "engines": {"core", "operations", "model", "engines"},
    "compute": {"core", "model", "engines", "compute"},
    "checkpoints": {"core", "model", "checkpoints"},
    "training": {"core", "operations", "model", "explain", "engines", "compute", "training"},
    "study": {"core", "operations", "model", "explain", "engines", "compute"}
    | {"checkpoints", "training", "study"},
    "figures": {"core", "operations", "model", "explain", "engines", "study", "training", "figures"},
    "pages": {"core", "operations", "model", "explain", "engines", "compute", "pages"},
    "bench": {"core", "model", "engines", "compute", "checkpoints", "training", "bench"},
}
"""Layer by layer, the folders it may import; `gui`, `cli` and the public `attnviz` stand on all of them."""

TORCH = {
    "engines/torch_engine.py",
    "bench/plain_torch.py",
    "bench/decoding/transformers_llama.py",
    "bench/training/plain_torch.py",
}
THREADING = {"threading", "_thread", "concurrent", "multiprocessing", "asyncio"}
THREAD_HOOK = "gui/app_errors.py"
"""Hears of threads that died, on any thread: it may use `threading`, but starts nothing."""
QT_THREADS = (".QThread", ".QThreadPool", ".QRunnable")
PANEL_BASES = ("panel", "answer")
"""The base class: the one module of `panels/` that a panel may import."""
PANEL_TABLE = "gui/panels/table.py"
"""The list of panels: it knows them all, and none of them knows it."""
ENTRIES = ("gui/app.py", "gui/offscreen.py")
"""Files that make a window, each a room. The others right in `gui/` are one room: the live state."""
FORBIDDEN = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "matplotlib.pyplot", "pylab"}
CORE_FORBIDS = {"torch", "matplotlib", "msgspec", "safetensors", "json"}


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def name_of(file: Path) -> str:
    """`engines/program.py`, the way the messages of this test name a file."""
    return file.relative_to(PACKAGE).as_posix()


def layer_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else file.stem


def imports(node: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """Each module that `node` imports, by its full name, with its line. `from a import b` gives `a.b` too."""
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            for alias in item.names:
                yield alias.name, item.lineno
        elif isinstance(item, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - item.level + 1] if item.level else []
            base = ".".join([*above, *([item.module] if item.module else [])])
            yield base, item.lineno
            for alias in item.names:
                yield f"{base}.{alias.name}", item.lineno


@cache
def file_imports(file: Path) -> list[tuple[str, int]]:
    package = ".".join(("attnviz", *file.relative_to(PACKAGE).parts[:-1]))
    return list(imports(tree(file), package))


def broken(file: Path, is_wrong: object) -> list[str]:
    assert callable(is_wrong)
    return [
        f"{name_of(file)}:{line} imports {module}" for module, line in file_imports(file) if is_wrong(module)
    ]


def root_of(module: str) -> str:
    return module.split(".")[0]


def wrong_in_layer(file: Path) -> list[str]:
    allowed = MAY_IMPORT.get(layer_of(file))
    if allowed is None:
        return []

    def is_wrong(module: str) -> bool:
        if root_of(module) != "attnviz" or any((module + ".").startswith(name + ".") for name in EVERYWHERE):
            return False
        parts = module.split(".")
        # `from attnviz import i18n` also reads as the bare package: its second reading is judged instead.
        return len(parts) > 1 and parts[1] not in allowed

    bare = [
        f"{name_of(file)}:{node.lineno} imports attnviz itself"
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Import) and any(alias.name == "attnviz" for alias in node.names)
    ]
    return broken(file, is_wrong) + bare


def collect(check: Callable[[Path], list[str]]) -> list[str]:
    return [problem for file in FILES for problem in check(file)]


def test_the_package_is_read() -> None:
    assert {"i18n.py", "gui/look/theme.py"} <= {name_of(file) for file in FILES}


def test_layers_import_downwards_only() -> None:
    assert collect(wrong_in_layer) == []


def test_shared_modules_need_only_the_standard_library() -> None:
    def check(file: Path) -> list[str]:
        if f"attnviz.{file.stem}" not in EVERYWHERE or file.parent != PACKAGE:
            return []
        return broken(
            file,
            lambda module: (
                root_of(module) not in sys.stdlib_module_names | {"attnviz"}
                or (module.count(".") == 1 and root_of(module) == "attnviz" and module not in EVERYWHERE)
            ),
        )

    assert collect(check) == []


def test_no_qt_outside_gui() -> None:
    qt = {"PySide6", "shiboken6", "pyqtgraph", "superqt", "qtpy", "PyQt6", "PyQt5"}

    def check(file: Path) -> list[str]:
        if layer_of(file) == "gui":
            return []
        return broken(file, lambda module: root_of(module) in qt)

    assert collect(check) == []


def test_torch_stays_in_its_files() -> None:
    def check(file: Path) -> list[str]:
        if name_of(file) in TORCH:
            return []
        return broken(file, lambda module: root_of(module) == "torch")

    assert collect(check) == []


def test_threads_stay_in_compute_and_the_bridge() -> None:
    def check(file: Path) -> list[str]:
        if layer_of(file) == "compute" or name_of(file) == "gui/bridge.py":
            return []
        if name_of(file) == THREAD_HOOK:
            started = {node.attr for node in ast.walk(tree(file)) if isinstance(node, ast.Attribute)}
            return [f"{THREAD_HOOK} names {name}" for name in sorted(started & {"Thread", "Timer"})]
        return broken(file, lambda module: root_of(module) in THREADING or module.endswith(QT_THREADS))

    assert collect(check) == []


def test_panels_do_not_import_each_other() -> None:
    def check(file: Path) -> list[str]:
        parts = file.relative_to(PACKAGE).parts
        if parts[:2] != ("gui", "panels") or name_of(file) == PANEL_TABLE:
            return []
        # A panel is a file, or a folder where it has parts.
        own = parts[2].removesuffix(".py")

        def is_wrong(module: str) -> bool:
            if not module.startswith("attnviz.gui.panels."):
                return False
            return module.split(".")[3] not in (*PANEL_BASES, own)

        return broken(file, is_wrong)

    assert collect(check) == []


def room_of(file: Path) -> str:
    """The layer of a file; in `gui/` the folder."""
    parts = file.relative_to(PACKAGE).parts
    if parts[0] != "gui":
        return layer_of(file)
    return name_of(file) if name_of(file) in ENTRIES else "/".join(parts[:2]) if len(parts) > 2 else "gui"


def imports_between_rooms() -> dict[tuple[str, str], list[str]]:
    """Every import of a module in another room, also those in functions and for types alone."""
    files = {".".join(("attnviz", *file.relative_to(PACKAGE).with_suffix("").parts)): file for file in FILES}
    found: dict[tuple[str, str], list[str]] = {}
    for file in FILES:
        for module, line in file_imports(file):
            if module in files and room_of(files[module]) != room_of(file):
                pair = room_of(file), room_of(files[module])
                found.setdefault(pair, []).append(f"{name_of(file)}:{line} imports {module}")
    return found


def test_no_two_rooms_import_each_other() -> None:
    found = imports_between_rooms()
    assert {pair for pair in found if pair[0] < pair[1] and pair[::-1] in found} == set()


def test_rooms_import_one_another_in_no_circle() -> None:
    """Rooms that import nothing of those that are left are taken off, until none is left."""
    left = set(imports_between_rooms())
    while leaves := {room for pair in left for room in pair} - {a for a, _b in left}:
        left = {(a, b) for a, b in left if b not in leaves}
    assert left == set()


def test_nothing_but_the_program_s_start_imports_the_window() -> None:
    def check(file: Path) -> list[str]:
        if name_of(file) == ENTRIES[0] or room_of(file) == "gui/window":
            return []
        return broken(file, lambda module: (module + ".").startswith("attnviz.gui.window."))

    assert collect(check) == []


def test_every_file_is_imported_by_another() -> None:
    """Two classes of one name hide from a search for unused names that one file is left over."""
    of_panels = {f"attnviz.gui.panels.{row.source.split(':')[0]}" for row in PANELS}
    used = of_panels.union(*({module for module, _line in file_imports(file)} for file in FILES))
    assert [
        name_of(file)
        for file in FILES
        if file.stem not in ("__init__", "__main__")
        and ".".join(("attnviz", *file.relative_to(PACKAGE).with_suffix("").parts)) not in used
    ] == []


def test_core_takes_arrays_only() -> None:
    def check(file: Path) -> list[str]:
        if layer_of(file) != "core":
            return []
        return broken(file, lambda module: root_of(module) in CORE_FORBIDS)

    assert collect(check) == []


def test_nothing_that_executes_or_draws_behind_the_back() -> None:
    assert collect(lambda file: broken(file, lambda module: module in FORBIDDEN)) == []


def test_cli_and_the_public_module_import_the_window_only_where_it_is_opened() -> None:
    def at_start(file: Path) -> list[str]:
        if file.parent != PACKAGE:
            return []
        outside = [node for node in tree(file).body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
        return [
            f"{name_of(file)}:{line} imports {module}"
            for node in outside
            for module, line in imports(node, "attnviz")
            if (module + ".").startswith(("attnviz.gui.", "attnviz.bench."))
        ]

    assert collect(at_start) == []


@pytest.mark.parametrize(
    ("source", "package", "found"),
    [
        ("import torch.nn", "attnviz", {"torch.nn"}),
        ("from attnviz import gui", "attnviz", {"attnviz", "attnviz.gui"}),
        ("from ..core import masks", "attnviz.model", {"attnviz.core", "attnviz.core.masks"}),
        ("def f():\n    from . import store", "attnviz.gui", {"attnviz.gui", "attnviz.gui.store"}),
    ],
)
def test_the_reader_of_imports_sees_them(source: str, package: str, found: set[str]) -> None:
    assert {module for module, _ in imports(ast.parse(source), package)} == found

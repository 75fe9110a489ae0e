"""Opens a large document in a window, uses it, closes it, and prints the bytes that stay.

`closed_model.py FILE FOLDER`: the document, and where its settings go. Prints the bytes that were taken while
it was open, those that stay, and how many of its matrices stay.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QApplication

from attnviz.checkpoints.presets import load_preset as load_any_preset
from attnviz.gui.look import look
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import Settings
from attnviz.gui.window.window import Window
from attnviz.model.edit import edits
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.sampling import Sampling, StopConditions
from attnviz.model.spec.view import Cell

LARGE = 2**17


def resident() -> int:
    """Bytes of memory that the process holds, once what it could give back is given back."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        pass  # another C library
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def large_matrices() -> set[int]:
    """Identities of the large matrices that are alive."""
    return {id(one) for one in gc.get_objects() if isinstance(one, Matrix) and one.array.size > LARGE}


def wait(until: Callable[[], bool], seconds: float = 120.0) -> None:
    """Let the window live until something is so."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it took too long"
        QApplication.processEvents()
        time.sleep(0.002)


def settled(window: Window) -> Callable[[], bool]:
    """True if the displayed numbers are those of the document and nobody computes."""

    def is_so() -> bool:
        trace = window.store.trace
        is_shown = trace is not None and trace.experiment is window.store.experiment
        return is_shown and all(scheduler.idle for scheduler in window.services.schedulers)

    return is_so


def use(window: Window) -> None:
    """A person's acts with a model: other heads and layers, a locked cell, edits, undo, more tokens."""
    store = window.store
    for row in PANELS:
        dock = window.docks[row.id]
        dock.show()
        dock.bring(row.id)
        dock.raise_()
        wait(settled(window))
    for site in ("layers.1.self", "layers.0.self"):
        store.look(site=site, head=1, stage="weights")
        cell = Cell("weights", 3, 1, 1, site=site)
        store.set_hover(cell)
        store.look(locked=cell)
        wait(settled(window))
    store.edit(replace, writing=Writing(Sampling(stop=StopConditions(length=8))))
    wait(settled(window))
    store.edit(edits.set_tokens, store.experiment.tokens[:5])
    wait(settled(window))
    store.undo()
    store.edit(replace, dtype="float64")
    wait(settled(window))
    store.undo()


def main() -> None:
    application = QApplication([])
    settings = Settings(QSettings(str(Path(sys.argv[2]) / "settings.ini"), QSettings.Format.IniFormat))
    look.apply(application, settings)
    small = load_preset("fluffy-blue-creature")
    window = Window(small, settings)
    window.start()
    window.show()
    wait(settled(window))
    # A small model first: what its use imports, and caches of a few megabytes, are no part of a document.
    window.store.open(load_any_preset("stories-en"))
    wait(settled(window))
    use(window)
    wait(settled(window))
    window.store.mark_saved(Path("stories"), window.store.document)  # so that closing asks nothing
    window.store.open(load_preset("fluffy-blue-creature"))
    wait(settled(window))
    before, kept = resident(), large_matrices()  # undo returns to the small model
    window.documents.open(Path(sys.argv[1]))
    wait(lambda: window.store.experiment.vocabulary is not None and settled(window)())
    use(window)
    wait(settled(window))
    opened = resident()
    window.store.mark_saved(Path(sys.argv[1]), window.store.document)
    window.store.open(load_preset("fluffy-blue-creature"))
    wait(settled(window))
    closed = resident()
    print(opened - before, closed - before, len(large_matrices() - kept))
    window.close()


if __name__ == "__main__":
    main()

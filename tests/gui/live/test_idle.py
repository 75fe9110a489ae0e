"""The window at rest: memory is given back once, some time after the last numbers."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.compute.decoding import decode_and_compare
from attnviz.compute.scheduler import Scheduler
from attnviz.engines.program import never_cancelled
from attnviz.gui.bridge import Bridge
from attnviz.gui.live import idle
from attnviz.gui.live.idle import IdleLive
from attnviz.gui.store import Store
from attnviz.model.io.files import matrices
from attnviz.model.io.presets import load_preset


def test_memory_is_given_back_once_after_the_last_numbers(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = list[str]()
    monkeypatch.setattr(idle, "IDLE_MS", 300)
    monkeypatch.setattr(idle, "rest", lambda present: given.append(f"all but {len(present)}"))
    monkeypatch.setattr(idle, "trim", lambda: given.append("freed"))
    store, bridge = Store(load_preset("encoder-only")), Bridge()
    scheduler = Scheduler(bridge.post, inline=True)
    live = IdleLive(store, scheduler)
    store.set_trace(attnviz.run(store.experiment))
    qtbot.wait(200)
    store.set_trace(attnviz.run(store.experiment))
    qtbot.wait(200)
    assert not given, "new numbers put it off"
    qtbot.waitUntil(lambda: bool(given))
    qtbot.wait(400)
    numbers = [matrix for _name, matrix in matrices(store.experiment)]
    assert given == [f"all but {len(numbers)}", "freed"] and numbers
    store.set_decoded(decode_and_compare(store.experiment, "numpy", "auto", never_cancelled, 0))
    qtbot.waitUntil(lambda: len(given) == 4)
    store.set_trace(attnviz.run(store.experiment))
    live.stop()
    qtbot.wait(400)
    assert given == [f"all but {len(numbers)}", "freed"] * 2
    bridge.close()

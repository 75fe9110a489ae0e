"""The followed tokens: their numbers are those of a full pass, and none of an older decoding arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pointer import Log
from pytestqt.qtbot import QtBot

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.scheduler import Scheduler
from attnviz.errors import FieldError
from attnviz.gui.bridge import Bridge
from attnviz.gui.live import follow as follow_module
from attnviz.gui.live.decoding import DecodeLive
from attnviz.gui.live.follow import FollowLive, followed
from attnviz.gui.live.trace import Live
from attnviz.gui.player import GoBy, GoTo, Player, Tick, Toggle, Watch
from attnviz.gui.store import Store
from attnviz.model.edit import edits
from attnviz.model.edit.generation import set_seed
from attnviz.model.spec.document import Document

PROMPTS = {"stories-en": 13, "stories-zh": 16}
ENGINES = ("numpy", "torch")


class Bench:
    """The live loops without a window; `executed` are the lengths of the passes that were begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, what: str | Document, *, inline: bool) -> None:
        self.store = Store(load_preset(what) if isinstance(what, str) else what)
        self.bridge = Bridge()
        self.schedulers = tuple(Scheduler(self.bridge.post, inline=inline) for _count in range(2))
        self.live = Live(self.store, self.schedulers[0])
        self.decode = DecodeLive(self.store, self.live, self.schedulers[1])
        self.follow = FollowLive(self.store, self.schedulers[1])
        self.store.play(Watch("test", True))
        self.log = Log(self.follow, "failed")
        self.executed: list[int] = []
        self.shown: list[int | None] = []
        self.plain = follow_module.execute
        monkeypatch.setattr(follow_module, "execute", self.execute)
        self.store.followed_changed.connect(lambda: self.shown.append(self.length))

    def execute(self, experiment: Any, *rest: Any) -> Any:
        self.executed.append(experiment.n_queries)
        return self.plain(experiment, *rest)

    @property
    def length(self) -> int | None:
        """Number of followed tokens; None while the document is shown."""
        return None if self.store.followed is None else self.store.followed.experiment.n_queries

    def decode_now(self) -> None:
        """Run and decode at once, without the wait for a drag to rest."""
        self.live.run_now()
        self.decode._decode()
        assert self.store.player.decoded is not None


@pytest.fixture
def make(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[Bench] = []

    def one(what: str | Document, *, inline: bool = True) -> Bench:
        made.append(Bench(monkeypatch, what, inline=inline))
        return made[-1]

    yield one
    for bench in made:
        bench.bridge.close()
        assert all(scheduler.close(2.0) for scheduler in bench.schedulers)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("preset", PROMPTS)
def test_the_numbers_are_those_of_a_full_pass_over_these_tokens(make: Any, preset: str, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    bench = make(preset)
    bench.store.engine = engine
    bench.decode_now()
    store, n_given = bench.store, PROMPTS[preset]
    last = store.player.n_steps - 1
    for step in (n_given, n_given + 9, last):
        store.play(GoTo(step))
        tokens = tuple(one.token for one in store.player.decoded.decoding.steps[: step + 1])
        assert store.followed.experiment.tokens == tokens
        assert store.shown_trace.experiment is store.followed.experiment
        assert store.shown_trace.engine == engine
        expected = attnviz.run(edits.set_tokens(store.experiment, tokens), engine="numpy")
        assert store.shown_trace.sites == expected.sites
        for name in expected.sites:
            mine, theirs = store.shown_trace.site(name), expected.site(name)
            assert mine.stages == theirs.stages
            for stage in theirs.stages:
                np.testing.assert_allclose(mine[stage], theirs[stage], rtol=1e-4, atol=1e-4, err_msg=stage)
            np.testing.assert_allclose(mine["weights"], theirs["weights"], atol=1e-5)


def test_it_grows_from_the_prompt_to_the_whole_story(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    assert bench.length is None and bench.store.shown_trace is bench.store.trace
    bench.store.play(Toggle())
    while bench.store.player.is_playing:
        bench.store.play(Tick())
    assert bench.shown == list(range(14, 89))
    bench.store.play(GoTo(12))
    assert bench.length is None and bench.store.shown_trace is bench.store.trace
    assert bench.store.shown_site.shape("weights") == (4, 13, 13)


def test_the_pure_function_names_the_same_document(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(20))
    store = bench.store
    assert followed(store.player, store.document) == store.followed
    assert followed(Player(), store.document) is None
    assert followed(store.player, load_preset("stories-zh")) is None


@pytest.mark.parametrize("preset", ["encoder-decoder", "cross-attention", "toy-attention", "causal-decode"])
def test_a_document_that_generates_nothing_is_left_as_it_is(make: Any, preset: str) -> None:
    bench = make(preset)
    bench.decode_now()
    for step in range(bench.store.player.n_steps):
        bench.store.play(GoTo(step))
    assert bench.shown == [] and bench.executed == []
    assert bench.store.shown_trace is bench.store.trace


def test_an_edit_shows_the_document_until_the_player_moves(make: Any, qtbot: QtBot) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(30))
    bench.store.edit(edits.set_tokens, ("Once", *bench.store.experiment.tokens[1:]))
    assert bench.length is None
    bench.decode_now()
    assert bench.length is None and bench.store.shown_trace is bench.store.trace
    bench.store.play(GoBy(1))
    assert bench.length == 32
    assert bench.store.followed.experiment.tokens[:13] == bench.store.experiment.tokens
    bench.store.undo()
    assert bench.length is None


def test_another_sampling_is_followed_without_a_look_at_the_prompt(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(30))
    before = bench.store.followed.experiment.tokens
    bench.shown.clear()
    bench.store.edit(set_seed, 9)
    bench.decode_now()
    assert bench.shown and None not in bench.shown
    assert bench.store.followed.experiment.tokens != before
    assert bench.store.followed.experiment.tokens[:13] == before[:13]


def test_the_switch_shows_the_document_and_the_step_again(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(30))
    bench.store.set_following(False)
    assert bench.length is None
    bench.store.play(GoBy(1))
    assert bench.length is None
    bench.store.set_following(True)
    assert bench.length == 32


def test_without_a_player_in_sight_the_document_is_shown(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(30))
    bench.store.play(Watch("test", False))
    assert bench.length is None
    bench.store.play(Watch("test", True))
    assert bench.length == 31


def test_a_mask_is_painted_over_the_document(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    bench.store.play(GoTo(30))
    bench.store.set_paint_mode(True)
    assert bench.length is None
    bench.store.set_paint_mode(False)
    assert bench.length == 31


def test_a_drag_over_the_steps_computes_few_passes_and_ends_at_the_last(make: Any, qtbot: QtBot) -> None:
    bench = make("stories-en", inline=False)
    bench.live.run_now()
    qtbot.waitUntil(lambda: bench.store.player.decoded is not None, timeout=8000)
    for step in range(20, 80):
        bench.store.play(GoTo(step))
    qtbot.waitUntil(lambda: bench.length == 80, timeout=8000)
    assert len(bench.executed) <= 4
    assert bench.shown == sorted(bench.shown)


def test_a_pass_of_an_older_document_is_dropped(
    make: Any, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make("stories-en", inline=False)
    bench.live.run_now()
    qtbot.waitUntil(lambda: bench.store.player.decoded is not None, timeout=8000)
    begun, released = threading.Event(), threading.Event()

    def slow(*args: Any) -> Any:
        begun.set()
        assert released.wait(8)
        return bench.execute(*args)

    monkeypatch.setattr(follow_module, "execute", slow)
    bench.store.play(GoTo(30))
    qtbot.waitUntil(begun.is_set, timeout=8000)
    bench.store.edit(edits.set_tokens, ("Once", *bench.store.experiment.tokens[1:]))
    released.set()
    qtbot.waitUntil(lambda: bench.executed == [31] and bench.schedulers[1].idle, timeout=8000)
    qtbot.wait(50)
    assert bench.shown == [] and bench.length is None


def test_a_refused_pass_is_said_once_and_the_document_stays(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make("stories-en")
    bench.decode_now()

    def refuse(*args: Any) -> Any:
        raise FieldError("tokens", 31, "fewer")

    monkeypatch.setattr(follow_module, "execute", refuse)
    bench.store.play(GoTo(30))
    bench.store.set_stage_hover("weights")
    (said,) = bench.log.values("failed")
    assert str(said) == "tokens fewer; got 31."
    assert bench.store.shown_trace is bench.store.trace


def test_the_same_step_that_is_asked_for_again_shows_its_tokens_after_an_edit(make: Any) -> None:
    bench = make("stories-en")
    bench.decode_now()
    step = PROMPTS["stories-en"] + 1
    bench.store.play(GoTo(step))
    assert bench.length == step + 1
    bench.store.edit(set_seed, 5)
    bench.store.edit(edits.set_vector_cell, 0, 0, 0.25)
    bench.decode_now()
    assert bench.length is None, "an edit shows the document"
    bench.store.play(GoTo(step))
    assert bench.length == step + 1

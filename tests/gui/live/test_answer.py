"""The state of a question to a worker: the newest wins, and no earlier answer is taken for its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pytestqt.qtbot import QtBot

from attnviz.compute.scheduler import Scheduler
from attnviz.core.progress import Progress
from attnviz.errors import InputError, Message
from attnviz.gui.bridge import Bridge
from attnviz.gui.live.answer import TURN_MS, Answer, Outdated

State = tuple[int | None, int | None, bool]


class Room:
    """A worker whose jobs wait for a test: each question n has the answer n²."""

    def __init__(self) -> None:
        self.bridge = Bridge()
        self.scheduler = Scheduler(self.bridge.post)
        self.begun: list[int] = []
        self.gates = {number: threading.Event() for number in range(10)}
        self.fails: dict[int, BaseException] = {}
        self.states: list[State] = []

    def square(self, asked: int, check: Progress) -> int:
        self.begun.append(asked)
        check.at(0.5)
        while not self.gates[asked].wait(0.005):
            check()
        if asked in self.fails:
            raise self.fails[asked]
        return asked**2

    def answer(self, **how: bool | str) -> Answer[int, int]:
        found: Answer[int, int] = Answer("square", self.square, self.bridge, **how)  # type: ignore[arg-type]
        found.serve(self.scheduler)
        found.changed.connect(lambda: self.states.append((found.asked, found.result, found.is_due)))
        return found


@dataclass(frozen=True)
class Question:
    """Equal questions are one question."""

    text: str


@pytest.fixture
def room(qtbot: QtBot) -> Iterator[Room]:
    room = Room()
    yield room
    for gate in room.gates.values():
        gate.set()
    assert room.scheduler.close(5)
    room.bridge.close()


def test_the_newest_question_wins(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    answer.ask(3)
    for number in (2, 3):
        room.gates[number].set()
    qtbot.waitUntil(lambda: answer.result == 9)
    assert room.states == [(2, None, True), (3, None, True), (3, 9, False)]
    assert (answer.of, answer.is_stale) == (3, False)


def test_an_equal_question_is_not_asked_twice(qtbot: QtBot) -> None:
    asked: list[Question] = []
    answer: Answer[Question, None] = Answer("note", lambda question, _check: asked.append(question))
    answer.serve(Scheduler(lambda _call: None, inline=True))
    answer.ask(Question("a"))
    answer.ask(Question("a"))
    assert asked == [Question("a")]
    answer.again()
    assert asked == [Question("a")] * 2


@pytest.mark.parametrize("keeps", [True, False])
def test_the_earlier_result_is_stale_until_the_next_arrives(room: Room, qtbot: QtBot, keeps: bool) -> None:
    answer = room.answer(keeps=keeps)
    room.gates[2].set()
    answer.ask(2)
    qtbot.waitUntil(lambda: answer.result == 4)
    assert not answer.is_stale
    answer.ask(3)
    assert answer.is_due
    assert (answer.result, answer.of, answer.is_stale) == ((4, 2, True) if keeps else (None, None, False))
    room.gates[3].set()
    qtbot.waitUntil(lambda: answer.result == 9)
    assert not answer.is_stale


def test_a_failure_is_a_sentence_and_takes_the_earlier_result_away(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    for number in (2, 3):
        room.gates[number].set()
    room.fails[3] = InputError(Message("No room."))
    answer.ask(2)
    qtbot.waitUntil(lambda: answer.result == 4)
    answer.ask(3)
    qtbot.waitUntil(lambda: answer.problem is not None)
    assert str(answer.problem) == "No room."
    assert (answer.result, answer.of, answer.is_due) == (None, None, False)
    answer.ask(3)
    assert answer.problem is not None, "what has failed is computed by a person's wish"
    del room.fails[3]
    answer.again()
    assert answer.problem is None and answer.is_due
    qtbot.waitUntil(lambda: answer.result == 9)


def test_a_fault_of_the_program_is_said_and_logged(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    room.gates[2].set()
    room.fails[2] = ZeroDivisionError("a fault")
    with qtbot.captureExceptions() as faults:
        answer.ask(2)
        qtbot.waitUntil(lambda: answer.problem is not None)
    assert [kind for kind, _error, _trace in faults] == [ZeroDivisionError]
    assert str(answer.problem) == "Something went wrong: ZeroDivisionError: a fault"


def test_a_job_tells_its_progress_and_is_cancelled_from_outside(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    busy = room.scheduler.busy()
    assert busy is not None and (busy.key, busy.share) == ("square", 0.5)
    assert room.scheduler.stop("square")
    qtbot.waitUntil(lambda: answer.problem is not None)
    assert str(answer.problem) == "Cancelled." and not answer.is_due


def test_what_is_given_up_is_computed_no_further_and_answers_nothing(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    room.gates[2].set()
    answer.ask(2)
    qtbot.waitUntil(lambda: answer.result == 4)
    answer.ask(3)
    qtbot.waitUntil(lambda: room.begun == [2, 3])
    answer.stop()
    qtbot.waitUntil(lambda: room.scheduler.idle)
    qtbot.wait(20)
    assert (answer.asked, answer.result, answer.problem) == (None, 4, None)
    answer.clear()
    assert (answer.asked, answer.result, answer.of) == (None, None, None)


def test_a_result_that_is_known_needs_no_job(room: Room, qtbot: QtBot) -> None:
    answer = room.answer()
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    answer.take(3, 9)
    assert (answer.asked, answer.of, answer.result, answer.is_due) == (3, 3, 9, False)
    qtbot.waitUntil(lambda: room.scheduler.idle)
    qtbot.wait(20)
    assert answer.result == 9 and room.begun == [2]


def test_in_turn_one_under_way_is_shown_before_the_newest_begins(room: Room, qtbot: QtBot) -> None:
    answer = room.answer(in_turn=True)
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    for number in (3, 4):
        answer.ask(number)
        room.gates[number].set()
    assert answer.is_due
    room.gates[2].set()
    qtbot.waitUntil(lambda: answer.result == 16)
    assert room.begun == [2, 4]
    assert room.states == [(2, None, True), (3, None, True), (4, None, True), (4, 4, True), (4, 16, False)]


def test_in_turn_the_newest_begins_also_after_a_failure(room: Room, qtbot: QtBot) -> None:
    answer = room.answer(in_turn=True)
    room.fails[2] = OSError("No room.")
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    answer.ask(3)
    for number in (2, 3):
        room.gates[number].set()
    qtbot.waitUntil(lambda: answer.result == 9)
    assert room.begun == [2, 3] and answer.problem is None


def test_a_question_whose_numbers_are_gone_leaves_the_picture_and_lets_the_next_begin(
    room: Room, qtbot: QtBot
) -> None:
    answer = room.answer(in_turn=True)
    for number in (2, 3, 4):
        room.gates[number].set()
    room.fails[3] = Outdated()
    answer.ask(2)
    qtbot.waitUntil(lambda: answer.result == 4)
    answer.ask(3)
    qtbot.waitUntil(lambda: room.begun == [2, 3] and not room.scheduler.is_busy("square"))
    qtbot.wait(20)
    assert (answer.result, answer.problem) == (4, None) and answer.is_stale
    answer.ask(4)
    qtbot.waitUntil(lambda: answer.result == 16)


def test_a_question_waits_for_the_job_that_comes_first(room: Room, qtbot: QtBot) -> None:
    """Both share one worker, and the question may take it for seconds."""
    first, answer = threading.Event(), room.answer(after="first")
    room.gates[2].set()
    answer.ask(2)
    room.scheduler.submit(lambda _token: first.wait(5), lambda _done: None, pytest.fail, key="first")
    qtbot.wait(2 * TURN_MS)
    assert room.begun == [] and not room.scheduler.is_busy("square")
    first.set()
    qtbot.waitUntil(lambda: answer.result == 4)


def test_the_end_of_a_cancelled_question_does_not_end_the_equal_one_that_waits(
    room: Room, qtbot: QtBot
) -> None:
    """A tab is left and chosen again, before the answer that the first question was cancelled arrives."""
    answer = room.answer(after="first")
    answer.ask(2)
    qtbot.waitUntil(lambda: room.begun == [2])
    answer.stop()
    answer.ask(2)
    room.gates[2].set()
    qtbot.waitUntil(lambda: answer.result == 4)
    assert room.begun == [2, 2] and all(result in (None, 4) for _asked, result, _due in room.states)
    assert answer.problem is None

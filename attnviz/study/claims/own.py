"""The claims of a document, answered for a run of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attnviz.core.progress import Check, never_cancelled
from attnviz.errors import InputError, Message
from attnviz.study.claims.scope import Scope, holds
from attnviz.study.claims.verdict import VerdictId


@dataclass(frozen=True)
class Answer:
    """The answer to a claim; None where it cannot be computed, and `problem` says why."""

    claim: str
    is_true: bool | None
    problem: Message | None = None

    @property
    def verdict(self) -> VerdictId | None:
        """The verdict; None without an answer."""
        return None if self.is_true is None else "right" if self.is_true else "wrong"

    def problem_text(self) -> str:
        """The reason in the active language; empty without one."""
        return "" if self.problem is None else self.problem.text()


def answers(claims: Iterable[str], scope: Scope, check: Check = never_cancelled) -> tuple[Answer, ...]:
    """Each claim, answered over a trace with a budget of its own; `check` is called between operations, and
    may raise.
    """
    verdicts = []
    for claim in claims:
        check()
        try:
            verdicts.append(Answer(claim, holds(claim, scope.afresh(check))))
        except InputError as error:
            verdicts.append(Answer(claim, None, error.message))
    return tuple(verdicts)

"""`VERDICTS`: what is true of a claim, which is a condition over the stages of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnviz.i18n import N_
from attnviz.study.claims.scope import Scope, holds

VerdictId = Literal["right", "setting", "wrong"]


@dataclass(frozen=True)
class Verdict:
    """A row of `VERDICTS`: its name and its sign, which tells verdicts apart without their colour."""

    id: VerdictId
    title: str
    sign: str


VERDICTS: tuple[Verdict, ...] = (
    Verdict("right", N_("right"), "✓"),
    Verdict("setting", N_("wrong here, right with a setting"), "≈"),
    Verdict("wrong", N_("wrong"), "✗"),
)
VERDICT_BY_ID = {row.id: row for row in VERDICTS}


def verdict_of(claim: str, scope: Scope, cured: Scope | None = None) -> VerdictId:
    """The verdict on a claim: in its own scene, else in the scene with another setting.

    Raises `InputError` if the claim is no condition over the stages.
    """
    if holds(claim, scope):
        return "right"
    return "setting" if cured is not None and holds(claim, cured) else "wrong"

"""Rules for how long a decoding stays on the screen, and when the next one is computed; pure, over a frozen
record.

A quick decoding follows a drag; a slow one waits until the drag rests. An outdated one leaves the screen
after a while, or at once if the next takes long: it would be mistaken for the new one. Moments are seconds of
the caller's clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnviz.errors import Message
from attnviz.gui.live.subject import Subject
from attnviz.model.edit.generation import differs_in_writing, writing_of
from attnviz.model.spec.experiment import Experiment

if TYPE_CHECKING:
    from attnviz.compute.decoding import Decoded
    from attnviz.engines.decode.run import Decoding

QUICK_SECONDS = 0.01
"""A decoding as quick as this follows a drag; a slower one waits for the hand to rest."""

REST_SECONDS = 0.12

STALE_SECONDS = 0.25
"""Duration of the last decoding above which it leaves the screen as soon as it is outdated."""

OVERDUE_SECONDS = 0.3
"""So long one that is out of date may stay while the next is made."""

SAMPLED_OVERDUE_SECONDS = 1.5
"""The same where only the sampling has changed: the distributions that are sampled from are still right."""


@dataclass(frozen=True)
class Freshness:
    """The shown decoding, and the due actions."""

    shown: Subject | None = None
    """Input of the decoding on the screen."""
    earlier: Decoding | None = None
    """The steps that the next decoding may reuse."""
    seconds: float = 0.0
    """Expected duration of the next one: infinite until one is complete."""
    took: float = 0.0
    """Duration of the last one."""
    generation: int = 0
    """One more with every edit: a decoding of an older generation is obsolete."""
    is_watched: bool = False
    """Whether a panel that shows the decoding is visible; without it, nothing is decoded."""
    is_due: bool = True
    """Whether the next decoding is on its way, or the run that it follows; the first run begins with the
    window.
    """
    problem: Message | None = None
    """Why none follows before the next edit: the run or the decoding failed."""
    decode_at: float | None = None
    clear_at: float | None = None

    @property
    def due(self) -> float | None:
        """The next moment at which something is to be done."""
        return min((at for at in (self.decode_at, self.clear_at) if at is not None), default=None)


def edit(fresh: Freshness) -> Freshness:
    """The experiment changed: whatever is under way is obsolete."""
    fresh = fresh if fresh.is_watched else forget(fresh)
    return replace(fresh, generation=fresh.generation + 1, is_due=True, problem=None, decode_at=None)


def want(fresh: Freshness, subject: Subject, now: float) -> Freshness:
    """The numbers of `subject` have arrived; its decoding is to follow."""
    if not fresh.is_watched:
        return fresh
    if subject == fresh.shown:  # an edit that was taken back before its decoding began
        return replace(fresh, is_due=False, decode_at=None, clear_at=None)
    is_stale = fresh.shown is None or not _differs_in_sampling(fresh.shown.experiment, subject.experiment)
    if is_stale and fresh.took > STALE_SECONDS:
        fresh = clear(fresh)
    rest = 0.0 if fresh.seconds <= QUICK_SECONDS else REST_SECONDS
    stays = OVERDUE_SECONDS if is_stale else SAMPLED_OVERDUE_SECONDS
    clear_at = None if fresh.shown is None else now + stays
    return replace(fresh, is_due=True, decode_at=now + rest, clear_at=clear_at)


def expire(fresh: Freshness, now: float) -> Freshness:
    """Hide a decoding that has been outdated for too long."""
    return clear(fresh) if fresh.clear_at is not None and fresh.clear_at <= now else fresh


def begin(fresh: Freshness) -> Freshness:
    """A decoding begins: slow until it is done, or one that every edit cancels would stay quick."""
    return replace(fresh, is_due=True, decode_at=None, seconds=math.inf)


def stop(fresh: Freshness, problem: Message | None = None) -> Freshness:
    """The run or the decoding that was due failed or was cancelled: none follows before the next edit."""
    return replace(fresh, is_due=False, problem=problem)


def finish(fresh: Freshness, subject: Subject, decoded: Decoded) -> Freshness:
    """The decoding of `subject` is shown."""
    fresh = replace(fresh, seconds=decoded.seconds, took=decoded.seconds)
    return replace(stop(fresh), shown=subject, earlier=decoded.decoding, clear_at=None)


def clear(fresh: Freshness) -> Freshness:
    """Show none; it is made again when it is wanted, of steps that are all there."""
    return replace(fresh, shown=None, clear_at=None)


def forget(fresh: Freshness) -> Freshness:
    """Keep nothing of a decoding that no newer one takes the place of: its model may be closed."""
    return replace(clear(fresh), earlier=None)


def _differs_in_sampling(one: Experiment, other: Experiment) -> bool:
    """True if only the sampling of the next token may differ: every distribution is the same."""
    return differs_in_writing(one, other) and writing_of(one).cache == writing_of(other).cache

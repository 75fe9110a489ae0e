"""The three implementations of one attention, timed: which sizes, and the lines of their times."""

from __future__ import annotations

from attnviz.bench.cases import Size
from attnviz.bench.implementations import IMPLEMENTATIONS, Timed
from attnviz.core.cost.lines import Line
from attnviz.core.cost.roofline import NANO
from attnviz.explain.bills import Question
from attnviz.i18n import _, ngettext


def timed_size(question: Question) -> Size:
    """One attention of the question's shapes, as it is timed: as many key heads as query heads."""
    a = question.architecture
    return Size(question.n, a.n_heads, a.d_qk)


def timings(size: Size, timed: tuple[Timed, ...] | None) -> tuple[Line, ...]:
    """The times of the three implementations; a request to measure where they are missing."""
    title = _("Causal attention, {n} tokens, {heads} heads of {d_head} features, float32")
    named = title.format(n=f"{size.n:,}", heads=size.heads, d_head=size.d_head)
    lines = [Line(named, kind="title")]
    for row in IMPLEMENTATIONS:
        one = next((one for one in timed or () if one.implementation is row), None)
        if one is not None:
            threads = ngettext("{n} thread", "{n} threads", one.threads).format(n=one.threads)
            lines.append(Line(_(row.title), "", threads, round(one.seconds * NANO), "ns", "total"))
        elif timed is not None or row.omits(size):
            why = _("{title}: not timed at this size, or its package is missing")
            lines.append(Line(why.format(title=_(row.title)), kind="note"))
        lines.append(Line(_(row.hint), kind="note"))
    if timed:
        same = _("Median of interleaved calls. The outputs differ by at most {difference}.")
        lines.append(Line(same.format(difference=f"{max(o.difference for o in timed):.0e}"), kind="note"))
    return tuple(lines)

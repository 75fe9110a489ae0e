"""The sum of values of the query that a page opens with: w v head to tail as a drawing, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import NDArray

from attnviz.core.head_to_tail import SAID, HeadToTail, head_to_tail, rest_from
from attnviz.core.shades import LIGHT
from attnviz.core.text import number, visible
from attnviz.explain.value_sum import Hues, plane_note, word
from attnviz.i18n import _
from attnviz.model.sites.titles import head_title
from attnviz.model.trace import Trace
from attnviz.model.value_sum import ValueSum, value_sum

Points = NDArray[np.float64]

SIZE, EDGE, LENS = (520.0, 236.0), (56.0, 22.0), (150.0, 84.0)
"""Width and height of the drawing, the room for labels around it, and the lens."""
MOST_VALUES, MOST_ROWS = 24, 5
"""Values that are drawn and listed: those with the largest weights."""
LETTER, IDEOGRAPH, LINE = 6.8, 12.0, 16.0
"""Width of a character of a label, and its height."""
_SHADES = replace(
    LIGHT, query="var(--query)", value_mark="var(--value)", hatch="var(--hatch)", key_mark="var(--key)"
)
"""The colours of the page's theme, whichever it is."""


def sum_card(trace: Trace, site: str, head: int, query: int) -> str:
    """The card of a sum in the active language, as HTML; empty for an attention without values to draw."""
    summed = value_sum(trace.site(site), head, query)
    if summed is None or summed.is_off or not np.isfinite(summed.path()).all():
        return ""
    drawing = _Drawing(summed)
    title = _("What “{word}” takes over").format(word=word(summed.site.names("query")[query]))
    where, note = head_title(trace.experiment, site, head), plane_note(summed)
    return (
        f'<div class="row"><h2>{escape(title)}</h2><span class="muted">{escape(where)}</span></div>'
        f'<div id="added">{drawing.svg}{_table(summed)}</div><p class="muted">{escape(note)}</p>'
    )


@dataclass(frozen=True, eq=False)
class _Drawing:
    sum: ValueSum

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """The keys whose values are drawn, those with a label first."""
        keys = dict.fromkeys((*self.sum.named, *self.sum.order[:MOST_VALUES]))
        return tuple(key for key in keys if np.isfinite(self.sum.projected[key]).all())

    @cached_property
    def places(self) -> HeadToTail:
        return head_to_tail(self.sum.projected, self.keys, self.sum.path, SIZE, EDGE, LENS)

    @property
    def svg(self) -> str:
        """The values from the origin, w v head to tail, the result, the lens and the labels."""
        places, hues, tips = self.places, Hues(self.sum, _SHADES), self.sum.path()
        path, origin, main = places.path(tips), np.array(places.origin), self._main
        parts = []
        for key in reversed(self.keys):
            color, thickness = (hues.value(key), 2.0) if key in main else ("var(--hatch)", 0.8)
            opacity = 0.5 if key in main else 1.0
            parts.append(_arrow(origin, places.values[key], color, thickness, opacity))
        steps = list(zip(self.sum.steps, path[:-1], path[1:], strict=True))
        parts += [_arrow(start, end, hues.step(key), 5.0) for key, start, end in steps]
        parts += [_arrow(origin, path[-1], "var(--ink)", 2.2), self._lens(tips, hues)]
        named = {key: visible(self.sum.keys[key].strip() or self.sum.keys[key]) for key in self.sum.named}
        boxes = places.labels({key: _size(text) for key, text in named.items()})
        colors = {key: hues.value(key) if key in main else "var(--muted)" for key in named}
        parts += [_label(box, named[key], colors[key]) for key, box in boxes.items()]
        said = _("result")
        parts.append(_label(places.result_label(path, _size(said), boxes), said, "var(--ink)"))
        named_by = f'role="img" aria-label="{escape(plane_note(self.sum))}"'
        return f'<svg viewBox="0 0 {SIZE[0]:g} {SIZE[1]:g}" {named_by}>{"".join(parts)}</svg>'

    @property
    def _main(self) -> set[int]:
        """The keys whose values have a colour."""
        few = set(range(len(self.sum.weights)))
        return few if self.sum.has_few else {self.sum.own, self.sum.strongest}

    def _lens(self, tips: Points, hues: Hues) -> str:
        """The small steps at the tip, enlarged."""
        lens, places = self.places.lens, self.places.path(tips)
        if lens is None or rest_from(places) >= len(tips) - 1 or not lens.holds(tips):
            return ""
        left, top, right, end = lens.box
        large = lens.frame(tips).at(tips)
        steps = zip(self.sum.steps, large[:-1], large[1:], strict=True)
        inside = "".join(_arrow(start, tip, hues.step(key), 2.0) for key, start, tip in steps)
        inside += _arrow(large[0], large[-1], "var(--ink)", 2.0)
        x = left if left > places[-1, 0] else right
        said = _("the tip, × {factor}").format(factor=lens.factor)
        box = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{end - top:.1f}"'
        return (
            f'<path class="to-lens" d="M{_xy(places[-1])} L{x:.1f} {(top + end) / 2:.1f}"/>'
            f'<clipPath id="in-lens"><rect {box}/></clipPath><rect class="lens" rx="4" {box}/>'
            f'<g clip-path="url(#in-lens)">{inside}</g>'
            f'<text x="{left + 6:.1f}" y="{top + SAID:.1f}" fill="var(--muted)">{escape(said)}</text>'
        )


def _table(summed: ValueSum) -> str:
    """Word, weight, length of v and a bar of their product; the rest and the result below."""
    few = tuple(np.flatnonzero(~summed.hidden).tolist())
    own = (summed.own,) if summed.own >= 0 else ()
    keys = few if summed.has_few else tuple(dict.fromkeys((*summed.order[:MOST_ROWS], *own)))
    parts = {key: abs(float(summed.weights[key])) * float(summed.lengths[key]) for key in keys}
    longest = max((*parts.values(), summed.length())) or 1.0
    hues, rows = Hues(summed, _SHADES), []
    for key, part in parts.items():
        name, weight = visible(summed.keys[key].strip() or summed.keys[key]), float(summed.weights[key])
        length = f"× {number(float(summed.lengths[key]), 2)}"
        rows.append(_row(name, number(weight), length, part / longest, hues.step(key)))
    count, rest = summed.rest(keys)
    if count:
        rows.append(_row(_("{count} others").format(count=count), number(rest), "", 0.0, ""))
    total = number(float(summed.weights.sum()))
    length = number(summed.length(), 2)
    rows.append(_row(_("result"), total, length, summed.length() / longest, "var(--ink)", "sum"))
    said = _("weight × length of v, head to tail")
    return f"<table><caption>Σ {escape(said)}</caption>{''.join(rows)}</table>"


def _row(name: str, weight: str, length: str, share: float, color: str, kind: str = "") -> str:
    bar = f'<i style="width: {100 * share:.1f}%; background: {color}"></i>' if share else ""
    cells = "".join(f"<td>{escape(text)}</td>" for text in (weight, length))
    return f'<tr class="{kind}"><th>{escape(name)}</th>{cells}<td class="share">{bar}</td></tr>'


def _size(text: str) -> tuple[float, float]:
    return sum(IDEOGRAPH if ord(letter) > 0x2E7F else LETTER for letter in text) + 4, LINE


def _label(box: Iterable[float], text: str, color: str) -> str:
    left, top, _right, _end = box
    at = f'x="{left + 2:.1f}" y="{top + 12:.1f}"'
    return f'<text {at} fill="{color}">{escape(text)}</text>'


def _xy(point: Points) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _arrow(start: Points, end: Points, color: str, thickness: float, opacity: float = 1.0) -> str:
    """A line with a head whose tip is `end`; empty where it is too short to see."""
    length = float(np.hypot(*(end - start)))
    if length < 0.3:
        return ""
    head = min(3.0 + 2.2 * thickness, 0.7 * length)
    along = (end - start) / length
    neck, across = end - head * along, np.array([-along[1], along[0]]) * head * 0.4
    return (
        f'<g opacity="{opacity:g}"><path d="M{_xy(start)} L{_xy(neck)}" stroke="{color}" '
        f'stroke-width="{thickness:g}"/><path d="M{_xy(end)} L{_xy(neck + across)} L{_xy(neck - across)} Z" '
        f'fill="{color}"/></g>'
    )

"""One step of a decoding: the text so far, the weights of the new token, and the next tokens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attnviz.core.shades import head_color
from attnviz.core.text import elide, number
from attnviz.errors import Message
from attnviz.figures.fonts import middle, number_font, text_font, widest, width
from attnviz.figures.layout import GAP, MARGIN
from attnviz.figures.marks import cross
from attnviz.figures.palette import colors
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.text import shown_token

NATURAL, LEAST = 440.0, 190.0
WORD, SMALL = 9.0, 7.5
LINE = 19.0
ROW = 13.0
N_NEXT = 6
LONGEST = 16
SHADE = 0.55


def why_no_step(subject: Subject) -> Message | None:
    """The reason for which a subject has no step: nothing decodes it."""
    return None if subject.decoding is not None else Message("A step needs a document that decodes.")


def draw_step(subject: Subject, style: Style) -> Drawing:
    """Tokens shaded by the mean weight that the new token gives them; below, the most probable tokens.

    The step is that of the view, or the last one.
    """
    assert subject.decoding is not None
    decoding = subject.decoding()
    step = decoding.steps[min(subject.view.step, len(decoding.steps) - 1)]
    site = step.sites.get(subject.shown_site.name, step.main)
    vocabulary = decoding.experiment.vocabulary
    total = NATURAL if style.room is None else style.room
    if total < LEAST:
        raise style.too_narrow(LEAST)
    is_self = site.experiment.memory is None
    weights = np.asarray(site.weights, dtype=np.float64)
    head = subject.head if isinstance(subject.head, int) else min(subject.view.head, len(weights) - 1)
    row = weights[head]
    names = (
        [one.token for one in decoding.steps[: step.index + 1]]
        if is_self
        else list(site.experiment.key_tokens)
    )
    at = {int(position): float(value) for position, value in zip(site.key_positions, row, strict=True)}
    words = [elide(shown_token(vocabulary, name), LONGEST) for name in names]
    flow = _flow(words, total - 2 * MARGIN)
    below = (1 + max(line for _x, line in flow)) * LINE + 2 * GAP
    rows = _next(decoding.vocabulary, vocabulary, step)

    def draw(axes: Any) -> None:
        _draw_words(axes, words, flow, at, len(words) - 1 if is_self else None, head, style)
        _draw_next(axes, rows, below, total, style)

    title = _("step {step}: {token}").format(
        step=step.index + 1, token=elide(shown_token(vocabulary, step.token), LONGEST)
    )
    says = _("tokens shaded by their weight in head {head}; below, the most probable next tokens").format(
        head=head + 1
    )
    n_nan = sum(math.isnan(value) for value in at.values())
    notes = (("nan", _("NaN: {count}").format(count=n_nan)),) if n_nan else ()
    return Drawing(total, below + len(rows) * ROW + GAP, draw, title, says, notes)


def _flow(words: list[str], room: float) -> list[tuple[float, int]]:
    """(x, line) of each word, in lines no wider than `room`."""
    font, places = text_font(WORD), []
    x, line = 0.0, 0
    for word in words:
        wide = width(word, font) + 8
        if x and x + wide > room:
            x, line = 0.0, line + 1
        places.append((x, line))
        x += wide
    return places


def _draw_words(
    axes: Any,
    words: list[str],
    flow: list[tuple[float, int]],
    weights: dict[int, float],
    new: int | None,
    head: int,
    style: Style,
) -> None:
    from matplotlib.patches import Rectangle

    shades = style.shades
    most = max((value for value in weights.values() if not math.isnan(value)), default=0.0) or 1.0
    for index, (word, (x, line)) in enumerate(zip(words, flow, strict=True)):
        font = text_font(WORD, bold=index == new)
        left, top = MARGIN + x, line * LINE
        wide = width(word, font) + 6
        share = weights.get(index, 0.0) / most
        if math.isnan(share):
            cross(axes, (left, top, wide, LINE - 4), shades)
            share = 0.0
        color = shades.muted if shades.is_grey else head_color(head)
        axes.add_patch(
            Rectangle(
                (left, top), wide, LINE - 4, facecolor=color, alpha=SHADE * share, linewidth=0, zorder=0.5
            )
        )
        if index == new:
            axes.add_patch(
                Rectangle((left, top), wide, LINE - 4, fill=False, edgecolor=shades.query, linewidth=0.9)
            )
        ink = shades.ink if index in weights or index == new else shades.muted
        axes.text(left + 3, middle(top + LINE / 2 - 2, font), word, font=font, color=ink, parse_math=False)


def _next(texts: tuple[str, ...], vocabulary: Any, step: Any) -> list[tuple[str, float, bool]]:
    """The most probable tokens: label, probability, and True for the one that was chosen."""
    probabilities = np.asarray(step.probabilities, dtype=np.float64)
    order = np.argsort(-probabilities, kind="stable")[:N_NEXT].tolist()
    chosen = texts.index(step.next_token) if step.next_token in texts else None
    if chosen is not None and chosen not in order:
        order[-1] = chosen
    return [
        (elide(shown_token(vocabulary, texts[i]), LONGEST), float(probabilities[i]), i == chosen)
        for i in order
    ]


def _draw_next(
    axes: Any, rows: list[tuple[str, float, bool]], top: float, total: float, style: Style
) -> None:
    from matplotlib.patches import Rectangle

    shades, digits = style.shades, number_font(SMALL)
    fonts = {chosen: text_font(WORD - 1, bold=chosen) for chosen in (False, True)}
    left = MARGIN + widest(tuple(label for label, _p, _c in rows), fonts[True]) + GAP
    numbers = widest(tuple(number(p) for _label, p, _c in rows), digits)
    room = total - MARGIN - numbers - GAP - left
    most = max((p for _label, p, _c in rows if not math.isnan(p)), default=0.0) or 1.0
    full = tuple(colors(np.array([0.55]), "sequential", shades)[0] / 255)
    for index, (label, probability, is_chosen) in enumerate(rows):
        y = top + index * ROW
        font = fonts[is_chosen]
        ink = shades.ink if is_chosen else shades.muted
        at = left - GAP, middle(y + ROW / 2, font)
        axes.text(*at, label, font=font, color=ink, ha="right", parse_math=False)
        color = shades.query if is_chosen else full
        if not math.isnan(probability):
            size = max(0.5, room * probability / most), ROW - 6
            axes.add_patch(Rectangle((left, y + 3), *size, facecolor=color, linewidth=0))
        at = total - MARGIN, middle(y + ROW / 2, digits)
        axes.text(*at, number(probability), font=digits, color=ink, ha="right", parse_math=False)

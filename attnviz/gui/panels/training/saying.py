"""Sentences about a run: the pattern, its end and the heads that are off; its place and its size."""

from __future__ import annotations

from attnviz.core.phrases import enumerated
from attnviz.core.text import number
from attnviz.i18n import _, ngettext
from attnviz.model.sites.titles import head_title
from attnviz.model.spec.experiment import Experiment
from attnviz.training.seen import sentence
from attnviz.training.trainable import NUMBER_BYTES, has_dropout
from attnviz.training.turns import Picture

MILLION = 1e6
LARGE = 2_000_000
"""Numbers of a run from which on their memory is said, and it begins with its first step."""


def said_of(picture: Picture) -> str:
    """The pattern at the shown step, or the reason why the run has ended; and the heads that are off."""
    if picture.reason is None:
        measures = [one for one in picture.measures if one.step <= picture.step]
        sites = tuple(dict.fromkeys(site for site, _head in picture.heads))
        said = sentence(picture.experiment, measures, sites)
    else:
        said = _("The run has ended: {reason} Step {step} is shown.").format(
            reason=picture.reason.text(), step=picture.step
        )
    return " ".join(filter(None, (said, _off(picture))))


def _off(picture: Picture) -> str:
    """The heads that are off, and the loss now and when all were on."""
    if not picture.off:
        return ""
    names = enumerated(head_title(picture.experiment, *place) for place in picture.off)
    before = [one for one in picture.measures if one.step <= picture.step]
    now = picture.switched or before[-1]
    on = next((one for one in reversed(before) if not one.off), None)
    if on is None:
        return _("Off: {heads}.").format(heads=names)
    said = _("Off: {heads}; the loss is {now}, with all heads it was {before} at step {step}.")
    return said.format(heads=names, now=number(now.loss), before=number(on.loss), step=on.step)


def place_of_run(picture: Picture, n_steps: int) -> str:
    """The shown step, and the kept states with their size."""
    where = _("step {step} of {count}").format(step=picture.step, count=n_steps)
    n, size = len(picture.steps), f"{picture.nbytes / MILLION:.1f}"
    kept = ngettext("{n} state kept, {size} MB", "{n} states kept, {size} MB", n).format(n=n, size=size)
    return f"{where} · {kept}"


def noted(picture: Picture | None, experiment: Experiment, count: int, has_restarted: bool) -> str:
    """The numbers that a run learns, with their memory where it is large; what is dropped, and when."""
    lines = [_("{count:,} numbers to learn.").format(count=count)]
    if count > LARGE:
        size = f"{NUMBER_BYTES * count / MILLION:,.0f}"
        lines.append(_("With gradients, optimiser and kept states they take {size} MB.").format(size=size))
    if has_dropout(experiment):
        lines.append(_("Dropout drops other numbers in each step and text."))
    if has_restarted:
        lines.append(_("The document or the task has changed: the run starts anew."))
    elif picture is not None and picture.step < picture.steps[-1]:
        lines.append(_("Playing goes on from this step: the later ones are dropped."))
    return "\n".join(lines)

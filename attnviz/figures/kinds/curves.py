"""The curves of a training run over one axis of steps: loss, accuracy, and the scores of its heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attnviz.core.head_scores import HEAD_SCORE_BY_ID
from attnviz.core.shades import Shades
from attnviz.core.text import number
from attnviz.errors import Message
from attnviz.figures.chart import Chart, Curve, Floats, charts_drawing
from attnviz.figures.sheet import Drawing
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.i18n import _
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.experiment import Experiment
from attnviz.training.record import Measures
from attnviz.training.seen import thinned
from attnviz.training.tasks import Task, task_of

FOLLOWED = ("previous", "induction")
"""The scores that have curves."""
MOST_POINTS = 400
"""Points of the curve of all steps; of longer runs, each is a mean of some steps."""


def why_no_curves(subject: Subject) -> Message | None:
    """The reason for which a document has no curves."""
    return Message("The document must have a training run beside it.") if subject.run is None else None


def draw_curves(subject: Subject, style: Style) -> Drawing:
    """Three charts; the dashed line is the step at which the task is solved."""
    assert subject.run is not None
    run, shades = subject.run(), style.shades
    measures, task = run.curves.measures, task_of(run.training.record().sampler)
    steps = np.array([one.step for one in measures], float)
    held_out, trained = _("held-out texts"), _("texts of the steps")
    strong, thin = (shades.ink, (), True), (shades.muted, (2.0, 1.5) if shades.is_grey else (), False)
    solved = run.curves.first_above(task.solved)
    point, name = None if solved is None else (float(solved), math.nan), _("steps")

    def measured(field: str) -> Floats:
        return np.array([getattr(one, field) for one in measures])

    losses = np.array([(one.step, one.loss) for one in run.curves.moments], float).reshape(-1, 2)
    losses = thinned(losses, MOST_POINTS)
    loss = (
        Curve(trained, thin[0], losses[:, 0], losses[:, 1], *thin[1:]),
        Curve(held_out, strong[0], steps, measured("loss"), *strong[1:]),
    )
    accuracy = (
        Curve(trained, thin[0], steps, measured("trained_accuracy"), *thin[1:]),
        Curve(held_out, strong[0], steps, measured("accuracy"), *strong[1:]),
    )
    charts = (
        Chart(loss, name, _("loss"), point=point, held=(0.0,)),
        Chart(accuracy, name, _("accuracy"), point=point, held=(0.0, 1.0)),
        Chart(_of_heads(measures, shades), name, _("head score"), point=point, held=(0.0, 1.0)),
    )
    title = _("Training: {task}").format(task=_(task.title))
    says = _said(run.experiment, measures[-1], task, solved)
    drawing = charts_drawing(charts, style, title, says)
    return replace(drawing, says=f"{title} · {says}")


def _of_heads(measures: Sequence[Measures], shades: Shades) -> tuple[Curve, ...]:
    """The curves of the scores of every head; that of the largest one in the end is strong."""
    steps, curves = np.array([one.step for one in measures], float), list[Curve]()
    looks = {"previous": (shades.query, (5.0, 2.0)), "induction": (shades.key_mark, ())}
    for id_ in FOLLOWED:
        color, dash = looks[id_]
        best, row = _best(measures[-1], id_), HEAD_SCORE_BY_ID[id_]
        for key in sorted(measures[-1].scores, key=lambda key: key != best):
            if key[0] == id_:
                values = np.array([one.scores.get(key, math.nan) for one in measures])
                curves.append(Curve(_(row.title), color, steps, values, dash, key == best))
    return tuple(curves)


def _best(measures: Measures, id_: str) -> tuple[str, str, int] | None:
    """The head with the largest score."""
    found = {key: value for key, value in measures.scores.items() if key[0] == id_ and value == value}
    return max(found, key=lambda key: found[key], default=None)


def _said(experiment: Experiment, last: Measures, task: Task, solved: int | None) -> str:
    """The step at which the task is solved, and the head with the largest score of induction."""
    if solved is None:
        says = _("accuracy {accuracy} at step {step}").format(
            accuracy=number(last.accuracy, 3), step=last.step
        )
    else:
        says = _("accuracy above {share} from step {step}").format(share=task.solved, step=solved)
    best = _best(last, "induction")
    if best is None:
        return says
    _score, site, head = best
    of_head = _("most induction: {site}, head {head}, {score}").format(
        site=site_title(experiment, site), head=head + 1, score=number(last.scores[best], 3)
    )
    return f"{says} · {of_head}"

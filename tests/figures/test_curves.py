"""The figure of a training run: its lines are the curves of the run, on one axis of steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.cli.shell import main
from attnviz.figures.figure import figure_of, reported
from attnviz.figures.kinds.curves import MOST_POINTS
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject
from attnviz.model.spec.document import Document
from attnviz.training.file import save_run
from attnviz.training.optimiser import Settings
from attnviz.training.record import Moment
from attnviz.training.run import Run, train

SCORES = ("previous", "induction")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run() -> Run:
    return train(model(), TASK, COURSE, Settings(5e-3, steps=240))


def subject(run: Run) -> Subject:
    return Subject(attnviz.run(run.experiment), run=lambda: run)


def lines(figure: Any) -> list[tuple[np.ndarray, np.ndarray, str, float]]:
    """Places, colour and width of every curve, not of the samples in the legend."""
    found = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    return [(*line.get_data(), line.get_color(), line.get_linewidth()) for line in found]


def scale(*drawn: tuple[np.ndarray, Any]) -> tuple[float, float]:
    """The unit and the zero of one axis, on which all (places, values) lie; larger numbers are higher."""
    places = np.concatenate([one for one, _values in drawn])
    values = np.concatenate([np.array(values, float) for _one, values in drawn])
    assert (np.isnan(places) == np.isnan(values)).all()
    seen = ~np.isnan(places)
    unit, zero = np.polyfit(values[seen], places[seen], 1)
    np.testing.assert_allclose(places[seen], zero + unit * values[seen], atol=1e-6)
    return -unit, zero


def test_the_lines_are_the_losses_the_accuracies_and_the_scores_of_all_heads(run: Run) -> None:
    trained, held_out, known, unknown, *heads = lines(figure_of("curves", subject(run), Style()))
    moments, measures = run.curves.moments, run.curves.measures
    loss = scale((trained[1], [one.loss for one in moments]), (held_out[1], [one.loss for one in measures]))
    accuracy = scale(
        (known[1], [one.trained_accuracy for one in measures]),
        (unknown[1], [one.accuracy for one in measures]),
    )
    best = [
        max(measures[-1].scores, key=lambda key: (key[0] == id_, measures[-1].scores[key])) for id_ in SCORES
    ]
    keys = [
        key for one in best for key in (one, *(k for k in measures[-1].scores if k[0] == one[0] and k != one))
    ]
    score = scale(
        *((line[1], [one.scores[key] for one in measures]) for line, key in zip(heads, keys, strict=True))
    )
    assert loss[1] < accuracy[1] < score[1] and accuracy[0] == pytest.approx(score[0])
    assert min(loss[0], accuracy[0]) > 0, "larger numbers are higher"
    scale(
        (-trained[0], [one.step for one in moments]),
        *((-one[0], [m.step for m in measures]) for one in heads),
    )


def test_the_best_heads_are_strong(run: Run) -> None:
    heads = lines(figure_of("curves", subject(run), Style()))[4:]
    for best, *others in (heads[:4], heads[4:]):
        assert best[3] > max(one[3] for one in others)
        assert best[1][-1] < min(one[1][-1] for one in others), "places grow downwards"
    assert heads[0][2] != heads[4][2]


def test_a_dashed_line_and_the_caption_say_when_it_was_solved(run: Run) -> None:
    solved = run.curves.first_above(0.9)
    assert solved is not None and 0 < solved < 240
    figure, report = reported("curves", subject(run), Style())
    dashed = [
        line for line in figure.axes[0].lines if line.get_linestyle() == "--" and line.get_linewidth() < 1
    ]
    steps = lines(figure)[1][0]
    expected = steps[0] + (steps[-1] - steps[0]) * solved / 240
    assert len(dashed) == 3
    for line in dashed:
        np.testing.assert_allclose(line.get_xdata(), expected)
    best = max((value, key) for key, value in run.curves.measures[-1].scores.items() if key[0] == "induction")
    layer = int(best[1][1].split(".")[1]) + 1
    assert report.caption.startswith(
        f"Training: Say it again · accuracy above 0.9 from step {solved} · most "
    )
    assert f"Layer {layer}" in report.caption and f"head {best[1][2] + 1}, {best[0]:.3f}" in report.caption


def test_an_unsolved_run_says_its_accuracy_and_has_no_dashed_line(run: Run) -> None:
    short = train(model(), TASK, COURSE, Settings(steps=20))
    figure, report = reported("curves", subject(short), Style())
    assert f"accuracy {short.curves.measures[-1].accuracy:.3f} at step 20" in report.caption
    assert not [
        one for one in figure.axes[0].lines if one.get_linestyle() == "--" and one.get_linewidth() < 1
    ]


def test_a_long_run_is_drawn_by_means(run: Run) -> None:
    moments = [Moment(step, float(step % 2), 1.0, 1e-3) for step in range(10 * MOST_POINTS)]
    before = run.curves.moments
    try:
        run.curves.moments = moments
        x, y, *_look = lines(figure_of("curves", subject(run), Style()))[0]
    finally:
        run.curves.moments = before
    assert len(x) == MOST_POINTS and np.ptp(y) < 1e-9


def test_nothing_overlaps_in_a_column(run: Run) -> None:
    """No text lies on another one at 85 mm, in either language's widest tick labels."""
    figure = figure_of("curves", subject(run), Style(width=length("85mm")))
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index]), figure.axes[0].texts[index].get_text()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_greys_tell_the_curves_of_a_chart_apart(run: Run) -> None:
    figure = figure_of("curves", subject(run), Style(grey=True))
    found = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    dashes = [str(line._unscaled_dash_pattern) for line in found]
    assert dashes[0] != dashes[1] and dashes[4] != dashes[8]


def test_a_document_without_a_run_is_refused(run: Run, tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(ValueError, match=r"^The document must have a training run beside it\.$"):
        figure_of("curves", replace(subject(run), run=None), Style())
    assert main(["render", "toy-attention", "--kind", "curves", "-o", str(tmp_path / "a.svg")]) == 2
    sentence = "attnviz: toy-attention: The file must have a run beside its document; it has none.\n"
    assert capsys.readouterr().err == sentence


def test_the_shell_and_python_draw_a_run(run: Run, tmp_path: Path) -> None:
    file = save_run(Document(run.experiment), run.training.record(), tmp_path / "run.safetensors")
    drawn = tmp_path / "shell.svg"
    assert main(["render", str(file), "--kind", "curves", "-o", str(drawn)]) == 0
    by_python = attnviz.render(run, tmp_path / "python.svg")
    text = drawn.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in ("held-out texts", "induction", "steps"))
    assert text.count("<path") == by_python.read_text(encoding="utf-8").count("<path")
    assert attnviz.load(drawn).experiment == run.experiment

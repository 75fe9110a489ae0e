"""The figure of a sum of values: its numbers are those of NumPy's own sum, and its parts lie free."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from msgspec.structs import replace as with_fields
from PIL import Image

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.core.label_places import contains
from attnviz.core.progress import Progress, never_cancelled
from attnviz.core.text import number
from attnviz.figures.figure import figure_of
from attnviz.figures.kinds.value_sum import BESIDE, sum_figure, why_no_sum
from attnviz.figures.sequences.frames import PULLED, Engines, frames
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject

WIDTHS = ("85mm", "180mm")
PRESETS = ("stories-name", "toy-attention", "cross-attention", "stories-induction")
ENGINES = Engines(lambda experiment, check: attnviz.run(experiment), lambda experiment, check: None)  # type: ignore[arg-type, return-value]


def subject(preset: str, **fields: object) -> Subject:
    document = load_preset(preset)
    return Subject(attnviz.run(document), document.view, **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=PRESETS)
def shown(request: pytest.FixtureRequest) -> Subject:
    return subject(request.param)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("part", [0.0, 0.25, 1.0])
def test_the_numbers_are_those_of_the_stages(shown: Subject, part: float) -> None:
    site, view = shown.shown_site, shown.view
    figure = sum_figure(replace(shown, part=part), Style())
    head, query = figure.sum.head, min(view.query, site.shape("weights")[-2] - 1)
    group = site.experiment.heads.group_size
    weights = site.window("weights", head)[query].astype(float)
    values = site.window("v", head // group).astype(float)
    own = np.eye(len(weights))[query] if figure.sum.own >= 0 else np.zeros(len(weights))
    mixed = (1 - part) * own + part * weights
    for key, line in zip(figure.rows, figure.lines, strict=False):
        assert line.weight == number(mixed[key])
        if not figure.has_vectors:
            assert line.vector == number(float(np.linalg.norm(values[key])), 2)
    result = figure.lines[-1]
    expected = mixed @ values
    if figure.has_vectors:
        found = [float(one.replace("\u2212", "-")) for one in re.findall(r"[\u2212\d.]+", result.vector)]
        assert np.allclose(found, expected, atol=6e-4)
    else:
        assert abs(float(result.vector) - np.linalg.norm(expected)) < 6e-3
    end = figure.places.path(figure.path(part))[-1]
    assert np.allclose(end, figure.places.frame.at(expected @ figure.sum.plane), atol=1e-2)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps_and_every_text_lies_in_the_figure(shown: Subject, width: str) -> None:
    for part in (0.0, 0.5, 1.0):
        figure = figure_of("sum", replace(shown, part=part), Style(width=length(width)))
        figure.canvas.draw()
        axes = figure.axes[0]
        left, right = axes.get_xlim()
        below = [text for text in axes.texts if text.get_text().strip()]
        boxes = [
            text.get_window_extent().transformed(axes.transData.inverted())  # y downwards: y0 > y1
            for text in below
        ]
        for index, box in enumerate(boxes):
            assert box.x0 >= left - 0.5 and box.x1 <= right + 0.5, below[index].get_text()
            for number_of, other in enumerate(boxes[:index]):
                wide = min(box.x1, other.x1) - max(box.x0, other.x0)
                high = min(box.y0, other.y0) - max(box.y1, other.y1)
                crossing = below[index].get_text(), below[number_of].get_text(), part
                assert wide <= 1.0 or high <= 2.5, crossing


def test_the_list_stands_below_the_plane_in_a_column_and_beside_it_in_two(shown: Subject) -> None:
    for width in WIDTHS:
        figure = sum_figure(shown, Style(width=length(width)))
        assert figure.is_beside == (width == "180mm") == (figure.width >= BESIDE)
        assert (figure.list_top >= figure.top + figure.plane_height) == (not figure.is_beside)
        labels = figure.places.labels(dict.fromkeys(figure.sum.named, (30.0, 9.0)))
        assert all(contains(figure.places.room, box) for box in labels.values())


def test_the_share_of_the_result_is_said(shown: Subject) -> None:
    summed = sum_figure(shown, Style()).sum
    plane, result = summed.plane, summed.result
    share = np.sum((result @ plane) ** 2) / np.sum(result**2)
    assert f"{100 * share:.4g} %" in " ".join(texts(figure_of("sum", shown, Style())))


def test_a_head_that_is_off_has_a_result_of_zero_and_says_so() -> None:
    document = load_preset("fluffy-blue-creature")
    layers = document.experiment.layers
    heads = with_fields(layers[0].heads, off=(1,))
    layers = (with_fields(layers[0], heads=heads), *layers[1:])
    trace = attnviz.run(with_fields(document, experiment=with_fields(document.experiment, layers=layers)))
    off, on = (Subject(trace, document.view, head=head) for head in (1, 0))
    figure = sum_figure(off, Style())
    assert figure.lines[-1].vector in (number(0.0, 2), f"({', '.join(['0.000'.rjust(6)] * 3)})")
    assert [line.weight for line in figure.lines[:2]] != [number(0.0)] * 2, "the weights are those of the map"
    said = "This head is switched off: its result is 0, whatever its weights are"
    assert said in " ".join(texts(figure_of("sum", off, Style())))
    assert said not in " ".join(texts(figure_of("sum", on, Style())))
    assert len(figure.path(1.0)) == 1 and len(sum_figure(on, Style()).path(1.0)) > 1


def test_a_choice_that_the_subject_lacks_is_refused(shown: Subject) -> None:
    for fields, error in (
        ({"part": 1.5}, "part must be a number from 0 to 1; got 1.5"),
        ({"head": "all"}, "head must be one head for a sum of values"),
    ):
        if fields.get("head") == "all" and shown.shown_site.experiment.heads.n_heads == 1:
            continue
        with pytest.raises(ValueError, match=error):
            figure_of("sum", replace(shown, **fields), Style())  # type: ignore[arg-type]
    assert why_no_sum(shown) is None


def test_the_sequence_goes_from_the_query_alone_to_its_weights() -> None:
    shown, progress = subject("toy-attention"), Progress(never_cancelled)
    found = frames("sum", shown, ENGINES, progress, "sum")
    assert [frame.subject.part for frame in found] == [index / 16 for index in range(PULLED)]
    first, last = (sum_figure(frame.subject, Style()) for frame in (found[0], found[-1]))
    assert first.arcs.weights.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert np.allclose(last.arcs.weights[0], shown.shown_site.matrix("weights", 0)[0])
    assert first.longest == last.longest and max(line.share or 0.0 for line in first.lines) <= 1.0
    assert first.places.frame == last.places.frame, "nothing jumps"
    with pytest.raises(ValueError, match="kind must be sum for this sequence; got 'stage'"):
        frames("sum", shown, ENGINES, progress, "stage")


def test_the_shell_draws_a_part_and_the_whole_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half, film = tmp_path / "half.svg", tmp_path / "film.gif"
    assert main(["render", "toy-attention", "--kind", "sum", "--part", "0.5", "-o", str(half)]) == 0
    assert main(["animate", "toy-attention", "--over", "sum", "--dpi", "36", "-o", str(film)]) == 0
    with Image.open(film) as moving:
        assert half.stat().st_size and moving.n_frames == PULLED  # type: ignore[attr-defined]
    capsys.readouterr()
    for words, error in (
        (["render", "toy-attention", "--part", "0.5"], "--part needs --kind sum"),
        (["animate", "toy-attention", "--over", "sum", "--part", "0.5"], "part must be left out"),
        (["animate", "toy-attention", "--over", "sum", "--kind", "arcs"], "kind must be sum"),
    ):
        assert main([*words, "-o", str(half if words[0] == "render" else film)]) == 2
        assert error in capsys.readouterr().err

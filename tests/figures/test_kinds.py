"""Every kind of picture: its numbers are those of the trace, and every width holds it or says what would."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from draw import Drawn, Rows
from msgspec.structs import replace as with_fields
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.core.cost.memory import FORMAT_BY_ID
from attnviz.core.cost.stack import counts
from attnviz.core.text import number
from attnviz.engines.decode.decodable import up_to
from attnviz.explain.architectures import stack_of
from attnviz.explain.position_curves import curves
from attnviz.explain.score_pair import pair_scores
from attnviz.figures import FORMATS, figure_bytes
from attnviz.figures.figure import figure_of
from attnviz.figures.kinds.pipeline import places, sources
from attnviz.figures.kinds.table import KIND_BY_ID, KINDS, PAIRS, UNFOLLOWED
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject
from attnviz.i18n import language, set_language
from attnviz.model.spec import parts as p
from attnviz.model.spec.view import Cell, Ranges, View
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.gradient_curves import CURVE_BY_ID
from attnviz.training.optimiser import Settings
from attnviz.training.run import train

RUN = train(model(), TASK, COURSE, Settings(steps=40))


def subject(preset: str, **view: object) -> Subject:
    document = load_preset(preset)
    seen = with_fields(document.view, **view)
    return Subject(
        attnviz.run(document),
        seen,
        title=document.title,
        decoding=lambda: attnviz.decode(document),
        run=lambda: RUN,
    )


ROTATED = replace(subject("fluffy-blue-creature", query=3), stage="weights")
ROTATED = replace(ROTATED, other=subject("half-each"))


FREE = replace(ROTATED, view=with_fields(ROTATED.view, locked=None))


def seen(**view: object) -> Subject:
    return replace(FREE, view=with_fields(FREE.view, **view))


def texts(kind: str, shown: Subject, **style: object) -> list[str]:
    figure = figure_of(kind, shown, Style(**style))  # type: ignore[arg-type]
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.fixture(scope="module")
def files(drawn: Drawn) -> Rows:
    """(kind of figure, format of its file)."""
    return drawn([(kind, row.id) for kind in KIND_BY_ID for row in FORMATS])


@pytest.mark.parametrize("kind", KIND_BY_ID)
def test_every_kind_is_written_in_every_format_theme_and_language(kind: str, files: Rows) -> None:
    assert KIND_BY_ID[kind].why_not(ROTATED) is None
    for format_id in [format_id for one, format_id in files if one == kind]:
        figure = figure_of(kind, ROTATED, Style(theme="dark" if format_id == "pdf" else "light"))
        assert len(figure_bytes(figure, format_id, dpi=60)) > 1000
    set_language("zh_CN")
    try:
        assert any("\u4e00" <= letter <= "\u9fff" for text in texts(kind, ROTATED) for letter in text)
    finally:
        set_language("en")


CHANGED = {
    "orientation": seen(orientation="queries_as_columns"),
    "range": seen(ranges=Ranges.of_all("log")),
    "query": seen(query=1),
    "head": replace(FREE, head=2),
    "step": seen(step=1),
    "part": replace(FREE, part=0.5),
}
"""The subject of another choice."""
STYLED = {"grey": Style(grey=True), "bar": Style(bar=False), "sums": Style(sums=False)}


@pytest.mark.parametrize("kind", KIND_BY_ID)
def test_the_options_of_a_kind_are_those_that_change_its_picture(kind: str) -> None:
    usual = figure_bytes(figure_of(kind, FREE, Style()), "svg")
    made = {name: figure_of(kind, other, Style()) for name, other in CHANGED.items()}
    made |= {name: figure_of(kind, FREE, style) for name, style in STYLED.items()}
    found = {name for name, figure in made.items() if figure_bytes(figure, "svg") != usual}
    assert found == set(KIND_BY_ID[kind].options) & set(made)
    locked = seen(locked=Cell("weights", 3, 1, FREE.view.head))
    assert (figure_bytes(figure_of(kind, locked, Style()), "svg") != usual) == (kind in PAIRS)
    fewer = replace(FREE, trace=attnviz.run(up_to(FREE.trace.experiment, 3)))
    assert (figure_bytes(figure_of(kind, fewer, Style()), "svg") == usual) == (kind in UNFOLLOWED)


@pytest.fixture(scope="module")
def widths(drawn: Drawn) -> Rows:
    """(kind of figure, its width in mm)."""
    return drawn(list(itertools.product(KIND_BY_ID, (40, 85, 174, 254))))


@pytest.mark.parametrize("kind", KIND_BY_ID)
def test_a_kind_has_the_width_that_is_set_or_names_the_least(kind: str, widths: Rows) -> None:
    for millimetres in [width for one, width in widths if one == kind]:
        style = Style(width=length(f"{millimetres}mm"), font_size=8.0, grey=True)
        try:
            figure = figure_of(kind, ROTATED, style)
        except ValueError as error:
            assert millimetres < 85 and "must be at least" in str(error), (kind, str(error))
            continue
        assert figure.get_size_inches()[0] * 25.4 == pytest.approx(millimetres)
        figure.canvas.draw()
        (axes,) = figure.axes
        left, right = axes.transData.transform([(x, 0) for x in axes.get_xlim()])[:, 0]
        for text in axes.texts:
            box = text.get_window_extent()
            assert box.x0 >= left - 2 and box.x1 <= right + 2, (kind, millimetres, text.get_text())


def test_what_a_subject_does_not_have_is_said() -> None:
    plain = replace(subject("toy-attention"), decoding=None)
    for kind, sentence in {
        "dials": "The dials need an attention with RoPE.",
        "comparison": "A comparison needs a second state A.",
        "step": "A step needs a document that decodes.",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            figure_of(kind, plain, Style())
    with pytest.raises(ValueError, match=r"kind must be one of 'stage', 'heads'.*; got 'bars'"):
        figure_of("bars", plain, Style())


def test_a_stage_of_the_pipeline_stands_behind_what_it_reads() -> None:
    for preset in ("fluffy-blue-creature", "encoder-decoder", "multi-head-latent", "transformer-xl"):
        trace = attnviz.run(load_preset(preset))
        for name in trace.sites:
            stages = trace.site(name).stages
            column = {one.stage: one.column for one in places(stages)}
            for stage in stages:
                read = sources(stages, stage)
                assert all(column[one] < column[stage] for one in read)
                assert len(read) <= len(STAGE_BY_ID[stage].reads)
            spots = [(one.column, one.row) for one in places(stages)]
            assert len(set(spots)) == len(spots) == len(stages)
    assert sources(ROTATED.trace.only.stages, "scores") == ("q_rotated", "k_rotated")


def test_the_pipeline_has_every_stage_with_its_shape() -> None:
    found = texts("pipeline", ROTATED)
    site = ROTATED.trace.only
    for stage in site.stages:
        assert STAGE_BY_ID[stage].title in found
        assert " × ".join(map(str, site.shape(stage)[-2:])) in found


def test_all_heads_of_all_layers_share_one_scale() -> None:
    shown = replace(subject("decoder-only"), stage="weights")
    figure = figure_of("layers", shown, Style())
    n_heads = sum(shown.trace.site(name).shape("weights")[0] for name in shown.trace.sites)
    assert len(figure.axes[0].images) == n_heads + 1  # and the colour bar


def test_the_product_in_the_plane_is_the_score() -> None:
    pair = ROTATED.pair
    score = float(ROTATED.trace["scores"][pair.head, pair.query, pair.key])
    words = ROTATED.trace.experiment.tokens
    said = " ".join(texts("plane", ROTATED))
    assert f"q {words[pair.query]} · k {words[pair.key]} = {number(score)}" in said


def strongest(figure: Any) -> np.ndarray[Any, Any]:
    """The heights of the widest curve."""
    drawn = (line for line in figure.axes[0].lines if len(line.get_xdata()) > 2)
    return np.asarray(max(drawn, key=lambda line: line.get_linewidth()).get_ydata(), dtype=float)


def test_the_strong_curve_is_the_present_encoding_and_goes_through_the_score() -> None:
    figure = figure_of("positions", ROTATED, Style())
    (present,) = (one for one in curves(ROTATED.trace.only, ROTATED.pair) if one.is_present)
    drawn = -strongest(figure)
    assert np.corrcoef(drawn, present.values)[0, 1] == pytest.approx(1.0)


def test_the_dials_have_the_score_of_the_pair() -> None:
    scores = pair_scores(ROTATED.trace.only, ROTATED.pair)
    assert scores is not None
    said = " ".join(texts("dials", ROTATED))
    assert f"q·k rotated {number(scores[1], 4)}" in said and f"q·k unrotated {number(scores[0], 4)}" in said


def test_the_cost_curve_of_the_experiment_is_its_cache() -> None:
    figure = figure_of("cost", ROTATED, Style())
    found = counts(stack_of(ROTATED.trace.experiment), "cache", FORMAT_BY_ID["float16"], 1, 131_072)
    values = np.log10([value for _n, value in found])
    assert np.corrcoef(-strongest(figure), values)[0, 1] == pytest.approx(1.0)
    # Keys and values of two KV heads of 4 features in 2 bytes: 32 bytes a token.
    assert found[0] == (1, 32)


def test_a_comparison_has_the_numbers_of_both() -> None:
    found = texts("comparison", ROTATED)
    assert ROTATED.other is not None
    first, second = (one.trace["weights"][0] for one in (ROTATED.other, ROTATED))
    for value in (first[3, 0], second[3, 0], second[3, 0] - first[3, 0]):
        assert number(float(value)) in found or number(float(value), 2) in found


def test_a_step_shows_the_words_so_far_and_the_most_probable_next_ones() -> None:
    shown = subject("causal-decode", step=5)
    assert shown.decoding is not None
    step = shown.decoding().steps[5]
    found = texts("step", shown)
    for token in (one.token for one in shown.decoding().steps[:6]):
        assert token in found
    best = np.argsort(-step.probabilities, kind="stable")[:6]
    for index in best:
        assert number(float(step.probabilities[index])) in found
    assert f"step 6: {step.token}" in found, "as the player counts"
    assert [row.id for row in KINDS][-1] == "step"


def without_numbers() -> Subject:
    """A document of two layers, without title and caption, whose first two rows have no key: all NaN."""
    document = load_preset("fully-masked-row")
    layer = with_fields(document.experiment.layers[0], fully_masked_row="nan")
    experiment = with_fields(document.experiment, layers=(layer, layer))
    return Subject(
        attnviz.run(experiment), View(), decoding=lambda: attnviz.decode(experiment), run=lambda: RUN
    )


@pytest.mark.parametrize("kind", [kind for kind in KIND_BY_ID if kind not in ("comparison", "dials")])
def test_a_document_of_nan_without_title_and_caption_is_drawn(kind: str, files: Rows) -> None:
    for format_id in [format_id for one, format_id in files if one == kind]:
        figure = figure_of(kind, without_numbers(), Style(caption=True))
        assert len(figure_bytes(figure, format_id, dpi=60)) > 500


def test_numbers_that_are_nan_are_never_drawn_as_zero() -> None:
    shown = without_numbers()
    assert np.isnan(shown.trace.site("layers.1.self")["attention_output"][0]).all()
    for kind, count in (("step", 1), ("flow", 12), ("rollout", 12)):
        found = texts(kind, shown)
        assert "0.000" not in found and f"NaN: {count}" in found
    assert texts("step", shown).count("NaN") == 5  # one for each token of the vocabulary


def test_a_gradient_curve_has_no_point_for_weights_of_nan() -> None:
    document = load_preset("fully-masked-row")
    (layer,) = document.experiment.layers
    last = with_fields(layer, fully_masked_row="nan")
    view, name = View(), "layers.0.self"
    some = attnviz.run(with_fields(document.experiment, layers=(last,))).site(name)
    weights = np.asarray(some["weights"][0])[2:]
    slopes = [np.diag(row) - np.outer(row, row) for row in weights]
    mean = np.mean([np.linalg.norm(slope) for slope in slopes])
    found = CURVE_BY_ID["softmax"].point(some, view)
    assert found is not None and found[0][1] == pytest.approx(mean)
    none = with_fields(last, masks=(p.Padding(tuple(range(6))),))
    site = attnviz.run(with_fields(document.experiment, layers=(none,))).site(name)
    assert [CURVE_BY_ID[id_].point(site, view) for id_ in ("softmax", "temperature", "distance")] == [
        None
    ] * 3


def test_a_label_of_one_letter_is_upright_above_its_column() -> None:
    with language("zh_CN"):
        document = load_preset("xiaoshenyang")
    shown = Subject(attnviz.run(document), document.view)
    figure = figure_of("stage", shown, Style(width=length("85mm")))
    tokens = {token for token in document.experiment.tokens if len(token) == 1}
    angles = {text.get_rotation() for text in figure.axes[0].texts if text.get_text() in tokens}
    assert tokens and angles == {0.0}


def test_chinese_words_stand_in_columns_beside_rotated_labels() -> None:
    document = load_preset("long-sentence")
    experiment = document.experiment
    words = tuple(("小明", "long words")[index % 2] for index in range(len(experiment.tokens)))
    document = with_fields(document, experiment=with_fields(experiment, tokens=words))
    figure = figure_of("stage", Subject(attnviz.run(document), document.view), Style())
    labels = {*words, *"小明"}
    texts = [text for text in figure.axes[0].texts if text.get_text() in labels and text.get_ha() == "center"]
    by_text = {text.get_text(): text for text in texts}
    assert set(by_text) == {"小", "明", "long words"}
    assert {text: drawn.get_rotation() for text, drawn in by_text.items()} == {
        "小": 0.0,
        "明": 0.0,
        "long words": 90.0,
    }
    first = sorted((text for text in texts if text.get_text() in "小明"), key=lambda t: t.get_position())[:2]
    assert [text.get_text() for text in sorted(first, key=lambda t: t.get_position()[1])] == ["小", "明"]

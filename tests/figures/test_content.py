"""Contents of a figure: the numbers of the trace, transposed and coloured as the view says."""

from __future__ import annotations

import numpy as np
import pytest
from cases import MEMORY, experiment
from first_layer import stacked, with_fields

import attnviz
from attnviz.core.color_maps import color_table
from attnviz.figures.bar import ticks
from attnviz.figures.content import content
from attnviz.figures.heat import cell_numbers, footnotes, picture
from attnviz.figures.palette import PALETTES, palette
from attnviz.model.spec import parts as p
from attnviz.model.spec.edit import Edit
from attnviz.model.spec.view import Ranges, View

LIGHT = palette("light")


def test_rows_are_queries_and_turn_with_everything_that_belongs_to_them() -> None:
    site = attnviz.run(experiment(memory=MEMORY, position="none")).only
    plain = content(site, View(), "weights", 1, LIGHT)
    turned = content(site, View(orientation="queries_as_columns"), "weights", 1, LIGHT)
    np.testing.assert_array_equal(plain.maps[0].values, site["weights"][1])
    np.testing.assert_array_equal(turned.maps[0].values, site["weights"][1].T)
    np.testing.assert_array_equal(turned.maps[0].positions, plain.maps[0].positions.T)
    assert plain.maps[0].blocked is not None and turned.maps[0].blocked is not None
    np.testing.assert_array_equal(turned.maps[0].blocked, plain.maps[0].blocked.T)
    assert (plain.down.labels, plain.across.labels) == (site.experiment.tokens, MEMORY.tokens)
    assert (turned.down.labels, turned.across.labels) == (MEMORY.tokens, site.experiment.tokens)
    assert (plain.down.color, plain.across.color) == (LIGHT.query, LIGHT.key)
    assert (turned.maps[0].sums_below, plain.maps[0].sums_below) == (True, False)
    assert turned.maps[0].sums is not None
    np.testing.assert_allclose(turned.maps[0].sums, site["weights"][1].sum(axis=1))


def test_all_heads_share_one_scale_and_one_head_has_its_own() -> None:
    site = attnviz.run(experiment()).only
    every = content(site, View(), "scores", "all", LIGHT)
    largest = np.abs(site["scores"]).max()
    assert len(every.maps) == 4
    assert (every.scale.low, every.scale.high) == (-largest, largest)
    assert every.scale.range_id == "global" and every.quantity == "scores"
    alone = content(site, View(), "scores", 2, LIGHT)
    assert alone.scale.high == np.abs(site["scores"][2]).max()
    assert content(site, View(ranges=Ranges.of_all("global")), "scores", 2, LIGHT).scale.high == largest


def test_without_a_head_the_view_chooses_and_a_kv_stage_shows_what_that_head_reads() -> None:
    site = attnviz.run(experiment(heads="gqa")).only
    shown = content(site, View(head=3), "k", None, LIGHT)
    np.testing.assert_array_equal(shown.maps[0].values, site["k"][1])
    assert shown.title == "k · KV head 2 of 2"


@pytest.mark.parametrize(
    ("stage", "head", "sentence"),
    [
        (
            "nothing",
            None,
            "stage must be one of 'tokens_embedded', 'q', 'q_rotated', 'k', 'v', 'k_rotated', "
            "'scores', 'scaled', 'masked', 'weights', 'mixed', 'concatenated', 'attention_output', "
            "'logits', 'probabilities'; got 'nothing'.",
        ),
        ("weights", 4, "head must be a head of weights, 0 to 3, or 'all'; got 4."),
        ("weights", -1, "head must be a head of weights, 0 to 3, or 'all'; got -1."),
        ("weights", "first", "head must be a head of weights, 0 to 3, or 'all'; got 'first'."),
        ("k", 2, "head must be a head of k, 0 to 1, or 'all'; got 2."),
        ("attention_output", 1, "head must be a head of attention_output, 0 to 0, or 'all'; got 1."),
    ],
)
def test_what_the_trace_does_not_have_is_refused(stage: str, head: object, sentence: str) -> None:
    site = attnviz.run(experiment()).only
    with pytest.raises(ValueError) as refused:
        content(site, View(), stage, head, LIGHT)  # type: ignore[arg-type]
    assert str(refused.value).startswith(sentence)


def test_marks_are_counted_once_each() -> None:
    masked = experiment(masks="causal", fully_masked_row="nan")
    shown = content(attnviz.run(masked).only, View(), "weights", 0, LIGHT)
    assert shown.marks == {"masked": 21, "nan": 0, "infinite": 0, "later": 0, "edited": 0, "first": 0}
    assert footnotes(shown.marks) == (("masked", "masked"),)
    empty = with_fields(masked, masks=(p.Padding(tuple(range(7))),))
    output = content(attnviz.run(empty).only, View(), "attention_output", None, LIGHT)
    assert output.marks["nan"] == 7 * 8
    assert footnotes(output.marks) == (("nan", "NaN: 56"),)


def test_numbers_appear_only_where_they_fit_and_never_claim_zero() -> None:
    site = attnviz.run(experiment(masks="none")).only
    one = content(site, View(), "weights", 0, LIGHT).maps[0]
    fitting = cell_numbers(one, 46, 32)
    assert fitting is not None and fitting[0] == 3 and fitting[1] == pytest.approx(9.0)
    tight = cell_numbers(one, 20, 20)
    assert tight is not None and 0.6 * 5 * tight[1] <= 20
    assert cell_numbers(one, 8, 8) is None


def test_a_picture_keeps_every_bright_cell_and_leaves_masked_ones_clear() -> None:
    long = stacked(tuple(f"t{i}" for i in range(2500)), p.SeededVectors(2500, 2, seed=0), masks=(p.Causal(),))
    one = content(attnviz.run(long).only, View(), "weights", 0, LIGHT).maps[0]
    pixels = picture(one, "sequential", 0.16, LIGHT)
    assert pixels.shape == (1250, 1250, 4)
    assert one.values[0, 0] == 1.0  # the first token attends to itself alone
    np.testing.assert_array_equal(pixels[0, 0], [*color_table("sequential", False)[255], 255])
    assert pixels[0, 1, 3] == 0 and pixels[1249, 0, 3] == 255


@pytest.mark.parametrize("range_id", ["row", "head", "global", "log", "symmetric"])
def test_the_bar_says_its_range_with_ticks_on_it(range_id: str) -> None:
    site = attnviz.run(experiment()).only
    for stage in ("weights", "scores"):
        scale = content(site, View(ranges=Ranges.of_all(range_id)), stage, 0, LIGHT).scale  # type: ignore[arg-type]
        marks = ticks(scale)
        places = [at for at, _label in marks]
        assert len(marks) >= 2 and places == sorted(places) and 0 <= places[0] and places[-1] <= 1
        if scale.kind == "diverging":
            assert (0.5, "0") in [(round(at, 6), label) for at, label in marks]


def test_colours_are_those_of_the_window() -> None:
    from attnviz.gui.look import colors, theme

    for shades, window in zip(PALETTES, theme.THEMES, strict=True):
        assert vars(shades).items() <= vars(window).items()
        for kind in ("sequential", "diverging"):
            ends = color_table(kind, shades.is_dark)[[0, 255]]
            np.testing.assert_array_equal(ends, colors.cell_colors(kind, window)[[0, -1]])


def test_edited_cells_are_marked_and_said_also_behind_a_mask() -> None:
    masked = with_fields(
        experiment(masks="causal"),
        edits=(Edit("weights", 2, 0.5, "set", 0, 5), Edit("q", 1, 2.0, "scale", 0)),
    )
    for orientation, cell in (("queries_as_rows", (2, 5)), ("queries_as_columns", (5, 2))):
        shown = content(attnviz.run(masked).only, View(orientation=orientation), "weights", 0, LIGHT)  # type: ignore[arg-type]
        assert shown.maps[0].edited == {cell} and shown.maps[0].blocked is not None
        assert not shown.maps[0].blocked[cell] and shown.marks["masked"] == 20
        assert ("edited", "edited by hand: 1") in footnotes(shown.marks)
    assert content(attnviz.run(masked).only, View(), "q", 0, LIGHT).marks["edited"] == 4
    assert content(attnviz.run(masked).only, View(), "q", 1, LIGHT).marks["edited"] == 0

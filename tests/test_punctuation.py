"""Chinese sentences have full-width punctuation between their words, also where the program joins them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from cases import MASKS
from experiments import small
from half_width import half_width_marks

import attnviz
from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.errors import FieldError
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.explain.scripts.library import LIBRARIES
from attnviz.explain.scripts.script import script
from attnviz.i18n import language
from attnviz.model.gradient import GradientSite
from attnviz.model.masks import why_blocked
from attnviz.model.sites.sites import at, site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import SiteTrace
from attnviz.operations.terms import Line, Term, plain
from attnviz.study.contrast.differences import differences

MOST_POSITIONS = 24
"""Of a long text, the cells of the first positions are enough."""


def corners(site: SiteTrace) -> Iterator[Cell]:
    """The first and the last cell of each stage, and the two others at the ends of its first head: a mask
    blocks one of them, and another has the sink or the maximum of its row.
    """
    for stage in site.stages:
        heads, rows, columns = (1, *site.shape(stage))[-3:]
        ends = [(0, 0, 0), (heads - 1, rows - 1, columns - 1), (0, 0, columns - 1), (0, rows - 1, 0)]
        for head, row, column in dict.fromkeys(ends):
            yield Cell(stage, row, column, head)


def texts_of(lines: tuple[Line, ...]) -> Iterator[str]:
    for line in lines:
        for pieces in (line.name, *line.steps, *line.notes):
            yield plain(pieces)
            yield from (piece.name for piece in pieces if isinstance(piece, Term))


def reasons_of(site: Site) -> Iterator[str]:
    """Why each cell that a mask blocks is blocked."""
    shape = min(site.n_queries, MOST_POSITIONS), min(site.n_keys, MOST_POSITIONS)
    for query, key in np.ndindex(*shape):
        yield from why_blocked(site, query, key)


def sentences_of(document: Document) -> Iterator[str]:
    """The explanations of a document, why its masks block, its gradient, and the comments of its scripts."""
    trace, last = attnviz.run(document.experiment), site_names(document.experiment)[-1]
    for name in trace.sites:
        for cell in corners(trace.site(name)):
            explanation = explain(trace.site(name), cell)
            yield explanation.title
            yield from texts_of(explanation.lines)
        yield from reasons_of(at(document.experiment, name))
    site = attnviz.backward(document.experiment, f"{last}.weights[0, 0, 0]").site(last)
    assert isinstance(site, GradientSite)
    for cell in corners(site):
        yield from texts_of(explain_gradient(site, cell).lines)
    for library in LIBRARIES:
        try:
            yield from script(document, library).splitlines()
        except FieldError:  # the weights of a trained model need a file beside the script
            return


@pytest.mark.parametrize("id_", [preset.id for preset in PRESETS])
def test_what_a_preset_says_in_chinese_has_full_width_punctuation(id_: str) -> None:
    document = load_preset(id_)
    with language("zh_CN"):
        found = [mark for text in set(sentences_of(document)) for mark in half_width_marks(text)]
        for difference in differences(load_preset("fluffy-blue-creature").experiment, document.experiment):
            texts = (difference.title(), difference.place(), *difference.texts())
            found += [mark for text in texts for mark in half_width_marks(text)]
    assert found == []


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_the_reasons_of_every_mask_have_full_width_punctuation(masks: tuple[object, ...]) -> None:
    site = at(small(masks=masks), "layers.0.self")
    with language("zh_CN"):
        reasons = list(reasons_of(site))
    assert bool(reasons) == bool(masks)
    assert [mark for text in reasons for mark in half_width_marks(text)] == []


def test_the_search_finds_half_width_marks_and_passes_notation() -> None:
    for text in ("棋盘: 查询", "置为 0, 键 3", "键; 原为", "窗口 (左 2)", "猫, 0.3"):
        assert len(half_width_marks(text)) == 1, text
    for text in (
        "分数[她, 猫]",
        "(头, 查询) = (2, 4)",
        "(查询, 特征) = 4 × 8",
        "偏置(i − j)",
        "m = 3，即最大值",
    ):
        assert half_width_marks(text) == [], text

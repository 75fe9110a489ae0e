"""In a column of 85 mm, the map of one head takes most of the width, and each token has its label."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.figures import figure_bytes
from attnviz.figures.figure import figure_of, reported
from attnviz.figures.report import Remark
from attnviz.figures.style import Style, length
from attnviz.figures.subject import Subject
from attnviz.model.edit.edits import set_tokens
from attnviz.model.spec.document import Document

COLUMN = 240.945
"""85 mm in points."""
MOST_LABEL = 14 * 72 / 25.4
LATIN = ("the", " attention", "of", " seventeen", "internationalization", "a", ".", " networks")
CHINESE = ("小", "沈阳", "邀请", "，", "在江西的演唱会上", "了", "她", "天空下")
LONG = ("<|start_header_id|>", "internationalization", "ÄÖÜÄÖÜÄÖÜÄÖÜ", "WWWWWWWWWWWWWWWW")
SCRIPTS = {"Latin": LATIN, "Chinese": CHINESE, "long": LONG}


def text_of(script: str, count: int) -> Document:
    """A document of `count` tokens, each different from the others."""
    words = SCRIPTS[script]
    tokens = tuple(words[index % len(words)] + str(index // len(words) or "") for index in range(count))
    document = load_preset("causal-order")
    return replace(document, experiment=set_tokens(document.experiment, tokens))


def drawn(document: Document, style: Style) -> tuple[str, list[Remark]]:
    subject = Subject(attnviz.run(document), document.view, "weights", 0)
    figure, report = reported("stage", subject, style)
    return figure_bytes(figure, "svg").decode(), list(report.checks)


def map_width(svg: str) -> float:
    """The width of the frame that is filled with nothing or hatched, the widest but for the sheet."""
    corners = (
        [float(x) for x in re.findall(r"[ML] ([\d.]+) [\d.]+", path)]
        for path in re.findall(r'<path d="(M [^"]*?z)', svg)
    )
    widths = sorted({max(each) - min(each) for each in corners if len(each) >= 4}, reverse=True)
    assert widths[0] == pytest.approx(COLUMN, abs=0.01)
    return widths[1]


def labels(svg: str, color: str) -> list[tuple[float, str]]:
    """(size, text) of the labels of an axis, by its colour."""
    found = re.findall(rf'<text style="font-size: ([\d.]+)px;[^"]*fill: {color}[^>]*>([^<]*)</text>', svg)
    return [(float(size), unescape(text)) for size, text in found]


QUERY, KEY = "#2562c4", "#a3560c"


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("count", [4, 9, 16, 21, 26, 31])
def test_each_token_has_a_label_and_the_map_most_of_the_width(count: int, script: str) -> None:
    svg, said = drawn(text_of(script, count), Style(width=length("85mm")))
    share = map_width(svg) / COLUMN
    assert share >= 0.70
    rows = labels(svg, QUERY)
    assert len(rows) == count
    sizes = {size for size, _text in [*rows, *labels(svg, KEY)]}
    assert len(sizes) == 1
    (size,) = sizes
    assert 5.0 <= size <= 7.0 and size == pytest.approx(min(7.0, 0.92 * share * COLUMN / count), abs=0.12)
    assert [(check.text, check.is_met) for check in said] == [
        (f"{count} of {count} labels, {size:.3g} pt", True),
        (f"map {round(100 * share)} % of the width", True),
    ]


@pytest.mark.parametrize("count", [48])
def test_more_labels_than_fit_are_thinned_and_the_report_says_so(count: int) -> None:
    svg, said = drawn(text_of("Latin", count), Style(width=length("85mm")))
    assert map_width(svg) >= 0.70 * COLUMN
    assert [size for size, _text in labels(svg, QUERY)] == [5.0] * 24
    few, share = said
    assert not few.is_met and share.is_met
    found = re.fullmatch(r"24 of 48 labels, 5 pt: all from (\d+ mm) on", few.text)
    assert found is not None
    wide, said = drawn(text_of("Latin", count), Style(width=length(found[1])))
    assert said[0].is_met and len(labels(wide, QUERY)) == 48


def test_a_long_label_is_cut_at_14_mm() -> None:
    from attnviz.figures.fonts import drawing, text_font, width

    svg, _said = drawn(text_of("long", 8), Style(width=length("85mm")))
    for size, text in labels(svg, QUERY):
        assert text.endswith("…")
        with drawing():
            assert width(text, text_font(size)) <= MOST_LABEL
            assert width(text[:-1] + "WW…", text_font(size)) > MOST_LABEL


def test_title_names_and_formula_are_drawn_if_they_are_chosen() -> None:
    document = text_of("Latin", 8)

    def texts(**style: object) -> set[str]:
        svg, _said = drawn(document, Style(**style))  # type: ignore[arg-type]
        return set(re.findall(r"<text [^>]*>([^<]*)</text>", svg))

    parts = {"title": "weights · head 1 of 1", "formula": "w = exp(s) ÷ Σ exp(s)", "names": "query"}
    narrow, wide = texts(width=length("85mm")), texts(width=length("120mm"))
    for part, text in parts.items():
        assert not any(one.startswith(text) for one in narrow), part
        assert any(one.startswith(text) for one in wide), part
        assert any(one.startswith(text) for one in texts(width=length("85mm"), **{part: True})), part
        assert not any(one == text for one in texts(width=length("120mm"), **{part: False})), part


def test_the_shell_draws_the_same_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.svg"
    assert main(["render", "causal-order", "--stage", "weights", "--width", "column", "-o", str(file)]) == 0
    written = file.read_text(encoding="utf-8")
    assert map_width(written) >= 0.70 * COLUMN and ">query<" not in written
    assert capsys.readouterr().err == "attnviz: Row sums: from 90 mm on.\n"
    assert main(["render", "causal-order", "--width", "85mm", "--names", "--title", "-o", str(file)]) == 0
    assert ">query<" in file.read_text(encoding="utf-8")


def test_the_pdf_has_the_same_sizes_and_its_fonts() -> None:
    document = text_of("Latin", 21)
    subject = Subject(attnviz.run(document), document.view, "weights", 0)
    figure = figure_of("stage", subject, Style(width=length("85mm")))
    sizes = {text.get_fontsize() for text in figure.axes[0].texts if text.get_color() == QUERY}
    assert sizes == {7.0}
    data = figure_bytes(figure, "pdf")
    assert data.count(b"/Type /FontDescriptor") == data.count(b"/FontFile2 ") > 0

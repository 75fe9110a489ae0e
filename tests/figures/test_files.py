"""Figures as files: they hold the tokens as text, show Chinese without fonts, and are the same every time."""

from __future__ import annotations

import io
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from cases import experiment

import attnviz
from attnviz.core.color_maps import color_table
from attnviz.figures import FORMATS, figure_bytes, fonts, render, save_figure
from attnviz.figures.style import Style, length
from attnviz.model.io.presets import load_preset
from attnviz.model.spec import parts as p
from attnviz.model.spec.view import View

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ("<s>", "$x_1^2$", "a\nb", "\\frac{1}{2}", "<img src=x>", "&amp;", " ", "小")


def hostile() -> attnviz.Trace:
    return attnviz.run(attnviz.Experiment(HOSTILE, p.SeededVectors(len(HOSTILE), 4)))


def svg_texts(data: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(data).iter(f"{SVG}text")]


def test_tokens_that_xml_may_not_hold_are_named_in_a_well_formed_svg() -> None:
    trace = attnviz.run(attnviz.Experiment(("\ufffe", "a\uffffb"), p.SeededVectors(2, 4)))
    texts = svg_texts(figure_bytes(render(trace, View(), "weights"), "svg"))
    assert texts.count("⟨U+FFFE⟩") == texts.count("a⟨U+FFFF⟩b") == 2


def test_characters_without_a_glyph_are_named_below_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_system_family", lambda character: None)  # whatever fonts this system has
    tokens = ("\U0001f469", "a\U00020000", "\U0001f431", "\u2764\ufe0f", "\u732b")  # woman, rare hanzi, cat
    trace = attnviz.run(attnviz.Experiment(tokens, p.SeededVectors(5, 4)))
    texts = svg_texts(figure_bytes(render(trace, View(), "weights"), "svg"))
    assert texts.count("not in the fonts: U+1F469, U+20000") == 1
    assert not [text for text in svg_texts(figure_bytes(render(hostile(), View()), "svg")) if "fonts" in text]
    many = attnviz.run(attnviz.Experiment(tuple(map(chr, range(0x20000, 0x20012))), p.SeededVectors(18, 4)))
    narrow = render(many, View(), "weights", style=Style(width=length("85mm")))
    (note,) = (text for text in svg_texts(figure_bytes(narrow, "svg")) if "fonts" in text)
    assert note.startswith("not in the fonts: U+20000, U+20001") and note.endswith(", …")


def test_tokens_are_literal_text_in_svg() -> None:
    texts = svg_texts(figure_bytes(render(hostile(), View(), "weights"), "svg"))
    for token in ("<s>", "$x_1^2$", "a␊b", "\\frac{1}{2}", "<img src=x>", "&amp;", "␣", "小"):
        assert texts.count(token) == 2, token  # on both axes


def test_svg_text_is_drawn_as_outlines_and_its_text_is_transparent() -> None:
    root = ET.fromstring(figure_bytes(render(hostile(), View(), "weights"), "svg"))
    texts = list(root.iter(f"{SVG}text"))
    assert texts and all("opacity: 0" in text.get("style", "") for text in texts)
    # One glyph each for 小: its outline is in the file, so no viewer needs a Chinese font.
    outlines = [use for use in root.iter(f"{SVG}use") if "AttnvizSansSC" in str(use.attrib)]
    assert len(outlines) >= 2


def test_numbers_in_cells_are_those_of_the_trace() -> None:
    trace = attnviz.run(load_preset("toy-attention"))
    texts = svg_texts(figure_bytes(render(trace, View(), "weights"), "svg"))
    # Row 0 of the text's example, computed elsewhere.
    assert {"0.440", "0.332", "0.092", "0.137"} <= set(texts)
    assert texts.count("Σ 1.000") == 4


@pytest.mark.parametrize("format_id", [row.id for row in FORMATS])
def test_the_same_figure_is_the_same_bytes(format_id: str) -> None:
    trace = attnviz.run(experiment())
    first, second = (figure_bytes(render(trace, View(), "weights", "all"), format_id) for _ in range(2))
    assert first == second
    assert not re.search(rb"CreationDate|dc:date|tIME", first)


def test_pdf_embeds_truetype_fonts_with_a_way_back_to_the_characters() -> None:
    data = figure_bytes(render(hostile(), View(), "weights"), "pdf")
    assert data.startswith(b"%PDF")
    fonts = set(re.findall(rb"/FontName /[A-Z]{6}\+([A-Za-z]+)", data))
    assert {b"AttnvizSans", b"AttnvizSansSC"} <= fonts
    assert b"/Type3" not in data and b"/ToUnicode" in data


def png_pixels(data: bytes) -> np.ndarray:
    from matplotlib.image import imread

    return np.round(imread(io.BytesIO(data))[..., :3] * 255).astype(np.uint8)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_png_has_the_ground_of_its_theme_and_the_colour_of_the_largest_weight(theme: str) -> None:
    trace = attnviz.run(experiment(masks="causal"))
    figure = render(trace, View(), "weights", 0, theme=theme)
    pixels = png_pixels(figure_bytes(figure, "png", dpi=100))
    assert tuple(pixels[2, 2]) == ((255, 255, 255) if theme == "light" else (0x20, 0x22, 0x26))
    # The first query attends to itself alone: weight one, the end of the colour map.
    assert (pixels == color_table("sequential", False)[255]).all(axis=2).sum() > 200


def test_dpi_is_pixels_per_inch_and_a_large_map_gets_a_pixel_for_every_cell() -> None:
    def width(data: bytes) -> int:
        return int(struct.unpack(">I", data[16:20])[0])

    small = render(attnviz.run(experiment()), View(), "weights")
    assert width(figure_bytes(small, "png", dpi=200)) == pytest.approx(
        2 * width(figure_bytes(small, "png", dpi=100)), abs=2
    )
    n = 1200
    long = attnviz.Experiment(tuple(map(str, range(n))), p.SeededVectors(n, 2))
    assert width(figure_bytes(render(attnviz.run(long)), "png", dpi=72)) >= n


def test_a_large_map_is_a_picture_inside_the_vector_file() -> None:
    trace = attnviz.run(load_preset("long-sentence"))
    root = ET.fromstring(figure_bytes(render(trace, View(), "weights"), "svg"))
    assert len(list(root.iter(f"{SVG}image"))) == 2  # the map and the colour bar
    assert len(list(root.iter(f"{SVG}path"))) < 2000


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    figure = render(attnviz.run(experiment()))
    assert save_figure(figure, tmp_path / "a.SVG") == tmp_path / "a.SVG"
    with pytest.raises(
        ValueError, match=r"a\.gif: suffix must be one of '\.svg', '\.pdf', '\.png'; got '\.gif'\."
    ):
        save_figure(figure, tmp_path / "a.gif")
    with pytest.raises(ValueError, match=r"dpi must be a whole number from 36 to 1,200; got 5\."):
        save_figure(figure, tmp_path / "b.png", dpi=5)
    with pytest.raises(OSError):
        save_figure(figure, tmp_path / "absent" / "a.png")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["a.SVG"]


def test_the_public_render_takes_a_document_an_experiment_and_a_trace(tmp_path: Path) -> None:
    document = load_preset("cross-attention")
    given = (document, document.experiment, attnviz.run(document))
    for index, one in enumerate(given):
        written = attnviz.render(one, tmp_path / f"{index}.svg", stage="weights", head=0)
        assert {"猫", "坐在", "垫子", "上"} <= set(svg_texts(written.read_bytes()))


def test_neither_pyplot_nor_qt_nor_the_users_settings_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, drawn = tmp_path / "matplotlibrc", tmp_path / "a.svg"
    settings.write_text("text.usetex: True\nsvg.fonttype: none\naxes.facecolor: red\nfont.size: 30\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(settings))
    code = (
        "import sys, attnviz\n"
        f"attnviz.render(attnviz.presets.load_preset('toy-attention'), {str(drawn)!r})\n"
        "print([m for m in ('PySide6', 'matplotlib.pyplot', 'torch') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
    document = load_preset("toy-attention")
    here = attnviz.render(document, tmp_path / "here.svg")
    assert drawn.read_bytes() == here.read_bytes()

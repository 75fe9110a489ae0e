"""Files that carry their document: it comes back as it was, and a crafted file is refused in a sentence."""

from __future__ import annotations

import ast
import base64
import io
import json
import re
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

import attnviz
from attnviz.checkpoints.presets import load_preset as load_any
from attnviz.model.io.carriers.record import FORMAT, MOST_CARRIED, Record, unpacked
from attnviz.model.io.carriers.table import CARRIERS, carried, carrying, files_carrying
from attnviz.model.io.files import DocumentError, load, record_of, replace_files
from attnviz.model.io.json_text import MAX_TEXT
from attnviz.model.io.presets import load_preset
from attnviz.model.io.tables import TABLES, Table, table_bytes
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import SeededVectors

DOCUMENT = replace(load_preset("cross-attention"), title='<猫> & "x" --> ]]>')


def gif(folder: Path) -> bytes:
    file = folder / "plain.gif"
    frames = [Image.fromarray(np.full((4, 5), level, np.uint8)) for level in (0, 200)]
    frames[0].save(file, save_all=True, append_images=frames[1:], loop=0)
    return file.read_bytes()


def figure(suffix: str) -> Callable[[Path], bytes]:
    def made(folder: Path) -> bytes:
        from attnviz.figures import figure_bytes, render

        return figure_bytes(render(attnviz.run(load_preset("toy-attention"))), suffix[1:], dpi=50)

    return made


def table(format_id: str, folder: Path) -> bytes:
    return table_bytes(Table.of(attnviz.run(load_preset("toy-attention")).only, "weights"), format_id, 3)


PLAIN: dict[str, Callable[[Path], bytes]] = {
    ".gif": gif,
    ".html": lambda folder: b"<!DOCTYPE html>\n<html><head></head><body><p>x</p></body></html>\n",
    ".ipynb": lambda folder: json.dumps({"cells": [], "metadata": {}, "nbformat": 4}).encode(),
    ".mp4": lambda folder: struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0),
    ".py": lambda folder: b"# a script\nprint(1)\n",
    **{row.suffix: partial(table, row.id) for row in TABLES},
    **{suffix: figure(suffix) for suffix in (".png", ".svg", ".pdf")},
}


@pytest.mark.parametrize("suffix", [row.suffix for row in CARRIERS])
def test_the_document_comes_back_from_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"made{suffix}"
    plain = PLAIN[suffix](tmp_path)
    file.write_bytes(carrying(plain, suffix, record_of(DOCUMENT)))
    assert load(file) == DOCUMENT
    file.write_bytes(plain)
    with pytest.raises(DocumentError, match="must contain a document") as refused:
        load(file)
    assert str(refused.value).startswith(f"made{suffix}: ")


def test_a_script_with_a_record_is_the_same_program() -> None:
    plain = PLAIN[".py"](Path())
    made = carrying(plain, ".py", record_of(DOCUMENT))
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(plain))
    assert max(map(len, made.splitlines())) <= 100


def test_a_csv_table_stays_as_it_is_beside_its_metadata(tmp_path: Path) -> None:
    file, plain = tmp_path / "made.csv", table("csv", tmp_path)
    written = replace_files(files_carrying(plain, file, record_of(DOCUMENT)))
    assert [path.name for path in written] == ["made.csv", "made.csv-metadata.json"]
    assert file.read_bytes() == plain
    assert [load(path) for path in written] == [DOCUMENT, DOCUMENT]
    fields = json.loads(written[1].read_text("utf-8"))
    assert (fields["@context"], fields["url"]) == ("http://www.w3.org/ns/csvw", "made.csv")
    assert fields["dc:creator"] == f"attnviz {attnviz.__version__}" and fields["dc:title"] == DOCUMENT.title
    written[1].write_text("[]")
    with pytest.raises(DocumentError, match=r"made\.csv: The file must be the metadata of a table in JSON\."):
        load(file)
    written[1].unlink()
    with pytest.raises(
        DocumentError, match=r"made\.csv: The file made\.csv-metadata\.json must exist beside"
    ):
        load(file)


def test_tables_with_a_record_have_the_same_numbers(tmp_path: Path) -> None:
    for suffix in (".tex", ".md"):
        plain = PLAIN[suffix](tmp_path)
        made = carrying(plain, suffix, record_of(DOCUMENT))
        assert made.startswith(plain)
        comment = made.removeprefix(plain).decode()
        if suffix == ".tex":  # an empty line would end a formula
            assert all(line.startswith("% ") for line in comment.splitlines())
        else:
            assert re.fullmatch(r"\n<!-- (?s:(?!--).)*-->\n", comment)
    plain, made = PLAIN[".npz"](tmp_path), carrying(PLAIN[".npz"](tmp_path), ".npz", record_of(DOCUMENT))
    with np.load(io.BytesIO(plain)) as first, np.load(io.BytesIO(made), allow_pickle=False) as second:
        assert set(second.files) == {*first.files, "attnviz"} and second["attnviz"].shape == ()
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name])


def crafted(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"PK\3\4", "must be complete and contain NumPy arrays"),
        (crafted(values=np.eye(2)), "must contain a document"),
        (crafted(attnviz=np.eye(2)), "it is damaged"),
        (crafted(attnviz=np.array([b"a", b"b"])), "it is damaged"),
        (crafted(attnviz=np.array([{}], dtype=object)), "it is damaged"),
        (crafted(attnviz=np.array(b"a" * 100))[:150], "must be complete"),
    ],
)
def test_crafted_arrays_are_refused_in_a_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    file = tmp_path / "a.npz"
    file.write_bytes(data)
    with pytest.raises(DocumentError, match=sentence):
        load(file)


def test_pictures_with_a_record_show_the_same_picture(tmp_path: Path) -> None:
    for suffix in (".png", ".gif"):
        plain, made = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        plain.write_bytes(PLAIN[suffix](tmp_path))
        made.write_bytes(carrying(plain.read_bytes(), suffix, record_of(DOCUMENT)))
        with Image.open(plain) as first, Image.open(made) as second:
            np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
            assert getattr(first, "n_frames", 1) == getattr(second, "n_frames", 1)


def test_every_number_of_the_references_in_the_pdf_is_a_place_of_an_object(tmp_path: Path) -> None:
    data = carrying(PLAIN[".pdf"](tmp_path), ".pdf", record_of(DOCUMENT))
    at = int(data.rsplit(b"startxref", 1)[1].split()[0])
    table = data[at:].split(b"\n")
    assert table[0] == b"xref" and table[3].startswith(b"trailer")
    number, place = int(table[1].split()[0]), int(table[2].split()[0])
    assert data[place:].startswith(b"%d 0 obj\n<< /Type /AttnvizRecord" % number)
    assert b"/Root" in data[at:] and b"/Prev" in data[at:]


def test_a_large_document_leaves_its_command(tmp_path: Path) -> None:
    tokens = ("a",) * 300
    values = np.random.default_rng(0).normal(size=(300, 300)).tolist()
    vectors = attnviz.parts.ExplicitVectors(values)
    large = Document(attnviz.Experiment(tokens, vectors), title="large")
    record = record_of(large, "attnviz render large.safetensors -o a.png")
    assert record.document == "" and len(record.packed()) < 1000
    with pytest.raises(ValueError, match="attnviz render large.safetensors -o a.png"):
        record.restored(dict)
    small = Document(attnviz.Experiment(tokens, SeededVectors(300, 300)))
    assert record_of(small).restored(dict) == small


def packed(whole: bytes) -> bytes:
    return base64.b64encode(zlib.compress(whole, 9))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not base64!",
        base64.b64encode(b"not deflated"),
        packed(b"[1]"),
        packed(json.dumps({"format": FORMAT, "version": 1}).encode()),
        packed(json.dumps({"format": "other"}).encode()),
        packed(b"[" * 100_000),
        packed(b"\0" * (2 * MAX_TEXT + 1)),  # 32 MiB in 33 kB
        b"A" * (2 * MOST_CARRIED + 4),
    ],
)
def test_a_crafted_record_is_refused_in_a_sentence(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(ValueError, match="must be complete; it is damaged"):
        unpacked(text)
    file = tmp_path / "a.svg"
    file.write_bytes(b'<svg><metadata id="attnviz">%s</metadata></svg>' % text)
    with pytest.raises(DocumentError):
        load(file)


def test_the_document_of_a_record_is_checked_like_any_other() -> None:
    fields = {"format": FORMAT, "version": "1", "title": "", "command": "", "document": '{"format": "x"}'}
    with pytest.raises(ValueError):
        unpacked(packed(json.dumps(fields).encode())).restored(dict)


@pytest.mark.parametrize("length", [0, 1, 2**31 - 1])
def test_a_picture_that_ends_early_is_refused(length: int) -> None:
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", length, b"tEXt") + b"attn"
    with pytest.raises(ValueError):
        carried(data, ".png")


def test_the_version_and_the_title_are_in_the_record() -> None:
    record = unpacked(record_of(DOCUMENT, "attnviz x").packed().encode())
    assert record == Record.of(DOCUMENT, "", {}, 0)
    assert (record.version, record.title) == (attnviz.__version__, DOCUMENT.title)


def test_a_document_of_the_model_that_ships_comes_back(tmp_path: Path) -> None:
    document = load_any("stories-name")
    picture = attnviz.render(document, tmp_path / "a.png", stage="weights", dpi=50)
    assert picture.stat().st_size < 600_000
    found = attnviz.load(picture)
    assert found.experiment == document.experiment and found.title == document.title
    with pytest.raises(DocumentError, match="tensor"):
        load(picture)  # without the model

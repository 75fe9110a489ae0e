"""The copied command makes the file of the dialog, byte for byte."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import replace as with_fields
from pathlib import Path

import pytest
from desk import Desk
from msgspec.structs import replace
from PySide6.QtGui import QGuiApplication, QImage
from two_layers import COURSE, TASK, model

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.compute.execute import execute_decoding
from attnviz.core.progress import never_cancelled
from attnviz.errors import FieldError
from attnviz.figures.subject import Subject
from attnviz.gui.export.export import _engines
from attnviz.gui.export.names import file_name
from attnviz.gui.export.shell import OF_A_RUN, command_of, present_choice, preset_of
from attnviz.gui.export.source import Choice, Source
from attnviz.gui.export.table import EXPORT_BY_ID, EXPORTS, Export
from attnviz.gui.panels.compare.requests import Pinned
from attnviz.i18n import set_language
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.view import Cell
from attnviz.study.lessons.table import LESSONS, shipped_lesson
from attnviz.training.file import save_run
from attnviz.training.optimiser import Settings
from attnviz.training.run import train

CHOSEN = {
    "width": "120mm",
    "grey": "on",
    "formula": "off",
    "head": "1",
    "query": "3",
    "digits": "3",
    "orientation": "queries_as_columns",
    "over": "temperature",
    "first": "0.5",
    "last": "2",
    "count": "2",
    "step": "2",
    "slides": "on",
}


def source_of(document: Document, **fields: object) -> Source:
    trace = attnviz.run(document)
    made = Source(
        document,
        trace,
        lambda check: execute_decoding(document.experiment, None, "numpy", "auto", check),
        _engines(trace, document.view),
    )
    return with_fields(made, **fields)  # type: ignore[arg-type]


def chosen(source: Source, row: Export, format_id: str) -> Choice:
    texts = {**dict(present_choice(source, row).texts), "width": ""}
    names = {*row.options, *dict(row.fixed)}
    texts = {name: CHOSEN.get(name, text) for name, text in texts.items()} | dict(row.fixed)
    made = {**texts, "format": format_id}
    idle = row.idle(lambda name: made.get(name, ""))
    return Choice(format_id, tuple((n, t) for n, t in texts.items() if n in names and n not in idle))


DOCUMENT = replace(
    load_preset("grouped-query"),
    title="mine",
    view=replace(load_preset("grouped-query").view, locked=Cell("weights", 3, 2, 1), picture="mean", step=1),
)
SHORT = replace(DOCUMENT, experiment=replace(DOCUMENT.experiment, writing=Writing()))
PINNED = replace(
    load_preset("grouped-query"), title="first", view=replace(load_preset("grouped-query").view, head=2)
)
RUN = train(model(), TASK, COURSE, Settings(steps=20))
NEEDED = {"dials": "yarn", "circuits": "stories-induction", "layer_by_layer": "decoder-only"}
"""Presets of what the document lacks."""
QUICK = {"lesson": "html"} | {row.id: "gif" for row in EXPORTS if row.group == "animation"}
"""A PDF of Qt has the time of its making."""
COMMANDS = [
    (row, kind.id)
    for row in EXPORTS
    if row.id != "panel"
    for kind in (
        row.formats
        if row.id in ("stage", "comparison", "table", "script", "circuits")
        else (row.format(QUICK.get(row.id, "png")),)
    )
]


@pytest.mark.parametrize(("row", "format_id"), COMMANDS, ids=[f"{row.id}-{kind}" for row, kind in COMMANDS])
def test_the_copied_command_makes_the_same_file(
    row: Export, format_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = load_preset(NEEDED[row.id]) if row.id in NEEDED else DOCUMENT
    file = attnviz.save(DOCUMENT, tmp_path / "mine.json")
    if row.id in OF_A_RUN:
        document = Document(RUN.experiment, title="mine")
        file = save_run(document, RUN.training.record(), tmp_path / "mine.safetensors")
    lesson = shipped_lesson(next(iter(LESSONS)))
    first = attnviz.save(PINNED, tmp_path / "first.json")
    other = Subject(attnviz.run(PINNED), PINNED.view, None, PINNED.view.head, PINNED.site, PINNED.title)
    source = source_of(
        document,
        lesson=lesson,
        file=file,
        is_saved=True,
        pinned=Pinned(PINNED, "numpy", "auto", first),
        other=lambda check: other,
        run=(lambda: RUN) if row.id in OF_A_RUN else None,
    )
    assert row.why_not(source) is None
    choice = chosen(source, row, format_id)
    command = command_of(source, row, choice)
    name = file_name(source, row, choice)
    monkeypatch.chdir(tmp_path)
    assert command.unsaved == () and main(shlex.split(command.text)[1:]) == 0, command.text
    made = row.make(source, choice, lambda: None)
    assert (tmp_path / name).read_bytes() == made.data, command.text


def test_the_command_of_a_preset_draws_the_present_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = load_preset("grouped-query")
    seen = replace(preset, view=replace(DOCUMENT.view, stage="scores", head=5))
    source = source_of(seen)
    monkeypatch.chdir(tmp_path)
    for row in map(EXPORT_BY_ID.__getitem__, ("stage", "plane")):
        choice = with_fields(present_choice(source, row), format="png")
        command = command_of(source, row, choice)
        assert command.text.split()[:1] == ["attnviz"] and " grouped-query " in command.text
        assert main(shlex.split(command.text)[1:]) == 0
        made = row.make(source, choice, lambda: None).data
        written = (tmp_path / file_name(source, row, choice)).read_bytes()
        assert QImage.fromData(written) == QImage.fromData(made)
        assert attnviz.load(tmp_path / file_name(source, row, choice)).experiment == preset.experiment


def test_a_document_is_its_preset_its_file_or_one_to_be_saved(tmp_path: Path) -> None:
    preset, row = load_preset("yarn"), EXPORT_BY_ID["stage"]
    source = source_of(preset)
    assert preset_of(preset) == "yarn"
    assert command_of(source, row, present_choice(source, row)).text.startswith(
        "attnviz render yarn --stage "
    )
    edited = replace(preset, experiment=replace(preset.experiment, dtype="float32"))
    source = source_of(edited, file=tmp_path / "my text.json", is_saved=False)
    command = command_of(source, row, present_choice(source, row))
    assert command.text.startswith(f"attnviz render '{tmp_path}/my text.json' --stage ")
    assert command.said == "Copied the command. It reads my text.json: save the document there."
    saved = with_fields(source, is_saved=True)
    assert command_of(saved, row, present_choice(source, row)).said == "Copied the command to the clipboard."
    turned = replace(preset.view, plane=(1, 0), projection="principal", keys=(1,), head=1, query=2)
    assert preset_of(replace(preset, view=turned)) == "yarn"


@pytest.mark.parametrize(
    ("preset", "site", "head", "name"),
    [
        ("stories-induction", "layers.2.self", "2", "layer-3-head-3-weights.svg"),
        ("encoder-decoder", "decoder.0.cross", "1", "decoder-1-cross-head-2-weights.svg"),
        ("grouped-query", "", "3", "head-4-weights.svg"),
        ("toy-attention", "", "0", "weights.svg"),
    ],
)
def test_a_file_is_named_as_the_window_names_the_place(preset: str, site: str, head: str, name: str) -> None:
    source = source_of(load_preset(preset))
    texts = {"stage": "weights", "head": head, **({"site": site} if site else {})}
    assert file_name(source, EXPORT_BY_ID["stage"], Choice("svg", tuple(texts.items()))) == name


@pytest.mark.skipif(os.name != "posix", reason="the words are those of bash")
def test_a_file_with_hidden_characters_in_its_name_is_one_word_of_the_line(tmp_path: Path) -> None:
    file = attnviz.save(DOCUMENT, tmp_path / "a\u202eb \\'é\x1b\n.json")
    source = source_of(DOCUMENT, file=file, is_saved=True)
    command = command_of(source, EXPORT_BY_ID["page"], present_choice(source, EXPORT_BY_ID["page"])).text
    assert command.isascii() and command.isprintable()
    words = command.replace("attnviz page", "printf %s\\\\0", 1)
    said = subprocess.run(["bash", "-c", words], capture_output=True, check=True).stdout
    assert os.fsdecode(said.split(b"\0")[0]) == str(file)


def test_the_dialog_counts_steps_from_one_as_the_player_does_and_the_shell_from_zero() -> None:
    source, row = source_of(DOCUMENT), EXPORT_BY_ID["step"]
    choice = present_choice(source, row)
    assert DOCUMENT.view.step == 1 and choice.text("step") == "2"
    assert choice.view(replace(DOCUMENT.view, step=0)).step == 1
    assert " --step 1 " in command_of(source, row, choice).text
    with pytest.raises(FieldError, match="at least 1; got '0'"):
        with_fields(choice, texts=(("step", "0"),)).view(DOCUMENT.view)


@pytest.mark.parametrize(("picture", "format_id"), [("stage", "png"), ("heads", "svg"), ("table", "csv")])
def test_the_command_of_a_followed_step_computes_its_tokens(
    picture: str, format_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = replace(SHORT, view=replace(SHORT.view, step=SHORT.experiment.n_queries + 1))
    file = attnviz.save(document, tmp_path / "mine.json")
    source = source_of(document, file=file, is_saved=True)
    followed = attnviz.run(source.decode(never_cancelled).up_to(document.view.step))
    assert followed.experiment.n_queries == document.view.step + 1
    source, row = with_fields(source, trace=followed), EXPORT_BY_ID[picture]
    choice = chosen(source, row, format_id)
    command = command_of(source, row, choice)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command.text)[1:]) == 0, command.text
    made = row.make(source, choice, never_cancelled)
    assert (tmp_path / file_name(source, row, choice)).read_bytes() == made.data, command.text
    with pytest.raises(ValueError, match="leave the step"):
        command_of(source, EXPORT_BY_ID["sequence"], chosen(source, EXPORT_BY_ID["sequence"], "gif"))


def test_the_command_of_a_plane_has_its_axes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preset, row = load_preset("grouped-query"), EXPORT_BY_ID["plane"]
    monkeypatch.chdir(tmp_path)
    for fields in ({"plane": (2, 1)}, {"projection": "principal"}, {"projection": "pair"}):
        source = source_of(replace(preset, view=replace(preset.view, **fields)))
        choice = with_fields(present_choice(source, row), format="png")
        assert main(shlex.split(command_of(source, row, choice).text)[1:]) == 0
        made = QImage.fromData(row.make(source, choice, never_cancelled).data)
        assert QImage.fromData((tmp_path / file_name(source, row, choice)).read_bytes()) == made


def test_the_command_of_a_comparison_names_what_must_be_saved(tmp_path: Path) -> None:
    row, changed = EXPORT_BY_ID["comparison"], replace(PINNED, title="changed")
    source = source_of(DOCUMENT, file=tmp_path / "mine.json", pinned=Pinned(changed, "numpy", "auto"))
    command = command_of(source, row, Choice("svg", ()))
    assert "--against A.json --against-head 2" in command.text
    assert command.said == "Copied the command. It reads A.json and mine.json: save the documents there."
    shipped = with_fields(source, pinned=Pinned(load_preset("yarn"), "numpy", "auto"), is_saved=True)
    assert command_of(shipped, row, Choice("svg", ())).unsaved == ()
    on_torch = with_fields(source, pinned=Pinned(changed, "torch", "auto"))
    with pytest.raises(ValueError, match="one engine"):
        command_of(on_torch, row, Choice("svg", ()))


def test_the_command_of_the_mean_has_no_head() -> None:
    source, row = (
        source_of(replace(DOCUMENT, view=replace(DOCUMENT.view, stage="weights"))),
        EXPORT_BY_ID["stage"],
    )
    choice = with_fields(present_choice(source, row), format="png")
    text = command_of(source, row, choice).text
    assert "--as mean" in text and "--head" not in text
    chosen_head = with_fields(choice, texts=(*choice.texts, ("head", "1")))
    assert "--as" not in command_of(source, row, chosen_head).text
    heads = Choice("gif", (("over", "layers"), ("picture", "heads"), ("stage", "weights")))
    assert "--as" not in command_of(source, EXPORT_BY_ID["sequence"], heads).text


@pytest.mark.parametrize("picture", ["stage", "plane", "layers", "sequence"])
def test_the_command_of_gradients_has_their_target(picture: str) -> None:
    preset, row = load_preset("gradient-of-loss"), EXPORT_BY_ID[picture]
    source = source_of(preset, drawn=attnviz.backward(preset, preset.view.target))
    text = command_of(source, row, present_choice(source, row)).text
    assert f"--target {preset.view.target} --show {preset.view.quantity}" in text
    values = EXPORT_BY_ID["positions"]
    assert "--target" not in command_of(source, values, present_choice(source, values)).text


def test_the_language_of_the_titles_is_in_the_command() -> None:
    source, row = source_of(load_preset("yarn")), EXPORT_BY_ID["script"]
    set_language("zh_CN")
    words = command_of(source, row, Choice("torch", ())).text
    assert words == "attnviz --language zh_CN script yarn --with torch -o script.py"


def test_the_command_of_a_panel_paints_it_as_the_window_does(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.store.open(load_preset("yarn"))
    desk.bring("positions")
    desk.settle()
    row, choice = EXPORT_BY_ID["panel"], Choice("png", (("panel", "positions"),))
    source = desk.window.handlers._exporter.source(desk.window.panels)
    made = row.make(source, choice, never_cancelled)
    command = command_of(source, row, choice)
    assert command.text.startswith("attnviz panel yarn --panel positions --size ")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command.text)[1:]) == 0
    assert QImage.fromData((tmp_path / "positions.png").read_bytes()) == QImage.fromData(made.data)
    assert attnviz.load(tmp_path / "positions.png") == load_preset("yarn")


def test_the_command_of_a_panel_reads_the_document_as_it_is_seen(tmp_path: Path) -> None:
    preset, row = load_preset("yarn"), EXPORT_BY_ID["panel"]
    choice = Choice("svg", (("panel", "compare"),))
    source = source_of(preset, theme="dark", sizes={"compare": (640, 400)})
    assert command_of(source, row, choice).text == (
        "attnviz panel yarn --panel compare --theme dark --size 640x400 -o compare.svg"
    )
    seen = source_of(replace(preset, view=replace(preset.view, head=1)), file=tmp_path / "yarn.json")
    assert command_of(seen, row, choice).unsaved == ("yarn.json",)
    beside = with_fields(source, pinned=Pinned(load_preset("rope-pair"), "numpy", "auto"))
    assert "--against rope-pair" in command_of(beside, row, choice).text


def test_the_menu_copies_the_command_of_the_picture_in_sight(desk: Desk) -> None:
    desk.store.look(stage="scores")
    desk.window.commands["copy_shell"].trigger()
    desk.settle()
    text = QGuiApplication.clipboard().text()
    assert (
        text.startswith("attnviz render ")
        and "--stage scores" in text
        and text.endswith("-o head-1-scores.svg")
    )
    desk.store.look(stage="weights", picture="lines")
    desk.window.commands["copy_shell"].trigger()
    desk.settle()
    assert "render --kind lines" in QGuiApplication.clipboard().text()

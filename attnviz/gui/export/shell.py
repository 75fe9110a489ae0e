"""The command of the shell that makes an export: `attnviz` with the document, the place and the options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.checkpoints.stories import load
from attnviz.core.progress import never_cancelled
from attnviz.core.text import exposed, visible
from attnviz.errors import InputError, Message
from attnviz.figures.kinds.table import KIND_BY_ID, OF_WORDS, PAIRS, UNFOLLOWED
from attnviz.figures.options import OPTIONS
from attnviz.figures.style import Style
from attnviz.gui.export.choices import CHOICES, At
from attnviz.gui.export.kinds.figure import CSV
from attnviz.gui.export.names import file_name
from attnviz.gui.export.source import Choice, Source
from attnviz.gui.export.table import Export
from attnviz.i18n import _, current_language
from attnviz.model.links import LINED
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import View
from attnviz.study.heads.mean import shows_mean

OF_NUMBERS = ("site", "stage", "head", "circuit", "alignment", "of_a")
"""Options that change the numbers of a table."""
FOLLOWED = Message("No command starts a sequence at a step: leave the step.")
OF_A_RUN = ("curves", "training")
"""Rows whose pictures are of the training run beside a document."""
FIRST = "A.json"
"""The file for the state A, where none has it."""


@dataclass(frozen=True)
class Command:
    """A command, and the files that documents must be saved in before it runs, if any."""

    text: str
    unsaved: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """A sentence about it on the clipboard."""
        if not self.unsaved:
            return _("Copied the command to the clipboard.")
        if len(self.unsaved) == 1:
            says = _("Copied the command. It reads {file}: save the document there.")
            return says.format(file=visible(self.unsaved[0]))
        says = _("Copied the command. It reads {first} and {second}: save the documents there.")
        return says.format(first=visible(self.unsaved[0]), second=visible(self.unsaved[1]))


@dataclass(frozen=True)
class _Known:
    """The word for a document, the view with which it opens, and the name of a file that must be saved."""

    word: str
    view: View
    unsaved: str = ""


def command_of(source: Source, row: Export, choice: Choice) -> Command:
    """The command that makes the file of a row. Raises `InputError` for a state that no command has."""
    own = {"as_seen": row.id == "panel", "with_run": row.id in OF_A_RUN}
    known = _lesson(source) if row.id == "lesson" else _known(source, **own)
    row = _of_table(row) if choice.format == CSV else row
    options = [*_options(source, known, row, choice), *_key(source, known, row, choice)]
    first = _first(source) if _is_compared(source, row, choice) else None
    if first is not None:
        options += ["--against", first.word, *_place_of_first(source, row, choice)]
    words = ["attnviz", *_language(), *row.words, known.word, *options]
    unsaved = tuple(one.unsaved for one in (first, known) if one is not None and one.unsaved)
    return Command(" ".join(map(_word, [*words, "-o", file_name(source, row, choice)])), unsaved)


def _word(word: str) -> str:
    """A word for a shell; in one with invisible characters, bash reads bytes for all but printable ASCII."""
    if exposed(word) == word:
        return shlex.quote(word)
    shown = (chr(b) if 0x20 <= b < 0x7F and b not in b"\\'" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{''.join(shown)}'"


def _of_table(row: Export) -> Export:
    """The row whose command writes numbers where the row's own draws them."""
    kept = tuple(name for name in row.options if name in OF_NUMBERS)
    if row.words[0] == "table":
        return row
    return with_fields(row, words=row.words if row.id == "circuits" else ("table",), options=kept)


def present_choice(source: Source, row: Export) -> Choice:
    """The choice that the dialog opens with: the place in sight, and the usual style."""
    site = source.trace.shown(source.document.view.site)
    wanted = source.document.view.stage
    known = wanted if wanted in site.stages else site.stages[-1]
    at = At(row.id, site, known, dict(row.fixed).get("over", ""))
    offered = set(row.options) - (set() if len(source.trace.sites) > 1 else {"site"})
    if row.id == "stage" and shows_mean(site, source.document.view, at.stage):
        offered.remove("head")
    found = {one.name: one.value(source, at) for one in CHOICES if one.name in offered}
    for option in OPTIONS:
        if option.field in row.options and option.control == "switch" and not option.is_by_width:
            found[option.field] = "on" if option.default else "off"
    found |= {"theme": Style().theme, **dict(row.fixed)}
    return Choice(row.formats[0].id, tuple(found.items()))


def _language() -> list[str]:
    """The language of the titles, where it is not that of most machines."""
    return [] if current_language() == "en" else ["--language", current_language()]


def _lesson(source: Source) -> _Known:
    assert source.lesson is not None
    return _Known(source.lesson.id, source.document.view)


def _known(source: Source, *, as_seen: bool = False, with_run: bool = False) -> _Known:
    """The preset that the document is, or its file.

    `as_seen`: only one that opens with the same view; `with_run`: one that has the training run beside it.
    """
    view, preset = source.document.view, None if with_run else preset_of(source.document)
    if preset is not None and not (as_seen and load_preset(preset).view != view):
        return _Known(preset, load_preset(preset).view)
    is_saved = source.is_saved and not (as_seen and load(source.file).view != view)
    return _Known(str(source.file), view, "" if is_saved else source.file.name)


def _is_compared(source: Source, row: Export, choice: Choice) -> bool:
    """True for a file that a pinned state A has a part in."""
    return row.id == "comparison" or (choice.text("panel") == "compare" and source.pinned is not None)


def _first(source: Source) -> _Known:
    """The state A: its preset, its file if that has it as it is, or a file that must be saved."""
    pinned = source.pinned
    assert pinned is not None
    if pinned.engine != source.trace.engine:
        engines = {"a": pinned.engine, "b": source.trace.engine}
        raise InputError(Message("The command needs one engine for A and B; got {a} and {b}.", **engines))
    document = pinned.document
    preset = preset_of(document)
    if preset is not None:
        return _Known(preset, document.view)
    if pinned.path is not None and _has(pinned.path, document.experiment):
        return _Known(str(pinned.path), document.view)
    return _Known(FIRST, document.view, FIRST)


def _place_of_first(source: Source, row: Export, choice: Choice) -> Iterator[str]:
    """The attention and the head of A, unless they are those of B."""
    assert source.pinned is not None
    view = source.pinned.document.view
    if choice.text("of_a") == "same" or row.id == "panel":
        return
    if view.site:
        yield from ("--against-site", view.site)
    yield from ("--against-head", str(view.head))


def _has(file: Path, experiment: Experiment) -> bool:
    """True for a file with that experiment."""
    try:
        return load(file).experiment == experiment
    except InputError:
        return False


def preset_of(document: Document) -> str | None:
    """Id of the preset that a document is, whatever part of it is shown."""
    for row in PRESETS:
        if row.title == document.title:
            found = load_preset(row.id)
            same_lines = found.view.lines.heads == document.view.lines.heads
            if found.experiment == document.experiment and same_lines:
                return row.id
    return None


def _options(source: Source, known: _Known, row: Export, choice: Choice) -> list[str]:
    """The options of the command: the engine, the quantity, the place, what was chosen, the style."""
    return [
        *_engine(source, row),
        *_quantity(source, row),
        *_chosen(source, known, row, choice),
        *_picture(source, row, choice),
        *_follow(source, row),
        *_plane(source, row, choice),
        *_style(row, choice),
        *_of_panel(source, choice),
    ]


def _of_panel(source: Source, choice: Choice) -> Iterator[str]:
    """The theme and the size of a panel, which are those of the window."""
    panel = choice.text("panel")
    if panel and source.theme != "light":
        yield from ("--theme", source.theme)
    if panel in source.sizes:
        width, height = source.sizes[panel]
        yield from ("--size", f"{width}x{height}")


def _engine(source: Source, row: Export) -> Iterator[str]:
    trace = source.trace
    if row.words[0] not in ("script", "lesson") and trace.engine != "numpy":
        yield from ("--engine", trace.engine, "--device", trace.device)


def _quantity(source: Source, row: Export) -> Iterator[str]:
    view = source.document.view
    has_gradients = "picture" in row.options or (row.id in KIND_BY_ID and not KIND_BY_ID[row.id].of_values)
    if source.drawn is not None and has_gradients and view.quantity != "value" and view.target:
        yield from ("--target", view.target, "--show", view.quantity)


def _chosen(source: Source, known: _Known, row: Export, choice: Choice) -> Iterator[str]:
    """The choices of the state, each with its option."""
    if row.format_flag:
        yield from (row.format_flag, choice.format)
    idle = {"query"} if _drawn(row, choice) in PAIRS else set()
    idle |= {"range"} if _has_range(source, known, choice) else set()
    names = {*row.options, *dict(row.fixed)} - idle
    for option in CHOICES:
        text = option.word(choice) if option.name in names else ""
        if not option.flag or not text:
            continue
        if option.control != "switch":
            yield from (option.flag, text)
        elif text == "on":
            yield option.flag


def _has_range(source: Source, known: _Known, choice: Choice) -> bool:
    """True if the document opens with the chosen colours, which may differ from head to head."""
    chosen = choice.subject(source, never_cancelled).view if choice.text("range") else source.document.view
    return (chosen.ranges, chosen.first_tokens) == (known.view.ranges, known.view.first_tokens)


def _drawn(row: Export, choice: Choice) -> str:
    """Id of the kind of picture."""
    return choice.text("picture") or row.id


def _key(source: Source, known: _Known, row: Export, choice: Choice) -> Iterator[str]:
    """The query of a picture of a pair, and the key where the document opens with another locked cell."""
    if _drawn(row, choice) not in PAIRS:
        return
    subject = choice.subject(source, never_cancelled)
    opened = known.view.locked if known.view.query == subject.view.query else None
    if subject.view.locked == opened:
        last = subject.shown_site.experiment.n_queries - 1
        yield from ("--query", str(min(subject.view.query, last)))
    else:
        yield from ("--query", str(subject.pair.query), "--key", str(subject.pair.key))


def _picture(source: Source, row: Export, choice: Choice) -> Iterator[str]:
    """The mean of the heads; or the map where the view has lines, which the shell draws by itself."""
    picture, stage = source.document.view.picture, choice.text("stage")
    is_stage = _drawn(row, choice) == "stage" and not choice.text("head")
    if is_stage and picture == "mean" and stage in LINED:
        yield from ("--as", "mean")
    elif row.id == "stage" and picture in OF_WORDS:
        yield from ("--kind", "stage")


def _follow(source: Source, row: Export) -> Iterator[str]:
    """The generated tokens, where the window shows them in place of the document's."""
    shown, known = source.trace.experiment, source.document.experiment
    if shown == known or row.words[0] not in ("render", "table", "animate") or row.id in UNFOLLOWED:
        return
    if row.words[0] == "animate" or shown.n_queries <= known.n_queries:
        raise InputError(FOLLOWED)
    yield from ("--follow", "--step", str(shown.n_queries - 1))


def _plane(source: Source, row: Export, choice: Choice) -> Iterator[str]:
    """The axes of the plane: of a file, it is unknown with which ones it opens."""
    if _drawn(row, choice) == "plane":
        view = source.document.view
        last = choice.subject(source, never_cancelled).shown_site.shape("q")[-1] - 1
        first, second = (min(axis, last) for axis in view.plane)
        if first != second and view.projection == "features":
            yield from ("--plane", f"{first},{second}")
        yield from ("--projection", view.projection)


def _style(row: Export, choice: Choice) -> Iterator[str]:
    """The differences from the usual style."""
    names = dict(choice.texts)
    for option in OPTIONS:
        text = names.get(option.field, "") if option.field in row.options else ""
        if option.control != "switch":
            if text and text != str(option.default):
                yield from (option.flag, text)
        elif text and (text == "on") != option.default:
            yield option.word(is_on=text == "on")

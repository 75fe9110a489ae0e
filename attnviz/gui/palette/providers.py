"""`PROVIDERS`: where the lines of the palette come from, one row for each kind.

A provider reads the table of its kind when the palette opens, so a new row of that table is a new line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from attnviz.checkpoints.presets import PRESETS
from attnviz.core.levels import RANGES
from attnviz.core.phrases import enumerated, named
from attnviz.core.text import isolated, visible
from attnviz.engines.table import ENGINES
from attnviz.explain.formulas.stages import stage_formula
from attnviz.figures.kinds.table import KIND_BY_ID
from attnviz.gui.commands.actions import ACTIONS
from attnviz.gui.help.texts import STAGE_HELP
from attnviz.gui.palette.chooser import words_of
from attnviz.gui.palette.entry import Entry
from attnviz.gui.palette.match import OTHER_WORDS
from attnviz.gui.panels.grid.frames import FRAMES, NO_SCORE
from attnviz.gui.panels.stage.gradients import QUANTITIES, targets
from attnviz.gui.panels.table import PANELS
from attnviz.gui.settings import SETTINGS, Setting
from attnviz.i18n import N_, _, current_language, in_every_language
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_title
from attnviz.model.stages import STAGE_BY_ID
from attnviz.study.lessons.table import CLAIMS, LESSONS, shipped_claims, shipped_lesson

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface
    from attnviz.gui.panels.mechanism.mechanism import MechanismPanel
    from attnviz.gui.panels.mechanism.section import Section


ALSO: dict[str, str] = {
    "save": N_("store the file"),
    "import_model": N_("open a checkpoint: safetensors, GGUF, Hugging Face"),
    "preferences": N_("settings, options"),
    "dark": N_("dark mode, night mode"),
    "language": N_("language: Chinese, English"),
    "scale_up": N_("bigger text, zoom in"),
    "scale_down": N_("smaller text, zoom out"),
    "enlarge": N_("presentation, maximise"),
    "tear_off": N_("second screen, separate window"),
    "play": N_("generate text, animate"),
    "export_figure": N_("picture as SVG, PDF or PNG"),
    "export_sequence": N_("animation as GIF or MP4"),
    "notebook": "Jupyter",
    "pin": N_("compare with the present state"),
    "what_is_this": N_("explain, help"),
    "shortcuts": N_("keys, help"),
}
"""Further words of commands and exports: what a user who does not know their names would type."""


AFTER_NAMES, AFTER_ALL = OTHER_WORDS - 8, 2 * OTHER_WORDS
"""Points that a term costs in a line that comes after panels with such words, and after all others: a figure
has the name of the setting that it draws, and a claim is a sentence.
"""


MOST_TOKENS = 512
"""Tokens of a long text that have a line."""


@dataclass(frozen=True)
class Provider:
    """One kind of lines: its title, and the lines for a surface."""

    id: str
    title: str
    entries: Callable[[Surface], Iterator[Entry]]


def all_entries(surface: Surface) -> Iterator[Entry]:
    """Every line of the palette, in the order of `PROVIDERS`: the last ones take longest to make."""
    for provider in PROVIDERS:
        for entry in provider.entries(surface):
            yield replace(
                entry,
                kind=_(provider.title),
                words=(*entry.words, *in_every_language(provider.title)),
            )


def _actions(surface: Surface) -> Iterator[Entry]:
    native = QKeySequence.SequenceFormat.NativeText
    for row in ACTIONS:
        action = surface.commands[row.id]
        if row.id == "palette" or not action.isEnabled():
            continue
        keys = enumerated(QKeySequence(key).toString(native) for key in row.shortcuts)
        yield Entry(
            f"action:{row.id}",
            _(row.text).replace("…", ""),
            action.trigger,
            (*in_every_language(row.text), *(in_every_language(ALSO[row.id]) if row.id in ALSO else ())),
            keys,
        )


def _exports(surface: Surface) -> Iterator[Entry]:
    """The kinds of files, each in its row of the export dialog; imported as late as that."""
    from attnviz.gui.export.table import EXPORTS

    title = N_("Export {kind}")
    for row in EXPORTS:
        formats = " ".join(f"{_(kind.title)} {kind.suffix}" for kind in row.formats)
        titles = zip(in_every_language(title), in_every_language(row.title), strict=True)
        yield Entry(
            f"export:{row.id}",
            _(title).format(kind=_(row.title)),
            partial(surface.export, row.id),
            (
                row.id,
                *row.words,
                formats,
                ALSO.get(row.id, ""),
                *(text.format(kind=kind) for text, kind in titles),
            ),
            costs=AFTER_NAMES if row.id in KIND_BY_ID else 0,
        )


def _lessons(surface: Surface) -> Iterator[Entry]:
    language = current_language()
    for id_ in LESSONS:
        lesson = shipped_lesson(id_)
        yield Entry(
            f"lesson:{id_}",
            lesson.title(language),
            partial(_open_lesson, surface, id_),
            (id_, *lesson.titles.values(), *lesson.abouts.values()),
        )


def _open_lesson(surface: Surface, id_: str) -> None:
    from attnviz.gui.panels.lesson.lesson import LessonPanel

    surface.workspaces.choose("lesson")
    panel = surface.panels["lesson"]
    assert isinstance(panel, LessonPanel)
    panel.lesson_wanted.emit(id_)


def _claims(surface: Surface) -> Iterator[Entry]:
    """The claims of textbooks, each searched for in the panel of all."""
    language = current_language()
    for group in CLAIMS:
        for step in shipped_claims(group).steps:
            if step.claim:
                text = step.words_in(language).title
                yield Entry(
                    f"claim:{group}:{step.id}",
                    text,
                    partial(_show_claim, surface, text),
                    tuple(words.title for words in step.words.values()),
                    costs=AFTER_ALL,
                )


def _show_claim(surface: Surface, text: str) -> None:
    surface.workspaces.choose("claims")
    surface.panels["claims"].search.setText(text)  # type: ignore[attr-defined]


def _presets(surface: Surface) -> Iterator[Entry]:
    for preset in PRESETS:
        words = (preset.title, preset.description, preset.group)
        yield Entry(
            f"preset:{preset.id}",
            _(preset.title),
            partial(surface.services.documents.open_preset, preset.id),
            (preset.id, *(text for word in words for text in in_every_language(word))),
        )


def _recent(surface: Surface) -> Iterator[Entry]:
    for path in surface.services.settings.recent():
        yield Entry(
            f"recent:{path}",
            visible(path.name),
            partial(surface.services.documents.open, path),
            (visible(str(path)),),
        )


def _stages(surface: Surface) -> Iterator[Entry]:
    store = surface.store
    for stage in store.site.stages if store.trace is not None else ():
        title, known = STAGE_BY_ID[stage].title, STAGE_HELP.get(stage)
        told = () if known is None else in_every_language(known.sentence)
        yield Entry(
            f"stage:{stage}",
            _(title),
            partial(store.look, stage=stage),
            (stage, stage_formula(store.attention, stage), *in_every_language(title), *told),
        )


def _heads(surface: Surface) -> Iterator[Entry]:
    for head in range(surface.store.attention.heads.n_heads):
        title = N_("Head {number}")
        yield Entry(
            f"head:{head}",
            _(title).format(number=head + 1),
            partial(surface.store.look, head=head),
            tuple(text.format(number=head + 1) for text in in_every_language(title)),
        )


def _frames(surface: Surface) -> Iterator[Entry]:
    """The scores that the grid of all heads can show."""
    title, experiment = N_("Score of all heads"), surface.store.experiment
    for row in FRAMES:
        if row.id == NO_SCORE or (row.needs_references and not experiment.references):
            continue
        texts = (text for message in (title, row.title, row.hint) for text in in_every_language(message))
        yield Entry(
            f"frames:{row.id}",
            named(_(title), _(row.title)),
            partial(_show_frames, surface, row.id),
            (row.id, *texts),
        )


def _show_frames(surface: Surface, id_: str) -> None:
    surface.workspaces.choose("grid")
    grid = surface.store.document.view.grid
    surface.store.look(grid=msgspec.structs.replace(grid, frames=id_))


def _tokens(surface: Surface) -> Iterator[Entry]:
    """The tokens of the document, each selected as the query."""
    store, title = surface.store, N_("Token {number}: {token}")
    tokens = store.shown_site.names("query")[:MOST_TOKENS] if store.trace is not None else ()
    for index, token in enumerate(tokens):
        given = {"number": index + 1, "token": isolated(visible(token))}
        yield Entry(
            f"token:{index}",
            _(title).format(**given),
            partial(store.look, query=index),
            (token.strip(), *(text.format(**given) for text in in_every_language(title))),
            costs=AFTER_NAMES,
        )


def _sites(surface: Surface) -> Iterator[Entry]:
    store = surface.store
    names = site_names(store.experiment)
    for name in names if len(names) > 1 else ():
        yield Entry(
            f"site:{name}",
            site_title(store.experiment, name),
            partial(store.look, site=name),
            (name, name.replace(".", " ")),
        )


def _ranges(surface: Surface) -> Iterator[Entry]:
    title = N_("Colour range")
    for row in RANGES:
        yield Entry(
            f"range:{row.id}",
            named(_(title), _(row.label)),
            partial(_choose_range, surface, row.id),
            (row.id, *in_every_language(title), *in_every_language(row.label)),
        )


def _choose_range(surface: Surface, range_id: str) -> None:
    view = surface.store.document.view
    surface.store.look(ranges=view.with_range(view.stage, range_id))  # type: ignore[arg-type]


def _gradients(surface: Surface) -> Iterator[Entry]:
    """The loss, the locked cell and the present target; and no gradient."""
    title, store = N_("Gradient"), surface.store
    for text, name, _hint in targets(store) if store.trace is not None else ():
        yield Entry(
            f"gradient:{text}",
            named(_(title), name),
            partial(store.look, target=text, quantity="gradient"),
            (text, *in_every_language(title)),
        )
    for id_, label, _hint in QUANTITIES if store.document.view.target is not None else ():
        yield Entry(
            f"quantity:{id_}",
            named(_("Shown numbers"), _(label)),
            partial(store.look, quantity=id_),
            in_every_language(label),
        )


def _panel_of_settings(surface: Surface) -> MechanismPanel:
    from attnviz.gui.panels.mechanism.mechanism import MechanismPanel

    panel = surface.panels["mechanism"]
    assert isinstance(panel, MechanismPanel)
    return panel


def _mechanism(surface: Surface) -> Iterator[Entry]:
    """The controls of the mechanism that apply to the present document, each under its section's title."""
    for section in _panel_of_settings(surface).sections:
        yield from list(_controls(surface, section))  # at once: a control may go in a pause


def _controls(surface: Surface, section: Section) -> Iterator[Entry]:
    """The controls of a section that apply."""
    for term in section.terms():
        if term.widget is section.header or not term.widget.isVisibleTo(section.content):
            continue
        title, *options = term.names
        name = term.widget.accessibleName() or (_(title) if title else enumerated(map(_, options)))
        if "{" in name:  # one of several alike, such as the dials, before it is first shown
            continue
        heading = _(section.heading)
        texts = tuple(text for message in term.texts for text in in_every_language(message))
        yield Entry(
            f"control:{section.id}:{term.widget.objectName()}",
            named(heading, name),
            partial(_bring, surface, term.widget),
            (*texts, section.present(surface.store.document)),
        )


def _bring(surface: Surface, control: QWidget) -> None:
    surface.workspaces.choose_here("mechanism")
    _panel_of_settings(surface).bring(control)


def _settings(surface: Surface) -> Iterator[Entry]:
    for row in SETTINGS:
        for value, title in _choices(row):
            yield Entry(
                f"setting:{row.key}:{value}",
                named(_(row.title), _(title)),
                partial(_set, surface, row.key, value),
                (*in_every_language(row.title), *in_every_language(title), str(value)),
            )


def _choices(row: Setting) -> tuple[tuple[object, str], ...]:
    """The values that a setting may have here: an engine that is not installed is none."""
    if row.kind is bool:
        return (True, N_("on")), (False, N_("off"))
    if row.key == "engine":
        available = {engine.id for engine in ENGINES if not engine.unavailable()}
        return tuple(choice for choice in row.choices if choice[0] in available)
    return row.choices


def _set(surface: Surface, key: str, value: object) -> None:
    surface.services.settings[key] = value
    surface.apply_settings()


def _panels(surface: Surface) -> Iterator[Entry]:
    for row in PANELS:
        yield Entry(
            f"panel:{row.id}",
            _(row.title),
            partial(surface.workspaces.choose, row.id),
            words_of(row),
        )


PROVIDERS: tuple[Provider, ...] = (
    Provider("actions", N_("Command"), _actions),
    Provider("exports", N_("Export"), _exports),
    Provider("presets", N_("Preset"), _presets),
    Provider("recent", N_("Recent"), _recent),
    Provider("stages", N_("Stage"), _stages),
    Provider("heads", N_("Head"), _heads),
    Provider("frames", N_("Head"), _frames),
    Provider("sites", N_("Layer"), _sites),
    Provider("tokens", N_("Token"), _tokens),
    Provider("gradients", N_("Gradient"), _gradients),
    Provider("panels", N_("Panel"), _panels),
    Provider("ranges", N_("Setting"), _ranges),
    Provider("settings", N_("Setting"), _settings),
    Provider("lessons", N_("Lesson"), _lessons),
    Provider("claims", N_("Claim"), _claims),
    Provider("mechanism", N_("Setting"), _mechanism),
)

"""Implementation of the commands: one method for every row of `ACTIONS`, named `on_<id>`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction

from attnviz.checkpoints.presets import PRESETS
from attnviz.gui.documents import name_of
from attnviz.gui.live.player import END, Event, GoBy, GoTo, Player, Toggle, Watch
from attnviz.gui.live.pointer import Pointer
from attnviz.gui.look import look
from attnviz.gui.presentation import ENLARGED
from attnviz.gui.widgets.control import active_theme
from attnviz.i18n import _, current_language
from attnviz.model.edit import edits
from attnviz.model.edit.chapters import Chapter
from attnviz.model.sites.sites import site_names

if TYPE_CHECKING:
    from attnviz.gui.export.export import Exporter
    from attnviz.gui.help.help import WhatIsThis
    from attnviz.gui.palette.palette import Palette
    from attnviz.gui.window import Window


class Handlers(QObject):
    """Commands of the window. Each changes the store, or asks the object whose business it is."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window
        window.store.player_changed.connect(self._on_player)
        window.store.pointer_changed.connect(self._on_pointer)

    @cached_property
    def _exporter(self) -> Exporter:
        """Created on first use: its imports are slow."""
        from attnviz.gui.export.export import Exporter

        window = self._window
        exporter = Exporter(window, window.store, window.scheduler, window.settings)
        exporter.failed.connect(self._warn)
        exporter.said.connect(self._say)
        exporter.pinned = lambda: window.compare_live.comparable if "compare" in window.panels else None
        exporter.lesson = lambda: window.lesson_live.lesson
        return exporter

    @cached_property
    def what_is_this(self) -> WhatIsThis:
        """Created with the panels, which it gives tooltips."""
        from attnviz.gui.help.help import WhatIsThis

        return WhatIsThis(self._window)

    @cached_property
    def _palette(self) -> Palette:
        """Created on first use: few starts of the program need it."""
        from attnviz.gui.palette.palette import Palette
        from attnviz.gui.palette.providers import all_entries

        palette = Palette(self._window, partial(all_entries, self._window))
        palette.apply_theme(active_theme())
        return palette

    def retranslate(self) -> None:
        """Update what lies over the window to the active language."""
        if "_palette" in self.__dict__:
            self._palette.retranslate()

    # --- file

    @Slot()
    def on_start(self) -> None:
        self._window.start_page.show()

    @Slot()
    def on_empty(self) -> None:
        from attnviz.gui.panels.tokens import TokensPanel

        self._window.documents.open_empty()
        self._window.workspaces.show_panel("tokens")
        tokens = self._window.panels["tokens"]
        assert isinstance(tokens, TokensPanel)
        tokens.select_text()

    @Slot()
    def on_new(self) -> None:
        self._window.documents.new()

    @Slot()
    def on_open(self) -> None:
        self._window.documents.ask_open()

    @Slot()
    def on_import_model(self) -> None:
        self._window.documents.ask_import()

    @Slot()
    def on_survey(self) -> None:
        self._window.survey_live.ask()

    @Slot()
    def on_recent(self) -> None:
        self._window.documents.open(Path(_sender(self).data()))

    @Slot()
    def on_preset(self) -> None:
        self._window.documents.open_preset(_sender(self).data())

    @Slot()
    def on_save(self) -> None:
        self._window.documents.save()

    @Slot()
    def on_save_as(self) -> None:
        self._window.documents.save_as()

    @Slot()
    def on_save_with_weights(self) -> None:
        self._window.documents.save_with_weights()

    @Slot()
    def on_preferences(self) -> None:
        from attnviz.gui.dialogs.preferences import show_preferences

        if show_preferences(self._window, self._window.settings):
            self.apply_preferences()

    @Slot()
    def on_quit(self) -> None:
        self._window.close()

    # --- edit

    @Slot()
    def on_undo(self) -> None:
        self._go(self._window.store.undo, _after_undo)

    @Slot()
    def on_redo(self) -> None:
        self._go(self._window.store.redo, _after_redo)

    def _go(self, step: Callable[[], None], said: Callable[[Chapter], str]) -> None:
        """Undo or redo; where that shows another document, the status line names it."""
        store = self._window.store
        before = store.chapters.present.number
        self._window.status.clear()
        step()
        if store.chapters.present.number != before:
            self._say(said(store.chapters.present))

    @Slot()
    def on_randomise(self) -> None:
        seed = int(np.random.default_rng().integers(0, 10_000))
        self._window.store.edit(edits.reseed_vectors, seed)

    @Slot()
    def on_find_setting(self) -> None:
        self._window.workspaces.show_panel("mechanism")
        self._window.mechanism.focus_search()

    @Slot()
    def on_pin(self) -> None:
        if self._window.panels:
            self._window.compare_live.pin()

    @Slot()
    def on_swap(self) -> None:
        if self._window.panels:
            self._window.compare_live.swap()

    # --- view

    @Slot()
    def on_palette(self) -> None:
        self._palette.open()

    @Slot(bool)
    def on_transpose(self, checked: bool) -> None:
        self._window.store.look(orientation="queries_as_columns" if checked else "queries_as_rows")

    @Slot()
    def on_next_head(self) -> None:
        self._step_head(1)

    @Slot()
    def on_previous_head(self) -> None:
        self._step_head(-1)

    @Slot()
    def on_next_stage(self) -> None:
        self._step_stage(1)

    @Slot()
    def on_previous_stage(self) -> None:
        self._step_stage(-1)

    @Slot()
    def on_next_layer(self) -> None:
        self._turn_page(1)

    @Slot()
    def on_previous_layer(self) -> None:
        self._turn_page(-1)

    def _turn_page(self, step: int) -> None:
        """The next layer; in a lesson the next step, and while one panel is enlarged the next word of the
        caption, then the next preset, as a remote turns slides."""
        if self._window.lesson_live.is_shown:
            self._window.lesson_live.go_by(step)
        elif not self._window.workspaces.enlarged:
            self._step_site(step)
        elif not self._step_word(step):
            self._step_preset(step)

    @Slot()
    def on_next_word(self) -> None:
        self._step_word(1)

    @Slot()
    def on_previous_word(self) -> None:
        self._step_word(-1)

    def _step_word(self, step: int) -> bool:
        """Lock what the next word of the caption, or the one before, refers to; False without one."""
        from attnviz.gui.panels.stage.panel import StageViewPanel

        stage = self._window.panels.get("stage")
        return isinstance(stage, StageViewPanel) and stage.step_caption(step)

    @Slot()
    def on_free(self) -> None:
        if self._window.jobs.is_shown:
            self._window.jobs.cancel()
            return
        if self._window.workspaces.give_back():
            return
        self._window.store.set_paint_mode(False)
        self._window.store.look(locked=None)
        self._window.status.clear()

    def show_caption(self) -> None:
        """Show or hide captions as the settings say."""
        is_shown = self._window.settings["caption"]
        self._window.store.set_caption_shown(is_shown)
        self._window.commands["caption"].setChecked(is_shown)

    @Slot(bool)
    def on_caption(self, checked: bool) -> None:
        self._window.store.set_caption_shown(checked)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        """Remember whether captions are shown."""
        if old.shows_caption != new.shows_caption:
            self._window.settings["caption"] = new.shows_caption
            self._window.commands["caption"].setChecked(new.shows_caption)

    @Slot(bool)
    def on_dark(self, checked: bool) -> None:
        self._window.settings["theme"] = "dark" if checked else "light"
        self.apply_preferences()

    @Slot()
    def on_language(self) -> None:
        self._window.settings["language"] = look.other_language()
        self.apply_preferences()

    @Slot()
    def on_tear_off(self) -> None:
        self._window.presentation.tear_off()

    @Slot(bool)
    def on_full_screen(self, checked: bool) -> None:
        self._window.presentation.show_full_screen(checked)

    @Slot()
    def on_reset_layout(self) -> None:
        self._window.workspaces.reset()

    @Slot()
    def on_workspace(self) -> None:
        self._window.workspaces.switch(_sender(self).data())
        self._window.start_page.leave()

    def apply_preferences(self) -> None:
        """Take colours, language and engine from the settings."""
        window, before = self._window, current_language()
        look.apply(look.application(), window.settings)
        window.presentation.scale_to(window.settings["scale"])
        if current_language() != before:
            window.retranslate()
        self.show_caption()
        chosen = window.settings["engine"], window.settings["device"]
        if chosen != (window.live.engine, window.live.device):
            window.live.choose(*chosen)

    @Slot()
    def on_enlarge(self) -> None:
        self._window.presentation.toggle()

    @Slot()
    def on_scale_up(self) -> None:
        self._window.presentation.scale_by(1)

    @Slot()
    def on_scale_down(self) -> None:
        self._window.presentation.scale_by(-1)

    @Slot()
    def on_scale_reset(self) -> None:
        self._window.presentation.scale_to(100)

    @Slot()
    def on_next_preset(self) -> None:
        self._step_preset(1)

    @Slot()
    def on_previous_preset(self) -> None:
        self._step_preset(-1)

    def _step_preset(self, step: int) -> None:
        """Open the preset after or before the present one, in the order of the menu."""
        title = self._window.store.document.title
        titles = [preset.title for preset in PRESETS]
        place = titles.index(title) + step if title in titles else 0 if step > 0 else len(titles) - 1
        if 0 <= place < len(titles):
            self._window.documents.open_preset(PRESETS[place].id)

    def _step_head(self, step: int) -> None:
        store = self._window.store
        n_heads = store.attention.heads.n_heads
        store.look(head=(min(store.document.view.head, n_heads - 1) + step) % n_heads)

    def _step_site(self, step: int) -> None:
        store = self._window.store
        names = site_names(store.experiment)
        index = names.index(store.document.site) + step
        store.look(site=names[min(max(index, 0), len(names) - 1)])

    def _step_stage(self, step: int) -> None:
        store = self._window.store
        if store.trace is None:
            return
        stages = store.shown_site.stages
        now = store.document.view.stage
        index = stages.index(now) if now in stages else 0
        store.look(stage=stages[(index + step) % len(stages)])

    # --- decoding

    @Slot()
    def on_play(self) -> None:
        self._play(Toggle())

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """Check the switch, and play a decoding requested earlier where it is visible."""
        if old.follows != new.follows:
            self._window.settings["follow"] = new.follows
            self._window.commands["follow_player"].setChecked(new.follows)
        if old.is_awaited and new.is_playing:
            self._bring_player()

    @Slot(bool)
    def on_follow_player(self, checked: bool) -> None:
        self._window.store.set_following(checked)

    @Slot()
    def on_step_forward(self) -> None:
        self._play(GoBy(1))

    @Slot()
    def on_step_back(self) -> None:
        self._play(GoBy(-1))

    @Slot()
    def on_first_step(self) -> None:
        self._play(GoTo(0))

    @Slot()
    def on_last_step(self) -> None:
        self._play(GoTo(END))

    def _play(self, event: Event) -> None:
        self._bring_player()
        self._window.store.play(event)

    def _bring_player(self) -> None:
        """Show the player, in the workspace where it stands; an enlarged panel follows it in its place."""
        if self._window.workspaces.enlarged:
            self._window.store.play(Watch(ENLARGED, is_seen=True))
        else:
            self._window.workspaces.show_panel("text")

    # --- export, help

    def export(self, row: str, **chosen: str) -> None:
        """Open the export dialog at a row of its table, with chosen options."""
        self._window.complete()
        self._exporter.export(row, self._window.panels, {"panel": self._window.current.id, **chosen})

    @Slot()
    def on_export_figure(self) -> None:
        self.export("stage")

    @Slot()
    def on_export_panel(self) -> None:
        self.export("panel")

    @Slot()
    def on_export_numbers(self) -> None:
        self.export("table")

    @Slot()
    def on_copy_picture(self) -> None:
        self._exporter.copy_picture()

    @Slot()
    def on_copy_table(self) -> None:
        self._exporter.copy_table()

    @Slot()
    def on_export_sequence(self) -> None:
        self.export("sequence")

    @Slot()
    def on_export_script(self) -> None:
        self.export("script")

    @Slot()
    def on_export_lesson(self) -> None:
        self.export("lesson")

    @Slot()
    def on_copy_python(self) -> None:
        self._exporter.copy_python()

    @Slot()
    def on_copy_shell(self) -> None:
        self._exporter.copy_shell()

    @Slot()
    def on_what_is_this(self) -> None:
        self.what_is_this.toggle()

    @Slot()
    def on_shortcuts(self) -> None:
        from attnviz.gui.dialogs.shortcuts import show_shortcuts

        show_shortcuts(self._window)

    @Slot()
    def on_about(self) -> None:
        from attnviz.gui.dialogs.about import show_about

        show_about(self._window)

    @Slot(object)
    def _warn(self, error: BaseException) -> None:
        self._window.status.warn(error)

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self._window.status.say(sentence)


def _after_undo(reached: Chapter) -> str:
    """Redo entries of a document stay when another one opens: redo repeats them before it leaves again."""
    redo_returns = _("Back to {name}; redo returns")
    redo_repeats = _("Back to {name}; redo first repeats its undone edits")
    return (redo_repeats if reached.history.can_redo else redo_returns).format(name=name_of(reached))


def _after_redo(reached: Chapter) -> str:
    return _("Forward to {name}; undo returns").format(name=name_of(reached))


def _sender(handlers: QObject) -> QAction:
    sender = handlers.sender()
    assert isinstance(sender, QAction)
    return sender

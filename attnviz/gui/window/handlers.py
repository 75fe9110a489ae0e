"""Implementation of the commands: one method for every row of `ACTIONS`, named `on_<id>`.

Over 500 lines because each command of the window is a slot of one object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QRect, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QMainWindow

from attnviz.errors import Message
from attnviz.gui.commands.surface import Surface
from attnviz.gui.look import look
from attnviz.gui.player import END, Event, GoBy, GoTo, Player, Toggle, Watch
from attnviz.gui.pointer import Pointer
from attnviz.gui.services.documents import name_of
from attnviz.gui.start.start import Start
from attnviz.gui.widgets.control import active_theme
from attnviz.gui.window.jobs import JobLine
from attnviz.gui.window.lessons import LessonLive
from attnviz.gui.window.presentation import ENLARGED, Presentation
from attnviz.gui.window.stepping import step_head, step_preset, step_site, step_stage
from attnviz.i18n import _, current_language
from attnviz.model.edit import edits
from attnviz.model.edit.chapters import Chapter

if TYPE_CHECKING:
    from attnviz.gui.export.export import Exporter
    from attnviz.gui.help.help import WhatIsThis
    from attnviz.gui.palette.chooser import Chooser
    from attnviz.gui.palette.palette import Palette
    from attnviz.gui.panels.compare.compare import ComparePanel
    from attnviz.gui.panels.glance.glance import GlancePanel
    from attnviz.gui.panels.grid.survey.survey import SurveyPanel
    from attnviz.gui.panels.grid.survey.surveys import Surveys
    from attnviz.gui.panels.stage.stage import StageViewPanel
    from attnviz.gui.panels.training.training import TrainingPanel


class Handlers(QObject):
    """Commands of the window. Each changes the store, or asks the object whose business it is."""

    def __init__(
        self,
        window: QMainWindow,
        surface: Surface,
        presentation: Presentation,
        jobs: JobLine,
        start_page: Start,
        lessons: LessonLive,
        anchor: Callable[[], QRect],
    ) -> None:
        """`anchor` is the place of the button that opens the chooser of panels."""
        super().__init__(window)
        self._window, self._surface, self._services = window, surface, surface.services
        self._store, self._documents = surface.store, surface.services.documents
        self._settings, self._status = surface.services.settings, surface.services.status
        self._workspaces = surface.workspaces
        self._presentation, self._jobs, self._start_page = presentation, jobs, start_page
        self._lessons, self._anchor = lessons, anchor
        self._model_folder = ""
        self._store.player_changed.connect(self._on_player)
        self._store.pointer_changed.connect(self._on_pointer)

    @cached_property
    def _exporter(self) -> Exporter:
        """Created on first use: its imports are slow."""
        from attnviz.gui.export.export import Exporter

        exporter = Exporter(self._window, self._services)
        exporter.failed.connect(self._status.warn)
        exporter.said.connect(self._status.say)
        exporter.pinned = lambda: (
            self._compare.pinning.comparable if "compare" in self._surface.panels else None
        )
        exporter.lesson = lambda: self._lessons.lesson
        return exporter

    @property
    def _compare(self) -> ComparePanel:
        panel = self._surface.panels["compare"]
        if TYPE_CHECKING:
            assert isinstance(panel, ComparePanel)
        return panel

    @property
    def surveys(self) -> Surveys:
        """The surveys of the window, in their panel."""
        panel = self._surface.panels["survey"]
        if TYPE_CHECKING:
            assert isinstance(panel, SurveyPanel)
        return panel.surveys

    @cached_property
    def what_is_this(self) -> WhatIsThis:
        """Created with the panels, which it gives tooltips."""
        from attnviz.gui.help.help import WhatIsThis

        return WhatIsThis(self._window, self._surface)

    @cached_property
    def _palette(self) -> Palette:
        """Created on first use: few starts of the program need it."""
        from attnviz.gui.palette.palette import Palette
        from attnviz.gui.palette.providers import all_entries

        palette = Palette(self._window, partial(all_entries, self._surface))
        palette.apply_theme(active_theme())
        return palette

    @cached_property
    def _chooser(self) -> Chooser:
        """Created on first use, as the palette."""
        from attnviz.gui.palette.chooser import Chooser

        return Chooser(self._window, self._surface, self._anchor)

    # --- file

    @Slot()
    def on_start(self) -> None:
        self._start_page.show()

    @Slot()
    def on_empty(self) -> None:
        from attnviz.gui.panels.tokens import TokensPanel

        self._documents.open_empty()
        self._workspaces.show_panel("tokens")
        tokens = self._surface.panels["tokens"]
        assert isinstance(tokens, TokensPanel)
        tokens.select_text()

    @Slot()
    def on_new(self) -> None:
        self._documents.new()

    @Slot()
    def on_open(self) -> None:
        self._documents.ask_open()

    @Slot()
    def on_title(self) -> None:
        """Write another title of the document."""
        from attnviz.gui.dialogs.title import TitleDialog

        dialog = TitleDialog(self._window, self._services)
        if dialog.ask():
            self._store.entitle(dialog.text)

    @Slot()
    def on_import_model(self) -> None:
        self.import_model(self._model_folder)

    def import_model(self, folder: str) -> None:
        """Choose a trained model, first that of a folder or a file, and its input; show the document."""
        from attnviz.gui.dialogs.import_model import ImportDialog

        dialog = ImportDialog(self._window, self._services, folder)
        is_taken = dialog.ask()
        self._model_folder = dialog.folder
        if is_taken and dialog.document is not None:
            self._documents.show(dialog.document)

    @Slot()
    def on_survey(self) -> None:
        self.surveys.ask()

    @Slot()
    def on_recent(self) -> None:
        self._documents.open(Path(_sender(self).data()))

    @Slot()
    def on_preset(self) -> None:
        self._documents.open_preset(_sender(self).data())

    @Slot()
    def on_save(self) -> None:
        self._save(self._documents.save)

    @Slot()
    def on_save_as(self) -> None:
        self._save(self._documents.save_as)

    @Slot()
    def on_save_with_weights(self) -> None:
        self._save(self._documents.save_with_weights)

    def _save(self, save: Callable[[], object]) -> None:
        """Save with the caption that is being written; nothing is saved while that is refused."""
        from attnviz.gui.widgets.caption import CaptionEditor

        editor = self._window.focusWidget()
        if isinstance(editor, CaptionEditor):
            editor.finish()
            if editor.isVisible():
                return
        save()

    @Slot()
    def on_preferences(self) -> None:
        from attnviz.gui.dialogs.preferences import PreferencesDialog

        dialog = PreferencesDialog(self._window, self._services)
        if dialog.ask():
            dialog.store()
            self.apply_preferences()

    @Slot()
    def on_quit(self) -> None:
        self._window.close()

    # --- edit

    @Slot()
    def on_undo(self) -> None:
        self._go(self._store.undo, _after_undo)

    @Slot()
    def on_redo(self) -> None:
        self._go(self._store.redo, _after_redo)

    def _go(self, step: Callable[[], None], said: Callable[[Chapter], str]) -> None:
        """Undo or redo; where that shows another document, the status line names it."""
        store = self._store
        before = store.chapters.present.number
        self._status.clear()
        step()
        if store.chapters.present.number != before:
            self._status.say(said(store.chapters.present))

    @Slot()
    def on_randomise(self) -> None:
        seed = int(np.random.default_rng().integers(0, 10_000))
        self._store.edit(edits.reseed_vectors, seed)

    @Slot()
    def on_find_setting(self) -> None:
        self._workspaces.choose_here("mechanism")
        self._surface.panels["mechanism"].focus_search()  # type: ignore[attr-defined]

    @Slot()
    def on_pin(self) -> None:
        if self._surface.panels:
            self._compare.pinning.pin()

    @Slot()
    def on_swap(self) -> None:
        if self._surface.panels:
            self._compare.pinning.swap()

    # --- view

    @Slot()
    def on_palette(self) -> None:
        self._palette.open()

    @Slot()
    def on_panels(self) -> None:
        self._chooser.open()

    @Slot(bool)
    def on_transpose(self, checked: bool) -> None:
        self._store.look(orientation="queries_as_columns" if checked else "queries_as_rows")

    @Slot()
    def on_picture(self) -> None:
        stage = self._stage()
        if stage is not None:
            stage.show_picture(_sender(self).data())

    @Slot()
    def on_first_token(self) -> None:
        panel = self._glance() or self._stage()
        if panel is not None:
            panel.switch_first()

    @Slot()
    def on_next_head(self) -> None:
        step_head(self._store, 1)

    @Slot()
    def on_previous_head(self) -> None:
        step_head(self._store, -1)

    @Slot()
    def on_next_stage(self) -> None:
        step_stage(self._store, 1)

    @Slot()
    def on_previous_stage(self) -> None:
        step_stage(self._store, -1)

    @Slot()
    def on_next_layer(self) -> None:
        self._turn_page(1)

    @Slot()
    def on_previous_layer(self) -> None:
        self._turn_page(-1)

    def _turn_page(self, step: int) -> None:
        """The next layer; in a lesson the next step, and while one panel is enlarged the next word of the
        caption, then the next preset, as a remote turns slides."""
        if self._lessons.is_shown:
            self._lessons.go_by(step)
        elif not self._workspaces.enlarged:
            step_site(self._store, step)
        elif not self._step_word(step):
            step_preset(self._store, self._documents, step)

    @Slot()
    def on_next_word(self) -> None:
        self._step_word(1)

    @Slot()
    def on_previous_word(self) -> None:
        self._step_word(-1)

    def _step_word(self, step: int) -> bool:
        """Lock what the next word of the caption, or the one before, refers to; False without one."""
        stage = self._stage()
        return stage is not None and stage.step_caption(step)

    def _glance(self) -> GlancePanel | None:
        """The panel of the first glance while it has the workspace."""
        from attnviz.gui.panels.glance.glance import GlancePanel

        glance = self._surface.panels.get("glance") if self._workspaces.is_opening else None
        return glance if isinstance(glance, GlancePanel) else None

    def _training(self) -> TrainingPanel | None:
        """The panel of training while its workspace is shown."""
        if self._workspaces.present.id != "train" or "training" not in self._surface.panels:
            return None
        from attnviz.gui.panels.training.training import TrainingPanel

        panel = self._surface.panels["training"]
        return panel if isinstance(panel, TrainingPanel) else None

    def press(self, event: QKeyEvent) -> bool:
        """Do what a plain key does in the panel that has the workspace; False for another one."""
        training = self._training()
        return training is not None and training.press(event)

    def _stage(self) -> StageViewPanel | None:
        """The panel of the large view."""
        from attnviz.gui.panels.stage.stage import StageViewPanel

        stage = self._surface.panels.get("stage")
        return stage if isinstance(stage, StageViewPanel) else None

    @Slot()
    def on_free(self) -> None:
        if self._may_cancel:
            self._jobs.cancel()
            return
        if self._workspaces.give_back():
            return
        self._store.set_paint_mode(False)
        self._store.look(locked=None)
        self._status.clear()

    @property
    def may_free(self) -> bool:
        """True if Esc has something to cancel, to return from or to unlock."""
        pointer, view = self._store.pointer, self._store.document.view
        is_held = view.locked is not None or pointer.held is not None or pointer.paints
        return is_held or self._may_cancel or bool(self._workspaces.enlarged)

    @property
    def _may_cancel(self) -> bool:
        """True if Esc cancels the announced job: not while the window has no numbers that could stay."""
        return self._jobs.is_shown and self._store.trace is not None

    def show_caption(self) -> None:
        """Show or hide captions as the settings say."""
        is_shown = self._settings["caption"]
        self._store.set_caption_shown(is_shown)
        self._surface.commands["caption"].setChecked(is_shown)

    @Slot(bool)
    def on_caption(self, checked: bool) -> None:
        self._store.set_caption_shown(checked)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        """Remember whether captions are shown."""
        if old.shows_caption != new.shows_caption:
            self._settings["caption"] = new.shows_caption
            self._surface.commands["caption"].setChecked(new.shows_caption)

    @Slot(bool)
    def on_dark(self, checked: bool) -> None:
        self._settings["theme"] = "dark" if checked else "light"
        self.apply_preferences()

    @Slot()
    def on_language(self) -> None:
        self._settings["language"] = look.other_language()
        self.apply_preferences()

    @Slot()
    def on_tear_off(self) -> None:
        self._presentation.tear_off()

    @Slot(bool)
    def on_full_screen(self, checked: bool) -> None:
        self._presentation.show_full_screen(checked)

    @Slot()
    def on_reset_layout(self) -> None:
        self._workspaces.reset()

    @Slot()
    def on_workspace(self) -> None:
        self._workspaces.switch(_sender(self).data())
        self._start_page.leave()

    def apply_preferences(self) -> None:
        """Take colours, language and engine from the settings."""
        before = current_language()
        look.apply(look.application(), self._settings)
        if current_language() != before and not self._lessons.follow_language():
            self._documents.follow_language()
        self._presentation.scale_to(self._settings["scale"])
        self.show_caption()
        chosen = self._settings["engine"], self._settings["device"]
        if chosen != (self._store.engine, self._store.device):
            self._store.choose_engine(*chosen)

    @Slot()
    def on_enlarge(self) -> None:
        self._presentation.toggle()

    @Slot()
    def on_scale_up(self) -> None:
        self._presentation.scale_by(1)

    @Slot()
    def on_scale_down(self) -> None:
        self._presentation.scale_by(-1)

    @Slot()
    def on_scale_reset(self) -> None:
        self._presentation.scale_to(self._settings.default("scale"))

    @Slot()
    def on_next_preset(self) -> None:
        step_preset(self._store, self._documents, 1)

    @Slot()
    def on_previous_preset(self) -> None:
        step_preset(self._store, self._documents, -1)

    # --- decoding

    @Slot()
    def on_play(self) -> None:
        """Train where the panel of training is; play the sum of the first glance, or the generation."""
        glance, training = self._glance(), self._training()
        if training is not None:
            training.play_or_pause()
        elif glance is not None:
            glance.play_or_pause()
        else:
            self._play(Toggle())

    @Slot(object, object)
    def _on_player(self, old: Player, new: Player) -> None:
        """Check the switch, and play a decoding requested earlier where it is visible."""
        if old.follows != new.follows:
            self._settings["follow"] = new.follows
            self._surface.commands["follow_player"].setChecked(new.follows)
        if old.is_awaited and new.is_playing:
            self._bring_player()

    @Slot(bool)
    def on_follow_player(self, checked: bool) -> None:
        self._store.set_following(checked)

    @Slot()
    def on_details(self) -> None:
        """Show or close the counters, in the workspace of the player."""
        if self._surface.docks["text"].isHidden():
            self._workspaces.show_panel("text")
        if self._surface.docks["counters"].isHidden():
            self._workspaces.open_here("counters")
        else:
            self._workspaces.close("counters")

    @Slot()
    def on_step_forward(self) -> None:
        self._go_or_play("step_forward", GoBy(1))

    @Slot()
    def on_step_back(self) -> None:
        self._go_or_play("step_back", GoBy(-1))

    @Slot()
    def on_first_step(self) -> None:
        self._go_or_play("first", GoTo(0))

    @Slot()
    def on_last_step(self) -> None:
        self._go_or_play("last", GoTo(END))

    def _go_or_play(self, button: str, event: Event) -> None:
        """Go to another state of a training that is seen, else of the player."""
        training = self._training()
        if training is not None:
            training.go(button)
        else:
            self._play(event)

    def _play(self, event: Event) -> None:
        self._bring_player()
        self._store.play(event)

    def _bring_player(self) -> None:
        """Show the player, in the workspace where it stands; an enlarged panel follows it in its place."""
        if self._workspaces.enlarged:
            self._store.play(Watch(ENLARGED, is_seen=True))
        else:
            self._workspaces.set_opening(False)
            self._workspaces.show_panel("text")

    # --- export, help

    def export(self, row: str, **chosen: str) -> None:
        """Open the export dialog at a row of its table, with chosen options."""
        self._surface.complete()
        self._exporter.export(row, self._surface.panels, {"panel": self._presentation.current, **chosen})

    @Slot()
    def on_export(self) -> None:
        """Open the export dialog at the last kind of a group, or of all."""
        self._surface.complete()
        chosen = {"panel": self._presentation.current}
        self._exporter.export_last(_sender(self).data(), self._surface.panels, chosen)

    @Slot()
    def on_kind(self) -> None:
        """Open the export dialog at a kind."""
        self.export(_sender(self).data())

    def why_no_kind(self, kind: str) -> Message | None:
        """The reason for which nothing of a kind can be exported now, or None."""
        return self._exporter.why_not(kind)

    @Slot()
    def on_export_panel(self) -> None:
        self.export("panel")

    @Slot()
    def on_copy_picture(self) -> None:
        self._exporter.copy_picture()

    @Slot()
    def on_copy_table(self) -> None:
        self._exporter.copy_table()

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
        from attnviz.gui.commands.shortcuts import ShortcutsDialog

        ShortcutsDialog(self._window, self._services).ask()

    @Slot()
    def on_about(self) -> None:
        from attnviz.gui.dialogs.about import AboutDialog

        AboutDialog(self._window, self._services).ask()


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

"""The window: panels in docks, arranged by workspaces, under one bar and over the status line.

Over 500 lines because all parts of the window meet here.
"""

from __future__ import annotations

import time
from dataclasses import fields
from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLayout, QMainWindow, QTabBar, QWidget

from attnviz.checkpoints.opening import is_model
from attnviz.compute.scheduler import Scheduler
from attnviz.core.text import visible
from attnviz.errors import Message
from attnviz.gui.bridge import Bridge
from attnviz.gui.commands.menus import Commands
from attnviz.gui.commands.surface import Surface
from attnviz.gui.live.decoding import DecodeLive
from attnviz.gui.live.follow import FollowLive
from attnviz.gui.live.full_pass import UncachedLive
from attnviz.gui.live.gradient import GradientLive
from attnviz.gui.live.idle import IdleLive
from attnviz.gui.live.trace import LATE, Live
from attnviz.gui.look.icons import app_icon
from attnviz.gui.look.theme import GRID, Theme
from attnviz.gui.look.words import retranslate, says
from attnviz.gui.panels.glance.opening import keep, opens, opens_again, remember
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.table import PANEL_BY_ID, PANELS, sharing
from attnviz.gui.recovery.keeping import Keeping
from attnviz.gui.services.documents import OPENED, Documents
from attnviz.gui.services.services import Schedulers, Services
from attnviz.gui.services.status import Status
from attnviz.gui.settings import Settings
from attnviz.gui.start.start import Start
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column
from attnviz.gui.widgets.document_line import DocumentLine
from attnviz.gui.widgets.document_text import DocumentText
from attnviz.gui.widgets.local_files import accept_copy
from attnviz.gui.widgets.panel_dock import PanelDock, Room
from attnviz.gui.window.current import Current
from attnviz.gui.window.focus import Focus
from attnviz.gui.window.handlers import Handlers
from attnviz.gui.window.jobs import JobLine
from attnviz.gui.window.lessons import LESSON_SUFFIX, LessonLive
from attnviz.gui.window.making import Docks, Making
from attnviz.gui.window.menus import Menus
from attnviz.gui.window.presentation import Presentation
from attnviz.gui.window.size import SMALLEST_SIZE, first_size
from attnviz.gui.window.status import StatusLine
from attnviz.gui.window.top_bar import TopBar
from attnviz.gui.workspaces.more import More
from attnviz.gui.workspaces.switcher import Workspaces
from attnviz.i18n import N_
from attnviz.model.errors.titles import in_words
from attnviz.model.io.carriers.table import carries
from attnviz.model.io.files import SURVEY_SUFFIX
from attnviz.model.io.stand_in import SUFFIXES as STAND_IN_SUFFIXES
from attnviz.model.io.titles import as_shown
from attnviz.model.sites.titles import label_among_several
from attnviz.model.spec.document import Document

PATIENCE_S = 0.25
"""Longest time that closing waits for stages of all workers."""
ESC_APART_S = 1.0
"""Time after an Esc that ended something in which another one does not leave the document."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_OPENED = (*OPENED, LESSON_SUFFIX, SURVEY_SUFFIX, *STAND_IN_SUFFIXES)


class Window(QMainWindow):
    """Everything a person sees. Owns the store, the live loop and the scheduler, and ends them."""

    def __init__(self, document: Document, settings: Settings, *, inline: bool = False) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowIcon(app_icon())
        self.setDockNestingEnabled(True)
        # A narrower window gets another arrangement: the present one must not keep it from shrinking.
        layout = self.layout()
        assert layout is not None
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self.setMinimumSize(SMALLEST_SIZE)
        self.setContentsMargins(GRID, 0, GRID, 0)
        self.setAcceptDrops(True)
        self.settings = settings
        self._freed_at = -ESC_APART_S
        # Not the window: no service leads to it. And not nobody: a worker that ends last would destroy them.
        self._shelf = shelf = QObject()
        self.bridge = Bridge(shelf)
        workers = (Scheduler(self.bridge.post, inline=inline) for _worker in fields(Schedulers))
        self.store = Store(document, shelf)
        schedulers = Schedulers(*workers)
        self.documents = Documents(self.store, schedulers.run, settings, shelf)
        self.services = Services(self.store, schedulers, self.documents, settings, Status(shelf))
        self.ended_cleanly = True
        self._may_close = False
        """True once the documents are saved, or may be lost."""
        self._problem: Message | None = None
        """Why the present state has no numbers."""
        self._asking = QTimer(self)
        self._asking.setSingleShot(True)
        self._asking.setInterval(0)
        self._asking.timeout.connect(self.ask_to_close)
        self.live = Live(self.store, schedulers.run, self)
        self._idle = IdleLive(self.store, schedulers.run, self)
        self.decode_live = DecodeLive(self.store, self.live, schedulers.answers, self)
        self.uncached_live = UncachedLive(self.store, schedulers.answers, self)
        self.gradient_live = GradientLive(self.store, self.live, schedulers.answers, self)
        self.follow_live = FollowLive(self.store, schedulers.answers, self)
        self.commands = Commands(self)
        self._focus = Focus(self, self.leave)
        self.docks = Docks()
        self._make_docks()
        self._making = Making(self, self.services, self.docks)
        self._making.made.connect(self._on_made)
        self._making.started.connect(self._on_started)
        self.top_bar = TopBar(self.store, self.commands)
        self.status = StatusLine(self.store, self.live, self.services.status)
        self.setStatusBar(self.status)
        self.jobs = JobLine(tuple(schedulers))
        self.status.addPermanentWidget(self.jobs)
        self.keeping = Keeping(self, self.services, self.bridge.post, inline=inline)
        self.setMenuWidget(self._head())
        self.resize(first_size(self.screen().availableSize()))
        self.store.head_names.keep_in(settings)
        self.store.set_following(settings["follow"])
        self.commands["follow_player"].setChecked(settings["follow"])
        self.restoreGeometry(QByteArray(settings.geometry()))
        self.workspaces = Workspaces(self, self.docks, settings)
        self.more = More(self, self.docks, self.workspaces)
        self.more.wanted.connect(self.commands["panels"].trigger)
        self.surface = self._surface()
        self.lesson_live = LessonLive(self, self.surface)
        self.start_page = Start(self, self.surface, self.lesson_live.progress)
        self.current = Current(self, self.docks, self.workspaces)
        self.presentation = Presentation(self, self.surface, self.top_bar, self.current)
        self.handlers = Handlers(
            self,
            self.surface,
            self.presentation,
            self.jobs,
            self.start_page,
            self.lesson_live,
            self.top_bar.chooser_anchor,
        )
        self.commands.obey(self.handlers)
        menus = Menus(self.surface, self.handlers, self)
        self.commands.fill(self.top_bar.menus, menus.extend)
        self._connect()
        self._hide_empty()
        self._left = settings.document()
        self._choose_opening()
        self.workspaces.start()
        self.top_bar.show_workspace(self.workspaces.present.id)
        retranslate(self)
        self.setFocus()  # not the first control of the bar

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels that exist, by id; one that does not exist yet is made at its first use."""
        return self._making.panels

    # --- building

    def _make_docks(self) -> None:
        for row in PANELS:
            if row.within:
                continue
            parts = sharing(row.id)
            dock = PanelDock({part.id: Room(part.framed, bool(part.width)) for part in parts}, self)
            self.docks[row.id] = says(dock, row.tab or row.title)
            if dock.switch is not None:
                options = [(part.id, part.part or part.title, part.help) for part in parts]
                says(dock.switch, id=f"{row.id}_parts", name=N_("Part of the panel"), options=options)

    def _surface(self) -> Surface:
        """The parts that commands act on. Its acts are those of the handlers, which are made with it."""
        return Surface(
            self.services,
            self.commands,
            self._making.panels,
            self.docks,
            self.workspaces,
            self._making.make_rest,
            lambda row, **chosen: self.handlers.export(row, **chosen),
            lambda target: self.handlers.what_is_this.explain(target),
            lambda: self.handlers.apply_preferences(),
        )

    def _head(self) -> QWidget:
        """The bar, and below it the question that waits: it moves the panels down and covers none."""
        head = QWidget()
        in_column(head, self.top_bar, self.keeping.card, spacing=0)
        return head

    def _connect(self) -> None:
        self.top_bar.chosen.connect(self.workspaces.switch)
        self.workspaces.switched.connect(self.top_bar.show_workspace)
        self.workspaces.switched.connect(self._on_workspace)
        self.top_bar.tab_clicked.connect(self.start_page.leave)
        self.start_page.left.connect(self.leave)
        self.store.changed.connect(self._on_changed)
        self.store.opened.connect(self._choose_opening)
        self.store.history_changed.connect(self._on_history)
        self.store.run_opened.connect(self._on_run)
        self.store.rejected.connect(self.status.warn)
        self.live.failed.connect(self.status.warn)
        self.live.failed.connect(self._on_stale)
        self.live.late.connect(self._on_stale)
        self.store.traced.connect(self._on_trace)
        self.store.noticed.connect(self.services.status.tell)
        self.store.engine_chosen.connect(self._on_engine)
        self.live.noticed.connect(self.status.warn)
        self.decode_live.failed.connect(self.status.warn)
        self.follow_live.failed.connect(self.status.warn)
        self.documents.failed.connect(self.status.warn)
        self.documents.said.connect(self.status.say)
        self.documents.file_chosen.connect(self.open_file)

    def start(self) -> None:
        """Make all panels, show the document in them, and run it for the first time."""
        self.begin()
        self.complete()

    def begin(self, *, in_pauses: bool = True) -> None:
        """Make the panels in sight, and run the document for the first time.

        Apart from the constructor, so that the window can be on the screen before its panels are imported.
        A panel that comes into sight is made then. Once the first numbers are shown the others follow one by
        one, with `in_pauses`, or at once with `complete`.
        """
        self._making.make_seen()
        self.retranslate()
        self._watch_menus()
        self._on_history()
        self.handlers.show_caption()
        if self.workspaces.is_opening:
            self.leave()
        else:
            self.setFocus()
        if in_pauses:
            self.store.traced.connect(self._on_first_trace)
        self.store.choose_engine(self.settings["engine"], self.settings["device"])

    @Slot(str)
    def _on_made(self, id_: str) -> None:
        """Connect a new panel with what else stands in the window."""
        panel = self.panels[id_]
        panel.set_plain(self.workspaces.present.is_plain)
        panel.command_wanted.connect(self._run)
        panel.front_wanted.connect(partial(self._bring, id_))
        watches = {
            "compare": self._watch_comparisons,
            "lesson": self._watch_lessons,
            "patching": self._show_pinned,
            "glance": self._watch_glance,
        }
        if id_ in watches:
            watches[id_]()

    def _bring(self, id_: str) -> None:
        """Show a panel in front of others, in a workspace where it stands."""
        self.start_page.leave()
        self.workspaces.switch(PANEL_BY_ID[id_].workspaces[0])
        self.workspaces.show_panel(id_)

    @Slot()
    def _on_run(self) -> None:
        """Show a run that was opened, under the start page where that is shown over the document."""
        is_covered = self.start_page.is_shown
        self._bring("training")
        if is_covered:
            self.start_page.show()

    @Slot(str)
    def _run(self, command: str) -> None:
        self.commands[command].trigger()

    @Slot(str)
    def _on_started(self, panel: str) -> None:
        self.handlers.what_is_this.dress(self.docks[panel])

    @Slot(object)
    def _on_first_trace(self, trace: object) -> None:
        self.store.traced.disconnect(self._on_first_trace)
        self._making.make_in_pauses()

    @Slot()
    def complete(self) -> bool:
        """Make what is missing, and connect it; False before the window has begun."""
        return self._making.make_rest()

    def _watch_menus(self) -> None:
        from attnviz.gui.context.menu import ContextMenus

        ContextMenus(self, self.surface)

    def _watch_comparisons(self) -> None:
        from attnviz.gui.panels.compare.compare import ComparePanel

        panel = self.panels["compare"]
        assert isinstance(panel, ComparePanel)
        panel.pinning.changed.connect(self._show_pinned)
        panel.export_wanted.connect(self._export_comparison)
        self._show_pinned()

    def _watch_glance(self) -> None:
        from attnviz.gui.panels.glance.glance import GlancePanel

        panel = self.panels["glance"]
        assert isinstance(panel, GlancePanel)
        panel.fold_wanted.connect(self._on_fold)
        panel.opened.connect(self._on_number_opened)
        panel.enlarge_wanted.connect(partial(self.workspaces.toggle_enlarged, "glance"))
        self.workspaces.enlarged_changed.connect(lambda id_: panel.set_enlarged(id_ == "glance"))

    @Slot(bool)
    def _on_fold(self, is_folded: bool) -> None:
        """Give the workspace to the first glance, or to its panels, now and in later documents."""
        remember(self.settings, is_folded=is_folded)
        self.workspaces.set_opening(not is_folded)
        self.leave()

    @Slot()
    def _on_number_opened(self) -> None:
        self.workspaces.open_here("inspector")

    @Slot()
    def _choose_opening(self) -> None:
        is_again = bool(self._left) and self.documents.origin == self._left
        rule = opens_again if is_again else opens
        self.workspaces.set_opening(rule(self.settings, self.store.document))

    def _watch_lessons(self) -> None:
        from attnviz.gui.panels.lesson.lesson import LessonPanel

        panel = self.panels["lesson"]
        assert isinstance(panel, LessonPanel)
        self.lesson_live.watch(panel)

    @Slot(str, str, str)
    def _export_comparison(self, stage: str, alignment: str, of_a: str) -> None:
        self.handlers.export("comparison", stage=stage, alignment=alignment, of_a=of_a)

    @Slot()
    def _show_pinned(self) -> None:
        """Give the pinned state A to the patching, once both panels exist."""
        from attnviz.gui.panels.compare.compare import ComparePanel
        from attnviz.gui.panels.patching import PatchingPanel

        panel, compare = self.panels.get("patching"), self.panels.get("compare")
        if isinstance(panel, PatchingPanel) and isinstance(compare, ComparePanel):
            pinned = compare.pinning.pinned
            panel.set_pinned(None if pinned is None else pinned.experiment)

    # --- text, colours, layout

    def retranslate(self) -> None:
        """Set the texts that depend on the state of the window, in the present language."""
        self.start_page.retranslate()
        self.more.retranslate()
        self.status.hint(self.start_page.keys())
        if self.panels:
            self.handlers.what_is_this.dress()
        self._show_problem()
        self._show_title()

    def apply_theme(self, theme: Theme) -> None:
        """Recolour what style sheets do not reach; widgets below are told by `apply_style`."""
        self.commands.apply_theme(theme)
        self.commands["dark"].setChecked(theme.is_dark)

    def _show_title(self) -> None:
        document = self.store.document
        name = visible(self.store.path.name) if self.store.path else as_shown(document.title)
        mark = " •" if self.store.is_modified else ""
        where = label_among_several(document.experiment, document.site)
        parts = [f"{name or 'attnviz'}{mark}", where, "attnviz" if name else ""]
        self.setWindowTitle(" — ".join(part for part in parts if part))

    # --- what happens

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.title != new.title or old.site != new.site:
            self._show_title()
        if old.experiment is not new.experiment:
            self._hide_empty()
        self.commands["transpose"].setChecked(new.view.orientation == "queries_as_columns")

    def _hide_empty(self) -> None:
        """Hide the panels that have nothing to show of this experiment."""
        experiment = self.store.experiment
        empty = (row.id for row in PANELS if not row.has_content(experiment))
        self.workspaces.hide(frozenset(empty), "empty")

    @Slot(str, str)
    def _on_engine(self, engine: str, device: str) -> None:
        self.settings["engine"], self.settings["device"] = engine, device

    @Slot(object)
    def _on_stale(self, problem: Message) -> None:
        """The numbers are those of an earlier state, which their panels say until new ones arrive."""
        if problem is LATE and self.store.trace is None:
            return  # the first ones are on their way
        self._problem = problem
        self._show_problem()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        if self._problem is not None:
            self._problem = None
            self._show_problem()

    def _show_problem(self) -> None:
        reason = "" if self._problem is None else in_words(self._problem)
        for row in PANELS:
            if row.computed:
                self.docks[row.id].set_stale(row.id, reason, is_wrong=self._problem is not LATE)

    @Slot()
    def _on_history(self) -> None:
        self.commands["undo"].setEnabled(self.store.can_undo)
        self.commands["redo"].setEnabled(self.store.can_redo)
        self._show_title()

    @Slot(str)
    def _on_workspace(self, id_: str) -> None:
        self.status.hint(self.start_page.keys())
        for panel in self.panels.values():
            panel.set_plain(self.workspaces.present.is_plain)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab passes the panels behind a tab: they are visible to Qt.

        Qt itself goes from widget to widget. PySide keeps an object for each one that Python looks at, also
        past the end of the widget.
        """
        first: QWidget | None = None
        while super().focusNextPrevChild(next):
            reached = self.focusWidget()
            if reached is None or reached is first or not self._is_behind(reached):
                self.current.choose_around(reached)
                return True
            first = first or reached
        return False

    def _is_behind(self, widget: QWidget) -> bool:
        """True in a dock of which nothing is in sight, and for the tabs of such docks, off the window."""
        dock = next((one for one in self.docks.values() if one.isAncestorOf(widget)), None)
        if dock is None and isinstance(widget, QTabBar):
            return widget.visibleRegion().isEmpty()
        return dock is not None and dock.visibleRegion().isEmpty()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A key that the control with the focus did not want."""
        if event.key() == Qt.Key.Key_Escape and (self.handlers.may_free or self._is_typing()):
            self._freed_at = time.monotonic()
        did = self._leave_text(event) or self._press_button(event) or self._show_start(event)
        if not (did or self.commands.press(event)):
            super().keyPressEvent(event)

    def _show_start(self, event: QKeyEvent) -> bool:
        """Esc shows the start page where it has nothing else to do; a second one returns.

        One too many, right after it ended something, does nothing.
        """
        is_free = event.key() == Qt.Key.Key_Escape and not event.modifiers()
        if not is_free or self.handlers.may_free or self.lesson_live.is_shown or not self.panels:
            return False
        if time.monotonic() - self._freed_at >= ESC_APART_S:
            self.start_page.show()
        return True

    def _is_typing(self) -> bool:
        return isinstance(self.focusWidget(), DocumentLine | DocumentText)

    def _leave_text(self, event: QKeyEvent) -> bool:
        """Enter and Esc end typing: the focus goes to the map, so that the next Space plays."""
        line, keys = self.focusWidget(), (*_ENTER, Qt.Key.Key_Escape)
        if not isinstance(line, DocumentLine | DocumentText) or event.key() not in keys:
            return False
        if self.jobs.is_shown or line.property("invalid"):
            return False
        self.leave()
        return True

    def leave(self) -> None:
        """Move the focus to the first glance or the map, or to the window itself, where Space plays."""
        if self.start_page.is_shown:
            return
        wanted = "glance" if self.workspaces.is_opening else "stage"
        panel = self.panels.get(wanted)
        target = panel if panel is not None and panel.isVisible() else self
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _press_button(self, event: QKeyEvent) -> bool:
        """Enter presses a button and opens a list, as Space does."""
        focused = self.focusWidget()
        if event.key() not in _ENTER or not isinstance(focused, QAbstractButton | QComboBox):
            return False
        if isinstance(focused, QComboBox):
            focused.showPopup()
        else:
            focused.click()
        return True

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped(event):
            accept_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the file once the event has returned: a dialog inside it would wait for the next drop, whose
        end leaves Qt with a window that is gone."""
        path = _dropped(event)
        if path:
            accept_copy(event)
            self.bridge.post(partial(self.open_file, path))

    @Slot(Path)
    def open_file(self, path: Path) -> None:
        """Open a document, a lesson or a survey in its workspace, or the import of a trained model."""
        if is_model(path):
            self.handlers.import_model(str(path))
        elif path.suffix.lower() == SURVEY_SUFFIX:
            self._bring("survey")
            self.handlers.surveys.open(path)
        elif path.suffix.lower() == LESSON_SUFFIX and not carries(path):
            self.complete()
            self.lesson_live.open_file(path)
        else:
            self.documents.open(path)

    @Slot()
    def ask_to_close(self) -> None:
        """Close, after a question about unsaved documents; in no event of the window system, which must not
        wait for an answer.
        """
        self._asking.stop()
        self._may_close = self.documents.may_close()
        if self._may_close:
            self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not (self._may_close or self.keeping.is_session_ending or self.documents.are_saved):
            event.ignore()
            self._asking.start()
            return
        self.workspaces.keep()
        keep(self.settings, is_open=self.workspaces.shows_openings)
        self.settings.set_document(self.documents.origin)
        self.settings.set_geometry(bytes(self.saveGeometry().data()))
        self.settings.sync()
        self._making.stop()
        self._idle.stop()
        self.bridge.close()
        for scheduler in self.services.schedulers:
            scheduler.close(0)  # all are cancelled before one is waited for
        until = time.monotonic() + PATIENCE_S
        closed = [
            scheduler.close(max(0.0, until - time.monotonic())) for scheduler in self.services.schedulers
        ]
        self.ended_cleanly = all((*closed, self.keeping.close()))
        event.accept()


def _dropped(event: QDropEvent) -> Path | None:
    """The file of a document, a lesson, a survey or a model in the drop event, if it has exactly one."""
    urls = event.mimeData().urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if is_model(path) or path.suffix.lower() in _OPENED else None

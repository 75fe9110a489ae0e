"""The tool bar: preset, undo, engine, orientation, colours, language, export."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from attnviz.checkpoints.presets import PRESETS
from attnviz.engines.table import ENGINES
from attnviz.gui.live.trace import Live
from attnviz.gui.menus import Commands
from attnviz.gui.store import Store
from attnviz.i18n import _
from attnviz.model.spec.document import Document


class ToolBar(QToolBar):
    """The commands that are used all the time. The engine button shows engine and dtype of the run."""

    def __init__(self, store: Store, live: Live, commands: Commands) -> None:
        super().__init__()
        self.setObjectName("tool_bar")
        self.setMovable(False)
        self.setIconSize(QSize(16, 16))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._store, self._live = store, live
        self.preset_menu = QMenu(self)
        self.preset_menu.setToolTipsVisible(True)
        self._preset = self._menu_button("preset_button", self.preset_menu)
        self.addAction(commands["undo"])
        self.addAction(commands["redo"])
        self._engine_menu = QMenu(self)
        self._engine_menu.setToolTipsVisible(True)
        self._engine_menu.aboutToShow.connect(self._fill_engine_menu)
        self._engine = self._menu_button("engine_button", self._engine_menu)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(spacer)
        for id_ in ("transpose", "dark", "language", "export_figure"):
            self.addAction(commands[id_])
        for id_ in ("transpose", "language", "export_figure"):
            button = self.widgetForAction(commands[id_])
            assert isinstance(button, QToolButton)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setObjectName(f"{id_}_button")
        store.changed.connect(self._on_changed)
        store.traced.connect(self._on_trace)

    def retranslate(self) -> None:
        """Set the texts again, in the present language."""
        self._show_preset()
        self._show_engine()
        self._preset.setAccessibleName(_("Preset"))
        self._engine.setAccessibleName(_("Engine"))

    def _menu_button(self, name: str, menu: QMenu) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.addWidget(button)
        return button

    def _show_preset(self) -> None:
        title = self._store.document.title
        # A document from a file or a model is no preset: the button then shows only its purpose.
        is_preset = any(title == preset.title for preset in PRESETS)
        text = _("Preset: {title}").format(title=_(title)) if is_preset else _("Preset")
        self._preset.setText(text.replace("&", "&&"))

    def _show_engine(self) -> None:
        trace = self._store.trace
        engine = trace.engine if trace else self._live.engine
        label = next(row.label for row in ENGINES if row.id == engine)
        device = "" if trace is None or trace.device == "cpu" else f" {trace.device}"
        self._engine.setText(f"{label}{device} · {self._store.experiment.dtype}")

    @Slot(object, object)
    def _on_changed(self, old: Document, new: Document) -> None:
        if old.title != new.title:
            self._show_preset()

    @Slot(object)
    def _on_trace(self, trace: object) -> None:
        self._show_engine()

    @Slot()
    def _fill_engine_menu(self) -> None:
        self._engine_menu.clear()
        group = QActionGroup(self._engine_menu)
        for row in ENGINES:
            reason = row.unavailable()
            for device in row.devices:
                action = self._engine_menu.addAction(f"{row.label} · {device}")
                action.setCheckable(True)
                action.setChecked((row.id, device) == (self._live.engine, self._live.device))
                action.setEnabled(not reason)
                action.setToolTip(reason)
                action.setData((row.id, device))
                action.triggered.connect(self._on_engine)
                group.addAction(action)

    @Slot()
    def _on_engine(self) -> None:
        engine, device = self.sender().data()  # type: ignore[attr-defined]
        self._live.choose(engine, device)

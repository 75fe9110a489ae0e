"""Choice of the selected attention in a stack: a list of all, and a step in either direction."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QToolButton, QWidget

from attnviz.core.phrases import with_remark
from attnviz.gui.look.words import composed, says
from attnviz.gui.pointer import Pointer
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.toggle import Toggle
from attnviz.i18n import N_
from attnviz.model.edit.layers import why_not_alike
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document

_BESIDE = 40
"""Pixels of the combo box beside its text."""
ARROW = 18


class SiteChooser(QWidget):
    """`‹ layer 2 of 3 · self ›`; `alike` says whether edits apply to all layers, and stands elsewhere.

    Both are hidden for a single attention.
    """

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._told: tuple[str, ...] = ()
        self.setObjectName("site_chooser")
        self._combo = says(Combo(()), id="site_combo", name=N_("Layer and attention"))
        self._combo.changed.connect(self._on_chosen)
        self._before, self._after = QToolButton(), QToolButton()
        row = in_row(self, spacing=2)
        row.addWidget(self._combo, 1)
        for place, button, text, id_, name, key in (
            (0, self._before, "‹", "site_before", N_("Previous layer"), "PgUp"),
            (2, self._after, "›", "site_after", N_("Next layer"), "PgDown"),
        ):
            says(button, id=id_, name=name, tip=composed(with_remark, name, key)).setText(text)
            button.setAutoRaise(True)
            button.setFixedWidth(ARROW)
            row.insertWidget(place, button)
        self._before.clicked.connect(self._on_before)
        self._after.clicked.connect(self._on_after)
        self.alike = says(
            Toggle(""),
            N_("Edit all"),
            id="site_alike_toggle",
            name=N_("Edit all layers"),
            tip=N_("Edits apply to this attention in every layer; seeds stay distinct"),
        )
        self.alike.changed.connect(store.set_edits_alike)
        store.pointer_changed.connect(self._on_pointer)
        self.hide()
        self.alike.hide()

    def show_document(self, document: Document) -> None:
        """List the document's sites and show the selected one."""
        experiment = document.experiment
        names = site_names(experiment)
        labels = tuple(site_label(experiment, name) for name in names)
        if labels != self._told:
            self._told = labels
            self._combo.set_options([(n, label, "") for n, label in zip(names, labels, strict=True)])
        self._combo.set_value(document.site)
        self._before.setEnabled(document.site != names[0])
        self._after.setEnabled(document.site != names[-1])
        self.alike.set_value(self._store.pointer.edits_alike)
        self.alike.set_unavailable(why_not_alike(experiment, document.site) or None)
        self.setVisible(len(names) > 1)
        self.alike.setVisible(len(names) > 1)

    def wanted_width(self) -> int:
        """Pixels with which the longest label is whole; 0 if the chooser is hidden."""
        longest = max(map(self._combo.fontMetrics().horizontalAdvance, self._told), default=0)
        return 0 if self.isHidden() else longest + _BESIDE + 2 * (ARROW + 2)

    def retranslate(self) -> None:
        self._told = ()
        self.show_document(self._store.document)

    @Slot(str)
    def _on_chosen(self, name: str) -> None:
        self._store.look(site=name)

    @Slot(object, object)
    def _on_pointer(self, old: Pointer, new: Pointer) -> None:
        self.alike.set_value(new.edits_alike)

    @Slot()
    def _on_before(self) -> None:
        self._step(-1)

    @Slot()
    def _on_after(self) -> None:
        self._step(1)

    def _step(self, step: int) -> None:
        names = site_names(self._store.experiment)
        index = names.index(self._store.document.site) + step
        self._store.look(site=names[min(max(index, 0), len(names) - 1)])

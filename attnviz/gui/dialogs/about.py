"""The About box: the program, its version, and its foundations."""

from __future__ import annotations

import platform
import sys

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QDialogButtonBox, QHBoxLayout, QLabel, QWidget

from attnviz.core.phrases import named
from attnviz.engines.table import ENGINES
from attnviz.gui.dialogs.dialog import Dialog, column_of
from attnviz.gui.look.icons import app_icon
from attnviz.gui.look.theme import GRID
from attnviz.gui.services.services import Services
from attnviz.i18n import N_, _
from attnviz.version import __version__


class AboutDialog(Dialog):
    """The program, its version, and its foundations."""

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window, services, "about_dialog", N_("About attnviz"))
        picture = QLabel()
        picture.setPixmap(app_icon().pixmap(64, 64))
        text = QLabel(_about_text())
        text.setObjectName("about_text")
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout()
        row.setSpacing(2 * GRID)
        row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(text, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = column_of(self)
        column.addLayout(row)
        column.addWidget(buttons)


def _about_text() -> str:
    engines = [named(row.label, row.unavailable() or _("available")) for row in ENGINES]
    lines = (
        f"attnviz {__version__}",
        _("A workbench for the mechanics of attention."),
        _("Every number on the screen is real, live, and can be opened."),
        "",
        *engines,
        f"Python {sys.version.split()[0]} · Qt {qVersion()} · NumPy {np.__version__} · "
        f"pyqtgraph {pg.__version__} · {platform.system()}",
        "",
        _("MIT licence. Fonts under the SIL Open Font License; see resources/fonts."),
    )
    return "\n".join(lines)

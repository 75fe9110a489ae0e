"""The presets as a menu: a submenu for each group, the sentence of a preset as its tooltip."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from attnviz.checkpoints.presets import grouped_presets
from attnviz.gui.look.words import plain_tooltip
from attnviz.i18n import _
from attnviz.model.captions import plain_caption


def fill_presets(menu: QMenu, chosen: Callable[[], object]) -> None:
    """Fill a menu anew, in the present language; `chosen` is called with the id as the action's data."""
    menu.clear()
    for old in menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
        old.deleteLater()
    for group, presets in grouped_presets():
        part = menu.addMenu(_(group))
        part.setToolTipsVisible(True)
        for preset in presets:
            sentence = plain_caption(_(preset.description))
            action = part.addAction(_(preset.title).replace("&", "&&"))
            action.setObjectName(f"preset_{preset.id}")
            action.setStatusTip(sentence)
            action.setToolTip(plain_tooltip(sentence))
            action.setData(preset.id)
            action.triggered.connect(chosen)

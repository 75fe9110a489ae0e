"""The help for a widget or a target: the innermost part that has a sentence."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QMainWindow, QWidget

from attnviz.explain.formulas.stages import stage_formula
from attnviz.gui.context.target import Target, found_in
from attnviz.gui.help.sources import SOURCES, Source
from attnviz.gui.help.texts import CONTROL_HELP, HEAD_HELP, STAGE_HELP, TOKEN_HELP, Help
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.i18n import _
from attnviz.model.stages import STAGE_BY_ID

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


class Shown(NamedTuple):
    """The texts of a help card, in the present language."""

    title: str
    sentence: str
    formula: str = ""
    source: Source | None = None


def help_at(surface: Surface, widget: QWidget, at: QPointF | None) -> Shown | None:
    """The help for a point of a widget; that of the innermost part that has one."""
    part: QWidget | None = widget
    while part is not None and not isinstance(part, QMainWindow):
        shown = _of_control(part) or _of_target(surface, found_in(surface, part, at)) or _of_tooltip(part)
        panel = next((id_ for id_, dock in surface.docks.items() if dock is part), "")
        if shown is not None or panel:
            return shown or _of_target(surface, Target(panel=panel))
        at = None if at is None else QPointF(part.mapToParent(at.toPoint()))
        part = part.parentWidget()
    return None


def help_of(surface: Surface, target: Target) -> Shown | None:
    """The help for the target of a menu."""
    return _of_target(surface, target)


def stage_help(stage: str) -> Help:
    """The help of a stage: its own, or that of its operation."""
    made_by = STAGE_BY_ID[stage].made_by
    return STAGE_HELP.get(stage) or Help(made_by.help, made_by.cites)


def _of_target(surface: Surface, target: Target) -> Shown | None:
    if target.head >= 0 and target.cell is None:
        return _shown(_("Head {number}").format(number=target.head + 1), HEAD_HELP)
    if target.stage:
        formula = stage_formula(surface.store.attention, target.stage)
        return _shown(_(STAGE_BY_ID[target.stage].title), stage_help(target.stage), formula)
    if target.token >= 0:
        return _shown(_("Token"), TOKEN_HELP)
    if target.panel:
        row = PANEL_BY_ID[target.panel]
        return _shown(_(row.title), Help(row.help, row.cites))
    return None


def _of_control(widget: QWidget) -> Shown | None:
    help_ = CONTROL_HELP.get(widget.objectName())
    return None if help_ is None else _shown(widget.accessibleName(), help_)


def _of_tooltip(widget: QWidget) -> Shown | None:
    """A control whose tooltip is its sentence."""
    sentence = unescape(re.sub(r"<[^>]*>", "", widget.toolTip())).strip()
    if not sentence:
        return None
    return Shown(widget.accessibleName() or _("This control"), sentence)


def _shown(title: str, help_: Help, formula: str = "") -> Shown:
    return Shown(title, _(help_.sentence), formula, SOURCES.get(help_.source))

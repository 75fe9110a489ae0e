"""The right-click menu of every panel: those of `ROWS` that apply to the target under the pointer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, QPoint, QPointF, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from attnviz.core.text import isolated
from attnviz.gui.context.target import Target, target_at
from attnviz.gui.panels.stage.gradients import target_of
from attnviz.gui.panels.table import PANEL_BY_ID
from attnviz.gui.widgets.numbers.text import full_precision
from attnviz.gui.widgets.panel_dock import PanelDock
from attnviz.i18n import N_, _
from attnviz.model.edit import edits
from attnviz.model.masks import mask_of
from attnviz.model.sites.sites import place_of, site_names
from attnviz.model.spec.parts import Padding
from attnviz.model.spec.target import TargetLoss
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import shown_token, written_tokens

if TYPE_CHECKING:
    from attnviz.gui.commands.surface import Surface


@dataclass(frozen=True)
class ContextRow:
    """One entry: it stands in the menu of a target to which it `applies`."""

    id: str
    text: Callable[[Surface, Target], str]
    applies: Callable[[Surface, Target], bool]
    run: Callable[[Surface, Target], object]
    separated: bool = False


def value_of(surface: Surface, cell: Cell) -> float | None:
    """The number in a cell; None where the shown trace does not have the cell."""
    trace = surface.store.drawn_trace
    if trace is None or (cell.site and cell.site not in trace.sites):
        return None
    site = trace.shown(cell.site or surface.store.document.view.site)
    if cell.stage not in site.stages:
        return None
    *_heads, rows, columns = site.shape(cell.stage)
    if cell.row >= rows or cell.column >= columns:
        return None
    part = slice(cell.row, cell.row + 1), slice(cell.column, cell.column + 1)
    return float(site.window(cell.stage, cell.head, *part)[0, 0])


# --- cells


def _has_value(surface: Surface, target: Target) -> bool:
    return target.cell is not None and value_of(surface, target.cell) is not None


def _copy_text(surface: Surface, target: Target) -> str:
    return _("Copy {value}").format(value=_digits(surface, target))


def _copy(surface: Surface, target: Target) -> None:
    QGuiApplication.clipboard().setText(_digits(surface, target))


def _digits(surface: Surface, target: Target) -> str:
    assert target.cell is not None
    value = value_of(surface, target.cell)
    return "" if value is None else full_precision(value)


def _explain(surface: Surface, target: Target) -> None:
    _lock(surface, target.cell)
    surface.workspaces.show_panel("inspector")


def _differentiate(surface: Surface, target: Target) -> None:
    assert target.cell is not None
    site = target.cell.site or surface.store.document.site
    surface.store.look(target=target_of(surface.store, replace(target.cell, site=site)), quantity="gradient")


def _loss_position(surface: Surface, target: Target) -> int:
    """The position of a token, or of the row of a cell, if another token follows: it has a loss; else −1."""
    trace, cell = surface.store.trace, target.cell
    if trace is None or "logits" not in trace.site(trace.sites[-1]).stages:
        return -1
    position = target.token if cell is None else cell.row
    if cell is not None and STAGE_BY_ID[cell.stage].axes[-2] not in ("query", "token"):
        return -1
    here = (cell.site if cell is not None else "") or surface.store.document.site
    is_same_text = here.partition(".")[0] == trace.sites[-1].partition(".")[0]
    return (
        position if is_same_text and position < trace.site(trace.sites[-1]).experiment.n_queries - 1 else -1
    )


def _has_loss(surface: Surface, target: Target) -> bool:
    return _loss_position(surface, target) >= 0


def _ask_loss_text(surface: Surface, target: Target) -> str:
    trace = surface.store.trace
    assert trace is not None  # the row is offered for a text with a loss
    tokens = trace.site(trace.sites[-1]).experiment.tokens
    token = shown_token(trace.experiment.vocabulary, tokens[_loss_position(surface, target)])
    return _("Which token changes the loss at “{token}” most?").format(token=isolated(token))


def _ask_loss(surface: Surface, target: Target) -> None:
    """The loss at this place becomes the target, and Gradients shows a bar for each token."""
    from attnviz.gui.panels.gradients.gradients import TOKENS, GradientsPanel

    position = _loss_position(surface, target)
    surface.store.look(target=str(TargetLoss(position)), quantity="gradient", query=position, locked=None)
    surface.workspaces.show_panel("gradients")
    panel = surface.panels["gradients"]
    assert isinstance(panel, GradientsPanel)
    panel.choose(TOKENS)


def _set_by_hand(surface: Surface, target: Target) -> None:
    """Lock the cell, and put the focus on the number that the inspector sets."""
    from attnviz.gui.panels.inspector.inspector import InspectorPanel

    _lock(surface, target.cell)
    surface.workspaces.show_panel("inspector")
    panel = surface.panels["inspector"]
    assert isinstance(panel, InspectorPanel)
    panel.set_by_hand()


def _may_set(surface: Surface, target: Target) -> bool:
    return _has_value(surface, target) and surface.store.document.view.quantity == "value"


def _is_locked(surface: Surface, target: Target) -> bool:
    return target.cell is not None and surface.store.document.view.locked == target.cell


def _toggle_lock(surface: Surface, target: Target) -> None:
    _lock(surface, None if _is_locked(surface, target) else target.cell)


def _lock(surface: Surface, cell: Cell | None) -> None:
    store = surface.store
    if cell is None:
        store.look(locked=None)
        return
    view, document = store.document.view, store.document
    query = cell.row if STAGE_BY_ID[cell.stage].axes[-2] in ("query", "token") else view.query
    is_elsewhere = cell.site not in ("", document.site) and cell.site in site_names(document.experiment)
    site = cell.site if is_elsewhere else view.site
    store.look(site=site, locked=replace(cell, site=""), query=query)


def _lock_text(surface: Surface, target: Target) -> str:
    return _("Unlock the cell") if _is_locked(surface, target) else _("Lock the cell")


# --- stages and heads


def _is_other_stage(surface: Surface, target: Target) -> bool:
    return bool(target.stage) and target.stage != surface.store.document.view.stage


def _is_thumbnail_of_head(surface: Surface, target: Target) -> bool:
    document = surface.store.document
    is_elsewhere = target.site not in ("", document.site)
    return target.head >= 0 and (is_elsewhere or target.head != document.view.head)


def _head_switch_text(surface: Surface, target: Target) -> str:
    is_off = target.head in surface.store.attention.heads.off
    says = _("Switch head {head} on") if is_off else _("Switch head {head} off")
    return says.format(head=target.head + 1)


def _may_switch(surface: Surface, target: Target) -> bool:
    return (
        target.site in ("", surface.store.document.site)
        and 0 <= target.head < surface.store.attention.heads.n_heads
        and surface.store.attention.heads.n_heads > 1
    )


def _switch_head(surface: Surface, target: Target) -> None:
    surface.store.edit_attention(edits.toggle_head, target.head)


def _show_head_text(surface: Surface, target: Target) -> str:
    return _("Show head {head}").format(head=target.head + 1)


def _show(surface: Surface, target: Target) -> None:
    """Show the stage and the head of a target."""
    view = surface.store.document.view
    head = target.head if target.head >= 0 else view.head
    surface.store.look(stage=target.stage or view.stage, head=head, site=target.site or view.site)


def _may_name(surface: Surface, target: Target) -> bool:
    return target.head >= 0


def _name_head(surface: Surface, target: Target) -> None:
    """Select the head, and put the caret into its name."""
    from attnviz.gui.panels.head import HeadPanel

    surface.store.look(site=target.site or surface.store.document.view.site, head=target.head)
    dock, panel = surface.docks["head"], surface.panels["head"]
    dock.show()
    dock.raise_()
    assert isinstance(panel, HeadPanel)
    panel.edit_name()


def _has_circuits(surface: Surface, target: Target) -> bool:
    return target.head >= 0 and surface.store.experiment.vocabulary is not None


def _show_circuits(surface: Surface, target: Target) -> None:
    """Select the head, and show its circuits."""
    surface.store.look(site=target.site or surface.store.document.view.site, head=target.head)
    surface.workspaces.show_panel("circuits")


def _export(surface: Surface, target: Target) -> None:
    _show(surface, target)
    surface.export("stage")


def _copy_picture(surface: Surface, target: Target) -> None:
    _show(surface, target)
    surface.commands["copy_picture"].trigger()


def _copy_python(surface: Surface, target: Target) -> None:
    surface.commands["copy_python"].trigger()


def _copy_shell(surface: Surface, target: Target) -> None:
    surface.commands["copy_shell"].trigger()


def _pin(surface: Surface, target: Target) -> None:
    """Pin the present state as A, with the stage and the head of the target shown."""
    _show(surface, target)
    surface.commands["pin"].trigger()


def _is_picture(surface: Surface, target: Target) -> bool:
    return bool(target.stage) or target.head >= 0


# --- tokens


def _is_token(surface: Surface, target: Target) -> bool:
    return 0 <= target.token < len(surface.store.experiment.tokens)


def _token(surface: Surface, target: Target) -> str:
    return surface.store.experiment.tokens[target.token]


def _is_padding(surface: Surface, target: Target) -> bool:
    padding = mask_of(surface.store.attention, Padding)
    return padding is not None and target.token in padding.tokens


def _toggle_padding(surface: Surface, target: Target) -> None:
    is_padding = _is_padding(surface, target)
    surface.store.edit_attention(edits.set_padding, target.token, not is_padding)


def _select(surface: Surface, target: Target) -> None:
    surface.store.look(query=target.token)


def _copy_token(surface: Surface, target: Target) -> None:
    tokens = (_token(surface, target),)
    QGuiApplication.clipboard().setText(written_tokens(surface.store.experiment.vocabulary, tokens)[0])


def _copy_token_text(surface: Surface, target: Target) -> str:
    vocabulary = surface.store.experiment.vocabulary
    return _("Copy “{token}”").format(token=shown_token(vocabulary, _token(surface, target)))


def _padding_text(surface: Surface, target: Target) -> str:
    return _("Attend to this token again") if _is_padding(surface, target) else _("Mark as padding")


def _may_be_padding(surface: Surface, target: Target) -> bool:
    return _is_token(surface, target) and surface.store.experiment.memory is None


# --- references


def _may_refer(surface: Surface, target: Target) -> bool:
    """True for a cell of two different tokens of the text, of which one may stand for the other."""
    cell, document = target.cell, surface.store.document
    if cell is None or STAGE_BY_ID[cell.stage].axes[-2:] != ("query", "key"):
        return False
    site = cell.site or document.site
    if site not in site_names(document.experiment):  # a number of the decoding
        return False
    place = place_of(document.experiment, site)
    is_in_text = max(cell.row, cell.column) < document.experiment.n_queries
    return is_in_text and cell.row != cell.column and place.stack != "encoder" and place.kind == "self"


def _refer_text(surface: Surface, target: Target) -> str:
    assert target.cell is not None
    experiment, pair = surface.store.experiment, (target.cell.row, target.cell.column)
    says = (
        _("Remove the reference of “{pronoun}” to “{name}”")
        if pair in experiment.references
        else _("Let “{pronoun}” refer to “{name}”")
    )
    pronoun, name = (isolated(shown_token(experiment.vocabulary, experiment.tokens[at])) for at in pair)
    return says.format(pronoun=pronoun, name=name)


def _refer(surface: Surface, target: Target) -> None:
    assert target.cell is not None
    surface.store.edit(edits.toggle_reference, target.cell.row, target.cell.column)


# --- panels


def _panel_text(surface: Surface, target: Target) -> str:
    return _("Export the panel {panel}…").format(panel=_(PANEL_BY_ID[target.panel].title))


def _export_panel(surface: Surface, target: Target) -> None:
    surface.export("panel", panel=target.panel)


def _explain_target(surface: Surface, target: Target) -> None:
    surface.explain(target)


def _enlarge_text(surface: Surface, target: Target) -> str:
    return _("Restore the panel") if surface.workspaces.enlarged else _("Enlarge the panel")


def _enlarge(surface: Surface, target: Target) -> None:
    surface.workspaces.toggle_enlarged(target.panel)


def _widen_text(surface: Surface, target: Target) -> str:
    return _("Usual width") if surface.workspaces.widened == target.panel else _("Full width")


def _may_widen(surface: Surface, target: Target) -> bool:
    """True for a panel among tabs: one alone in its place has a width of its own."""
    workspaces, dock = surface.workspaces, surface.docks.get(target.panel)
    return dock is not None and len(workspaces.beside(dock)) > 1 and workspaces.may_widen(target.panel)


def _widen(surface: Surface, target: Target) -> None:
    workspaces = surface.workspaces
    workspaces.widen("" if workspaces.widened == target.panel else target.panel)


def _tear_text(surface: Surface, target: Target) -> str:
    is_off = surface.docks[target.panel].isFloating()
    return _("Return the panel to the window") if is_off else _("Tear off the panel")


def _tear_off(surface: Surface, target: Target) -> None:
    surface.workspaces.tear_off(target.panel)


def _is_panel(surface: Surface, target: Target) -> bool:
    return target.panel in PANEL_BY_ID


def _says(message: str) -> Callable[[Surface, Target], str]:
    """The text of a row that is the same for every target."""
    return lambda surface, target: _(message)


ROWS: tuple[ContextRow, ...] = (
    ContextRow("copy_value", _copy_text, _has_value, _copy),
    ContextRow("explain", _says(N_("Explain in the inspector")), _has_value, _explain),
    ContextRow("gradient", _says(N_("Compute the gradient")), _has_value, _differentiate),
    ContextRow("loss", _ask_loss_text, _has_loss, _ask_loss),
    ContextRow("by_hand", _says(N_("Set by hand…")), _may_set, _set_by_hand),
    ContextRow("lock", _lock_text, _has_value, _toggle_lock),
    ContextRow("refer", _refer_text, _may_refer, _refer),
    ContextRow("copy_token", _copy_token_text, _is_token, _copy_token),
    ContextRow("select_query", _says(N_("Select as query")), _is_token, _select),
    ContextRow("padding", _padding_text, _may_be_padding, _toggle_padding),
    ContextRow("show_stage", _says(N_("Show this stage")), _is_other_stage, _show, separated=True),
    ContextRow("show_head", _show_head_text, _is_thumbnail_of_head, _show),
    ContextRow("switch_head", _head_switch_text, _may_switch, _switch_head),
    ContextRow("name_head", _says(N_("Name this head…")), _may_name, _name_head),
    ContextRow("circuits", _says(N_("Show the circuits of this head")), _has_circuits, _show_circuits),
    ContextRow("pin", _says(N_("Pin as A")), _is_picture, _pin),
    ContextRow("export", _says(N_("Export as a figure…")), _is_picture, _export, separated=True),
    ContextRow("copy_picture", _says(N_("Copy picture")), _is_picture, _copy_picture),
    ContextRow("copy_python", _says(N_("Copy as Python")), _is_picture, _copy_python),
    ContextRow("copy_shell", _says(N_("Copy as shell")), _is_picture, _copy_shell),
    ContextRow("help", _says(N_("What is this?")), _is_panel, _explain_target, separated=True),
    ContextRow("enlarge", _enlarge_text, _is_panel, _enlarge),
    ContextRow("widen", _widen_text, _may_widen, _widen),
    ContextRow("tear_off", _tear_text, _is_panel, _tear_off),
    ContextRow("export_panel", _panel_text, _is_panel, _export_panel),
)


class ContextMenus(QObject):
    """Opens a menu wherever a dock asks for one."""

    def __init__(self, window: QWidget, surface: Surface) -> None:
        super().__init__(window)
        self._window, self._surface = window, surface
        for dock in surface.docks.values():
            dock.menu_wanted.connect(self._on_wanted)

    @Slot(QPoint, bool)
    def _on_wanted(self, at: QPoint, is_by_key: bool) -> None:
        dock = self.sender()
        assert isinstance(dock, PanelDock)
        widget = QApplication.focusWidget() if is_by_key else dock.childAt(dock.mapFromGlobal(at))
        if widget is None:
            return
        point = None if is_by_key else QPointF(widget.mapFromGlobal(at))
        self.menu(target_at(self._surface, widget, point)).popup(at)

    def menu(self, target: Target) -> QMenu:
        """The menu of a target."""
        menu = QMenu(self._window)
        menu.setObjectName("context_menu")
        menu.aboutToHide.connect(menu.deleteLater)
        for row in ROWS:
            if row.applies(self._surface, target):
                if row.separated:
                    menu.addSeparator()
                action = menu.addAction(row.text(self._surface, target).replace("&", "&&"))
                action.setObjectName(f"context_{row.id}")
                action.triggered.connect(partial(_run, row.run, self._surface, target))
        return menu


def _run(run: object, surface: Surface, target: Target, checked: bool = False) -> None:
    run(surface, target)  # type: ignore[operator]

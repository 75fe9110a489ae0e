"""Dialogs of the export: a figure with its stage, head, theme, format and a preview; or a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from attnviz.compute.scheduler import CancelToken, Scheduler
from attnviz.figures import FORMATS, figure_bytes, render
from attnviz.figures.all_sites import shared_heads, shared_stages
from attnviz.figures.palette import PALETTES
from attnviz.figures.style import DPI
from attnviz.figures.subject import ALL_SITES
from attnviz.gui.look.theme import GRID
from attnviz.gui.widgets.combo import DropDown
from attnviz.i18n import N_, _
from attnviz.model.errors.titles import in_words
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREVIEW_W, PREVIEW_H = 420, 320
PREVIEW_DPI = 110
LEAST_DPI, MOST_DPI = 36, 1200
ALL_HEADS = "all"

_THEME_TITLES = {"light": N_("Light"), "dark": N_("Dark")}


@dataclass(frozen=True)
class FigureChoice:
    """The user's choice; `head` counts from 0, or is "all".

    `site` is the name of one of several attentions, or "all"; None for a single attention.
    """

    stage: str
    head: int | str
    theme: str
    format_id: str
    dpi: int
    site: str | None = None
    caption: str = ""


def draw_choice(trace: Trace, view: View, choice: FigureChoice) -> Figure:
    """Draw the chosen figure."""
    head: Any = choice.head
    site, theme, caption = choice.site, choice.theme, choice.caption
    return render(trace, view, choice.stage, head, site=site, theme=theme, caption=caption)


class FigureDialog(QDialog):
    """Chooses a figure. The preview is drawn by the worker, so the dialog never waits."""

    def __init__(
        self,
        window: QWidget,
        trace: Trace,
        view: View,
        theme: str,
        scheduler: Scheduler,
        caption: str = "",
    ) -> None:
        super().__init__(window)
        self.setObjectName("export_figure_dialog")
        self.setWindowTitle(_("Export a figure"))
        self._trace, self._view, self._scheduler = trace, view, scheduler
        self._site = _combo("export_site_box", _("Attention"))
        self._stage = _combo("export_stage_box", _("Stage"))
        self._head = _combo("export_head_box", _("Head"))
        self._theme = _combo("export_theme_box", _("Colours"))
        self._format = _combo("export_format_box", _("Format"))
        self._dpi = QSpinBox()
        self._caption_text, self._caption = caption, QCheckBox(_("Below the figure"))
        self._caption.setObjectName("export_caption_check")
        self._preview = QLabel()
        self._fill(theme)
        self._lay_out()
        self._on_site()
        self._site.currentIndexChanged.connect(self._on_site)
        self._stage.currentIndexChanged.connect(self._on_stage)
        self._head.currentIndexChanged.connect(self._draw_preview)
        self._theme.currentIndexChanged.connect(self._draw_preview)
        self._format.currentIndexChanged.connect(self._on_format)
        self._caption.toggled.connect(self._draw_preview)

    @property
    def choice(self) -> FigureChoice:
        """The current choice."""
        return FigureChoice(
            stage=self._stage.currentData(),
            head=self._head.currentData(),
            theme=self._theme.currentData(),
            format_id=self._format.currentData(),
            dpi=self._dpi.value(),
            site=self._site.currentData() if len(self._trace.sites) > 1 else None,
            caption=self._caption_text if self._caption.isChecked() else "",
        )

    def done(self, result: int) -> None:
        """Close; a preview still in progress is dropped."""
        self._scheduler.submit(lambda token: None, lambda nothing: None, _ignore, key="preview")
        super().done(result)

    def _fill(self, theme: str) -> None:
        for name in self._trace.sites:
            self._site.addItem(site_title(self._trace.experiment, name), name)
        if len(self._trace.sites) > 1:
            self._site.addItem(_("all, side by side"), ALL_SITES)
        self._site.setCurrentIndex(self._site.findData(self._trace.shown(self._view.site).name))
        for palette in PALETTES:
            self._theme.addItem(_(_THEME_TITLES[palette.name]), palette.name)
        self._theme.setCurrentIndex(self._theme.findData(theme))
        for row in FORMATS:
            self._format.addItem(row.title, row.id)
        self._dpi.setObjectName("export_dpi_box")
        self._dpi.setAccessibleName(_("Pixels per inch"))
        self._dpi.setRange(LEAST_DPI, MOST_DPI)
        self._dpi.setSingleStep(50)
        self._dpi.setValue(DPI)
        self._dpi.setEnabled(False)
        self._preview.setObjectName("export_preview")
        self._preview.setAccessibleName(_("Preview"))
        self._preview.setFixedSize(PREVIEW_W, PREVIEW_H)
        self._preview.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        rows: list[tuple[str, QWidget]] = []
        if len(self._trace.sites) > 1:
            rows.append((_("Attention"), self._site))
        rows += [
            (_("Stage"), self._stage),
            (_("Head"), self._head),
            (_("Colours"), self._theme),
            (_("Format"), self._format),
            (_("Pixels per inch"), self._dpi),
        ]
        if self._caption_text:
            rows.append((_("Caption"), self._caption))
        for label, control in rows:
            form.addRow(label, control)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        save = buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.AcceptRole)
        save.setObjectName("export_save_button")
        save.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.setSpacing(3 * GRID)
        row.addLayout(form)
        row.addWidget(self._preview, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        column.setSpacing(2 * GRID)
        column.addLayout(row)
        column.addWidget(buttons)

    @Slot()
    def _on_site(self) -> None:
        """Offer the stages of this attention, or those common to all."""
        of_all = self._site.currentData() == ALL_SITES
        stages = shared_stages(self._trace) if of_all else self._chosen().stages
        wanted = self._stage.currentData() or self._view.stage
        self._stage.blockSignals(True)
        self._stage.clear()
        for stage in stages:
            self._stage.addItem(_(STAGE_BY_ID[stage].title), stage)
        self._stage.setCurrentIndex(self._stage.findData(wanted if wanted in stages else "weights"))
        self._stage.blockSignals(False)
        self._on_stage()

    def _chosen(self) -> SiteTrace:
        """The chosen attention; the selected one if all are chosen."""
        name = self._site.currentData()
        return self._trace.shown(self._view.site if name == ALL_SITES else name)

    @Slot()
    def _on_stage(self) -> None:
        """Offer the heads of this stage."""
        of_all = self._site.currentData() == ALL_SITES
        site, stage = self._chosen(), self._stage.currentData()
        row = STAGE_BY_ID[stage]
        count = site.shape(stage)[0] if row.per_head else 1
        if of_all:
            count = shared_heads(self._trace)
        was_all = self._head.currentData() == ALL_HEADS
        self._head.blockSignals(True)
        self._head.clear()
        name = _("KV head {head}") if row.per_head and row.axes[0] == "kv_head" else _("head {head}")
        for head in range(count):
            self._head.addItem(name.format(head=head + 1), head)
        if count > 1 and not of_all:
            self._head.addItem(_("all heads"), ALL_HEADS)
        present = min(shown_head(site.experiment, self._view, stage), count - 1)
        keeps_all = was_all and self._head.findData(ALL_HEADS) >= 0
        self._head.setCurrentIndex(self._head.findData(ALL_HEADS) if keeps_all else present)
        self._head.setEnabled(count > 1)
        self._head.blockSignals(False)
        self._draw_preview()

    @Slot()
    def _on_format(self) -> None:
        self._dpi.setEnabled(self._format.currentData() == "png")

    @Slot()
    def _draw_preview(self) -> None:
        trace, view, choice = self._trace, self._view, self.choice
        ratio = self.devicePixelRatioF()

        def job(token: CancelToken) -> bytes:
            figure = draw_choice(trace, view, choice)
            token.check()
            return figure_bytes(figure, "png", dpi=round(PREVIEW_DPI * ratio))

        self._scheduler.submit(job, self._show_preview, self._show_no_preview, key="preview")

    def _show_preview(self, png: bytes) -> None:
        picture = QPixmap()
        picture.loadFromData(png)
        ratio = self.devicePixelRatioF()
        room = self._preview.size() * ratio
        if picture.width() > room.width() or picture.height() > room.height():
            picture = picture.scaled(
                room, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        picture.setDevicePixelRatio(ratio)
        self._preview.setPixmap(picture)

    def _show_no_preview(self, error: BaseException) -> None:
        self._preview.setText(_("No preview: {reason}").format(reason=in_words(error)))


class PanelDialog(QDialog):
    """Chooses a panel by its title, and a format."""

    def __init__(self, window: QWidget, titles: dict[str, str], present: str) -> None:
        super().__init__(window)
        self.setObjectName("export_panel_dialog")
        self.setWindowTitle(_("Export a panel"))
        self._panel = _combo("export_panel_box", _("Panel"))
        for id_, title in titles.items():
            self._panel.addItem(title, id_)
        self._panel.setCurrentIndex(max(0, self._panel.findData(present)))
        self._format = _combo("export_panel_format_box", _("Format"))
        for row in FORMATS:
            self._format.addItem(row.title, row.id)
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.addRow(_("Panel"), self._panel)
        form.addRow(_("Format"), self._format)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.AcceptRole).setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        column.setSpacing(2 * GRID)
        column.addLayout(form)
        column.addWidget(buttons)

    @property
    def panel_id(self) -> str:
        """The id of the chosen panel."""
        return str(self._panel.currentData())

    @property
    def format_id(self) -> str:
        """The chosen format."""
        return str(self._format.currentData())


def _combo(name: str, title: str) -> QComboBox:
    combo = DropDown()
    combo.setObjectName(name)
    combo.setAccessibleName(title)
    return combo


def _ignore(error: BaseException) -> None:
    """Ignore the error of a replaced preview."""

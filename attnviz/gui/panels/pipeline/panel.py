"""The pipeline strip: a thumbnail for every stage of the trace, in data-flow order."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from attnviz.gui.look.fonts import ui_font
from attnviz.gui.look.theme import GRID, LIGHT, Theme
from attnviz.gui.panels.panel import Panel
from attnviz.gui.panels.pipeline.sites import SiteChooser
from attnviz.gui.stage_heat import highlight
from attnviz.gui.store import Store
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.explain.formulas.stages import stage_axes, stage_formula, stage_operation
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell, shown_head
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace

SIDE = 42


class PipelinePanel(Panel):
    """Clicking a thumbnail opens its stage; the stages of the hovered cell's sources are outlined."""

    follows = ("stage", "head", "orientation", "locked")
    follows_player = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._thumbnails: dict[str, Thumbnail] = {}
        self._steps: dict[str, _Step] = {}
        self._shown: tuple[str, ...] = ()
        self._strip = QWidget()
        self._row = QHBoxLayout(self._strip)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(0)
        self._row.addStretch(1)
        self._scroll = clear_scroll(self._strip, sideways=True)
        self._scroll.setObjectName("pipeline_scroll")
        self._scroll.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # Where a thumbnail stands is known once the strip has been laid out, which Qt does later.
        self._laid_out = QTimer(self)
        self._laid_out.setSingleShot(True)
        self._laid_out.setInterval(0)
        self._laid_out.timeout.connect(self._bring_into_sight)
        self.sites = SiteChooser(store)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self.sites)
        layout.addWidget(self._scroll, 1)

    def on_document(self, old: Document | None, new: Document) -> None:
        self.sites.show_document(new)
        if old is None or self.store.trace is None:
            return
        if old.view.stage != new.view.stage:
            self._select()
        if old.view.locked != new.view.locked:
            self._light(self.store.shown_site)
        if (old.view.head, old.view.orientation) != (new.view.head, new.view.orientation):
            self._paint(self.store.shown_site)

    def on_trace(self, trace: Trace) -> None:
        self._paint(self.store.shown_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.shown_site)

    def on_stage_hover(self, stage: str) -> None:
        for name, thumbnail in self._thumbnails.items():
            thumbnail.set_pointed(name == stage)

    def retranslate(self) -> None:
        self.sites.retranslate()
        for stage in self._shown:
            self._caption(stage)
            if self.store.trace is not None and stage in self.store.shown_site.stages:
                self._steps[stage].set_text(operation(self.store.shown_site, stage))
        self.setAccessibleName(_("Pipeline"))

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        for step in self._steps.values():
            step.apply_theme(theme)

    def _arrange(self, stages: tuple[str, ...]) -> None:
        """Show the thumbnails of these stages; those that are not used wait hidden."""
        for widget in (*self._steps.values(), *self._thumbnails.values()):
            self._row.removeWidget(widget)
            widget.hide()
        for place, stage in enumerate(stages):
            thumbnail = self._thumbnails.get(stage) or self._made(stage)
            step = self._steps[stage]
            self._row.insertWidget(2 * place, step)
            self._row.insertWidget(2 * place + 1, thumbnail)
            step.setVisible(place > 0)
            thumbnail.show()
        self._shown = stages
        self._scroll.setFixedHeight(self._strip.sizeHint().height() + 8)
        self._select()

    def _made(self, stage: str) -> Thumbnail:
        thumbnail = Thumbnail(SIDE)
        thumbnail.setObjectName(f"stage_{stage}")
        thumbnail.setProperty("stage", stage)
        thumbnail.apply_theme(self.theme)
        thumbnail.clicked.connect(self._on_clicked)
        thumbnail.walked.connect(self._on_walked)
        thumbnail.pointed.connect(self._on_pointed)
        self._thumbnails[stage] = thumbnail
        self._steps[stage] = _Step()
        self._steps[stage].apply_theme(self.theme)
        return thumbnail

    def _paint(self, site: SiteTrace) -> None:
        view = self.store.document.view
        transposed = view.orientation == "queries_as_columns"
        if site.stages != self._shown:  # also where site and head change in one look
            self._arrange(site.stages)
        for stage in self._shown:
            row = STAGE_BY_ID[stage]
            values, hidden = site.overview(stage, shown_head(site.experiment, view, stage))
            shape = site.shape(stage)[-2:]
            self._thumbnails[stage].set_values(values, row.signed, hidden, transposed=transposed, shape=shape)
            self._steps[stage].set_text(operation(site, stage))
            self._caption(stage)
        self._light(site)

    def _light(self, site: SiteTrace) -> None:
        view, focus = self.store.document.view, self.store.focus
        for stage in self._shown:
            self._thumbnails[stage].set_lit(highlight(site, view, stage, focus))

    def _caption(self, stage: str) -> None:
        row = STAGE_BY_ID[stage]
        shape = ""
        if self.store.trace is not None and stage in self.store.shown_site.stages:
            shape = " × ".join(map(str, self.store.shown_site.shape(stage)))
        formula = stage_formula(self.store.attention, stage)
        self._thumbnails[stage].set_caption(_(row.title), f"{formula}\n{stage_axes(stage)} = {shape}")

    def _select(self) -> None:
        chosen = self.store.document.view.stage
        for stage, thumbnail in self._thumbnails.items():
            thumbnail.set_selected(stage == chosen)
        shown = [self._thumbnails[stage] for stage in self._shown]
        rove(shown, self._shown.index(chosen) if chosen in self._shown else -1)
        self._laid_out.start()

    @Slot()
    def _bring_into_sight(self) -> None:
        chosen = self.store.document.view.stage
        if chosen in self._shown:
            self._scroll.ensureWidgetVisible(self._thumbnails[chosen], 60, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._laid_out.start()

    @Slot(bool)
    def _on_pointed(self, is_pointed: bool) -> None:
        self.store.set_stage_hover(self.sender().property("stage") if is_pointed else "")

    @Slot(int)
    def _on_walked(self, step: int) -> None:
        """An arrow key: open the next stage of the strip."""
        place = self._shown.index(self.sender().property("stage")) + step
        if 0 <= place < len(self._shown):
            self.store.look(stage=self._shown[place])

    @Slot()
    def _on_clicked(self) -> None:
        self.store.look(stage=self.sender().property("stage"))


def operation(site: SiteTrace, stage: str) -> str:
    """The step that leads to a stage, with this experiment's numbers in it."""
    experiment = site.experiment
    if stage == "scaled":
        sign, _number, written = experiment.scale.step(experiment.d_qk)
        heat = "" if experiment.temperature == 1.0 else f"÷{experiment.temperature:.3g}"
        return " ".join(part for part in (sign + written, heat) if part)
    if stage == "dropped":
        return f"p = {experiment.dropout.p:g}"
    return stage_operation(experiment, stage)


class _Step(QWidget):
    """A small arrow with the operation above it."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._theme = LIGHT
        self._font = ui_font(9)
        self.setFont(self._font)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    @property
    def text(self) -> str:
        """The operation's label."""
        return self._text

    def set_text(self, text: str) -> None:
        """Write another label."""
        if text != self._text:
            self._text = text
            self.updateGeometry()
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take the colours of `theme`."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(max(16, self.fontMetrics().horizontalAdvance(self._text) + 2), SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.muted))
        painter.setFont(self._font)
        middle = SIDE / 2 + 2
        text_rect = self.rect().adjusted(0, 0, 0, 0)
        text_rect.setBottom(int(middle - 3))
        painter.drawText(text_rect, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, self._text)
        left, right = self.width() / 2 - 7, self.width() / 2 + 7
        painter.drawLine(QPointF(left, middle + 3), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle), QPointF(right, middle + 3))
        painter.drawLine(QPointF(right - 3, middle + 6), QPointF(right, middle + 3))

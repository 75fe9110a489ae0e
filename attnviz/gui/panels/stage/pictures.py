"""The pictures of a stage: the map, or in its place lines between words, or the patches of an image."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from attnviz.gui.look.theme import Theme
from attnviz.gui.panels.stage.seen import Seen
from attnviz.gui.widgets.boxes import in_row
from attnviz.gui.widgets.heat.map import HeatContent, HeatMap
from attnviz.gui.widgets.heat.stages import stage_content, stage_title
from attnviz.gui.widgets.lines.view import WordLinesView
from attnviz.gui.widgets.pictures.patches import PatchesView, PatchPictures
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import _
from attnviz.model.links import word_lines
from attnviz.model.sites.stages import has_names
from attnviz.model.stages import STAGE_BY_ID


class StagePictures(QWidget):
    """One of the pictures is in sight; all of them point at cells and choose them."""

    cell_hovered = Signal(int, int)
    cell_clicked = Signal(int, int)
    query_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = HeatMap()
        self.map.setObjectName("stage_map")
        self.map.cell_hovered.connect(self.cell_hovered)
        self.map.cell_clicked.connect(self.cell_clicked)
        self._words, self._patches = WordLinesView(), PatchesView()
        for view in (self._words, self._patches):
            view.query_clicked.connect(self.query_clicked)
            view.key_hovered.connect(self.cell_hovered)
            view.key_clicked.connect(self.cell_clicked)
        self._scroll = clear_scroll(self._words, sideways=False)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._bring_word_into_sight)
        self._pictures: PatchPictures | None = None
        self._all: tuple[QWidget, ...] = (self.map, self._scroll, self._patches)
        row = in_row(self, spacing=0)
        for picture in self._all:
            row.addWidget(picture, 1)
            picture.setVisible(picture is self.map)

    @property
    def in_sight(self) -> QWidget:
        """The picture that takes the keys."""
        shown = next(picture for picture in self._all if not picture.isHidden())
        return self._words if shown is self._scroll else shown

    def show_state(self, seen: Seen, theme: Theme) -> None:
        """Show the stage by the picture that the view names, if the stage has it."""
        content = stage_content(seen.site, seen.view, seen.stage, theme)
        self.map.set_content(self._with_patches(content, seen))
        of_row = _("Click: select this query") if seen.is_by_query else ""
        of_column = _("Click: show the share of each row that goes to this key; Ctrl+click: add a key")
        self.map.set_label_help(of_row, of_column if content.column_means is not None else "")
        shown, view = self._all[0], seen.follows
        title = seen.titled(stage_title(seen.site, view, seen.stage))
        if view.picture == "lines" and seen.has_lines:
            shown = self._scroll
            self._words.set_lines(word_lines(seen.site, view, seen.stage), title)
        elif view.picture == "patches" and seen.image is not None and seen.has_patches:
            shown = self._patches
            self._patches.set_image(word_lines(seen.site, view, seen.stage), seen.image, title)
        if shown.isHidden():
            for picture in self._all:
                picture.setVisible(picture is shown)

    def light(self, seen: Seen) -> None:
        """Light what belongs to the focus."""
        self.map.set_highlight(seen.highlight)
        self._words.set_chosen(*seen.lit_words)
        self._patches.set_chosen(*seen.lit_words)

    def bring_into_sight(self, row: int, column: int) -> None:
        """Scroll to a cell; −1 leaves its axis as it is."""
        self.map.bring_into_sight(row, column)
        if row >= 0:
            self._bring_word_into_sight()

    @Slot()
    def _bring_word_into_sight(self) -> None:
        """Scroll the lines to the selected query, also in a text of another length."""
        places = self._words.columns
        middle = round(places.y(self._words.chosen_query))
        self._scroll.ensureVisible(0, middle, 0, round(places.row))

    def _with_patches(self, content: HeatContent, seen: Seen) -> HeatContent:
        """The content with the patches of the document's image as labels of its tokens."""
        image = seen.image
        if image is None:
            return content
        if self._pictures is None or self._pictures.image is not image:
            self._pictures = PatchPictures(image)
        axes = STAGE_BY_ID[seen.stage].axes[-2:]
        of_tokens = [has_names(axis) and axis not in ("vocabulary", "expert") for axis in axes]
        fitting = [size == image.n_tokens for size in content.values.shape]
        rows, columns = (
            self._pictures if is_token and fits else None
            for is_token, fits in zip(of_tokens, fitting, strict=True)
        )
        return replace(content, row_pictures=rows, column_pictures=columns)

"""The heads as small multiples: the shown stage and the most attended key of every head; a click selects."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from attnviz.core.levels import RANGE_BY_ID
from attnviz.core.phrases import with_remark
from attnviz.core.text import number, visible
from attnviz.gui.forms.edit_all import EditAll
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import composed, says
from attnviz.gui.panels.heads.picture import Fit, HeadPicture, tall_fit
from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.gui.widgets.boxes import in_column, in_row
from attnviz.gui.widgets.button import rove
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.heat.stages import highlight
from attnviz.gui.widgets.heat.thumbnail import Thumbnail
from attnviz.gui.widgets.scroll import clear_scroll
from attnviz.i18n import N_, _
from attnviz.model.looks import look_of, query_in_focus
from attnviz.model.ranges import has_first, overview_ends, range_ends, shown_range
from attnviz.model.sites.sites import site_names
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import SiteTrace, Trace
from attnviz.study.heads.orders import HEAD_ORDER_BY_ID, HEAD_ORDERS, HeadOrder, measured, ordered

_BESIDE = 40
"""Pixels of the combo box beside its text."""
ARROW = 18
PAINTED = ("stage", "orientation", "ranges", "first_tokens")
"""Fields of the view that every picture of the panel shows."""


class SiteChooser(QWidget):
    """`‹ layer 2 of 3 ›`; `alike` says whether edits apply to all layers, and stands elsewhere.

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
        self.alike = EditAll(store, "site_alike_toggle", N_("Edit all"))
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
        self.alike.show_document(document)
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


WIDTH, WIDEST = 190, 248
"""Pixels, and those for attentions with long labels."""


class HeadsSide(QWidget):
    """`order_chosen` carries the id of an order."""

    order_chosen = Signal(str)

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setFixedWidth(WIDTH)
        self.order = says(
            Combo(()),
            id="heads_order",
            name=N_("Order of the heads"),
            tip=N_("Order of the heads; each head keeps its number"),
            options=[(row.id, row.title, row.hint) for row in HEAD_ORDERS],
        )
        self.order.set_value(HEAD_ORDERS[0].id)
        self.order.changed.connect(self.order_chosen)
        self.sites = SiteChooser(store)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self.order, 1)
        top.addWidget(self.sites.alike)
        column = in_column(self, spacing=2)
        column.addLayout(top)
        column.addWidget(self.sites)
        column.addStretch(1)

    def show_document(self, document: Document) -> None:
        """Show the sites, and the order where it makes a difference."""
        self.sites.show_document(document)
        self.setFixedWidth(min(max(WIDTH, self.sites.wanted_width()), WIDEST))
        self.order.setVisible(document.attention.heads.n_heads > 1)

    def retranslate(self) -> None:
        self.setFixedWidth(min(max(WIDTH, self.sites.wanted_width()), WIDEST))


SIDE, SMALLEST_SIDE = 63, 33
"""Pixels of a picture: in a strip that has more heads than room, and in a low window."""
HEIGHT, LEAST_HEIGHT = 64, 60
TALL, LARGEST_SIDE = 240, 160
"""Height from which the pictures stand in rows below the controls, and the most pixels of one."""
MOST_HEADS = 128
"""Pictures in the strip; models have fewer heads than this."""


class HeadsPanel(Panel):
    """One picture per head. Stages without heads are shown by their weights."""

    follows = (*PAINTED, "head", "query", "locked")
    follows_player = True
    draws_gradients = True

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        store.head_names.changed.connect(self.retranslate)
        self._pictures: list[HeadPicture] = []
        self._order: HeadOrder = HEAD_ORDERS[0]
        self._shown: tuple[int, ...] = ()
        """The heads from left to right."""
        self._values: tuple[float, ...] = ()
        says(self, name=N_("Heads"))
        self.side = HeadsSide(store)
        self.side.order_chosen.connect(self._on_order)
        strip = QWidget()
        self._grid = QGridLayout(strip)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GRID)
        self._grid.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._columns = MOST_HEADS
        """Pictures in a row."""
        self._scroll = clear_scroll(strip, sideways=True)
        self._scroll.setObjectName("heads_scroll")
        self._scroll.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(GRID)
        self._layout.addWidget(self.side, 0, Qt.AlignmentFlag.AlignTop)
        self._layout.addWidget(self._scroll, 1)
        self._fitted = Fit(SIDE, 0)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), LEAST_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Pictures as large as the height allows, with their lines where they fit."""
        super().resizeEvent(event)
        if not self.is_seen:
            self.forget()  # fitted and painted once it is in front: docks resize it several times before
        elif self._fit(len(self._shown)) and self.store.trace is not None:
            self._paint(self.store.drawn_site)

    def _fit(self, count: int) -> bool:
        """Choose the side of the pictures, and the place of their lines; True if something changed."""
        is_tall = self.height() >= TALL
        self._turn(is_tall)
        if is_tall:
            room = self.height() - self.side.sizeHint().height() - GRID - 2 * self._scroll.frameWidth()
            fitted, columns = tall_fit(max(count, 1), self.width(), room, LARGEST_SIDE)
        else:
            room = self.width() - self.side.width() - GRID
            widest = room // max(count, 1) - 2 * GRID
            largest = max(SIDE, min(LARGEST_SIDE, widest))
            fitted, columns = Fit.of(count, room, self.height(), largest, SMALLEST_SIDE), MOST_HEADS
        if (fitted, columns) == (self._fitted, self._columns):
            return False
        self._fitted, self._columns, self._shown = fitted, columns, ()
        for picture in self._pictures:
            picture.set_fit(fitted)
        return True

    def _turn(self, is_tall: bool) -> None:
        """Put the controls above the pictures, which scroll down, or beside them, which scroll sideways."""
        direction = QBoxLayout.Direction.TopToBottom if is_tall else QBoxLayout.Direction.LeftToRight
        if direction != self._layout.direction():
            self._layout.setDirection(direction)
            off, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
            self._scroll.setHorizontalScrollBarPolicy(off if is_tall else needed)
            self._scroll.setVerticalScrollBarPolicy(needed if is_tall else off)

    def on_document(self, old: Document | None, new: Document) -> None:
        self.side.show_document(new)
        if old is None or self.store.trace is None:
            return
        before, after = old.view, new.view
        if any(getattr(before, name) != getattr(after, name) for name in PAINTED):
            self._paint(self.store.drawn_site)
        elif before.head != after.head:
            self._arrange(self.store.drawn_site)
            self._select(self.store.drawn_site)
        if (before.locked, before.query) != (after.locked, after.query):
            self._light(self.store.drawn_site)

    def on_trace(self, trace: Trace) -> None:
        self._paint(self.store.drawn_site)

    def on_hover(self, cell: Cell | None) -> None:
        if self.store.trace is not None:
            self._light(self.store.drawn_site)

    @Slot()
    def retranslate(self) -> None:
        """Write the captions again: the language is another one, or the name of a head."""
        if self.store.trace is not None:
            self._paint(self.store.drawn_site)

    def _stage(self, site: SiteTrace) -> str:
        stage = self.store.document.view.stage
        row = STAGE_BY_ID[stage]
        return stage if stage in site.stages and row.per_head and not row.by_token else site.raw_map

    def _axis(self, site: SiteTrace) -> str:
        return STAGE_BY_ID[self._stage(site)].axes[0]

    def _paint(self, site: SiteTrace) -> None:
        stage, count = self._stage(site), self._count(site)
        view, row = self.store.document.view, STAGE_BY_ID[stage]
        self._ensure(count)
        self._fit(count)
        self._arrange(site)
        of_view = view.range_of(stage)
        of_all = range_ends(site, stage, of_view, ()) if of_view == "global" else None
        for head, picture in enumerate(self._pictures):
            picture.setVisible(head < count)
            if head < count:
                transposed = view.orientation == "queries_as_columns"
                values, hidden = site.overview(stage, head)
                range_id = shown_range(site, view, stage, head)
                is_left_out = RANGE_BY_ID[range_id].skips_first and has_first(site, stage)
                if is_left_out:  # hatched, as in the large view
                    hidden = np.zeros(values.shape, np.bool_) if hidden is None else hidden.copy()
                    hidden[:, :1] = True
                ends = overview_ends(site, stage, range_id, head) if is_left_out or not of_all else of_all
                shape = site.shape(stage)[-2:]
                picture.set_values(values, site.is_signed(stage), hidden, range_id, ends, transposed, shape)
                named = self._named(site, row.axes[0], head)
                picture.set_short(named or _("head {head}").format(head=head + 1))
                caption = self._caption(site, row.axes[0], head, named)
                picture.set_caption(caption, self._of_group(site, row.axes[0], head))
        self._select(site)
        self._light(site)

    def _count(self, site: SiteTrace) -> int:
        return min(site.shape(self._stage(site))[0], MOST_HEADS)

    def _caption(self, site: SiteTrace, axis: str, head: int, named: str) -> str:
        heads = site.experiment.heads
        if axis == "kv_head":
            return _("KV head {head}").format(head=head + 1)
        if named:
            return f"{head + 1} · {named}"
        if heads.n_kv_heads == heads.n_heads:
            return _("head {head}").format(head=head + 1)
        shared = head // heads.group_size + 1
        return _("head {head} · KV {shared}").format(head=head + 1, shared=shared)

    @staticmethod
    def _of_group(site: SiteTrace, axis: str, head: int) -> str:
        """The key/value head that a query head shares with others; empty for one of its own."""
        heads = site.experiment.heads
        if axis == "kv_head" or heads.n_kv_heads == heads.n_heads:
            return ""
        says = _("Head {head} reads the keys and values of KV head {shared}, which serves {n} heads")
        return says.format(head=head + 1, shared=head // heads.group_size + 1, n=heads.group_size)

    def _named(self, site: SiteTrace, axis: str, head: int) -> str:
        """The name of a query head; empty without one."""
        return self.store.head_names.name(self.store.experiment, site.name, head) if axis == "head" else ""

    def _arrange(self, site: SiteTrace) -> None:
        """Put the pictures in the chosen order; key/value heads keep that of their numbers."""
        count = self._count(site)
        order = self._order if self._axis(site) == "head" else HEAD_ORDERS[0]
        n_heads, of_values = site.experiment.heads.n_heads, self.store.shown_site
        chosen = min(self.store.document.view.head, n_heads - 1)
        # A gradient stays until the next one arrives, also beside the values of another number of heads.
        is_like = of_values.experiment.heads.n_heads == n_heads
        self._values = measured(of_values, order, chosen) if is_like else ()
        shown = tuple(head for head in ordered(self._values, order, count))
        for head, picture in enumerate(self._pictures[:count]):
            value = self._values[head] if self._values else None
            picture.set_note("" if value is None else _(order.unit).format(value=number(value, 2)))
        if shown != self._shown:
            self._shown = shown
            for picture in self._pictures:
                self._grid.removeWidget(picture)
            for place, head in enumerate(shown):
                self._grid.addWidget(
                    self._pictures[head], *divmod(place, self._columns), Qt.AlignmentFlag.AlignTop
                )

    def _select(self, site: SiteTrace) -> None:
        axis, heads = self._axis(site), site.experiment.heads
        chosen = min(self.store.document.view.head, heads.n_heads - 1)
        if axis == "kv_head":
            chosen //= heads.group_size
        off = heads.off if axis == "head" else ()
        for head, picture in enumerate(self._pictures):
            picture.set_selected(head == chosen)
            picture.set_struck(head in off)
        rove(self._pictures, chosen)
        if chosen < len(self._pictures):
            self._scroll.ensureWidgetVisible(self._pictures[chosen], GRID, 0)

    def _light(self, site: SiteTrace) -> None:
        stage, view, focus = self._stage(site), self.store.document.view, self.store.focus
        query = query_in_focus(site, self.store.shown_view, focus)
        count = self._count(site)
        for head in self._shown:
            if head < count:  # the pictures of others leave as soon as they are told of these numbers
                self._pictures[head].set_lit(highlight(site, view, stage, focus, head))
                self._say_look(site, head, query)

    def _say_look(self, site: SiteTrace, head: int, query: int) -> None:
        is_weighed = self._axis(site) == "head" and site.quantity == "value"
        look = look_of(site, head, query) if is_weighed else None
        if look is None:
            self._pictures[head].set_look("", "", "")
            return
        names = visible(site.names("query")[query]), visible(site.names("key")[look.key])
        value = number(look.weight, 3)
        if self._stage(site) != site.raw_map:  # the picture beside it has other numbers
            value = f"w {value}"
        self._pictures[head].set_look(*names, value)

    def _ensure(self, count: int) -> None:
        while len(self._pictures) < count:
            head = len(self._pictures)
            picture = HeadPicture(self._fitted.side)
            picture.set_fit(self._fitted)
            picture.setObjectName(f"head_{head}")
            picture.setProperty("head", head)
            picture.apply_theme(self.theme)
            picture.clicked.connect(self._on_clicked)
            picture.walked.connect(self._on_walked)
            self._pictures.append(picture)
            self._shown = ()

    @Slot(str)
    def _on_order(self, order: str) -> None:
        self._order = HEAD_ORDER_BY_ID[order]
        if self.store.trace is not None:
            self._paint(self.store.drawn_site)

    @Slot(int)
    def _on_walked(self, step: int) -> None:
        """An arrow key: choose the next head of the strip."""
        place = self._shown.index(self._head_of(self.sender())) + step
        if 0 <= place < len(self._shown):
            self._choose(self._shown[place])

    @Slot()
    def _on_clicked(self) -> None:
        self._choose(self._head_of(self.sender()))

    @staticmethod
    def _head_of(picture: object) -> int:
        assert isinstance(picture, Thumbnail)
        return int(picture.property("head"))

    def _choose(self, head: int) -> None:
        """Choose the head, or the first head of the key/value head, that a picture shows."""
        if self.store.trace is not None and self._axis(self.store.drawn_site) == "kv_head":
            head *= self.store.drawn_site.experiment.heads.group_size
        self.store.look(head=head)

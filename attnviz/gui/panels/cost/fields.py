"""The sizes and formats that the cost panel counts with: one frozen record for each, and their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from attnviz.core.cost.architecture import Architecture, Latent
from attnviz.core.cost.memory import FORMATS, MEMORIES
from attnviz.core.cost.roofline import DEVICE_BY_ID
from attnviz.core.dims import group_counts
from attnviz.core.phrases import enumerated, with_remark
from attnviz.errors import Message
from attnviz.explain.bills import EXPERIMENT, OWN, Question
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.toggle import Toggle
from attnviz.gui.widgets.tone import set_tone
from attnviz.i18n import N_, _

Read = Callable[[Question], Any]
Edit = Callable[[Question, Any], Question]
Shown = Callable[[Question], bool]


def _always(question: Question) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class CostField:
    """One row. `edit` returns the question with the value and may raise `ValueError`.

    `options` (ids, some with other `titles`) define a choice, `is_switch` a switch, else it is a number with
    `decimals` digits behind the point, from `least` to `most`.
    `of_shapes`: a size of the model, which an experiment has and nobody may edit here. Where its layers
    differ in a size, `groups` list it instead, unless it is `of_stack`, a number of all layers together.
    """

    name: str
    label: str
    read: Read
    edit: Edit
    hint: str = ""
    shown: Shown = _always
    options: tuple[str, ...] = ()
    titles: tuple[tuple[str, str], ...] = ()
    is_switch: bool = False
    decimals: int = 0
    least: float = 1
    most: int = 10**6
    of_shapes: bool = True
    of_stack: bool = False

    @property
    def is_size(self) -> bool:
        """True for a number of the model."""
        return self.of_shapes and not self.options and not self.is_switch

    def is_shown(self, q: Question) -> bool:
        """True if the size applies, and is the same in all layers."""
        if not self.shown(q) or self.of_stack or not self.of_shapes or not q.rest:
            return self.shown(q)
        return len({self.read(replace(q, architecture=a, rest=())) for a in q.stack}) == 1


def _plain(name: str) -> tuple[Read, Edit]:
    def read(q: Question) -> Any:
        value = getattr(q, name)
        return str(value) if name == "group" else value

    def edit(q: Question, value: Any) -> Question:
        changes: dict[str, Any] = {name: int(value) if name == "group" else value}
        return replace(q, **changes)

    return read, edit


def _shape(name: str, part: str = "") -> tuple[Read, Edit]:
    """Reading and editing a field of the architecture, or of its latent or experts."""

    def read(q: Question) -> Any:
        owner = getattr(q.architecture, part) if part else q.architecture
        return getattr(owner, name) if owner is not None else 0

    def edit(q: Question, value: Any) -> Question:
        a = q.architecture
        if part:
            owner = getattr(a, part)
            if owner is None:  # another architecture came in the middle of a drag
                return q
            changed = replace(a, **{part: replace(owner, **{name: value})})
        else:
            changed = _fitted(a, name, value, q.published)
        return replace(q, architecture=changed)

    return read, edit


def _fitted(a: Architecture, name: str, value: Any, published: Architecture | None) -> Architecture:
    """The architecture with one field changed, and its dependent fields kept valid.

    As many layers as possible stay dense as they are `published`.
    """
    if name == "n_heads":
        g = max(d for d in range(1, a.n_kv_heads + 1) if value % d == 0)
        return replace(a, n_heads=value, n_kv_heads=g)
    if name == "n_kv_heads":
        return replace(a, n_kv_heads=min(group_counts(a.n_heads), key=lambda d: abs(d - value)))
    if name == "layers":
        of = a if published is None else published
        dense = 0 if of.experts is None else of.experts.dense_layers
        experts = a.experts and replace(a.experts, dense_layers=min(dense, value))
        windowed = a.layers == a.windowed_layers
        return replace(
            a,
            layers=value,
            experts=experts,
            windowed_layers=value if windowed else min(a.windowed_layers, value),
        )
    if name == "windowed_layers":
        return replace(a, windowed_layers=min(value, a.layers), window=a.window or 4096)
    return replace(a, **{name: value})


def _in_all(name: str) -> tuple[Read, Edit]:
    """Reading a number of layers of the whole stack, and editing that of one architecture."""
    _read, edit = _shape(name)
    return lambda q: sum(getattr(a, name) for a in q.stack), edit


def _is_plain(q: Question) -> bool:
    """True if every attention is a layer of its own: none has an encoder or another attention beside it."""
    return not q.rest or not any(a.n_tokens or a.n_memory for a in q.stack)


_SIZES: tuple[tuple[str, Callable[[Architecture], int]], ...] = (
    ("h", lambda a: a.n_heads),
    ("g", lambda a: a.n_kv_heads),
    ("d_head", lambda a: a.d_head),
    ("d_c", lambda a: 0 if a.latent is None else a.latent.d_c),
    ("w", lambda a: a.window),
    ("d_ff", lambda a: a.d_ff),
    ("m", lambda a: a.n_memory),
)
"""Symbols and sizes in which layers may differ; 0 is none."""


def groups(q: Question) -> str:
    """The equal layers of an experiment whose layers differ: "4 × g 4 (layers 2 to 5)", a line for each."""
    if not q.rest:
        return ""
    differ = [(symbol, size) for symbol, size in _SIZES if len({size(a) for a in q.stack}) > 1]
    lines = []
    for a in q.stack:
        sizes = enumerated(f"{symbol} {size(a):,}" for symbol, size in differ if size(a))
        name = "" if a.name is None else a.name.text()
        lines.append(f"{a.layers} × " + (with_remark(sizes, name) if sizes else name))
    return "\n".join(lines)


def _set_latent(q: Question, is_on: bool) -> Question:
    latent = Latent.of_heads(q.architecture.d_head) if is_on else None
    return replace(q, architecture=replace(q.architecture, latent=latent))


def _has_latent(q: Question) -> bool:
    return q.architecture.latent is not None


def _has_no_latent(q: Question) -> bool:
    return q.architecture.latent is None


def _has_experts(q: Question) -> bool:
    return q.architecture.experts is not None


def _has_window(q: Question) -> bool:
    return q.architecture.windowed_layers > 0


def _has_groups(q: Question) -> bool:
    return bool(q.kv_format.group or q.format(q.weights).group)


def _has_device(q: Question) -> bool:
    return q.quantity == "bound"


def _memory(q: Question) -> str:
    return str(q.memory_gb) if str(q.memory_gb) in _MEMORIES else OWN


def _set_memory(q: Question, id_: str) -> Question:
    return replace(q, memory_gb=int(id_)) if id_ in _MEMORIES else q


def _set_device(q: Question, id_: str) -> Question:
    return replace(q, device=id_) if id_ in DEVICE_BY_ID else q.with_own()


def _peak(name: str) -> tuple[Read, Edit]:
    """Reading a peak of the device, and setting it by hand."""

    def edit(q: Question, value: Any) -> Question:
        return q.with_own(**{name: value})

    return lambda q: getattr(q.peaks, name), edit


def _moved(field: CostField, value: Any, before: Question, after: Question) -> list[Message]:
    """Sizes that an edit of `field` to `value` changed besides: what would not fit it becomes the nearest."""
    said = []
    for other in FIELDS:
        if not other.is_size or not (other.is_shown(before) and other.is_shown(after)):
            continue
        old, new = value if other is field else other.read(before), other.read(after)
        if new != old:
            named = Message(other.label)
            said.append(Message("{name}: {old} became {new}.", name=named, old=old, new=new))
    return said


def _field(name: str, label: str, access: tuple[Read, Edit], **rest: Any) -> CostField:
    return CostField(name=f"cost_{name}", label=label, read=access[0], edit=access[1], **rest)


_FORMAT_IDS = tuple(format_.id for format_ in FORMATS)
_GROUPS = ("16", "32", "64", "128")
_MEMORIES = tuple(str(memory.gb) for memory in MEMORIES)
_DEVICES = tuple((str(memory.gb), memory.devices) for memory in MEMORIES)

FIELDS: tuple[CostField, ...] = (
    _field("n", N_("Context n"), _plain("n"), hint=N_("Tokens per sequence"), most=10**8, of_shapes=False),
    _field("batch", N_("Batch b"), _plain("batch"), hint=N_("Sequences computed together"), of_shapes=False),
    _field(
        "kv",
        N_("Cache format"),
        _plain("kv"),
        options=_FORMAT_IDS,
        of_shapes=False,
        hint=N_("Number format of cached keys and values"),
    ),
    _field(
        "weights",
        N_("Weights format"),
        _plain("weights"),
        options=_FORMAT_IDS,
        of_shapes=False,
        hint=N_("Number format of the parameters"),
    ),
    _field(
        "group",
        N_("Group size"),
        _plain("group"),
        options=_GROUPS,
        of_shapes=False,
        shown=_has_groups,
        hint=N_("Quantised numbers that share one two-byte scale"),
    ),
    _field(
        "memory",
        N_("Memory of"),
        (_memory, _set_memory),
        options=(*_MEMORIES, OWN),
        titles=_DEVICES,
        of_shapes=False,
        hint=N_("Device memory; GB is 10⁹ bytes"),
    ),
    _field(
        "memory_gb",
        N_("Memory, GB"),
        _plain("memory_gb"),
        of_shapes=False,
        hint=N_("Device memory of any size; GB is 10⁹ bytes"),
    ),
    _field(
        "device",
        N_("Device"),
        (lambda q: q.device, _set_device),
        options=(*DEVICE_BY_ID, OWN),
        of_shapes=False,
        shown=_has_device,
        hint=N_("Sets the two published peaks below"),
    ),
    _field(
        "tflops",
        "TFLOP/s",
        _peak("tflops"),
        of_shapes=False,
        shown=_has_device,
        decimals=2,
        least=0.01,
        hint=N_("Peak of dense matrix products in the weights' format, in 10¹² operations per second"),
    ),
    _field(
        "bandwidth",
        "GB/s",
        _peak("bandwidth"),
        of_shapes=False,
        shown=_has_device,
        hint=N_("Bandwidth of the device memory, in 10⁹ bytes per second"),
    ),
    _field("layers", N_("Layers L"), _in_all("layers"), most=1000, shown=_is_plain, of_stack=True),
    _field("d_model", "d_model", _shape("d_model")),
    _field(
        "heads",
        N_("Heads h"),
        _shape("n_heads"),
        most=1024,
        hint=N_("KV heads that do not divide it become the next lower number that does"),
    ),
    _field(
        "kv_heads",
        N_("KV heads g"),
        _shape("n_kv_heads"),
        most=1024,
        shown=_has_no_latent,
        hint=N_("A divisor of the heads h; another number becomes the nearest divisor"),
    ),
    _field("d_head", "d_head", _shape("d_head"), shown=_has_no_latent),
    _field(
        "latent",
        "MLA",
        (_has_latent, _set_latent),
        is_switch=True,
        hint=N_("The cache holds one latent instead of keys and values"),
    ),
    _field("d_c", "d_c", _shape("d_c", "latent"), shown=_has_latent),
    _field("d_rope", "d_rope", _shape("d_rope", "latent"), shown=_has_latent, least=0),
    _field("d_nope", "d_nope", _shape("d_nope", "latent"), shown=_has_latent),
    _field("d_v", "d_v", _shape("d_v", "latent"), shown=_has_latent),
    _field("d_q_c", "d_q_c", _shape("d_q_c", "latent"), shown=_has_latent, least=0),
    _field("windowed", N_("Window layers"), _in_all("windowed_layers"), most=1000, least=0, of_stack=True),
    _field("window", N_("Window w"), _shape("window"), shown=_has_window, most=10**8),
    _field("d_ff", "d_ff", _shape("d_ff"), least=0),
    _field(
        "gated",
        N_("Gated"),
        _shape("gated"),
        is_switch=True,
        hint=N_("The feed-forward layer has three matrices instead of two"),
    ),
    _field("routed", N_("Routed experts"), _shape("n_routed", "experts"), shown=_has_experts),
    _field("active", N_("Experts used"), _shape("n_active", "experts"), shown=_has_experts),
    _field("shared", N_("Shared experts"), _shape("n_shared", "experts"), shown=_has_experts, least=0),
    _field("d_expert", "d_expert", _shape("d_expert", "experts"), shown=_has_experts),
    _field("vocabulary", N_("Vocabulary V"), _shape("vocabulary"), least=0, most=10**7, of_stack=True),
    _field(
        "tied",
        N_("Tied weights"),
        _shape("tied"),
        is_switch=True,
        of_stack=True,
        hint=N_("The output head shares the embedding's parameters"),
    ),
    # Of an experiment every bias is counted by itself: some have them and some do not.
    _field("biases", N_("Biases"), _shape("biases"), is_switch=True, shown=lambda q: q.source != EXPERIMENT),
)


class CostFields(QWidget):
    """Rows of label and control. `changed` carries the new Question, `rejected` why a value is refused, and
    None once a value is valid; `told` carries what an edit changed besides its size.
    """

    changed = Signal(object)
    rejected = Signal(object)
    told = Signal(object)

    def __init__(self, question: Question, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._question, self._is_refused = question, False
        self._rows: list[tuple[CostField, QLabel, Any]] = []
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, GRID // 2, 0)
        grid.setHorizontalSpacing(GRID // 2)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        for index, field in enumerate(FIELDS):
            label = says(QLabel(), field.label, tip=field.hint)
            control = says(self._make(field), id=field.name, name=field.label)
            set_tone("muted", label)
            label.setTextFormat(Qt.TextFormat.PlainText)
            control.changed.connect(partial(self._commit, field))
            grid.addWidget(label, index, 0)
            grid.addWidget(control, index, 1, Qt.AlignmentFlag.AlignRight)
            self._rows.append((field, label, control))
        self._groups = says(QLabel(), id="cost_groups", name=N_("Equal layers"))
        self._groups.setTextFormat(Qt.TextFormat.PlainText)
        self._groups.setWordWrap(True)
        grid.addWidget(self._groups, len(FIELDS), 0, 1, 2)
        grid.setRowStretch(len(FIELDS) + 1, 1)

    def set_question(self, question: Question) -> None:
        """Show the values of `question` without emitting."""
        self._question = question
        follows = question.source == EXPERIMENT
        reason = _("These shapes belong to the experiment; edit them in Mechanism.")
        self._groups.setText(groups(question))
        self._groups.setVisible(bool(question.rest))
        for field, label, control in self._rows:
            is_shown = field.is_shown(question)
            label.setVisible(is_shown)
            control.setVisible(is_shown)
            if is_shown:
                control.set_value(field.read(question))
            control.set_unavailable(reason if follows and field.of_shapes else None)

    def _make(self, field: CostField) -> Any:
        if field.options:
            titles = dict(field.titles)
            combo = Combo([(option, titles.get(option, option), "") for option in field.options])
            combo.setSizeAdjustPolicy(Combo.SizeAdjustPolicy.AdjustToContents)  # RTX 4090 or RTX 3050
            combo.setSizePolicy(QSizePolicy.Policy.MinimumExpanding, QSizePolicy.Policy.Fixed)
            combo.setMinimumWidth(0)
            return combo
        if field.is_switch:
            return Toggle("")
        number = DragNumber(
            minimum=field.least,
            maximum=field.most,
            decimals=field.decimals,
            integer=not field.decimals,
            logarithmic=field.most > 1024,
        )
        number.rejected.connect(self.rejected)
        return number

    def _commit(self, field: CostField, value: Any) -> None:
        try:
            question = field.edit(self._question, value)
        except ValueError as error:
            self.rejected.emit(error)
            self.set_question(self._question)
            self._is_refused = True
            return
        if self._is_refused:
            self._is_refused = False
            self.rejected.emit(None)
        for message in _moved(field, value, self._question, question):
            self.told.emit(message)
        self.changed.emit(question)

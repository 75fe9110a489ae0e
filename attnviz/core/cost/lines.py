"""Lines of arithmetic, and the parameters of an architecture counted in them.

Each line carries the product twice, in symbols and in digits, and its exact value as a Python integer, so
that the shown arithmetic is the computed one. Labels are in the language that is active when a bill is built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from attnviz.core.cost.architecture import Architecture
from attnviz.i18n import _, ngettext

Unit = Literal["", "FLOP", "B", "ns", "tokens", "sequences"]
Kind = Literal["term", "part", "total", "title", "note"]

_SI = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_BELOW_ONE = ("n", "µ", "m", "")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")


class Factor(NamedTuple):
    """One number of a product, and its symbol."""

    symbol: str
    value: int


_SILENT = (Factor("b", 1), Factor("L", 1))
"""A batch of one sequence and a single layer are left out of a product."""


class Line(NamedTuple):
    """One line of a bill: label, the product in symbols and in digits, and its value.

    A `term` counts towards the next `total`, a `part` explains a later line; titles and notes have no value.
    """

    label: str
    symbols: str = ""
    digits: str = ""
    value: int = 0
    unit: Unit = ""
    kind: Kind = "term"

    @property
    def formula(self) -> str:
        """The product in symbols and in digits."""
        return " = ".join(part for part in (self.symbols, self.digits) if part)


@dataclass
class Bill:
    """A list of lines under construction; every method adds one line and returns its value."""

    unit: Unit
    lines: list[Line] = field(default_factory=list)

    def term(self, label: str, *factors: Factor) -> int:
        """A product that counts towards the total."""
        return self._product(label, factors, "term")

    def part(self, label: str, *factors: Factor) -> int:
        """A product that a later line uses."""
        return self._product(label, factors, "part")

    def quotient(self, label: str, over: Factor, under: Factor, unit: Unit) -> int:
        """⌊over ÷ under⌋."""
        value = over.value // under.value
        symbols = f"⌊{over.symbol} ÷ {under.symbol}⌋"
        self.lines.append(Line(label, symbols, f"{over.value:,} ÷ {under.value:,}", value, unit, "total"))
        return value

    def difference(self, label: str, from_: Factor, less: Factor) -> int:
        """from_ − less; may be negative."""
        value = from_.value - less.value
        self.lines.append(
            Line(
                label,
                f"{from_.symbol} − {less.symbol}",
                f"{from_.value:,} − {less.value:,}",
                value,
                self.unit,
                "part",
            )
        )
        return value

    def sum_of(self, label: str, values: Iterable[int], kind: Kind = "part") -> int:
        """Sum of several numbers."""
        numbers = [value for value in values if value]
        digits = " + ".join(f"{value:,}" for value in numbers) if len(numbers) > 1 else ""
        self.lines.append(Line(label, "Σ" if digits else "", digits, sum(numbers), self.unit, kind))
        return sum(numbers)

    def total(self, label: str) -> int:
        """Sum of all terms so far."""
        return self.sum_of(label, [line.value for line in self.lines if line.kind == "term"], "total")

    def title(self, label: str) -> None:
        self.lines.append(Line(label, kind="title"))

    def note(self, label: str) -> None:
        self.lines.append(Line(label, kind="note"))

    def _product(self, label: str, factors: tuple[Factor, ...], kind: Kind) -> int:
        factors = tuple(factor for factor in factors if factor not in _SILENT) or factors[:1]
        symbols = " · ".join(factor.symbol for factor in factors)
        digits = " × ".join(f"{factor.value:,}" for factor in factors)
        value = math.prod(factor.value for factor in factors)
        self.lines.append(Line(label, symbols, digits, value, self.unit, kind))
        return value


def total(lines: Iterable[Line]) -> int:
    """The value of the last total among `lines`."""
    return [line.value for line in lines if line.kind == "total"][-1]


def valued(value: int, unit: Unit) -> str:
    """A value with all its digits and its unit: "8,192 B", "1 token"."""
    exact = f"{value:,}".replace("-", "\N{MINUS SIGN}")
    if unit == "tokens":
        return ngettext("{n} token", "{n} tokens", value).format(n=exact)
    if unit == "sequences":
        return ngettext("{n} sequence", "{n} sequences", value).format(n=exact)
    return f"{exact} {unit}".strip()


def rounded(value: int, unit: Unit) -> str:
    """Format `value` to at least three significant digits: "14.48 GB = 13.49 GiB", "124.44 M", "349.21
    GFLOP".

    GB is 10^9 bytes and GiB 2^30. Integers only, rounded half up. Empty below 1,000, where the line itself
    shows the value.
    """
    if abs(value) < 1000 or unit in ("tokens", "sequences"):
        return ""
    if unit == "ns":
        return f"{_scaled(value, 1000, _BELOW_ONE)}s"
    decimal = _scaled(value, 1000, _SI)
    if unit != "B":
        return f"{decimal}{unit}".strip()
    binary = f" = {_scaled(value, 1024, _BINARY)}B" if abs(value) >= 1024 else ""
    return f"{decimal}B{binary}"


def _scaled(value: int, base: int, prefixes: tuple[str, ...]) -> str:
    sign, size = ("−" if value < 0 else ""), abs(value)
    for power, prefix in enumerate(prefixes):
        hundredths = (size * 200 + base**power) // (2 * base**power)
        if hundredths < base * 100 or prefix == prefixes[-1]:
            break
    return f"{sign}{hundredths // 100:,}.{hundredths % 100:02} {prefix}"


# --- parameters ------------------------------------------------------------------------------------


def parameters(a: Architecture) -> tuple[Line, ...]:
    """The parameters of an architecture by part, ending in their total."""
    bill = Bill("")
    d_model, layers = Factor("d_model", a.d_model), Factor("L", a.layers)
    if a.vocabulary:
        bill.term(_("token embedding"), Factor("V", a.vocabulary), embedded(a))
    if a.n_positions:
        bill.term(_("position embedding"), Factor("positions", a.n_positions), d_model)
    attention = _attention(bill, a)
    each = bill.sum_of(_("attention, one layer"), attention)
    bill.term(_("attention, all layers"), layers, Factor(_("one layer"), each))
    _feed_forward(bill, a)
    if a.norms_per_layer:
        width = 2 if a.norm == "layer" else 1
        per_norm = (Factor(str(width), width), d_model)
        bill.term(_("norms"), layers, Factor(_("norms"), a.norms_per_layer), *per_norm)
        bill.term(_("Final norm"), *per_norm)
    for learned in a.of_layer:
        one = bill.sum_of(_("{what}, one layer").format(what=_(learned.label)), learned.counts)
        bill.term(_("{what}, all layers").format(what=_(learned.label)), layers, Factor(_("one layer"), one))
    for learned in a.of_stack:
        bill.sum_of(_(learned.label), learned.counts, "term")
    if a.transform:
        bill.term(_("transform before the output head"), d_model, read_by_head(a))
    if a.vocabulary and a.tied:
        bill.note(_("The output head is the transposed token embedding and has no parameters of its own."))
    elif a.vocabulary:
        bill.term(_("output head"), read_by_head(a), Factor("V", a.vocabulary))
    count = bill.total(_("parameters"))
    if a.experts is not None:
        active = f"{count - _idle(a):,}"
        bill.note(_("Each token uses {count} of them.").format(count=active))
    return tuple(bill.lines)


def embedded(a: Architecture) -> Factor:
    """Features of a token's embedding."""
    return Factor("d_embedding", a.d_embedding) if a.d_embedding else Factor("d_model", a.d_model)


def read_by_head(a: Architecture) -> Factor:
    """Features that the output head reads: those of an embedding behind a transform."""
    return embedded(a) if a.transform else Factor("d_model", a.d_model)


def parameter_count(a: Architecture) -> int:
    """Number of parameters of the model."""
    return total(parameters(a))


def _idle(a: Architecture) -> int:
    """Parameters of the routed experts that one token skips; every token needs some of all others."""
    if a.experts is None:
        return 0
    idle = a.experts.n_routed - a.experts.n_active
    return a.expert_layers * idle * 3 * a.d_model * a.experts.d_expert


def key_width(a: Architecture) -> Factor:
    """Features of one head's query, and of its key."""
    if a.latent is not None:
        return Factor("(d_nope + d_rope)", a.d_qk)
    return Factor("d_k" if a.d_key else "d_head", a.d_qk)


def value_width(a: Architecture) -> Factor:
    """Features of one head's value."""
    return Factor("d_head" if a.latent is None and not a.d_value else "d_v", a.d_v)


def _attention(bill: Bill, a: Architecture) -> list[int]:
    """Parts of one layer's attention, each a line."""
    if a.latent is not None:
        return _latent_attention(bill, a)
    h, g = Factor("h", a.n_heads), Factor("g", a.n_kv_heads)
    d_qk, d_v, d_model = key_width(a), value_width(a), Factor("d_model", a.d_model)
    d_kv = Factor("d_memory", a.d_memory) if a.n_memory else d_model
    matrices = (
        ("query", "W_Q", (d_model, h, d_qk)),
        ("key", "W_K", (d_kv, g, d_qk)),
        ("value", "W_V", (d_kv, g, d_v)),
        ("output", "W_O", (h, d_v, d_model)),
    )
    learned = [row for row in matrices if row[0] not in (*a.identities, *a.unlearned)]
    counts = [bill.part(label, *factors) for _role, label, factors in learned]
    counts += _of_gates(bill, a)
    if a.biases:
        label = _("biases of q, k, v")
        if a.d_qk == a.d_v:
            counts.append(bill.part(label, Factor("h + 2g", a.n_heads + 2 * a.n_kv_heads), d_qk))
        else:
            count = (a.n_heads + a.n_kv_heads) * a.d_qk + a.n_kv_heads * a.d_v
            counts.append(bill.part(label, Factor("(h + g) d_k + g d_v", count)))
        counts.append(bill.part(_("bias of W_O"), d_model))
    return counts


def _latent_attention(bill: Bill, a: Architecture) -> list[int]:
    latent = a.latent
    assert latent is not None
    h, d_model = Factor("h", a.n_heads), Factor("d_model", a.d_model)
    d_c, d_qk = Factor("d_c", latent.d_c), Factor("(d_nope + d_rope)", a.d_qk)
    d_v, d_q_c = Factor("d_v", latent.d_v), Factor("d_q_c", latent.d_q_c)
    d_kv = Factor("d_memory", a.d_memory) if a.n_memory else d_model
    absent = (*a.identities, *a.unlearned)
    down: tuple[tuple[str, str, tuple[Factor, ...]], ...] = (
        ("down", "W_DKV", (d_kv, d_c)),
        ("rope_key", "W_KR", (d_kv, Factor("d_rope", latent.d_rope))),
    )
    if "down" not in absent and "rope_key" not in absent:
        down = (("down", "W_DKV, W_KR", (d_kv, Factor("(d_c + d_rope)", latent.d_c + latent.d_rope))),)
    query = (
        ("query", "W_UQ, W_QR", (d_q_c, h, d_qk)) if latent.d_q_c else ("query", "W_Q", (d_model, h, d_qk))
    )
    matrices = (
        *((("query_down", "W_DQ", (d_model, d_q_c)),) if latent.d_q_c else ()),
        query,
        *down,
        ("up_key", "W_UK", (d_c, h, Factor("d_nope", latent.d_nope))),
        ("up_value", "W_UV", (d_c, h, d_v)),
        ("output", "W_O", (h, d_v, d_model)),
    )
    counts = [bill.part(label, *factors) for role, label, factors in matrices if role not in absent]
    counts += _of_gates(bill, a)
    norms = (
        (_("norm of the latent"), latent.norm, d_c),
        (_("norm of the query latent"), latent.q_norm, d_q_c),
    )
    for label, each, width in norms:
        if each and width.value:
            counts.append(bill.part(label, *((Factor(str(each), each),) if each > 1 else ()), width))
    return counts


def _of_gates(bill: Bill, a: Architecture) -> list[int]:
    """The matrix of the gates on the heads' output, if any."""
    d_model = Factor("d_model", a.d_model)
    return [bill.part("W_G", d_model, Factor(_("gates"), a.gates))] if a.gates else []


def _feed_forward(bill: Bill, a: Architecture) -> None:
    d_model, d_ff = Factor("d_model", a.d_model), Factor("d_ff", a.d_ff)
    count = sum(role not in (*a.identities, *a.unlearned) for role in a.ffn_matrices)
    matrices = Factor(str(count), count)
    dense = Factor("L", a.layers) if a.experts is None else Factor(_("dense layers"), a.experts.dense_layers)
    if a.d_ff and dense.value:
        each = [bill.part(_("feed-forward, one layer"), matrices, d_model, d_ff)]
        if a.biases:
            inner = Factor("d_ff", a.d_ff) if not a.gated else Factor("2 d_ff", 2 * a.d_ff)
            each.append(bill.sum_of(_("its biases"), [inner.value, a.d_model]))
        bill.term(_("feed-forward, all layers"), dense, Factor(_("one layer"), sum(each)))
    if a.experts is None:
        return
    moe = a.experts
    expert = bill.part(_("one expert"), Factor("3", 3), d_model, Factor("d_expert", moe.d_expert))
    layers = Factor(_("expert layers"), a.expert_layers)
    bill.term(_("routed experts"), layers, Factor(_("routed"), moe.n_routed), Factor(_("one expert"), expert))
    bill.term(_("shared experts"), layers, Factor(_("shared"), moe.n_shared), Factor(_("one expert"), expert))
    bill.term(_("routers"), layers, d_model, Factor(_("routed"), moe.n_routed))
    if moe.router_bias:
        bill.term(_("biases of the routers"), layers, Factor(_("routed"), moe.n_routed))

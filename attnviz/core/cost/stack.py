"""Cost of several architectures in sequence: an encoder and a decoder, or layers that differ.

A stack is a tuple of architectures, each with as many equal attentions as its `layers`; an encoder has its
own `n_tokens`, runs once and keeps no cache. The bill of a stack of one is that of the architecture; in a
larger stack each is billed under its name and the totals are summed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from attnviz.core.cost import flops as cost_flops
from attnviz.core.cost import lines as cost
from attnviz.core.cost import memory as cost_memory
from attnviz.core.cost.architecture import Architecture
from attnviz.core.cost.lines import Bill, Line, total
from attnviz.core.cost.memory import GB, LAYOUTS, Format, layouts
from attnviz.core.phrases import sequenced
from attnviz.i18n import _, ngettext

Stack = tuple[Architecture, ...]
Lines = tuple[Line, ...]


def decoded(stack: Stack) -> Stack:
    """The part that runs at every step: all but the encoder, which runs once."""
    return tuple(a for a in stack if not a.n_tokens)


def parameter_count(stack: Stack) -> int:
    """Number of parameters of the stack."""
    return sum(map(cost.parameter_count, stack))


def parameters(stack: Stack) -> Lines:
    """The parameters by attention and part, followed by their total."""
    return _added(stack, cost.parameters, _("parameters"))


def prefill(stack: Stack, n: int, batch: int = 1) -> Lines:
    """FLOPs of one pass over n tokens, the encoder's over its own."""

    def one(a: Architecture) -> Lines:
        return cost_flops.prefill(a, a.n_tokens or n, batch)

    return _added(stack, one, ngettext("prefill of {n} token", "prefill of {n} tokens", n).format(n=f"{n:,}"))


def decode_step(stack: Stack, n: int, batch: int = 1) -> Lines:
    """FLOPs of the step whose token is the n-th, with caches; the encoder ran before."""

    def one(a: Architecture) -> Lines:
        return cost_flops.decode_step(a, n, batch)

    return _added(decoded(stack), one, _("step at token {n}").format(n=f"{n:,}"))


def cache_bytes(stack: Stack, n: int, format_: Format, batch: int = 1) -> int:
    """Bytes of keys and values of all attentions for n tokens."""
    return sum(cost_memory.cache_bytes(a, n, format_, batch) for a in decoded(stack))


def cache(stack: Stack, n: int, format_: Format, batch: int = 1) -> Lines:
    """The arithmetic of `cache_bytes`; the sizes with other layouts of heads follow under each name."""

    def one(a: Architecture) -> Lines:
        return cost_memory.cache(a, n, format_, batch)

    return _added(
        decoded(stack), one, ngettext("cache of {n} token", "cache of {n} tokens", n).format(n=f"{n:,}")
    )


def stage_bytes(stack: Stack, n: int, format_: Format, batch: int = 1) -> int:
    """Bytes of the stages of one layer of each architecture, all kept."""
    return sum(
        total(cost_memory.stage_bytes(cost_memory.stage_shapes(a, a.n_tokens or n), format_, batch))
        for a in stack
    )


def laid_out(stack: Stack) -> tuple[tuple[str, str, Stack], ...]:
    """The stack with other layouts of heads: (id, label, stack).

    An attention that cannot have a layout keeps its own; the label has those of all that differ.
    """
    tables = [{id_: (label, other) for id_, label, other in layouts(a)} for a in stack]
    rows = []
    for id_ in LAYOUTS:
        labels = dict.fromkeys(table[id_][0] for table in tables if id_ in table)
        if labels:
            others = (table[id_][1] if id_ in table else a for a, table in zip(stack, tables, strict=True))
            rows.append((id_, sequenced(labels), tuple(others)))
    return tuple(rows)


def longest_context(stack: Stack, room: int, format_: Format, batch: int = 1) -> int | None:
    """Largest number of tokens whose caches fit in `room` bytes; None if unbounded.

    The cache grows with n and never shrinks, so bisection finds the answer.
    """
    most = 1 << 62
    if cache_bytes(stack, most, format_, batch) <= room:
        return None
    if cache_bytes(stack, 0, format_, batch) > room:
        return 0
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cache_bytes(stack, middle, format_, batch) <= room else (low, middle)
    return low


def fits(stack: Stack, n: int, batch: int, weights: Format, kv: Format, memory_gb: int) -> Lines:
    """Memory left after the weights, and the context or the batch that fits in it."""
    if len(stack) == 1:
        return cost_memory.fits(stack[0], n, batch, weights, kv, memory_gb)
    bill = Bill("B")
    memory = bill.part(_("device memory"), cost.Factor("GB", memory_gb), cost.Factor("10⁹", GB))
    count = parameter_count(stack)
    used = weights.stored(count)
    per = f"{count:,} × {weights.bits} ÷ 8"
    if weights.group:
        per += f" + ⌈{count:,} ÷ {weights.group}⌉ × {weights.scale_bytes}"
    bill.lines.append(Line(_("weights, {format}").format(format=weights.id), "", per, used, "B", "part"))
    room = bill.difference(
        _("left for the cache"), cost.Factor(_("device memory"), memory), cost.Factor(_("weights"), used)
    )
    context = longest_context(stack, room, kv, batch)
    if room < 0:
        bill.note(_("The weights alone do not fit."))
    elif context is None:
        bill.note(_("Any context fits at batch {batch}: the window bounds the cache.").format(batch=batch))
    else:
        held = f"{cache_bytes(stack, context, kv, batch):,} B ≤ {room:,} B"
        label = _("longest context, batch {batch}").format(batch=batch)
        bill.lines.append(Line(label, "", held, context, "tokens", "total"))
    one = cache_bytes(stack, n, kv)
    if room >= 0 and one:
        label = ngettext("largest batch, {n} token", "largest batch, {n} tokens", n).format(n=f"{n:,}")
        bill.quotient(
            label,
            cost.Factor(_("room"), room),
            cost.Factor(ngettext("cache of {n} token", "cache of {n} tokens", n).format(n=f"{n:,}"), one),
            "sequences",
        )
    bill.note(_("Activations, workspace and fragmentation are not counted; GB is 10⁹ bytes."))
    return tuple(bill.lines)


def open_to_all(stack: Stack) -> Stack:
    """The stack with every cell computed, as in an engine that skips none."""
    return tuple(replace(a, ahead=None, windowed_layers=0) for a in stack)


def _added(stack: Stack, billed: Callable[[Architecture], Lines], label: str) -> Lines:
    """The bill of each architecture under its name, and the sum of their totals; notes appear once."""
    if len(stack) == 1:
        return billed(stack[0])
    lines: list[Line] = []
    notes: dict[Line, None] = {}
    totals = []
    for a in stack:
        lines.append(Line(a.name.text() if a.name is not None else "", kind="title"))
        lines_of_one = billed(a)
        totals.append(total(lines_of_one))
        notes |= dict.fromkeys(line for line in lines_of_one if line.kind == "note")
        lines += [
            line._replace(kind="part") if line.kind == "total" else line
            for line in lines_of_one
            if line.kind != "note"
        ]
    bill = Bill(lines[-1].unit)
    bill.title(_("Total"))
    bill.sum_of(label, totals, "total")
    return (*lines, *bill.lines, *notes)


POINTS = 28

Counts = tuple[tuple[int, int], ...]
"""(n, quantity) pairs."""


@lru_cache(maxsize=128)
def counts(stack: Stack, curve: str, format_: Format, batch: int, most: int) -> Counts:
    """(n, quantity) from one token to `most`, evenly spaced on a logarithmic axis; exact integers."""
    places = sorted({round(most ** (i / (POINTS - 1))) for i in range(POINTS)})
    if curve == "prefill":
        return tuple((n, total(prefill(stack, n, batch))) for n in places)
    if curve == "step":
        return tuple((n, total(decode_step(stack, n, batch))) for n in places)
    if curve == "stages":
        return tuple((n, stage_bytes(stack, n, format_, batch)) for n in places)
    return tuple((n, cache_bytes(stack, n, format_, batch)) for n in places)

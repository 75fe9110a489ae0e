"""Bytes: number formats, the key/value cache, what fits in a memory, and each stage of a run.

GB is 10^9 bytes, as memory is sold; GiB is 2^30. All counts are exact Python integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from attnviz.core.cost.architecture import Architecture, Latent
from attnviz.core.cost.lines import Bill, Factor, Line, key_width, parameter_count, value_width
from attnviz.core.dims import group_counts
from attnviz.i18n import _, ngettext

GB = 10**9


@dataclass(frozen=True)
class Memory:
    """Memory of devices in GB, and their names."""

    gb: int
    devices: str


MEMORIES: tuple[Memory, ...] = (
    Memory(8, "RTX 3050"),
    Memory(24, "RTX 4090"),
    Memory(32, "RTX 5090"),
    Memory(40, "A100 40 GB"),
    Memory(80, "A100, H100"),
    Memory(141, "H200"),
    Memory(192, "MI300X"),
)
"""As the data sheets of the devices state it, the smallest first."""

UNLIMITED = None
"""Longest context where a window bounds the cache."""


@dataclass(frozen=True)
class Format:
    """Storage format of numbers: `bits` each, and `scale_bytes` for each group of `group` (0: no groups).

    int8 and int4 follow the blocks Q8_0 and Q4_0 of GGML: 32 numbers share one float16 scale, so a block is
    34 and 18 bytes.
    """

    id: str
    bits: int
    group: int = 0
    scale_bytes: int = 0

    def stored(self, numbers: int) -> int:
        """Bytes of one vector of `numbers`; an incomplete last group has its own scale."""
        groups = -(-numbers // self.group) if self.group else 0
        return -(-numbers * self.bits // 8) + groups * self.scale_bytes


FORMATS: tuple[Format, ...] = (
    Format("float64", 64),
    Format("float32", 32),
    Format("float16", 16),
    Format("bfloat16", 16),
    Format("float8", 8),
    Format("int8", 8, 32, 2),
    Format("int4", 4, 32, 2),
)

FORMAT_BY_ID = {format_.id: format_ for format_ in FORMATS}


# --- the cache -------------------------------------------------------------------------------------


def cached_vectors(a: Architecture) -> tuple[tuple[tuple[Factor, ...], Factor], ...]:
    """Vectors that one layer caches per token: (number of vectors, as factors; numbers in each)."""
    if a.latent is not None:
        return (((), Factor("d_c", a.latent.d_c)), ((), Factor("d_rope", a.latent.d_rope)))
    heads = Factor("g", a.n_kv_heads)
    if a.d_qk != a.d_v:
        return (((heads,), key_width(a)), ((heads,), value_width(a)))
    return (((Factor("2", 2), heads), key_width(a)),)


def bytes_per_token_layer(a: Architecture, format_: Format) -> int:
    """Bytes that one layer caches per token."""
    return sum(
        math.prod(count.value for count in counts) * format_.stored(width.value)
        for counts, width in cached_vectors(a)
    )


def bytes_per_token(a: Architecture, format_: Format) -> int:
    """Bytes that all layers cache per token, while it is inside every window."""
    return a.layers * bytes_per_token_layer(a, format_)


def cache_bytes(a: Architecture, n: int, format_: Format, batch: int = 1) -> int:
    """Bytes of keys and values (or latents) for n tokens of each of `batch` sequences.

    A layer with a window caches min(n, w) tokens; cross-attention caches the memory's for every n.
    """
    rows = a.full_layers * a.keys(n) + a.windowed_layers * min(a.keys(n), a.window)
    return batch * rows * bytes_per_token_layer(a, format_)


def cache(a: Architecture, n: int, format_: Format, batch: int = 1) -> tuple[Line, ...]:
    """The arithmetic of `cache_bytes`, then the same model with other layouts of heads."""
    bill = Bill("B")
    each = _per_token(bill, a, format_)
    layers, one = Factor("L", a.layers), Factor(_("bytes"), each)
    bill.part(_("one token, all layers"), layers, one)
    b, keys = Factor("b", batch), a.keys(n)
    if a.full_layers:
        full = layers if not a.windowed_layers else Factor(_("full layers"), a.full_layers)
        label = _("full layers") if a.windowed_layers else _("all layers")
        bill.term(label, b, full, Factor("m" if a.n_memory else "n", keys), one)
    if a.windowed_layers:
        kept = Factor("min(n, w)", min(keys, a.window))
        bill.term(_("window layers"), b, Factor(_("window layers"), a.windowed_layers), kept, one)
    whole = bill.total(ngettext("cache of {n} token", "cache of {n} tokens", n).format(n=f"{n:,}"))
    bill.title(_("Same model with"))
    for _id, label, other in layouts(a):
        size = cache_bytes(other, n, format_, batch)
        times = _ratio(size, whole) if whole else "0"
        said = _("{count} B per token, {times} times this")
        if other.windowed_layers:
            said = _("{count} B per token inside every window, {times} times this")
        text = said.format(count=f"{bytes_per_token(other, format_):,}", times=times)
        bill.lines.append(Line(label, "", text, size, "B", "part"))
    return tuple(bill.lines)


LAYOUTS = ("MHA", "GQA", "MQA", "MLA", "window", "full")
"""The ids of `layouts`, in their order."""


def layouts(a: Architecture) -> tuple[tuple[str, str, Architecture], ...]:
    """The model with other layouts of heads, its windows kept, then with a window in every layer and in none:
    (id, label, architecture).

    Without its latent, a model's heads keep their widths: d_nope + d_rope features per key, d_v per value.
    Where the model defines nothing, GQA has the largest divisor of h up to h/8 (2 at least), MLA the
    latent of its heads' width (`Latent.of_heads`), the window 4,096 keys in every layer.
    """
    d_key, d_value = (a.d_key, a.d_value) if a.latent is None else (a.d_qk, a.d_v)
    plain = replace(a, latent=None, d_key=d_key, d_value=d_value)
    g = a.n_kv_heads if 1 < a.n_kv_heads < a.n_heads else _group_heads(a.n_heads)
    latent = a.latent or Latent.of_heads(a.d_head)
    w = a.window or 4096
    mha = replace(plain, n_kv_heads=a.n_heads)
    rows = [("MHA", _mha_label(a), mha)]
    if 1 < g < a.n_heads:
        rows.append(("GQA", _("GQA, {count} KV heads").format(count=g), replace(plain, n_kv_heads=g)))
    rows.append(("MQA", _("MQA, 1 KV head"), replace(plain, n_kv_heads=1)))
    mla = _("MLA, {d_c} + {d_rope} numbers").format(d_c=latent.d_c, d_rope=latent.d_rope)
    rows.append(("MLA", mla, replace(plain, latent=latent)))
    windowed = replace(a, window=w, windowed_layers=a.layers)
    rows.append(("window", _("window of {count}, every layer").format(count=f"{w:,}"), windowed))
    if a.windowed_layers:
        rows.append(("full", _("no window"), replace(a, window=0, windowed_layers=0)))
    return tuple(rows)


def _mha_label(a: Architecture) -> str:
    if a.latent is None:
        return ngettext("MHA, {count} KV head", "MHA, {count} KV heads", a.n_heads).format(count=a.n_heads)
    text = ngettext(
        "MHA, {count} head of {keys} + {values} numbers",
        "MHA, {count} heads of {keys} + {values} numbers",
        a.n_heads,
    )
    return text.format(count=a.n_heads, keys=a.d_qk, values=a.d_v)


def _group_heads(n_heads: int) -> int:
    between = group_counts(n_heads)[1:-1]
    below = [g for g in between if g <= max(n_heads // 8, 2)]
    return below[-1] if below else (between[0] if between else n_heads)


def _per_token(bill: Bill, a: Architecture, format_: Format) -> int:
    """Lines of the numbers that one layer caches per token; the scales of a quantised format have their own
    line.
    """
    labels: tuple[str, ...] = (_("one token, one layer"),)
    if len(cached_vectors(a)) > 1:
        labels = (_("keys"), _("values")) if a.latent is None else (_("latent"), _("rotated key"))
    each = []
    for label, (vectors, width) in zip(labels, cached_vectors(a), strict=True):
        if format_.bits % 8 == 0:
            each.append(bill.part(label, *vectors, width, Factor(_("bytes"), format_.bits // 8)))
        else:
            packed = Factor(f"⌈{width.symbol} · {format_.bits} ÷ 8⌉", -(-width.value * format_.bits // 8))
            each.append(bill.part(label, *vectors, packed))
        if format_.group:
            groups = Factor(f"⌈{width.symbol} ÷ {format_.group}⌉", -(-width.value // format_.group))
            scales = Factor(_("bytes of a scale"), format_.scale_bytes)
            each.append(bill.part(_("its scales"), *vectors, groups, scales))
    if len(each) > 1:
        bill.sum_of(_("one token, one layer"), each)
    return sum(each)


def _ratio(part: int, whole: int) -> str:
    hundredths = (part * 200 + whole) // (2 * whole)
    return f"{hundredths // 100:,}.{hundredths % 100:02}"


# --- what fits -------------------------------------------------------------------------------------


def weight_bytes(a: Architecture, format_: Format) -> int:
    """Bytes of all parameters in one format; files often keep norms and embeddings wider."""
    return format_.stored(parameter_count(a))


def longest_context(a: Architecture, room: int, format_: Format, batch: int = 1) -> int | None:
    """Largest number of tokens whose cache fits in `room` bytes, for each of `batch` sequences; None if
    unbounded.
    """
    if room < 0:
        return 0
    each = batch * bytes_per_token_layer(a, format_)
    if a.n_memory or not a.full_layers:
        needs = each * a.layers * (a.n_memory or a.window)
        if needs <= room:
            return UNLIMITED
        return 0 if a.n_memory else room // (each * a.layers)
    if not a.windowed_layers or room < each * a.layers * a.window:
        return room // (each * a.layers)
    return (room - each * a.windowed_layers * a.window) // (each * a.full_layers)


def fits(
    a: Architecture, n: int, batch: int, weights: Format, kv: Format, memory_gb: int
) -> tuple[Line, ...]:
    """Memory left after the weights, and the context or the batch that fits in it."""
    bill = Bill("B")
    memory = bill.part(_("device memory"), Factor("GB", memory_gb), Factor("10⁹", GB))
    count = parameter_count(a)
    used = weight_bytes(a, weights)
    per = f"{count:,} × {weights.bits} ÷ 8"
    if weights.group:
        per += f" + ⌈{count:,} ÷ {weights.group}⌉ × {weights.scale_bytes}"
    bill.lines.append(Line(_("weights, {format}").format(format=weights.id), "", per, used, "B", "part"))
    room = bill.difference(
        _("left for the cache"), Factor(_("device memory"), memory), Factor(_("weights"), used)
    )
    if room < 0:
        bill.note(_("The weights alone do not fit."))
    else:
        _fitting(bill, a, n, batch, kv, room)
    bill.note(_("Activations, workspace and fragmentation are not counted; GB is 10⁹ bytes."))
    return tuple(bill.lines)


def _fitting(bill: Bill, a: Architecture, n: int, batch: int, kv: Format, room: int) -> None:
    each = batch * bytes_per_token_layer(a, kv)
    per_token = Factor(_("bytes per token"), each * a.layers)
    context = longest_context(a, room, kv, batch)
    label = _("longest context, batch {batch}").format(batch=batch)
    if context is UNLIMITED:
        bill.note(_("Any context fits at batch {batch}: the window bounds the cache.").format(batch=batch))
    elif a.windowed_layers and a.full_layers and context > a.window:
        windows = bill.part(
            _("full windows"),
            Factor(_("bytes"), each),
            Factor(_("window layers"), a.windowed_layers),
            Factor("w", a.window),
        )
        left = bill.difference(
            _("left for the full layers"), Factor(_("room"), room), Factor(_("full windows"), windows)
        )
        bill.quotient(label, Factor(_("room"), left), Factor(_("bytes"), each * a.full_layers), "tokens")
    elif a.n_memory:
        bill.note(_("The cache of the memory sequence alone does not fit."))
    else:
        bill.quotient(label, Factor(_("room"), room), per_token, "tokens")
    if context is not UNLIMITED and context > a.context > 1:
        bill.note(_("The model was trained for {context} tokens.").format(context=f"{a.context:,}"))
    one = Factor(
        ngettext("cache of {n} token", "cache of {n} tokens", n).format(n=f"{n:,}"), cache_bytes(a, n, kv)
    )
    bill.quotient(
        ngettext("largest batch, {n} token", "largest batch, {n} tokens", n).format(n=f"{n:,}"),
        Factor(_("room"), room),
        one,
        "sequences",
    )


# --- the stages of a run ---------------------------------------------------------------------------


def stage_shapes(a: Architecture, n: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(stage, shape) of one layer's attention over n tokens, every stage kept, in data-flow order.

    The stages of a causal decoder with rotated queries and keys; ids and axes are those of the stage table.
    """
    h, g, keys = a.n_heads, a.n_kv_heads if a.latent is None else a.n_heads, a.keys(n)
    scores = (h, n, keys)
    shapes: list[tuple[str, tuple[int, ...]]] = [("x", (n, a.d_model))]
    if a.latent is not None and a.latent.d_q_c:
        shapes.append(("q_latent", (n, a.latent.d_q_c)))
    shapes.append(("q", (h, n, a.d_qk)))
    if a.latent is not None:
        shapes.append(("latent", (keys, a.latent.d_c)))
        shapes += [("rope_key", (keys, a.latent.d_rope))] if a.latent.d_rope else []
    shapes += [("k", (g, keys, a.d_qk)), ("v", (g, keys, a.d_v))]
    shapes += [("q_rotated", (h, n, a.d_qk)), ("k_rotated", (g, keys, a.d_qk))]
    shapes += [(stage, scores) for stage in ("scores", "scaled", "masked", "weights")]
    shapes += [
        ("mixed", (h, n, a.d_v)),
        ("concatenated", (n, h * a.d_v)),
        ("attention_output", (n, a.d_model)),
    ]
    return tuple(shapes)


def stage_bytes(
    shapes: Iterable[tuple[str, tuple[int, ...]]], format_: Format, batch: int = 1
) -> tuple[Line, ...]:
    """Bytes of each stage, with its shape as the product."""
    bill = Bill("B")
    for stage, shape in shapes:
        numbers = batch * math.prod(shape)
        digits = " × ".join(f"{size:,}" for size in ((batch,) if batch > 1 else ()) + tuple(shape))
        bill.lines.append(
            Line(stage, "", f"{digits} × {format_.bits} ÷ 8", format_.stored(numbers), "B", "term")
        )
    bill.total(_("all stages"))
    return tuple(bill.lines)

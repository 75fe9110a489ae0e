"""Floating-point operations of a prefill and of one decoding step, line by line.

A multiplication and an addition count as two, so a product of (m, k) and (k, n) is 2·m·k·n. The softmax
counts 5 for each score: maximum, subtraction, exponential, sum, division. Scores that causality or the
window block are not counted, as in a kernel that skips them; a note gives the total with all scores
computed. Norms, rotations, activations, residual connections and biases are not counted: they are linear in
n·d_model and contain no matrix product.
"""

from __future__ import annotations

from attnviz.core.cost.architecture import Architecture, pairs
from attnviz.core.cost.lines import Bill, Factor, Line, key_width, read_by_head, value_width
from attnviz.i18n import _, ngettext

SOFTMAX_FLOPS = 5
"""Operations of the softmax for one score."""

_TWO = Factor("2", 2)
_Factors = tuple[Factor, ...]


def prefill(a: Architecture, n: int, batch: int = 1) -> tuple[Line, ...]:
    """FLOPs of one pass over n tokens of each of `batch` sequences, logits at every position."""
    bill = Bill("FLOP")
    b = Factor("b", batch)
    tokens = (b, Factor("n", n))
    _projections(bill, a, tokens, (b, Factor("m", a.keys(n))) if a.n_memory else tokens)
    for windowed, layers in _layer_groups(a):
        _scores(
            bill, a, layers, b, Factor(_pairs_symbol(a, windowed), pairs(a, n, windowed=windowed)), windowed
        )
    _after(bill, a, tokens)
    total = bill.total(ngettext("prefill of {n} token", "prefill of {n} tokens", n).format(n=f"{n:,}"))
    blocked = sum(
        layers.value * (n * a.keys(n) - pairs(a, n, windowed=windowed))
        for windowed, layers in _layer_groups(a)
    )
    if blocked:
        more = batch * blocked * a.n_heads * (2 * a.d_qk + 2 * a.d_v + SOFTMAX_FLOPS)
        bill.note(_("Including blocked scores: {count}.").format(count=f"{total + more:,}"))
    _say_rules(bill)
    return tuple(bill.lines)


def decode_step(a: Architecture, n: int, batch: int = 1) -> tuple[Line, ...]:
    """FLOPs of the step whose token is the n-th, with a cache: it attends to n keys, including its own.

    MLA is counted in its absorbed form: W_UK is applied to the query and W_UV to the weighted sum of
    latents, so the cached latents are never expanded.
    """
    bill = Bill("FLOP")
    b = Factor("b", batch)
    if a.latent is not None:
        _absorbed(bill, a, b)
    else:
        _projections(bill, a, (b,), () if a.n_memory else (b,))
    for windowed, layers in _layer_groups(a):
        keys = min(n, a.window) if windowed else a.keys(n)
        symbol = "min(n, w)" if windowed else "m" if a.n_memory else "n"
        _scores(bill, a, layers, b, Factor(symbol, keys), windowed, absorbed=True)
    _after(bill, a, (b,))
    bill.total(_("step at token {n}").format(n=f"{n:,}"))
    if a.latent is not None:
        bill.note(_("W_UK and W_UV are absorbed: scores and sums are computed on the cached latents."))
    _say_rules(bill)
    return tuple(bill.lines)


def _layer_groups(a: Architecture) -> tuple[tuple[bool, Factor], ...]:
    """Return (has a window, number of layers) for each kind of layer."""
    if not a.windowed_layers:
        return ((False, Factor("L", a.layers)),)
    windowed = (True, Factor(_("window layers"), a.windowed_layers))
    return (windowed,) if not a.full_layers else ((False, Factor(_("full layers"), a.full_layers)), windowed)


def _pairs_symbol(a: Architecture, windowed: bool) -> str:
    if windowed:
        return "w(w+1)/2 + (n−w)w" if a.ahead == 0 else _("pairs in the window")
    if a.n_memory:
        return "n · m"
    return "n(n+1)/2" if a.ahead == 0 else "n²" if a.ahead is None else _("pairs")


def _projections(bill: Bill, a: Architecture, tokens: _Factors, kv_tokens: _Factors) -> None:
    """Count q, k and v; cached keys and values have no tokens in `kv_tokens`."""
    layers, d_model, h = Factor("L", a.layers), Factor("d_model", a.d_model), Factor("h", a.n_heads)
    if a.latent is not None:
        latent = a.latent
        d_qk, d_q_c = Factor("(d_nope + d_rope)", a.d_qk), Factor("d_q_c", latent.d_q_c)
        if latent.d_q_c and "query_down" not in a.identities:
            bill.term(_("query latent"), _TWO, *tokens, d_model, d_q_c, layers)
        if "query" not in a.identities:
            bill.term("q", _TWO, *tokens, d_q_c if latent.d_q_c else d_model, h, d_qk, layers)
        _compressed(bill, a, kv_tokens)
        up = (("up_key", "d_nope", latent.d_nope), ("up_value", "d_v", latent.d_v))
        computed = [row for row in up if row[0] not in a.identities]
        if computed:
            symbol = " + ".join(name for _role, name, _width in computed)
            per_head = Factor(
                f"({symbol})" if len(computed) > 1 else symbol, sum(width for *_names, width in computed)
            )
            d_c = Factor("d_c", latent.d_c)
            bill.term(_("k, v from the latent"), _TWO, *kv_tokens, d_c, h, per_head, layers)
        return
    g = Factor("g", a.n_kv_heads)
    if "query" not in a.identities:
        bill.term("q", _TWO, *tokens, d_model, h, key_width(a), layers)
    d_kv = Factor("d_memory", a.d_memory) if a.n_memory else d_model
    for role, label, width in (("key", "k", key_width(a)), ("value", "v", value_width(a))):
        if kv_tokens and role not in a.identities:
            bill.term(label, _TWO, *kv_tokens, d_kv, g, width, layers)


def _compressed(bill: Bill, a: Architecture, tokens: _Factors) -> None:
    """Count the latent and the RoPE key of some tokens; an identity costs nothing."""
    latent = a.latent
    assert latent is not None
    parts = (("down", "d_c", latent.d_c), ("rope_key", "d_rope", latent.d_rope))
    computed = [part for part in parts if part[0] not in a.identities and part[2]]
    if not computed or not tokens:
        return
    symbol = " + ".join(name for _role, name, _width in computed)
    width = Factor(f"({symbol})" if len(computed) > 1 else symbol, sum(size for *_names, size in computed))
    d_in = Factor("d_memory", a.d_memory) if a.n_memory else Factor("d_model", a.d_model)
    bill.term(_("latent"), _TWO, *tokens, d_in, width, Factor("L", a.layers))


def _absorbed(bill: Bill, a: Architecture, b: Factor) -> None:
    """Count the projections of one step of MLA, with W_UK applied to the query instead of the latents."""
    latent = a.latent
    assert latent is not None
    layers, d_model, h = Factor("L", a.layers), Factor("d_model", a.d_model), Factor("h", a.n_heads)
    d_c, d_q_c = Factor("d_c", latent.d_c), Factor("d_q_c", latent.d_q_c)
    if latent.d_q_c and "query_down" not in a.identities:
        bill.term(_("query latent"), _TWO, b, d_model, d_q_c, layers)
    d_qk = Factor("(d_nope + d_rope)", a.d_qk)
    if "query" not in a.identities:
        bill.term("q", _TWO, b, d_q_c if latent.d_q_c else d_model, h, d_qk, layers)
    _compressed(bill, a, () if a.n_memory else (b,))
    bill.term("q W_UKᵀ", _TWO, b, h, Factor("d_nope", latent.d_nope), d_c, layers)
    bill.term("y W_UV", _TWO, b, h, d_c, Factor("d_v", latent.d_v), layers)


def _scores(
    bill: Bill,
    a: Architecture,
    layers: Factor,
    b: Factor,
    seen: Factor,
    windowed: bool,
    absorbed: bool = False,
) -> None:
    """Count scores, softmax and weighted sums of some layers; with `absorbed`, MLA's over the latents."""
    h = Factor("h", a.n_heads)
    d_qk, d_v = key_width(a), value_width(a)
    if a.latent is not None and absorbed:
        d_qk = Factor("(d_c + d_rope)", a.latent.d_c + a.latent.d_rope)
        d_v = Factor("d_c", a.latent.d_c)
    labels = (_("scores q · kᵀ"), _("softmax"), _("weighted sums w · v"))
    if windowed:
        labels = (_("scores, window layers"), _("softmax, window layers"), _("sums, window layers"))
    bill.term(labels[0], _TWO, b, h, seen, d_qk, layers)
    bill.term(labels[1], Factor(str(SOFTMAX_FLOPS), SOFTMAX_FLOPS), b, h, seen, layers)
    bill.term(labels[2], _TWO, b, h, seen, d_v, layers)


def _after(bill: Bill, a: Architecture, tokens: _Factors) -> None:
    """Count the output projection, the feed-forward layer or the experts, and the logits."""
    layers, d_model = Factor("L", a.layers), Factor("d_model", a.d_model)
    if a.gates:
        bill.term(_("gates"), _TWO, *tokens, d_model, Factor(_("gates"), a.gates), layers)
    if "output" not in a.identities:
        bill.term(_("output W_O"), _TWO, *tokens, Factor("h", a.n_heads), value_width(a), d_model, layers)
    count = sum(role not in a.identities for role in a.ffn_matrices)
    matrices = Factor(str(count), count)
    dense = layers if a.experts is None else Factor(_("dense layers"), a.experts.dense_layers)
    if a.d_ff and dense.value:
        bill.term(_("feed-forward"), _TWO, *tokens, matrices, d_model, Factor("d_ff", a.d_ff), dense)
    if a.experts is not None:
        moe, expert_layers = a.experts, Factor(_("expert layers"), a.expert_layers)
        bill.term(_("routers"), _TWO, *tokens, d_model, Factor(_("routed"), moe.n_routed), expert_layers)
        used = Factor(_("experts used"), moe.n_active + moe.n_shared)
        d_expert = Factor("d_expert", moe.d_expert)
        bill.term(_("experts"), _TWO, *tokens, used, Factor("3", 3), d_model, d_expert, expert_layers)
    entries = a.vocabulary if a.logits is None else a.logits
    if a.transform and entries:
        bill.term(_("transform before the output head"), _TWO, *tokens, d_model, read_by_head(a))
    if entries:
        bill.term(_("logits"), _TWO, *tokens, read_by_head(a), Factor("V", entries))


def _say_rules(bill: Bill) -> None:
    bill.note(
        _(
            "A multiplication and an addition count as two operations; softmax takes {count} per score."
        ).format(count=SOFTMAX_FLOPS)
    )
    bill.note(_("Norms, rotations, activations, residuals and biases are not counted."))

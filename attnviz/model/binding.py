"""From a site to the operation that makes one of its stages: the record of its operands is bound here."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, Literal

from attnviz.core.block import ACTIVATION_BY_ID, GATED_UNIT_BY_ID
from attnviz.core.dropout import AFTER_ATTENTION, AFTER_FFN
from attnviz.core.routing import SHARES_BY_ID
from attnviz.i18n import N_, _
from attnviz.model.masks import blocked_by_all, why_blocked_by
from attnviz.model.normalisers import NORMALISER_BY_ID, SINK_TEXTS
from attnviz.model.operands.additive import added_numbers, pull_added, why_cut
from attnviz.model.operands.matrices import Numbers, compared_vectors, sinks_array, vectors_array, vocabulary
from attnviz.model.operands.relative import RELATIVES
from attnviz.model.positions import (
    Bias,
    bias_of,
    magnitude,
    pair_frequencies,
    rope_of,
    rotated_features,
    row_of,
    turning_of,
)
from attnviz.model.positions import rotation as rotation_of
from attnviz.model.scalings import frequency_lines
from attnviz.model.spec.arrays import in_float64
from attnviz.model.spec.differential import LAMBDA_ROWS, Differential
from attnviz.model.spec.parts import Dropout, SeededVectors, Vectors
from attnviz.model.spec.positions import Learned
from attnviz.model.spec.rows import row_array
from attnviz.model.spec.site import Site, Surroundings, experts_of, ffn_of
from attnviz.model.stages import EMBEDDED, STAGE_BY_ID, Stage
from attnviz.model.weights import WEIGHT_BY_PATH, WEIGHTS, Weight, bias_path
from attnviz.operations.linear import Linear
from attnviz.operations.logits import VECTORS
from attnviz.operations.mask import Hidden, Reasons
from attnviz.operations.norm import NORM_KIND_BY_ID, Norm
from attnviz.operations.normaliser import SOFTMAX, Normaliser
from attnviz.operations.operation import Floats, Ints, Operation, Parameter
from attnviz.operations.pointwise import Step


def bind(site: Site, stage: str) -> Operation:
    """The operation of a stage that the site has, with its operands."""
    row = STAGE_BY_ID[stage]
    if row.made_by in (Linear, Norm):
        return _by_weights(row, site)
    of_layer, computed = _OF_LAYER.get(row.operands), _COMPUTED.get(row.operands)
    if of_layer is not None:
        return row.made_by(*of_layer(site.layer))
    return row.made_by(*((attrgetter(row.operands)(site),) if computed is None else computed(site)))


def _scale(site: Site) -> tuple[float | None, tuple[Step, ...]]:
    """The scale and the temperature; of the two, those that are used."""
    sign, number, text = site.scale.step(site.d_qk)
    name = _("scale") if sign == "×" else text
    code = repr(number) if sign == "×" else f"{site.d_qk}**0.5"
    steps: tuple[Step, ...] = (Step(sign, number, name, name, code),) if sign else ()
    if site.temperature != 1.0:
        heat = site.temperature
        steps += (Step("÷", heat, "T", _("temperature"), repr(heat)),)
    return site.score_factor, steps


def _bias(site: Site) -> tuple[Bias, Callable[[Floats, Ints, Ints], dict[str, Floats]]]:
    """The bias of a position; queries are numbered from 0, the offset of their positions is inside."""
    position, bias, offset = site.position, bias_of(site), site.query_offset
    assert bias is not None
    pull = row_of(position).pull_bias

    def parameters(g: Floats, queries: Ints, keys: Ints) -> dict[str, Floats]:
        if pull is None:
            return {}
        name, found = pull(position, g, queries + offset, keys)
        return {f"position.{name}": found}

    return (lambda heads, queries, keys: bias(heads, queries + offset, keys)), parameters


def _added(site: Site) -> tuple[Bias, Callable[[Floats, Ints, Ints], dict[str, Floats]]]:
    """The additive mask."""
    mask, numbers = site.additive_mask, added_numbers(site)
    assert mask is not None and numbers is not None
    return numbers.at, lambda g, queries, keys: {"additive_mask.values": pull_added(mask, g)}


def _mask(site: Site) -> tuple[Any, ...]:
    """The masks before the softmax; nothing here holds the site."""
    return hidden_in(site), why_hidden_in(site), why_cut_in(site), site.mask_bias


def normaliser_of(site: Site) -> Normaliser:
    """The normaliser of the scores."""
    return Normaliser(*_weights(site))


def _weights(site: Site) -> tuple[Any, ...]:
    row = NORMALISER_BY_ID[site.normaliser]
    late = bool(site.masks) and site.mask_placement == "after_softmax"
    is_nan = site.fully_masked_row == "nan" and site.sinks is None  # a sink takes all of it
    return (
        row.rule,
        "w",
        hidden_in(site),
        why_hidden_in(site),
        late,
        site.adds_to_blocked,
        added_numbers(site),
        None if site.sinks is None else sinks_array(site),
        math.nan if is_nan else 0.0,
        (row.formula, row.title) if site.sinks is None else SINK_TEXTS,
    )


def _relative(site: Site) -> tuple[Any, ...]:
    """The terms of a relative position."""
    row = RELATIVES[type(site.position)]
    size, offset = site.heads.group_size, site.query_offset
    return row.parts(site), size, offset, row.tables(site), row.letters, row.distance


def hidden_in(site: Site) -> Hidden:
    """The cells that the masks of a site hide, by rows and columns."""
    masks, offset = site.masks, site.query_offset
    return lambda queries, keys: blocked_by_all(masks, queries + offset, keys)


def why_hidden_in(site: Site) -> Reasons:
    """Why the masks of a site hide a cell."""
    masks, offset = site.masks, site.query_offset
    return lambda cell: why_blocked_by(masks, cell.row + offset, cell.column)


def why_cut_in(site: Site) -> Reasons:
    """Why the additive mask of a site hides a cell, one sentence; none if it does not."""
    numbers = added_numbers(site)
    return lambda cell: () if numbers is None else why_cut(numbers, cell)


def _by_weights(row: Stage, site: Site) -> Operation:
    """The norm or the map of the first path that the site has."""
    for path in row.operands.split():
        weight = WEIGHT_BY_PATH.get(path)
        if weight is not None and weight.source(site) is not None:
            return _linear(row, site, weight)
        norm = attrgetter(path)(site) if weight is None else None
        if norm is not None:
            return _norm(row, site, norm)
    raise KeyError(row.id)


def _norm(row: Stage, site: Site, norm: Any) -> Norm:
    """A norm of tokens or of heads, whose gain and bias are parameters of the stage."""
    if isinstance(norm, Differential):
        pairs: Any = {"together": "pair", "n_heads": site.heads.n_heads}
        return Norm(_PAIR, norm.eps, **pairs, factor=1.0 - norm.initial, factor_name="1 − λ₀")
    gain, bias = (_parameter(_OF_NORM.get((row.id, end)), site) for end in ("gain", "bias"))
    name = row.id.partition("_")[0].upper() if row.per_head else row.id
    kind, together = NORM_KIND_BY_ID[norm.kind], "all" if getattr(norm, "across", False) else ""
    n_heads = site.heads.n_kv_heads if row.axes[0] == "kv_head" else site.heads.n_heads
    return Norm(kind, norm.eps, gain, bias, name, together, n_heads)  # type: ignore[arg-type]


_PAIR = NORM_KIND_BY_ID["rms"]
"""The norm of partner heads, as published."""


_OF_NORM = {
    (weight.stage, end): weight
    for weight in WEIGHTS
    for end in ("gain", "bias")
    if weight.path.endswith(end) and weight.path.removesuffix(end) + "gain" in WEIGHT_BY_PATH
}
"""Gains and biases of norms, by stage."""


def _parameter(weight: Weight | None, site: Site) -> Parameter | None:
    """A gain or a bias; None if the site has none."""
    if weight is None or weight.source(site) is None:
        return None
    numbers = weight.numbers(site)
    return Parameter(weight.path, weight.symbol, lambda: numbers()[0])


def _part(numbers: Numbers) -> Callable[[Any, Any], Floats]:
    """Some rows and columns of a matrix, in float64."""
    return lambda rows, columns: in_float64(numbers()[rows, columns])


def _linear(row: Stage, site: Site, weight: Weight) -> Linear:
    """A linear map; its bias is the parameter beside it."""
    heads = site.heads
    of_keys, joins = row.axes[0] == "kv_head", len(row.reads) > 1 and bool(site.latent and site.latent.d_rope)
    groups = (heads.n_kv_heads,) if of_keys else (heads.n_kv_heads, heads.group_size)
    width = heads.d_head if of_keys else row.width(site)
    return Linear(
        weight.path,
        weight.symbol,
        _part(weight.numbers(site)),
        passes=weight.passes(site),
        bias=_parameter(WEIGHT_BY_PATH.get(bias_path(weight.path)), site),
        heads=groups if row.per_head else (),
        width=width if row.per_head else 0,
        hue=row.hue,
        joins=joins,
    )


def _dropout(given: Dropout, place: int | None = None) -> tuple[float, int, bool, int | None]:
    return given.p, given.seed, given.rescale, place


def _behind(place: int) -> Callable[[Surroundings], tuple[float, int, bool, int | None]]:
    """The residual dropout of a place in the block."""

    def dropout(layer: Surroundings) -> tuple[float, int, bool, int | None]:
        assert layer.block is not None
        return _dropout(layer.block.dropout, place)

    return dropout


def _difference(site: Site) -> tuple[Any, ...]:
    """The difference of the weights of partner heads."""
    of, d_head = site.differential, site.heads.d_head
    assert of is not None
    vectors = {name: row_array(getattr(of, name), d_head) for name in LAMBDA_ROWS}
    return of.factor(d_head), site.heads.n_heads // 2, of.initial, vectors, of.slopes(d_head)


def _rotation(of: Literal["query", "key"]) -> Callable[[Site], tuple[Any, ...]]:
    """The rotation of queries, or of keys and values."""

    def rotation(site: Site) -> tuple[Any, ...]:
        rope, offset = rope_of(site), site.query_offset if of == "query" else 0
        features, frequencies = rotated_features(site), pair_frequencies(site)
        why = partial(frequency_lines, rotation_of(site))
        table, length = turning_of(site, of), magnitude(rope)
        return table, features, rope.pairing, offset, rope.start, length, frequencies, why

    return rotation


def _temper(site: Site) -> tuple[Any, ...]:
    """The factors of the queries by their positions."""
    given = site.position_temperature
    assert given is not None
    return given.strength, given.interval, site.query_offset, given.factors


def _routing(layer: Surroundings) -> tuple[Any, ...]:
    """The weights of the experts."""
    of = experts_of(layer)
    correction = None if of.correction is None else row_array(of.correction, of.n)
    shares = SHARES_BY_ID[of.shares]
    return of.n, shares, of.choice, of.normalised, of.scale, of.shared_gate, correction


def _routed(letter: str, role: str = "") -> Callable[[Surroundings], tuple[Any, ...]]:
    """Features times the weights of the experts; `role` is the map that makes them."""

    def routed(layer: Surroundings) -> tuple[Any, ...]:
        ffn, of = ffn_of(layer), experts_of(layer)
        is_direct = role and getattr(ffn, f"{role}_bias") is None
        widths = of.n, ffn.d_hidden, of.d_shared
        return letter, *widths, of.shared_gate, of.biased, role if is_direct else ""

    return routed


def _vectors(site: Site) -> tuple[Any, ...]:
    """The vectors of the tokens."""
    return _given("vectors", site.vectors)


def _memory(site: Site) -> tuple[Any, ...]:
    """The vectors of the memory."""
    assert site.memory is not None
    return *_given("memory.vectors", site.memory.vectors), True


def _given(path: str, vectors: Vectors) -> tuple[Any, ...]:
    seed = vectors.seed if isinstance(vectors, SeededVectors) else None
    return path, partial(vectors_array, vectors), seed


def _placed(site: Site) -> tuple[Any, ...]:
    """The rows of a position that is added to vectors."""
    position, added = site.position, row_of(site.position).added
    assert added is not None
    table = ("position.table", position.length, position.start) if isinstance(position, Learned) else None
    return partial(added, position, site.d_embedding), table


def _activation(layer: Surroundings) -> tuple[Any, ...]:
    """The activation of the feed-forward layer; of routed gates and ups with their letters."""
    ffn = ffn_of(layer)
    row = GATED_UNIT_BY_ID[ffn.activation] if ffn.gated else ACTIVATION_BY_ID[ffn.activation]
    written = row.formula if ffn.gated else row.formula.replace("z", "up")
    if ffn.experts is not None and ffn.experts.weighted != "output":
        written = written.replace("gate", "gate′").replace("up", "up′")
    return ffn.activation, ffn.gated, written, row.title


def _activation_of_transform(layer: Surroundings) -> tuple[Any, ...]:
    """The activation before the vocabulary's matrix."""
    transform = layer.transform
    assert transform is not None
    row = ACTIVATION_BY_ID[transform.activation]
    return row.id, False, row.formula.replace("z", "t"), row.title


REPORTED: dict[str, str] = {
    "first": N_("the classifier reports the logits of the first token"),
    "last": N_("the classifier reports the logits of the last token"),
}
"""The note on a logit of a class, where one position counts."""


def _logits(site: Site) -> tuple[Any, ...]:
    """The product with the vocabulary's matrix, or with the vectors of the distinct tokens."""
    known = site.layer.output_vocabulary
    if known is None:
        vectors, tokens = compared_vectors(site), vocabulary(site)[1]
        return VECTORS, lambda row, columns: vectors[columns, row], None, 1.0, None, "o", (), tokens, EMBEDDED
    weight, transform = WEIGHT_BY_PATH["vocabulary.unembedding"], known.transform
    bias = _parameter(WEIGHT_BY_PATH["vocabulary.bias"], site)
    reads = "" if known.classes is None else known.classes.reads
    notes = (N_("W_U is the embedding, transposed"),) if known.unembedding is None else ()
    return (
        weight.path,
        _part(weight.numbers(site)),
        bias,
        known.logit_scale,
        known.cap,
        "o" if transform is None else "h" if transform.norm is None else "norm(h)",
        notes or tuple(REPORTED[one] for one in (reads,) if one in REPORTED),
    )


_COMPUTED: dict[str, Callable[[Site], tuple[Any, ...]]] = {
    "vectors": _vectors,
    "previous layer": lambda site: (),
    "memory.vectors": _memory,
    "position of vectors": _placed,
    "gate": lambda site: (site.gate is not None and site.gate.per == "head",),
    "readout": _logits,
    "scale": _scale,
    "position": _bias,
    "additive_mask": _added,
    "position_temperature": _temper,
    "masks": _mask,
    "relative position": _relative,
    "normaliser": _weights,
    "softmax": lambda site: (SOFTMAX, "p"),
    "differential": _difference,
    "heads.off": lambda site: (site.heads.group_size, site.heads.off),
    "position of queries": _rotation("query"),
    "position of keys": _rotation("key"),
    "dropout": lambda site: _dropout(site.dropout),
}
"""Operands of more than one field of the site."""

_OF_LAYER: dict[str, Callable[[Surroundings], tuple[Any, ...]]] = {
    "block.dropout behind the attention": _behind(AFTER_ATTENTION),
    "block.dropout behind the feed-forward layer": _behind(AFTER_FFN),
    "block.feed_forward.activation": _activation,
    "experts": _routing,
    "experts of gate": _routed("g", "gate"),
    "experts of up": _routed("u", "up"),
    "experts of hidden": _routed("h"),
    "vocabulary.transform.activation": _activation_of_transform,
}
"""Those of what stands around the mixer."""

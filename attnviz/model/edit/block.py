"""Edits of the block around an attention: pure functions Site -> Site, on one site.

A part that is switched off leaves the experiment. A form notes its records in `LastSeen`, so that switching
the part on again restores the numbers.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from attnviz.errors import FieldError, must_be
from attnviz.model.edit.fitting import fitted_block, fitted_norm
from attnviz.model.operands.matrices import feed_forward_numbers
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import (
    FEED_FORWARD_ROLES,
    NORMS,
    Block,
    FeedForward,
    FeedForwardRole,
    Norm,
    NormKind,
    NormPlacement,
    Weights,
)
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.parts import ROLES, Explicit, Identity, QKNorm, Role, Seeded
from attnviz.model.spec.rows import DrawnRow, Row, WrittenRow
from attnviz.model.spec.site import Site

NormName = Literal["norm_1", "after_1", "norm_2", "after_2"]
T = TypeVar("T")

GAIN_SPREAD = 0.3
"""Standard deviation of a random gain; its mean is 1."""

BIAS_SPREAD = 0.5
"""Standard deviation of a random bias; its mean is 0."""

HIDDEN_RATIO = 4
"""Hidden features for each feature of the model, as in Vaswani et al. 2017."""


class LastSeen:
    """The last record of each name: the one that a switch restores."""

    def __init__(self) -> None:
        self._records: dict[str, object] = {}

    def note(self, name: str, record: object | None) -> None:
        """Remember `record` under `name`; None is ignored."""
        if record is not None:
            self._records[name] = record

    def last(self, name: str, kind: type[T], default: T) -> T:
        """The last record of that name, or `default` if none of its kind was seen."""
        record = self._records.get(name)
        return record if isinstance(record, kind) else default

    def note_block(self, site: Site) -> None:
        """Remember everything that the forms of a block can switch off."""
        for role in ROLES:
            self.note(f"{role}_bias", getattr(site.projections, f"{role}_bias"))
        if site.qk_norm is not None:
            for name in ("query_gain", "key_gain"):
                self.note(name, getattr(site.qk_norm, name))
        block = site.layer.block
        self.note("block", block)
        if block is None:
            return
        for name in NORMS:
            self.note_norm(name, getattr(block, name))
        if block.placement == "sandwich":
            self.note("sandwich", block)
        ffn = block.feed_forward
        if ffn is not None:
            self.note("block with feed-forward", block)
            for ffn_role in FEED_FORWARD_ROLES:
                self.note(f"{ffn_role}_bias", getattr(ffn, f"{ffn_role}_bias"))
                source = getattr(ffn, ffn_role)
                self.note(f"{ffn_role}.{source.__struct_config__.tag}", source)
            if ffn.experts is not None:
                self.note("experts", ffn.experts)

    def note_norm(self, name: str, norm: Norm | None) -> None:
        """Remember one norm, its gain and its bias."""
        if norm is not None:
            for key, record in ((f"{name}.{norm.kind}", norm), (f"{name}.gain", norm.gain)):
                self.note(key, record)
            self.note(f"{name}.bias", norm.bias)


# --- the block ------------------------------------------------------------------------------------


def block_of(site: Site) -> Block:
    """The block. Raises `ValueError` for an attention without one."""
    if site.layer.block is None:
        raise FieldError("block", None, must_be("a block, so that its parts can be set"))
    return site.layer.block


def set_block(site: Site, block: Block | None) -> Site:
    """Add a block around the attention, or remove it; numbers of another width are fitted."""
    return site.changed(block=fitted_block(block, site.d_model))


def set_placement(site: Site, placement: NormPlacement, last: LastSeen) -> Site:
    """Choose the placement of the norms. A sandwich adds norms after, like those before; others
    remove them.
    """
    block = block_of(site)
    after: dict[str, Norm | None] = {"after_1": None, "after_2": None}
    if placement == "sandwich":
        kind = "layer" if block.norm_1 is None else block.norm_1.kind
        usual = replace(block, placement=placement, after_1=Norm(kind), after_2=None)
        before = block if block.placement == "sandwich" else last.last("sandwich", Block, usual)
        after["after_1"] = before.after_1
        if block.feed_forward is not None:
            after["after_2"] = Norm(kind) if before is usual else before.after_2
    return set_block(site, replace(block, placement=placement, **after))


def set_residual(site: Site, is_on: bool) -> Site:
    """Add the input to the outputs of attention and feed-forward layer, or not."""
    return site.changed(block=replace(block_of(site), residual=is_on))


def set_residual_scale(site: Site, factor: float) -> Site:
    """Set the factor of what the residual connections add."""
    return site.changed(block=replace(block_of(site), residual_scale=factor))


# --- norms ----------------------------------------------------------------------------------------


def norm_of_kind(name: str, kind: NormKind, last: LastSeen, present: Norm | None = None) -> Norm:
    """The norm of a kind: ε and gain of the present one, else of the remembered one."""
    if present is None:
        return last.last(f"{name}.{kind}", Norm, Norm(kind))
    before = last.last(f"{name}.{kind}", Norm, Norm(kind))
    return Norm(kind, present.eps, present.gain, before.bias if kind == "layer" else None)


def norm_of(site: Site, name: NormName) -> Norm | None:
    """One norm of the block, where both exist."""
    return None if site.layer.block is None else getattr(site.layer.block, name)


def set_norm(site: Site, name: NormName, norm: Norm | None) -> Site:
    """Set or remove a norm of the block."""
    fitted = fitted_norm(norm, site.d_model)
    return site.changed(block=replace(block_of(site), **{name: fitted}))


def drawn_gain(name: str, last: LastSeen) -> Row:
    """The gain that a switch adds: the remembered one, or a random one around 1."""
    others = "embedding_norm", "final_norm", "encoder_norm", "latent_norm", "query_latent_norm"
    places = (*NORMS, "query_gain", "key_gain", *others, "encoder_embedding_norm")
    default = DrawnRow(places.index(name), 1.0, GAIN_SPREAD)
    key = name if name.endswith("gain") else f"{name}.gain"
    return seen_row(last, key, default)


def drawn_bias(name: str, last: LastSeen) -> Row:
    """The bias of a norm that a switch adds: the remembered one, or a random one around 0."""
    return seen_row(last, f"{name}.bias", DrawnRow(10, 0.0, GAIN_SPREAD))


def seen_row(last: LastSeen, key: str, default: DrawnRow) -> Row:
    """The remembered row of numbers, written or drawn, or a default."""
    return last.last(key, WrittenRow, None) or last.last(key, DrawnRow, default)  # type: ignore[arg-type]


# --- the feed-forward layer -----------------------------------------------------------------------


def ffn_of(site: Site) -> FeedForward:
    """The feed-forward layer. Raises `ValueError` without one."""
    block = block_of(site)
    if block.feed_forward is None:
        raise FieldError(
            "block.feed_forward", None, must_be("a feed-forward layer, so that its numbers can be set")
        )
    return block.feed_forward


def usual_feed_forward(site: Site) -> FeedForward:
    """A layer that is four times as wide as the vectors."""
    return FeedForward(HIDDEN_RATIO * site.d_model)


def set_feed_forward(site: Site, is_on: bool, last: LastSeen) -> Site:
    """Add the feed-forward layer after the attention, with its norms, or remove it."""
    block = block_of(site)
    if not is_on:
        return site.changed(block=replace(block, feed_forward=None, norm_2=None, after_2=None))

    def like(norm: Norm | None) -> Norm | None:
        return None if norm is None else Norm(norm.kind)

    usual = replace(block, feed_forward=usual_feed_forward(site), norm_2=like(block.norm_1))
    if block.placement == "sandwich":
        usual = replace(usual, after_2=like(block.after_1))
    before = last.last("block with feed-forward", Block, usual)
    after_2 = before.after_2 if block.placement == "sandwich" else None
    changed = replace(block, feed_forward=before.feed_forward, norm_2=before.norm_2, after_2=after_2)
    return set_block(site, changed)


def change_feed_forward(site: Site, **fields: Any) -> Site:
    """Change fields of the feed-forward layer; explicit matrices and biases are fitted."""
    ffn = ffn_of(site)
    if fields.keys() & SIZES:
        ffn = _resized(ffn, site.d_model, {name: fields.pop(name) for name in SIZES & fields.keys()})
    changed = replace(block_of(site), feed_forward=replace(ffn, **fields))
    return set_block(site, changed)


def set_experts(site: Site, is_on: bool, last: LastSeen) -> Site:
    """Make a mixture of experts of the feed-forward layer, or one layer again; numbers are cut or padded."""
    return change_feed_forward(site, experts=last.last("experts", Experts, Experts()) if is_on else None)


def change_experts(site: Site, **fields: Any) -> Site:
    """Change fields of the experts; fewer experts or groups also lower what is chosen from them.

    Weighted inputs and output biases exclude each other: the newer one stays.
    """
    experts = ffn_of(site).experts
    if experts is None:
        raise FieldError(
            "block.feed_forward.experts", None, must_be("experts, so that their numbers can be set")
        )
    n = fields.get("n", experts.n)
    groups = fields.get("n_groups", experts.n_groups)
    groups = groups if n % groups == 0 else 1
    active_groups = min(fields.get("n_active_groups", experts.n_active_groups), groups)
    fields |= {"n_groups": groups, "n_active_groups": active_groups}
    most = active_groups * (n // groups)
    fields["n_active"] = min(fields.get("n_active", experts.n_active), most)
    fields.setdefault("shared_gate", experts.shared_gate and fields.get("d_shared", experts.d_shared) > 0)
    if fields.get("biased"):
        fields["weighted"] = "output"
    elif fields.get("weighted") == "input":
        fields["biased"] = False
    if experts.correction is not None:
        fields["correction"] = experts.correction.fitted((1, n))
    return change_feed_forward(site, experts=replace(experts, **fields))


SIZES = frozenset({"d_hidden", "experts"})
"""Fields of a feed-forward layer that give the shapes of its matrices."""


def _resized(ffn: FeedForward, d_model: int, fields: dict[str, Any]) -> FeedForward:
    """The layer with other `SIZES`; explicit numbers are cut, or padded with zeros."""
    changes: dict[str, Any] = dict(fields)
    wider = FeedForward(changes.get("d_hidden", ffn.d_hidden), experts=changes.get("experts", ffn.experts))
    for role in FEED_FORWARD_ROLES:
        shape = wider.shape(role, d_model)
        source, bias = getattr(ffn, role), getattr(ffn, f"{role}_bias")
        changes |= {role: source.fitted(shape), f"{role}_bias": bias and bias.fitted((1, shape[1]))}
    return replace(ffn, **changes)


def ffn_source(site: Site, role: FeedForwardRole, kind: str, last: LastSeen) -> Weights:
    """A matrix of the feed-forward layer of one kind; the remembered seed and numbers are restored."""
    ffn = ffn_of(site)
    if kind == "identity":
        return Identity()
    if kind == "seeded":
        return last.last(f"{role}.seeded", Seeded, getattr(FeedForward(1), role))
    shape = ffn.shape(role, site.d_model)
    present = Explicit(Matrix(feed_forward_numbers(ffn, role, site.d_model)()))
    kept = last.last(f"{role}.explicit", Explicit, present)
    return kept if kept.values.shape == shape else present


def set_ffn_bias(site: Site, role: FeedForwardRole, is_on: bool, last: LastSeen) -> Site:
    """Add a bias to a matrix of the feed-forward layer, or remove it."""
    seed = 20 + FEED_FORWARD_ROLES.index(role)
    row = seen_row(last, f"{role}_bias", DrawnRow(seed, 0.0, BIAS_SPREAD)) if is_on else None
    return change_feed_forward(site, **{f"{role}_bias": row})


# --- projections and QK-norm ----------------------------------------------------------------------


def set_bias(site: Site, role: Role, is_on: bool, last: LastSeen) -> Site:
    """Add a bias to a projection, or remove it."""
    columns = site.projection_shape(role)[1]
    row: Row | None = None
    if is_on:
        row = seen_row(last, f"{role}_bias", DrawnRow(ROLES.index(role), 0.0, BIAS_SPREAD))
        row = fitted_row(row, columns)
    return replace(site, projections=replace(site.projections, **{f"{role}_bias": row}))


def set_qk_gains(site: Site, is_on: bool, last: LastSeen) -> Site:
    """Multiply normalised queries and keys by gains, or by ones."""
    if site.qk_norm is None:
        raise FieldError("qk_norm", None, must_be("a norm, so that its gains can be set"))
    gains: dict[str, Row | None] = {"query_gain": None, "key_gain": None}
    if is_on:
        widths = site.qk_norm.gain_widths(site.heads)
        gains = {name: fitted_row(drawn_gain(name, last), width) for name, width in widths.items()}
    return replace(site, qk_norm=replace(site.qk_norm, **gains))


def has_qk_gains(qk_norm: QKNorm | None) -> bool:
    """True if queries or keys are multiplied by a gain."""
    return qk_norm is not None and (qk_norm.query_gain or qk_norm.key_gain) is not None


def fitted_row(row: Row, features: int) -> Row:
    """An explicit row, cut or padded with zeros to `features` features."""
    return row.fitted((1, features))

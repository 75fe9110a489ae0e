"""The form of each mask family: one record for each number or list that a mask has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from attnviz.core.ranges import format_ranges, parse_ranges
from attnviz.gui.forms.fields import Choice, Edit, Field, Number, Text
from attnviz.i18n import N_, _
from attnviz.model.edit.masks import find_mask, has_pattern, joining, put_mask, set_joining
from attnviz.model.spec.parts import Blocks, Dilated, Documents, Global, Padding, Prefix, Strided, Window
from attnviz.model.spec.site import Site

FARTHEST = 1_000_000


def _is_on(kind: type) -> Callable[[Site], bool]:
    return lambda experiment: find_mask(experiment, kind) is not None


def _setter(kind: type, field: str) -> Edit[Site]:
    """The edit that replaces one field of the mask of a kind; without such a mask it changes nothing."""

    def edit(site: Site, value: Any) -> Site:
        mask = find_mask(site, kind)
        return site if mask is None else put_mask(site, replace(mask, **{field: value}))

    return edit


def _number(name: str, kind: type, field: str, label: str, hint: str, minimum: int = 0) -> Number[Site]:
    return Number(
        name=name,
        path=f"masks.{kind.__struct_config__.tag}.{field}",  # type: ignore[attr-defined]
        label=label,
        read=lambda e: getattr(find_mask(e, kind), field),
        edit=_setter(kind, field),
        hint=hint,
        shown=_is_on(kind),
        minimum=minimum,
        maximum=FARTHEST,
        integer=True,
    )


def _positions(
    name: str, kind: type, field: str, label: str, hint: str, count: Callable[[Site], int]
) -> Text[Site]:
    set_positions = _setter(kind, field)
    return Text(
        name=name,
        path=f"masks.{kind.__struct_config__.tag}.{field}",  # type: ignore[attr-defined]
        label=label,
        read=lambda e: format_ranges(getattr(find_mask(e, kind), field)),
        edit=lambda e, text: set_positions(e, parse_ranges(text, count(e))),
        hint=hint,
        placeholder="3, 5-7",
        shown=_is_on(kind),
    )


def _longer(site: Site) -> int:
    return max(site.n_queries, site.n_keys)


PADDED = _positions(
    "padding_field",
    Padding,
    "tokens",
    N_("Padding tokens"),
    N_("Positions hidden from every query, counted from 0, such as 3, 5-7"),
    lambda experiment: experiment.n_keys,
)

PARAMETERS: tuple[Field[Site], ...] = (
    _number(
        "prefix_n_field",
        Prefix,
        "n",
        N_("Prefix length"),
        N_("Number of leading tokens that attend to each other both ways"),
    ),
    _number(
        "window_left_field",
        Window,
        "left",
        N_("Window: earlier keys"),
        N_("Number of earlier keys that a query attends to"),
    ),
    _number(
        "window_right_field",
        Window,
        "right",
        N_("Window: later keys"),
        N_("Number of later keys that a query attends to"),
    ),
    _number(
        "dilated_left_field",
        Dilated,
        "left",
        N_("Dilated: earlier keys"),
        N_("Number of earlier keys that a query attends to"),
    ),
    _number(
        "dilated_right_field",
        Dilated,
        "right",
        N_("Dilated: later keys"),
        N_("Number of later keys that a query attends to"),
    ),
    _number(
        "dilated_dilation_field",
        Dilated,
        "dilation",
        N_("Dilated: step"),
        N_("Distance between two visible keys; 1 leaves no gaps"),
        minimum=1,
    ),
    _number(
        "strided_stride_field",
        Strided,
        "stride",
        N_("Strided: step"),
        N_("Distance between two visible keys"),
        minimum=1,
    ),
    _number(
        "blocks_size_field",
        Blocks,
        "size",
        N_("Block size"),
        N_("Positions per block; the first block begins at 0"),
        minimum=1,
    ),
    _number(
        "blocks_previous_field",
        Blocks,
        "previous",
        N_("Earlier blocks"),
        N_("Earlier blocks that a query attends to"),
    ),
    _positions(
        "global_tokens_field",
        Global,
        "tokens",
        N_("Global tokens"),
        N_("Positions that attend to all and that all attend to, counted from 0, such as 0, 5-7"),
        _longer,
    ),
    _positions(
        "documents_starts_field",
        Documents,
        "starts",
        N_("Document starts"),
        N_("Positions of first tokens, counted from 0, such as 0, 12, 20"),
        _longer,
    ),
)

JOINING = Choice(
    name="mask_joining_segmented",
    label=N_("Pattern combination"),
    read=joining,
    edit=set_joining,
    options=(
        ("all", N_("and"), N_("A query attends to a key that every pattern allows")),
        ("any", N_("or"), N_("A query attends to a key that at least one pattern allows")),
    ),
    hint=N_("Combines window, dilated, strided, blocks and global; other masks always apply"),
    shown=has_pattern,
)


def _why_no_empty_row(site: Site) -> str:
    if site.mask_placement == "before_softmax":
        return ""
    return _("After the softmax, a fully masked row is always zeros.")


USUAL_BIAS = -1e4


def _late(site: Site) -> str:
    if site.mask_placement == "before_softmax":
        return ""
    return _("A mask bias applies only before the softmax.")


def _why_row_is_settled(site: Site) -> str:
    if site.adds_to_blocked:
        return _("With a mask bias, no row is fully masked.")
    return _why_no_empty_row(site)


EFFECT: tuple[Field[Site], ...] = (
    Choice(
        name="mask_placement_segmented",
        path="mask_placement",
        label=N_("Mask placement"),
        read=lambda e: e.mask_placement,
        edit=lambda e, placement: replace(e, mask_placement=placement),
        options=(
            (
                "before_softmax",
                N_("before softmax"),
                N_("Blocked scores are −∞ before the softmax: rows sum to 1"),
            ),
            ("after_softmax", N_("after"), N_("Blocked weights are 0 after it: rows no longer sum to 1")),
        ),
        hint=N_("The mask applies before or after the softmax"),
    ),
    Choice(
        name="mask_bias_segmented",
        label=N_("Blocked scores"),
        read=lambda e: "infinite" if e.mask_bias is None else "added",
        edit=lambda e, kind: replace(e, mask_bias=USUAL_BIAS if kind == "added" else None),
        options=(
            ("infinite", "−∞", N_("A blocked score is −∞: its weight is exactly 0")),
            (
                "added",
                N_("+ number"),
                N_("Adds a large negative number instead of −∞; the weight becomes tiny, not zero"),
            ),
        ),
        reason=_late,
    ),
    Number(
        name="mask_bias_field",
        path="mask_bias",
        label=N_("Mask bias"),
        read=lambda e: e.mask_bias,
        edit=lambda e, value: replace(e, mask_bias=value),
        hint=N_("−10,000 is usual; in half precision it rounds scores to steps of 8"),
        shown=lambda e: e.adds_to_blocked,
        minimum=-1e9,
        maximum=-0.01,
        decimals=2,
        step=1.0,
    ),
    Choice(
        name="fully_masked_segmented",
        path="fully_masked_row",
        label=N_("Fully masked rows"),
        read=lambda e: e.fully_masked_row,
        edit=lambda e, value: replace(e, fully_masked_row=value),
        options=(
            ("zeros", N_("zeros"), N_("Fully masked rows get weights of 0")),
            ("nan", "NaN", N_("Fully masked rows become NaN (0 ÷ 0)")),
        ),
        reason=_why_row_is_settled,
    ),
)

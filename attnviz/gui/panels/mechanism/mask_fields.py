"""The form of the masks: a row for each number or list that a kind of mask has, and what masks do."""

from __future__ import annotations

from msgspec.structs import replace

from attnviz.gui.forms.fields import Choice, FormField
from attnviz.gui.forms.paths import positions, row
from attnviz.i18n import N_, _
from attnviz.model.edit.masks import has_pattern, joining, set_joining
from attnviz.model.fields import FIELDS, FieldRow
from attnviz.model.spec.parts import AnyOf, Padding, Painted
from attnviz.model.spec.site import Site

USUAL_BIAS = -1e4


def _longer(site: Site) -> int:
    return max(site.n_queries, site.n_keys)


def _row(field: FieldRow) -> FormField[Site]:
    made: FormField[Site] = row(field.path) if field.kind is int else positions(field.path, _longer)
    return made


PADDED = positions("masks.padding.tokens", lambda site: site.n_keys)

PARAMETERS: tuple[FormField[Site], ...] = tuple(
    _row(field)
    for field in FIELDS
    if field.path.startswith("masks.") and field.owner not in (Padding, Painted, AnyOf)
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
    hint=N_("Combines the patterns, such as window and blocks; masks such as causal always apply"),
    shown=has_pattern,
)


def _why_no_empty_row(site: Site) -> str:
    if site.mask_placement == "before_softmax":
        return ""
    return _("With a mask after the softmax, a fully masked row is always zeros.")


def _late(site: Site) -> str:
    if site.mask_placement == "before_softmax":
        return ""
    return _("A mask bias applies only before the softmax.")


def _why_row_is_settled(site: Site) -> str:
    if site.adds_to_blocked:
        return _("With a mask bias, no row is fully masked.")
    return _why_no_empty_row(site)


EFFECT: tuple[FormField[Site], ...] = (
    row("mask_placement"),
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
    row("mask_bias", shown=lambda e: e.adds_to_blocked),
    row("fully_masked_row", reason=_why_row_is_settled),
)

"""Edits of the stack: layers added, doubled, removed; encoders; a second attention; edits of all alike.

A copied layer is a new layer: seeded weights get other seeds, explicit ones are copied. A position that is
added to the vectors is at the first layer only, the input of the vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from attnviz.errors import NEEDS_MEMORY, FieldError, Message, of_length
from attnviz.i18n import _
from attnviz.model.edit.fitting import fitted_attention
from attnviz.model.positions import changes, is_additive
from attnviz.model.sites.sites import at, fields_of_record, other_changes, place_of, places, with_records
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.block import Block
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Dropout, NoPosition, Seeded, SeededSinks, vectors_shape
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.site import Place, Site
from attnviz.model.spec.value import Refusal, refuse

SEED_STEP = 100
"""Distance between the seeds of a copied layer and those of its original."""

MOST_LAYERS = 64
"""Largest number of layers in a form; a file may have more."""

_DRAWN = (Seeded, DrawnRow, SeededSinks, Dropout)
S = TypeVar("S", bound=Struct)


def reseeded(part: S, shift: int, before: S | None = None) -> S:
    """`part` with every seed of its weights increased by `shift`; position tables are unchanged.

    With `before` only seeds of what differs from it move.
    """
    if before == part:
        return part
    if isinstance(part, _DRAWN):
        return replace(part, seed=(part.seed + shift) % 2**32)
    changes = {}
    for name in part.__struct_fields__:
        inner = getattr(part, name)
        if isinstance(inner, Struct) and name != "position":
            changes[name] = reseeded(inner, shift, None if before is None else getattr(before, name, None))
    return replace(part, **changes)


# --- the stack as a list --------------------------------------------------------------------------


def layers_of(experiment: Experiment, place: Place) -> tuple[Layer, ...]:
    """The layers of the stack of a site."""
    layers: tuple[Layer, ...] = getattr(experiment, place.field)
    return layers


def _with_layers(experiment: Experiment, place: Place, layers: tuple[Layer, ...]) -> Experiment:
    return replace(experiment, **{place.field: layers})


def copy_of(layer: Layer, others: tuple[Layer, ...]) -> Layer:
    """A new layer like `layer`, with seeds that none of `others` has, and without an additive position."""
    position = NoPosition() if is_additive(layer.position) else layer.position
    used = [other.projections for other in others]
    for step in range(1, len(others) + 2):
        copy = reseeded(layer, step * SEED_STEP)
        if copy.projections not in used or copy.projections == layer.projections:
            break
    return replace(copy, position=position)


def duplicate_layer(experiment: Experiment, site: str) -> Experiment:
    """Put a new layer, like the one of that site, behind it."""
    place = place_of(experiment, site)
    layers = layers_of(experiment, place)
    index = place.layer
    copy = copy_of(layers[index], layers)
    return _with_layers(experiment, place, (*layers[: index + 1], copy, *layers[index + 1 :]))


def remove_layer(experiment: Experiment, site: str) -> Experiment:
    """Remove the layer of that site; its additive position moves to the next one."""
    place = place_of(experiment, site)
    layers = layers_of(experiment, place)
    refuse(why_not_removed(experiment, place))
    rest = layers[: place.layer] + layers[place.layer + 1 :]
    if rest and place.layer == 0:
        rest = (_entered_like(layers[0], rest[0]), *rest[1:])
    if not rest:
        return set_n_encoder_layers(experiment, 0)
    return _with_layers(experiment, place, rest)


def why_not_removed(experiment: Experiment, place: Place) -> Refusal:
    """The refusal to remove the only layer of the tokens; that of an encoder is removed with it."""
    if place.stack == "encoder" or len(experiment.layers) > 1:
        return None
    return FieldError("layers", of_length(0), Message("must keep at least one layer"))


def _entered_like(old: Layer, new: Layer) -> Layer:
    is_bare = is_additive(old.position) and changes(new.position) == "nothing"
    return replace(new, position=old.position) if is_bare else new


def set_n_layers(experiment: Experiment, n: int) -> Experiment:
    """Cut the stack, or copy its last layer, to `n` layers."""
    return replace(experiment, layers=_counted(experiment.layers, n))


def _counted(layers: tuple[Layer, ...], n: int) -> tuple[Layer, ...]:
    while len(layers) < n:
        layers = (*layers, copy_of(layers[-1], layers))
    return layers[:n]


# --- encoder and cross attention ------------------------------------------------------------------


def set_n_encoder_layers(experiment: Experiment, n: int) -> Experiment:
    """Let the memory pass through `n` layers of its own; the first is a copy of the tokens' first layer."""
    if experiment.memory is None:
        raise FieldError("encoder", None, NEEDS_MEMORY)
    if n == 0:
        return replace(experiment, encoder=(), encoder_norm=None, encoder_embedding_norm=None)
    layers = experiment.encoder or (_first_encoder_layer(experiment),)
    return replace(experiment, encoder=_counted(layers, n))


def _first_encoder_layer(experiment: Experiment) -> Layer:
    """A layer like the tokens' last attention, of the memory to itself, without masks."""
    assert experiment.memory is not None
    last = _last_site_of_first_layer(experiment)
    d_memory = vectors_shape(experiment.memory.vectors)[1]
    fields = fields_of_record(last)
    fields |= fitted_attention(last, d_memory, d_memory, last.heads)
    fields |= {"masks": (), "position": _reaching(experiment, len(experiment.memory.tokens), d_memory)}
    layer: Layer = reseeded(Layer(**fields), SEED_STEP // 2)
    return layer


def _last_site_of_first_layer(experiment: Experiment) -> Site:
    """The attention whose block has the feed-forward layer of the first of the main layers."""
    name = [p.name for p in places(experiment) if p.stack != "encoder" and p.layer == 0][-1]
    return at(experiment, name)


def _reaching(experiment: Experiment, n: int, d_model: int) -> Any:
    """The tokens' position, where it also does for `n` tokens of `d_model` features; else none."""
    position = experiment.layers[0].position
    fits = _last_site_of_first_layer(experiment).d_for(position) == d_model and n <= position.end
    return position if fits else NoPosition()


def set_cross(experiment: Experiment, is_on: bool, layers: tuple[Layer, ...] = ()) -> Experiment:
    """Add a self-attention of the tokens before the one that reads the memory, in every layer.

    Without it, the layers read the memory alone. `layers` are former layers with both: they are restored if
    their number is the same and they are still valid.
    """
    if experiment.memory is None:
        raise FieldError("cross", None, NEEDS_MEMORY)
    if is_on == experiment.has_cross:
        return experiment
    present = experiment.layers
    if not is_on:
        return replace(experiment, layers=tuple(_reading_memory(layer) for layer in present))
    if len(layers) == len(present):
        kept = tuple(_with_cross_of(old, new) for old, new in zip(layers, present, strict=True))
        try:
            return replace(experiment, layers=kept)
        except ValueError:
            pass  # sampled for other vectors: they are created anew
    both = tuple(_with_both(experiment, layer, index) for index, layer in enumerate(present))
    return replace(experiment, layers=both)


def _with_cross_of(old: Layer, new: Layer) -> Layer:
    """A layer that had both, its second attention as the layer has it now."""
    return replace(old, cross=Attention(**fields_of_record(new) | {"position": _not_added(new)}))


def _not_added(layer: Attention) -> Any:
    return NoPosition() if is_additive(layer.position) else layer.position


def _reading_memory(layer: Layer) -> Layer:
    """The layer's second attention as its only one; an additive position stays."""
    assert layer.cross is not None
    fields = fields_of_record(layer.cross)
    if is_additive(layer.position):
        fields["position"] = layer.position
    return Layer(**fields)


def _with_both(experiment: Experiment, layer: Layer, index: int) -> Layer:
    """The layer's attention as the second one, behind a causal one of the tokens to themselves."""
    site = at(experiment, [p.name for p in places(experiment) if p.stack != "encoder"][index])
    d_model = experiment.d_model
    fields = fields_of_record(layer) | fitted_attention(site, d_model, d_model, layer.heads)
    fields |= {
        "masks": (Causal(),),
        "block": _without_feed_forward(layer.block),
        "sinks": None,
        "additive_mask": None,
    }
    own: Layer = reseeded(Layer(**fields), SEED_STEP // 2)
    return replace(own, cross=Attention(**fields_of_record(layer) | {"position": _not_added(layer)}))


def _without_feed_forward(block: Block | None) -> Block | None:
    return None if block is None else replace(block, feed_forward=None, norm_2=None, after_2=None)


# --- all layers alike -----------------------------------------------------------------------------


def companions(experiment: Experiment, site: str) -> tuple[Place, ...]:
    """The attentions of the same kind in the other layers of the same stack."""
    here = place_of(experiment, site)
    same = (here.stack, here.kind, here.is_second)
    return tuple(p for p in places(experiment) if (p.stack, p.kind, p.is_second) == same and p != here)


def why_not_alike(experiment: Experiment, site: str) -> str:
    """Why no other layer can be edited alike; empty if other layers have an attention of the same kind."""
    return "" if companions(experiment, site) else _("No other layer has such an attention")


def edit_alike(experiment: Experiment, site: str, function: Callable[[Site], Site]) -> Experiment:
    """Edit the attention at a site and, in the same way, those of the same kind in all layers of its stack.

    Seeds that the edit brings are another in every layer, as those of copied layers are. A position that is
    added to the vectors is chosen for the first layer and the site's own.
    """
    here = place_of(experiment, site)
    changes: dict[str, Any] = {}
    records: dict[Place, dict[str, Any]] = {}
    for place in (here, *companions(experiment, site)):
        before = at(experiment, place.name)
        after = _edited_at(experiment, place, function)
        if place == here:
            changes = other_changes(before, after)
        else:
            after = reseeded_site(after, (place.layer - here.layer) * SEED_STEP, before)
        fields = fields_of_record(after)
        if place.layer and place != here and is_additive(after.position):
            fields["position"] = NoPosition() if after.position != before.position else before.position
        records[place] = fields
    return with_records(experiment, records, changes)


def _edited_at(experiment: Experiment, place: Place, function: Callable[[Site], Site]) -> Site:
    """The edited attention of one place. Refusals name the field from the document's root."""
    try:
        return function(at(experiment, place.name))
    except FieldError as error:
        raise place.refused(error) from None


def reseeded_site(after: Site, shift: int, before: Site) -> Site:
    """A site whose seeds are increased by `shift` where they differ from `before`."""
    fields = fields_of_record(after)
    moved = reseeded(Attention(**fields), shift, Attention(**fields_of_record(before)))
    return after.changed(**fields_of_record(moved))

"""Sites: the attentions of an experiment by name, each derived from the experiment as a `Site`.

`layers.1.self` is the second layer's attention. Where layers also read an encoded memory they are
`decoder.1.self` and `decoder.1.cross`, and the memory's own layers `encoder.0.self`. A site has the
sequences, norms and read-out that belong to its attention: the program, provenance, explanations and forms
work on one site and need not know the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from attnviz.errors import FieldError, UnknownName, among
from attnviz.model.memo import WeakMemo
from attnviz.model.spec.attention import Attention, Layer, Mixer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import NAMED, Inputs, Place, Site, Stack, Surroundings


def places(experiment: Experiment) -> tuple[Place, ...]:
    """The sites of an experiment, in data-flow order."""
    return tuple(_standing(experiment))


def site_names(experiment: Experiment) -> tuple[str, ...]:
    """The names of the sites, in data-flow order."""
    return tuple(place.name for place in _standing(experiment))


@WeakMemo
def _standing(experiment: Experiment) -> dict[Place, Inputs]:
    n_encoder, n_layers = len(experiment.encoder), len(experiment.layers)
    return _counted(experiment.memory is not None, experiment.has_cross, n_encoder, n_layers)


@lru_cache(maxsize=64)
def _counted(has_memory: bool, has_cross: bool, n_encoder: int, n_layers: int) -> dict[Place, Inputs]:
    """The sites and what each reads: the site before it in its stack, and the end of the encoder."""
    stack: Any = "decoder" if n_encoder or has_cross else "layers"
    standing = [Place("encoder", index, "self") for index in range(n_encoder)]
    for index in range(n_layers):
        standing.append(Place(stack, index, "cross" if has_memory and not has_cross else "self"))
        if has_cross:
            standing.append(Place(stack, index, "cross", is_second=True))
    inputs: dict[Place, Inputs] = {}
    first: dict[Stack, str] = {}
    last: dict[Stack, str] = {}
    for place in standing:
        own, memory = place.stack, last.get("encoder", "") if place.kind == "cross" else ""
        inputs[place] = Inputs(last.get(own, ""), first.get(own, ""), memory)
        first.setdefault(own, place.name)
        last[own] = place.name
    return inputs


def path_to(experiment: Experiment, name: str) -> tuple[str, ...]:
    """The sites that a token passes on its way through a site, in order; each reads the one before it."""
    path = [name]
    while before := at(experiment, path[0]).inputs.tokens:
        path.insert(0, before)
    return tuple(path)


def place_of(experiment: Experiment, name: str) -> Place:
    """The site of that name. Raises `KeyError` naming the existing sites."""
    for place in places(experiment):
        if place.name == name:
            return place
    raise UnknownName("site", name, among(site_names(experiment)))


def shown_site(experiment: Experiment, name: str) -> str:
    """`name` if the experiment has that site, else its main one: the first outside the encoder."""
    names = site_names(experiment)
    return name if name in names else names[len(experiment.encoder)]


def record_at(experiment: Experiment, place: Place) -> Attention:
    """The document's record of a site: a layer, or a layer's cross attention."""
    layer: Layer = getattr(experiment, place.field)[place.layer]
    if place.is_second:
        assert layer.cross is not None
        return layer.cross
    return layer


def at(experiment: Experiment, name: str) -> Site:
    """One site by name. Raises `KeyError` naming the existing sites."""
    return sites(experiment)[place_of(experiment, name)]


def main_site(experiment: Experiment) -> Site:
    """The first site outside the encoder."""
    return at(experiment, shown_site(experiment, ""))


@WeakMemo
def sites(experiment: Experiment) -> dict[Place, Site]:
    """All sites of an experiment, in data-flow order; cached for the life of the experiment.

    Raises `FieldError` for the first attention that is invalid at its place.
    """
    return {place: _derived(experiment, place) for place in places(experiment)}


def _derived(experiment: Experiment, place: Place) -> Site:
    """The site at a place of an experiment."""
    record = record_at(experiment, place)
    around: dict[str, Any] = {"block": record.block}
    tokens, vectors, memory = experiment.tokens, experiment.vectors, None
    if place.stack == "encoder":
        assert experiment.memory is not None
        tokens, vectors = experiment.memory.tokens, experiment.memory.vectors
        if place.layer == len(experiment.encoder) - 1:
            around["final_norm"] = experiment.encoder_norm
    elif place.kind == "cross":
        memory = experiment.memory
    if place.stack != "encoder":
        around["embedding_projection"] = experiment.embedding_projection
    inputs = _standing(experiment)[place]
    if inputs.begins:
        name = "encoder_embedding_norm" if place.stack == "encoder" else "embedding_norm"
        around["embedding_norm"] = getattr(experiment, name)
    if place is places(experiment)[-1]:
        for field in ("final_norm", "vocabulary", "readout", "writing"):
            around[field] = getattr(experiment, field)
    try:
        return Site(
            place,
            tokens,
            vectors,
            memory,
            inputs,
            Surroundings(**around),
            experiment.dtype,
            () if place.stack == "encoder" else experiment.references,
            record.edits,
            **{field: getattr(record, field) for field in Mixer.__struct_fields__},
        )
    except FieldError as error:
        raise place.refused(error) from None


def alone(site: Site) -> Experiment:
    """An experiment that has this attention and no other."""
    fields = {name: getattr(site, name) for name in NAMED if name in Experiment.__struct_fields__}
    return Experiment(**fields, layers=(Layer(**fields_of_record(site)),))


def put(experiment: Experiment, site: Site) -> Experiment:
    """`experiment` with the attention at a site as it is in `site`, a site of it that was changed.

    Changed parts outside the attention (dtype, read-out, sequences) are adopted.
    """
    before = sites(experiment)[site.place]
    changes = other_changes(before, site)
    return with_records(experiment, {site.place: fields_of_record(site)}, changes)


def fields_of_record(of: Attention | Site) -> dict[str, Any]:
    """The fields of an attention of the document, or those with which a site stands in it."""
    return {field: getattr(of, field) for field in Attention.__struct_fields__}


def other_changes(before: Site, after: Site) -> dict[str, Any]:
    """The fields of the experiment that an edit of a site changed beside the attention's own."""
    changes = {
        field: getattr(after, field)
        for field in NAMED
        if field not in Attention.__struct_fields__
        and getattr(after, field) is not getattr(before, field)
        and getattr(after, field) != getattr(before, field)
    }
    if after.place.stack == "encoder":
        changes = {_IN_ENCODER.get(field, field): value for field, value in changes.items()}
    return changes


_IN_ENCODER = {"final_norm": "encoder_norm", "embedding_norm": "encoder_embedding_norm"}


def with_records(
    experiment: Experiment, fields: dict[Place, dict[str, Any]], changes: dict[str, Any]
) -> Experiment:
    """`experiment` with `changes`, and with the `fields` of the attentions at some places."""
    stacks = {
        name: tuple(
            _with_fields(layer, (name, index), fields)
            for index, layer in enumerate(getattr(experiment, name))
        )
        for name in ("layers", "encoder")
    }
    return replace(experiment, **stacks | changes)


def _with_fields(layer: Layer, at: tuple[str, int], fields: dict[Place, dict[str, Any]]) -> Layer:
    """The layer of a field and index, with the changed `fields` of its attentions."""
    for place, changed in fields.items():
        if (place.field, place.layer) != at:
            continue
        if place.is_second:
            assert layer.cross is not None
            changed = {"cross": replace(layer.cross, **changed)}
        layer = replace(layer, **changed)
    return layer

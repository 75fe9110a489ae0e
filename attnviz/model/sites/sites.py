"""Sites: the attentions of an experiment by name, each taken out as an experiment of its own.

`layers.1.self` is the second layer's attention. Where layers also read an encoded memory they are
`decoder.1.self` and `decoder.1.cross`, and the memory's own layers `encoder.0.self`. The experiment at a
site has one attention, with the sequences, norms and read-out that belong there: the program, provenance,
explanations and forms work on one site and need not know the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from msgspec.structs import replace

from attnviz.errors import FieldError, UnknownName, among
from attnviz.model.spec.attention import Attention, Layer
from attnviz.model.spec.experiment import Experiment

Kind = Literal["self", "cross"]

ATTENTION_FIELDS: tuple[str, ...] = Attention.__struct_fields__


@dataclass(frozen=True)
class Place:
    """Where a site stands: in which stack, at which layer, which of its attentions.

    `is_second` marks the attention to the memory of a layer that has one of each.
    """

    stack: Literal["layers", "encoder", "decoder"]
    layer: int
    kind: Kind
    is_second: bool = False

    @property
    def name(self) -> str:
        """The public name."""
        return f"{self.stack}.{self.layer}.{self.kind}"

    @property
    def path(self) -> str:
        """Where a document has this attention, such as `layers[0].cross`; empty for the first layer's own."""
        if self.stack == "encoder":
            return f"encoder[{self.layer}]"
        layer = f"layers[{self.layer - 1}]" if self.layer else ""
        return ".".join(part for part in (layer, "cross" if self.is_second else "") if part)


class SiteError(FieldError):
    """A `FieldError` of one site, its field named from the document's root."""

    def __init__(self, experiment: Experiment, name: str, error: FieldError) -> None:
        path = place_of(experiment, name).path
        super().__init__(f"{path}.{error.path}" if path else error.path, error.value, error.requirement)


def places(experiment: Experiment) -> tuple[Place, ...]:
    """The sites of an experiment, in data-flow order."""
    return _standing(experiment)[0]


def site_names(experiment: Experiment) -> tuple[str, ...]:
    """The names of the sites, in data-flow order."""
    return _standing(experiment)[1]


def _standing(experiment: Experiment) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    has_memory, has_cross = experiment.memory is not None, experiment.cross is not None
    return _counted(has_memory, has_cross, len(experiment.encoder), 1 + len(experiment.layers))


@lru_cache(maxsize=64)
def _counted(
    has_memory: bool, has_cross: bool, n_encoder: int, n_layers: int
) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """The sites and their names, which follow from how many layers there are and what these read.

    Made once for each: panels ask for them hundreds of times for one edit.
    """
    stack: Any = "decoder" if n_encoder or has_cross else "layers"
    found = [Place("encoder", index, "self") for index in range(n_encoder)]
    for index in range(n_layers):
        found.append(Place(stack, index, "cross" if has_memory and not has_cross else "self"))
        if has_cross:
            found.append(Place(stack, index, "cross", is_second=True))
    return tuple(found), tuple(place.name for place in found)


def place_of(experiment: Experiment, name: str) -> Place:
    """The site of that name. Raises `KeyError` naming the sites there are."""
    for place in places(experiment):
        if place.name == name:
            return place
    raise UnknownName("site", name, among(site_names(experiment)))


def shown_site(experiment: Experiment, name: str) -> str:
    """`name` where the experiment has that site, else its main one: the first that is not the encoder's."""
    names = site_names(experiment)
    return name if name in names else names[len(experiment.encoder)]


def record_at(experiment: Experiment, place: Place) -> Attention:
    """What the document holds for a site: the experiment itself, a layer, or a layer's cross attention."""
    if place.stack == "encoder":
        return experiment.encoder[place.layer]
    layer: Layer = experiment.layers[place.layer - 1] if place.layer else experiment
    if place.is_second:
        assert layer.cross is not None
        return layer.cross
    return layer


def at(experiment: Experiment, name: str) -> Experiment:
    """One site as an experiment: itself where it has no other. Raises `KeyError`, `ValueError`.

    Remembered for the experiments asked for last: panels, the program and budgets ask again and again.
    """
    if len(places(experiment)) == 1:
        place_of(experiment, name)
        return experiment
    found = _made.get((id(experiment), name))
    if found is None or found[0] is not experiment:
        # The experiment is kept as well: its id must not become another one's.
        found = _made[id(experiment), name] = experiment, _taken_out(experiment, place_of(experiment, name))
        for oldest in list(_made)[: max(0, len(_made) - KEPT_SITES)]:
            _made.pop(oldest, None)
    return found[1]


KEPT_SITES = 64

_made: dict[tuple[int, str], tuple[Experiment, Experiment]] = {}


def _taken_out(experiment: Experiment, place: Place) -> Experiment:
    """One of several sites as an experiment of its own."""
    fields = {field: getattr(record_at(experiment, place), field) for field in ATTENTION_FIELDS}
    fields["dtype"] = experiment.dtype
    if place.stack == "encoder":
        assert experiment.memory is not None
        is_last = place.layer == len(experiment.encoder) - 1
        fields["final_norm"] = experiment.encoder_norm if is_last else None
        return Experiment(experiment.memory.tokens, experiment.memory.vectors, **fields)
    if place.layer == 0 and not place.is_second:
        fields["embedding_norm"] = experiment.embedding_norm
    if place == places(experiment)[-1]:
        for field in ("final_norm", "vocabulary", "readout", "writing"):
            fields[field] = getattr(experiment, field)
    memory = experiment.memory if place.kind == "cross" else None
    return Experiment(experiment.tokens, experiment.vectors, memory, **fields)


def put(experiment: Experiment, name: str, changed: Experiment) -> Experiment:
    """`experiment` with the attention at a site as it is in `changed`, which came from `at`.

    What is not the site's own (dtype, read-out, sequences) is taken over where it was changed.
    """
    if len(places(experiment)) == 1:
        return changed
    place, before = place_of(experiment, name), at(experiment, name)
    changes = {
        field: getattr(changed, field)
        for field in Experiment.__struct_fields__
        if field not in ATTENTION_FIELDS and getattr(changed, field) != getattr(before, field)
    }
    if place.stack == "encoder":
        changes = {_IN_ENCODER.get(field, field): value for field, value in changes.items()}
    fields = {field: getattr(changed, field) for field in ATTENTION_FIELDS}
    return with_records(experiment, {place: fields}, changes)


_IN_ENCODER = {"final_norm": "encoder_norm"}


def with_records(
    experiment: Experiment, fields: dict[Place, dict[str, Any]], changes: dict[str, Any]
) -> Experiment:
    """`experiment` with `changes`, and with the `fields` of the attentions at some places."""
    layers = [_with_fields(experiment, index, fields) for index in range(1 + len(experiment.layers))]
    encoder = [
        replace(layer, **fields.get(Place("encoder", index, "self"), {}))
        for index, layer in enumerate(experiment.encoder)
    ]
    return replace(
        experiment,
        **{**layers[0], "layers": tuple(Layer(**one) for one in layers[1:]), "encoder": tuple(encoder)}
        | changes,
    )


def _with_fields(experiment: Experiment, index: int, fields: dict[Place, dict[str, Any]]) -> dict[str, Any]:
    """The fields of one of the main layers."""
    layer: Layer = experiment.layers[index - 1] if index else experiment
    made = {field: getattr(layer, field) for field in Layer.__struct_fields__}
    for place, changed in fields.items():
        if place.stack == "encoder" or place.layer != index:
            continue
        if place.is_second:
            assert layer.cross is not None
            made["cross"] = replace(layer.cross, **changed)
        else:
            made |= changed
    return made

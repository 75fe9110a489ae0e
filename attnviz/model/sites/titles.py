"""Names of the sites of an experiment: a title in words, and a short label for narrow spaces."""

from __future__ import annotations

from attnviz.errors import Message
from attnviz.i18n import N_, _
from attnviz.model.masks import sees_later
from attnviz.model.sites.sites import at, place_of, places
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Place, Site

STACKS = {
    "layers": N_("layer {layer} of {count}"),
    "encoder": N_("encoder {layer} of {count}"),
    "decoder": N_("decoder {layer} of {count}"),
}
KINDS = {"self": N_("self"), "cross": N_("cross")}


def layer_title(place: Place) -> str:
    """The layer, counted from 1: "Encoder layer 1", "Decoder layer 1", or "Layer 1" of a single stack."""
    number = place.layer + 1
    if place.stack == "encoder":
        return _("Encoder layer {number}").format(number=number)
    if place.stack == "decoder":
        return _("Decoder layer {number}").format(number=number)
    return _("Layer {number}").format(number=number)


def attention_title(place: Place, site: Site) -> str:
    """Title of an attention by its queries and keys; `site` is the attention at `place`."""
    if place.kind == "cross":
        return _("cross-attention")
    return _("self-attention") if sees_later(site) else _("masked self-attention")


def site_title(experiment: Experiment, name: str) -> str:
    """A site in words: its layer and its attention. Raises `KeyError` naming the existing sites."""
    place = place_of(experiment, name)
    return f"{layer_title(place)} · {attention_title(place, at(experiment, name))}"


def site_message(experiment: Experiment, name: str) -> Message:
    """A site in few words: "layer 2 of 3"; "decoder 1 of 1 · cross" where a stack has cross-attention."""
    place = place_of(experiment, name)
    count = len(experiment.encoder) if place.stack == "encoder" else len(experiment.layers)
    stack = Message(STACKS[place.stack], layer=place.layer + 1, count=count)
    if all(other.kind == "self" for other in places(experiment) if other.stack == place.stack):
        return stack
    return Message("{stack} · {kind}", stack=stack, kind=Message(KINDS[place.kind]))


def site_label(experiment: Experiment, name: str) -> str:
    """`site_message` in the active language."""
    return site_message(experiment, name).text()


def layer_label(experiment: Experiment, name: str) -> str:
    """The layer of a site alone, "layer 2", where it names the site; else its `site_label`."""
    place = place_of(experiment, name)
    if any(other.stack != "layers" or other.kind != "self" for other in places(experiment)):
        return site_label(experiment, name)
    return _("layer {numbers}").format(numbers=place.layer + 1)


def head_title(experiment: Experiment, name: str, head: int) -> str:
    """A head as the window names it, both numbers counted from 1: "layer 3 · head 3"."""
    return f"{layer_label(experiment, name)} · {_('head {head}').format(head=head + 1)}"


def row_title(experiment: Experiment, name: str) -> str:
    """A site among those of its stack: "2", its layer; "2 · self" where layers have two attentions."""
    place = place_of(experiment, name)
    stack = [other for other in places(experiment) if other.stack == place.stack]
    number = str(place.layer + 1)
    return f"{number} · {_(KINDS[place.kind])}" if any(other.is_second for other in stack) else number


def label_among_several(experiment: Experiment, name: str) -> str:
    """The label of a site, or nothing if the experiment has no other."""
    return site_label(experiment, name) if len(places(experiment)) > 1 else ""

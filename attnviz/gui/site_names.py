"""What a site is called on the screen: `layer 2 of 3 · self`."""

from __future__ import annotations

from attnviz.i18n import _
from attnviz.model.experiment import Experiment
from attnviz.model.layer_edits import companions
from attnviz.model.sites import place_of, places


def site_label(experiment: Experiment, name: str) -> str:
    """The site's layer, of how many, and its attention; in the present language."""
    place = place_of(experiment, name)
    count = len(experiment.encoder) if place.stack == "encoder" else 1 + len(experiment.layers)
    stack = {
        "layers": _("layer {layer} of {count}"),
        "encoder": _("encoder {layer} of {count}"),
        "decoder": _("decoder {layer} of {count}"),
    }[place.stack].format(layer=place.layer + 1, count=count)
    return f"{stack} · {_('self') if place.kind == 'self' else _('cross')}"


def shown_label(experiment: Experiment, name: str) -> str:
    """The label of a site, or nothing where the experiment has no other."""
    return site_label(experiment, name) if len(places(experiment)) > 1 else ""


def why_not_alike(experiment: Experiment, name: str) -> str:
    """Why there is nothing to edit alike; empty where other layers have an attention of the same kind."""
    return "" if companions(experiment, name) else _("There is no other layer with such an attention")

"""Edits by the name of what they set: in one attention, and with `layers.` in all layers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from attnviz.errors import InputError
from attnviz.model.controls import Setting
from attnviz.model.edit.settings import setting_of, with_setting
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.sites import sites
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

NONE = {"kind": "none"}


def kinds(experiment: Experiment, field: str) -> dict[str, str]:
    """The type of a field of every attention."""
    return {place.name: type(getattr(site, field)).__name__ for place, site in sites(experiment).items()}


def test_a_name_sets_one_attention_and_with_layers_all() -> None:
    experiment = load_preset("induction-birth").experiment
    one = with_setting(experiment, "layers.1.self", "position", NONE)
    assert kinds(one, "position") == {"layers.0.self": "Rope", "layers.1.self": "NoPosition"}
    every = with_setting(experiment, "layers.1.self", "layers.position", NONE)
    assert kinds(every, "position") == {"layers.0.self": "NoPosition", "layers.1.self": "NoPosition"}
    assert setting_of(every, "layers.1.self", "layers.position") == every.layers[0].position


def test_the_heads_of_all_layers_are_set() -> None:
    experiment = load_preset("induction-birth").experiment
    narrow = with_setting(experiment, "layers.0.self", "layers.d_head", 4)
    many = with_setting(narrow, "layers.0.self", "layers.n_heads", 16)
    assert [(site.heads.n_heads, site.heads.d_head) for site in sites(many).values()] == [(16, 4)] * 2
    assert {site.heads.n_kv_heads for site in sites(many).values()} == {16}


def test_the_encoder_stays_where_layers_are_set() -> None:
    experiment = with_setting(
        load_preset("encoder-decoder").experiment, "encoder.0.self", "layers.temperature", 2.0
    )
    found = {place.name: site.temperature for place, site in sites(experiment).items()}
    assert {found[name] for name in found if name.startswith("encoder")} == {1.0}
    assert {found[name] for name in found if name.startswith("decoder") and name.endswith("self")} == {2.0}


@pytest.mark.parametrize("name", ["layers.0", "layers.speed", "layers."])
def test_a_name_that_no_attention_has_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="set must be one of"):
        with_setting(load_preset("induction-birth").experiment, "layers.0.self", name, 1)


class Hand:
    """Presses controls."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def edit(self, function: Callable[[Experiment], Experiment]) -> None:
        self.document = replace(self.document, experiment=function(self.document.experiment))


def test_a_control_sets_all_layers() -> None:
    hand = Hand(load_preset("induction-birth"))
    control = Setting.read('layers.scale {"kind": "none"}', "÷√d")
    assert not control.is_on(hand.document) and control.why_not(hand.document) is None
    control.press(hand)  # type: ignore[arg-type]
    assert set(kinds(hand.document.experiment, "scale").values()) == {"NoScale"}
    assert control.is_on(hand.document)

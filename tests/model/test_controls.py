"""Controls of sentences: how they are written, what is refused, and what a press does to a document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from attnviz.checkpoints.presets import PRESETS, load_preset
from attnviz.errors import InputError
from attnviz.i18n import LANGUAGES, _, language
from attnviz.model.captions import pieces, plain_caption
from attnviz.model.controls import CONTROLS, Control, HeadChoice, MaskSwitch, Setting, Typing
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.masks import put_mask
from attnviz.model.edit.settings import check_name
from attnviz.model.edit.switching import LastOfKind
from attnviz.model.fields import FIELDS
from attnviz.model.io.files import dumps, loads
from attnviz.model.masks import MASKS
from attnviz.model.sites.sites import put
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Causal, Window
from attnviz.model.spec.site import Site

READ: dict[str, Control] = {
    "[temperature](set temperature 1.0)": Setting("temperature", 1.0, 1),
    "[θ](set position.base 500)": Setting("position.base", 500),
    '[÷√d](set scale {"kind": "sqrt_d_head"})': Setting("scale", {"kind": "sqrt_d_head"}),
    "[late](set mask_placement after_softmax)": Setting("mask_placement", "after_softmax"),
    "[he](type)": Typing("he"),
    "[him](type he)": Typing("he"),
    "[he](type for she)": Typing("he", "she"),
    "[him](type he for she)": Typing("he", "she"),
    "[two words](type in for out of)": Typing("in", "out of"),
    "[causal](mask causal)": MaskSwitch("causal"),
    "[head 3](head 3)": HeadChoice(3),
}


@pytest.mark.parametrize("written", READ)
def test_a_control_is_read_and_only_its_words_are_printed(written: str) -> None:
    (piece,) = pieces(written)
    assert piece.control == READ[written] and piece.anchor is None
    assert plain_caption(f"Now {written}.") == f"Now {written[1 : written.index(']')]}."


def test_every_verb_is_read_here() -> None:
    assert {written.rpartition("](")[2].rstrip(")").split()[0] for written in READ} == set(CONTROLS)


@pytest.mark.parametrize(
    "written", ["[x](settings)", "[x](masks of two)", "[x](typed)", "[x](set)", "[x](heads)"]
)
def test_other_words_in_brackets_stay_words(written: str) -> None:
    assert plain_caption(written) == written[1:2] + written[3:]
    assert all(piece.control is None for piece in pieces(written))


REFUSED = {
    "[x](mask shadow)": "mask must be one of 'causal', 'prefix'",
    "[x](head three)": "head must be a whole number of at least 1; got 'three'.",
    "[x](head 0)": "head must be a whole number of at least 1; got '0'.",
    "[x](set temperatura 1)": "such as temperature or position.base; got 'temperatura'.",
    "[x](set position.baze 1)": "set must be the path of a field",
    "[x](set temperature)": "A value must be JSON; got ''.",
    "[x](set temperature NaN)": "A value must be JSON; got 'NaN'.",
}


@pytest.mark.parametrize("written", REFUSED)
def test_a_wrong_control_is_refused_in_one_sentence_when_a_document_is_read(written: str) -> None:
    with pytest.raises(InputError) as raised:
        replace(load_preset("toy-attention"), caption=f"See {written}")
    said = str(raised.value)
    assert said.startswith("caption") and REFUSED[written] in said
    with pytest.raises(InputError, match="caption"):
        loads(
            dumps(replace(load_preset("toy-attention"), caption="[x]")).replace(
                "[x]", written.replace('"', "'")
            )
        )


def test_every_field_has_a_name_that_a_control_may_set() -> None:
    for row in FIELDS:
        check_name(row.path)


# --- pressing ----------------------------------------------------------------------------------------


class Hand:
    """Presses controls in a document, as the window does."""

    def __init__(self, document: Document) -> None:
        self.document, self.remembered = document, LastOfKind()

    def edit(self, function: Callable[[Experiment], Experiment]) -> None:
        self.document = replace(self.document, experiment=function(self.document.experiment))

    def edit_attention(self, function: Callable[[Site], Site]) -> None:
        self.edit(lambda experiment: put(experiment, function(self.document.attention)))

    def look(self, *, head: int) -> None:
        self.document = self.document.looking(head=head)


def control(target: str, word: str = "he") -> Any:
    (piece,) = pieces(f"[{word}]({target})")
    return piece.control


def hand(preset: str, *tokens: str) -> Hand:
    document = load_preset(preset)
    if tokens:
        document = replace(document, experiment=set_tokens(document.experiment, tokens))
    return Hand(document)


TYPED = (
    # tokens, control, after one press, after two
    (("who", "is", "she"), "type he", ("who", "is", "he"), ("who", "is", "he")),
    (("she", "and", "she", "?"), "type he", ("she", "and", "he", "?"), ("she", "and", "he", "?")),
    (
        ("she", "saw", "her", "she"),
        "type him for her",
        ("she", "saw", "him", "she"),
        ("she", "saw", "her", "she"),
    ),
    (("the", "he", "and", "she"), "type he for she", ("the", "he", "and", "he"), ("the", "he", "and", "she")),
    (("the", "others"), "type a for the", ("a", "others"), ("the", "others")),
)


@pytest.mark.parametrize(("tokens", "target", "once", "twice"), TYPED)
def test_a_word_is_typed_in_the_place_of_another(
    tokens: tuple[str, ...], target: str, once: tuple[str, ...], twice: tuple[str, ...]
) -> None:
    one, typing = hand("toy-attention", *tokens), control(target)
    assert typing.why_not(one.document) is None and not typing.is_on(one.document)
    typing.press(one)
    assert one.document.experiment.tokens == once and typing.is_on(one.document)
    typing.press(one)
    assert one.document.experiment.tokens == twice


def test_a_word_that_is_not_there_is_said() -> None:
    one = hand("toy-attention", "no", "one")
    assert "'she'" in str(control("type he for she").why_not(one.document))
    before = one.document
    control("type he for she").press(one)
    assert one.document == before


def test_a_model_reads_the_typed_word_as_its_own_token() -> None:
    one = hand("stories-name")
    tokens = one.document.experiment.tokens
    control("type he for she").press(one)
    assert one.document.experiment.tokens == (*tokens[:-1], " he")
    control("type he for she").press(one)
    assert one.document.experiment.tokens == tokens
    assert one.document.experiment.vectors == load_preset("stories-name").experiment.vectors


def test_the_last_chinese_character_is_the_last_word() -> None:
    one = hand("stories-name-zh")
    control("type 他").press(one)
    assert one.document.experiment.tokens[-1] == "他" and control("type", "他").is_on(one.document)


@pytest.mark.parametrize("family", MASKS, ids=lambda family: family.tag)
def test_a_mask_is_switched_on_and_off(family: Any) -> None:
    one, mask = hand("toy-attention"), control(f"mask {family.tag}")
    assert not mask.is_on(one.document)
    mask.press(one)
    assert [type(own) for own in one.document.attention.masks] == [family.kind] and mask.is_on(one.document)
    mask.press(one)
    assert one.document.attention.masks == ()


def test_a_mask_comes_back_with_its_numbers() -> None:
    one, mask = hand("toy-attention"), control("mask window")
    one.edit_attention(lambda site: put_mask(put_mask(site, Causal()), Window(2, 1)))
    before = one.document
    mask.press(one)
    assert one.document.attention.masks == (Causal(),)
    mask.press(one)
    assert one.document == before


def test_a_head_is_counted_from_one() -> None:
    one = hand("stories-name")
    assert control("head 3").is_on(one.document)  # its caption speaks of head 3, of 4
    control("head 2").press(one)
    assert one.document.view.head == 1
    assert "head must be a whole number from 1 to 4; got 5." in str(control("head 5").why_not(one.document))


def test_a_number_shows_the_value_of_its_field_and_sets_it() -> None:
    one, temperature = hand("toy-attention"), control("set temperature 1.0")
    assert temperature.is_number and temperature.number(one.document) == 1.0
    temperature.enter(one, 2.5)
    assert one.document.attention.temperature == 2.5 and temperature.number(one.document) == 2.5
    assert control("set n_tokens 4").number(one.document) == 4
    assert control("set heads.d_head 3").number(one.document) == 3
    assert "position.base" in str(control("set position.base 1e4").why_not(one.document))


def test_any_other_value_is_set_by_a_press_and_a_switch_goes_both_ways() -> None:
    one, scale = hand("no-scale-512"), control('set scale {"kind": "sqrt_d_head"}')
    assert not scale.is_number and not scale.is_on(one.document)
    scale.press(one)
    assert one.document.attention.scale.factor(512) == pytest.approx(512**-0.5) and scale.is_on(one.document)
    two, training = hand("dropout"), control("set dropout.training false")
    training.press(two)
    assert not two.document.attention.dropout.training and training.is_on(two.document)
    training.press(two)
    assert two.document.attention.dropout.training


# --- texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_a_translated_caption_has_the_controls_of_the_english_one(preset: Any) -> None:
    english = [piece.control for piece in pieces(preset.description) if piece.control is not None]
    document = load_preset(preset.id)
    assert [one.why_not(document) for one in english] == [None] * len(english)
    for row in LANGUAGES:
        with language(row.code):
            said = [piece.control for piece in pieces(_(preset.description)) if piece.control is not None]
        assert said == english

"""Refusals are said in the window's language; fields and values stay, and English is what the model says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from attnviz.i18n import set_language
from attnviz.model.block_parts import Block, FeedForward, Norm
from attnviz.model.parts import Heads, SeededVectors
from attnviz.model.position_parts import Deberta
from attnviz.model.presets import load_preset
from attnviz.model.refusals import FRAME, LEGAL, translated
from attnviz.model.sampling import MinP
from attnviz.model.switching import refusal, set_position


@pytest.fixture
def chinese() -> Iterator[None]:
    set_language("zh_CN")
    yield
    set_language("en")


def refused(make: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as caught:
        make()
    return str(caught.value)


BAD: tuple[tuple[Callable[[], object], str, str], ...] = (
    (lambda: Heads(0, 1, 4), "heads.n_heads", "0"),
    (lambda: Heads(4, 3, 4), "heads.n_kv_heads", "3"),
    (lambda: SeededVectors(0, 4, 1), "vectors.n", "0"),
    (lambda: Norm("rms", eps=float("nan")), "norm.eps", "nan"),
    (lambda: Block(placement="sideways"), "block.placement", "'sideways'"),  # type: ignore[arg-type]
    (lambda: FeedForward(d_hidden=-1), "feed_forward.d_hidden", "-1"),
    (lambda: MinP(2.0), "p", "2.0"),
)


@pytest.mark.parametrize(("make", "field", "value"), BAD)
def test_field_and_value_stay_and_nothing_else_is_english(
    make: Callable[[], object], field: str, value: str, chinese: None
) -> None:
    said = translated(refused(make))
    assert field in said and value in said and "允许的是" in said
    legal = said.split("允许的是：")[1]
    assert re.findall(r"(?<!['\w])[a-z]{3,}(?!['\w_])", legal) in ([], ["n_heads"]), legal


def test_what_a_tooltip_says_of_an_option(chinese: None) -> None:
    experiment = load_preset("multi-head-latent").experiment
    why = refusal(set_position, experiment, Deberta())
    assert why == "position.kind 为 'deberta'；允许的是：有潜向量时，不与 q、k 相乘的位置编码"


def test_english_is_what_the_model_says() -> None:
    for make, _field, _value in BAD:
        assert translated(refused(make)) == refused(make)


@pytest.mark.parametrize("template", LEGAL)
def test_each_message_is_found_by_its_filled_in_form(template: str, chinese: None) -> None:
    names = re.findall(r"\{(\w+)\}", template)
    filled = {name: str(7 + index) for index, name in enumerate(names)}
    sentence = FRAME.format(field="a.b", value="x", legal=template.format(**filled))
    said = translated(sentence)
    assert said.startswith("a.b 为 x；允许的是：")
    assert all(number in said for number in filled.values())
    assert re.findall(r"(?i)\b(?:where|which|more|most|each|than|above)\b", said) == []


def test_other_sentences_come_back_unchanged(chinese: None) -> None:
    for sentence in ("", "out of memory on cuda:0", "x.json: it is not JSON"):
        assert translated(sentence) == sentence

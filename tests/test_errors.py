"""Errors are values: path, value, requirement; the texts are made of them where they are read."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

import attnviz.version
from attnviz import errors
from attnviz.errors import FieldError, InputError, Message, among, message_of, must_be, quoted, whole_number
from attnviz.i18n import set_language
from attnviz.model.edit.switching import set_position
from attnviz.model.errors.titles import in_words
from attnviz.model.fields import place_in_attention
from attnviz.model.io.files import DocumentError, load, loads
from attnviz.model.io.presets import load_preset
from attnviz.model.sites.sites import main_site
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.attention import Attention
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Dropout, Heads, ScaleValue, SeededVectors
from attnviz.model.spec.positions import Deberta
from attnviz.model.spec.sampling import MinP


@pytest.fixture
def chinese() -> Iterator[None]:
    set_language("zh_CN")
    yield
    set_language("en")


def refused(make: Callable[[], object]) -> FieldError:
    with pytest.raises(FieldError) as caught:
        make()
    return caught.value


def encoder_without_memory() -> Experiment:
    whole = load_preset("encoder-decoder").experiment
    return Experiment(whole.tokens, whole.vectors, encoder=whole.encoder)


BAD: tuple[tuple[Callable[[], object], str, object, Message], ...] = (
    (lambda: Heads(0, 1, 4), "heads.n_heads", 0, whole_number(1, 1_000_000)),
    (lambda: Heads(4, 3, 4), "heads.n_kv_heads", 3, must_be("a divisor of n_heads ({n})", n=4)),
    (lambda: SeededVectors(0, 4, 1), "vectors.n", 0, whole_number(1, 1_000_000)),
    (lambda: Norm("rms", eps=-1.0), "norm.eps", -1.0, errors.NOT_NEGATIVE),
    (
        lambda: Block(placement="sideways"),  # type: ignore[arg-type]
        "block.placement",
        "sideways",
        among(("pre", "post", "sandwich", "parallel")),
    ),
    (lambda: FeedForward(d_hidden=-1), "feed_forward.d_hidden", -1, whole_number(1, 1_000_000)),
    (lambda: MinP(2.0), "sampling.min_p.p", 2.0, errors.PROBABILITY),
    (
        lambda: Dropout(1.0),
        "dropout.p",
        1.0,
        must_be("a number of at least {least} and below {most}", least=0, most=1),
    ),
    (
        lambda: Attention(scale=ScaleValue(1.7e308), temperature=0.2),
        "temperature",
        0.2,
        Message("must leave the scale divided by it finite"),
    ),
    (lambda: Matrix([[1, None]]), "matrix[0][1]", None, must_be("a number")),
    (encoder_without_memory, "encoder", None, errors.NEEDS_MEMORY),
)


@pytest.mark.parametrize(("make", "path", "value", "requirement"), BAD)
def test_an_error_carries_path_value_and_requirement(
    make: Callable[[], object], path: str, value: object, requirement: Message
) -> None:
    error = refused(make)
    assert (error.path, error.value, error.requirement) == (path, value, requirement)
    assert str(error) == f"{path} {requirement}; got {quoted(value)}."
    assert isinstance(error, ValueError) and message_of(error) is error.message


def test_what_must_be_and_what_was_got() -> None:
    assert str(refused(lambda: Heads(0, 1, 4))) == (
        "heads.n_heads must be a whole number from 1 to 1,000,000; got 0."
    )
    assert str(refused(encoder_without_memory)) == "encoder needs a memory sequence; got null."


@pytest.mark.parametrize(("make", "path", "value", "requirement"), BAD)
def test_every_error_speaks_the_present_language(
    make: Callable[[], object], path: str, value: object, requirement: Message, chinese: None
) -> None:
    said = refused(make).message.text()
    assert said.startswith(path) and said.endswith(f"，实际为 {quoted(value)}。")
    middle = said.removeprefix(path).removesuffix(f"，实际为 {quoted(value)}。")
    assert re.findall(r"(?<!['\w])[A-Za-z]{3,}(?!['\w_])", middle) in ([], ["n_heads"]), middle
    assert str(refused(make)) == f"{path} {requirement}; got {quoted(value)}.", "scripts read English"


def test_a_message_is_translated_when_it_is_read() -> None:
    error = refused(lambda: Heads(4, 3, 4))
    try:
        set_language("zh_CN")
        assert error.message.text() == "heads.n_kv_heads 必须是 n_heads（4）的约数，实际为 3。"
        assert in_words(error) == "“键/值头”必须是 n_heads（4）的约数，实际为 3。"
    finally:
        set_language("en")
    assert in_words(error) == "heads.n_kv_heads must be a divisor of n_heads (4); got 3."


def test_an_error_of_an_option_is_said_in_the_windows_words(chinese: None) -> None:
    why = refusal(set_position, main_site(load_preset("multi-head-latent").experiment), Deberta())
    assert why.startswith("“位置") and "'deberta'" in why and "must" not in why


def test_a_message_is_its_english_text(chinese: None) -> None:
    notices = Message("Numbers by hand removed with their tokens: {n}", n=2), must_be("even")
    assert " · ".join(notices) == "Numbers by hand removed with their tokens: 2 · must be even"
    assert "by hand" in notices[0] and notices[0] != notices[0].text()
    assert notices[1] in {"must be even"} and f"{notices[1]:>13}" == " must be even"
    assert type(str(notices[0])) is str and errors.verbatim("{a} {b}") == "{a} {b}"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copied_message_is_translated_as_the_first_one(
    copied: Callable[[Message], Message], chinese: None
) -> None:
    message = refused(lambda: Heads(4, 3, 4)).message
    again = copied(message)
    assert (again, again.text()) == (message, message.text())
    assert in_words(again) == "“键/值头”必须是 n_heads（4）的约数，实际为 3。"


def test_long_values_are_quoted_shortly() -> None:
    assert quoted("x" * 1000) == "'" + "x" * 58 + "…"
    assert len(quoted(list(range(10**6)))) == errors.LONGEST
    assert quoted(np.zeros((3, 4))) == "array(3x4)" and quoted(np.float32(0.5)) == "0.5"
    assert quoted(Norm()) == "{…}" and (quoted(None), quoted(True)) == ("null", "true")


def test_errors_of_msgspec_and_of_parts_are_the_same_type() -> None:
    text = '{"format": "attnviz", "version": 2, "experiment": {"tokens": ["a"], "vectors": %s}}'
    for vectors, path, value in (
        ("3", "$.experiment.vectors", 3),
        ('{"kind": "seeded", "n": 0, "d_model": 2}', "$.experiment.vectors.n", 0),
        ('{"kind": "explicit", "values": [[1, "2"]]}', "$.experiment.vectors.values[0][1]", "2"),
        ('{"kind": "seeded", "n": 1, "d_model": 2, "x": 1}', "$.experiment.vectors.x", 1),
        ('{"kind": "seeded", "n": 1}', "$.experiment.vectors.d_model", errors.NOTHING),
    ):
        with pytest.raises(DocumentError) as caught:
            loads(text % vectors, "a.json")
        cause = caught.value.__cause__
        assert isinstance(cause, FieldError) and (cause.path, cause.value) == (path, value)
        assert str(caught.value) == f"a.json: {cause}"


def test_a_file_that_is_no_document(tmp_path: Path, chinese: None) -> None:
    file = tmp_path / "a b.json"
    file.write_text('{"format": "attnviz", ', encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        load(file)
    assert caught.value.message.text() == (
        "a b.json：文本必须是 JSON，第 1 行第 23 列：此处应为加双引号的键。"
    )


def test_braces_in_the_words_of_others_are_no_fields() -> None:
    assert str(InputError("the key {x} is odd")) == "the key {x} is odd"
    assert message_of(OSError(2, "No such file or directory")).text() == "No such file or directory"
    assert str(message_of(MemoryError())) == "Not enough memory is free."
    assert str(message_of(RuntimeError())) == "RuntimeError"


def test_a_field_is_the_same_in_every_attention() -> None:
    for path in ("heads.off", "layers[2].heads.off", "layers[0].cross.heads.off[3]", "cross.heads.off"):
        assert place_in_attention(path) == "heads.off"
    assert place_in_attention("masks[1].left") == "masks.left"


PACKAGE = Path(attnviz.version.__file__).parent


def test_only_the_edge_to_msgspec_reads_english_sentences() -> None:
    """Patterns in `model/`: of msgspec's messages, of paths, and none of sentences of this program."""
    found = {
        file.relative_to(PACKAGE).as_posix()
        for file in (PACKAGE / "model").rglob("*.py")
        if "re.compile" in file.read_text(encoding="utf-8")
    }
    assert found & {f"model/errors/{name}.py" for name in ("faults", "refusals", "messages")} == set()
    sentences = re.compile(r"legal (?:is|are)|is there\b.*;", re.IGNORECASE)
    said = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if sentences.search(line) and '"' in line
    }
    assert said == set()


@pytest.mark.parametrize(
    ("path", "value", "requirement", "said"),
    [
        ("heads.n_heads", 0, whole_number(1, 64), "heads.n_heads 必须是从 1 到 64 的整数，实际为 0。"),
        ("缓存", 3, must_be("null with a latent"), "缓存必须是 null，因为使用了潜向量，实际为 3。"),
        ("cells[1]", "字a字", must_be("a number"), "cells[1] 必须是一个数，实际为 '字a字'。"),
    ],
)
def test_in_chinese_a_space_parts_latin_from_chinese(
    path: str, value: object, requirement: Message, said: str, chinese: None
) -> None:
    """Only where a field meets the text around it: a quoted value stays as it was typed."""
    assert FieldError(path, value, requirement).message.text() == said

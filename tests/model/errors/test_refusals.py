"""Refusals are said in the window's language; fields and values stay, and English is what the model says."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnviz
from attnviz.i18n import set_language
from attnviz.model.edit.switching import refusal, set_position
from attnviz.model.errors.messages import LEGAL, SENTENCES
from attnviz.model.errors.refusals import in_words, translated
from attnviz.model.errors.titles import FIELD_TITLES
from attnviz.model.io.files import DocumentError, load
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.block import Block, FeedForward, Norm
from attnviz.model.spec.parts import Heads, SeededVectors
from attnviz.model.spec.positions import Deberta
from attnviz.model.spec.sampling import MinP
from attnviz.model.spec.value import Value


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
    assert why == "“位置” 为 'deberta'；允许的是：有潜向量时，不与 q、k 相乘的位置编码"


def test_the_window_calls_a_field_what_stands_at_its_control(chinese: None) -> None:
    why = refused(lambda: Heads(4, 3, 4))
    assert in_words(why) == "“键/值头” 为 3；允许的是：n_heads (4) 的约数"
    assert in_words("layers[0].sinks.values[2] is nan; legal is a finite number") == (
        "“注意力汇（sink）” 为 nan；允许的是：有限数"
    )
    assert in_words("tensor 'a' ends early: it is damaged") == "张量 'a' 提前结束：文件已损坏"
    set_language("en")
    assert in_words(why) == why


def test_every_titled_field_is_one_of_the_document() -> None:
    def fields(kind: type[Value]) -> Iterator[str]:
        for below in kind.__subclasses__():
            yield from (below.where + name for name in below.__struct_fields__)
            yield from fields(below)

    assert FIELD_TITLES.keys() - set(fields(Value)) == {"position.kind"}


def test_english_is_what_the_model_says() -> None:
    for make, _field, _value in BAD:
        assert translated(refused(make)) == refused(make)


NUMBERS = {
    "n",
    "all",
    "most",
    "least",
    "last",
    "first",
    "number",
    "line",
    "column",
    "row",
    "place",
    "described",
}


def filled(template: str) -> tuple[str, list[str]]:
    """A message with something in its fields, and what that is."""
    names = re.findall(r"\{(\w+)\}", template.replace("{{", ""))
    fields = {name: str(7 + k) if name in NUMBERS else f"'{name}'" for k, name in enumerate(names)}
    return template.format(**fields), list(fields.values())


@pytest.mark.parametrize("template", LEGAL)
def test_what_is_legal_is_found_by_its_filled_in_form(template: str, chinese: None) -> None:
    words, given = filled(template)
    said = translated(f"a.b is x; legal is {words}")
    assert said.startswith("a.b 为 x；允许的是：")
    assert all(value in said for value in given) and english(said) == []


@pytest.mark.parametrize("template", SENTENCES)
def test_each_sentence_is_found_alone_and_behind_the_name_of_a_file(template: str, chinese: None) -> None:
    sentence, given = filled(template)
    said = translated(sentence)
    assert all(value in said for value in given) and english(said) == []
    for name in ("model.json", "my notes.json"):
        assert translated(f"{name}: {sentence}") == f"{name}：{said}"
    assert translated(f"llama: config.json: {sentence}") == f"llama：config.json：{said}"


def english(said: str) -> list[str]:
    """Words that are neither quoted nor names of formats and fields."""
    bare = re.sub(r"^[\w ]+?(?= 为 |：)|'[^']*'|[\w.]*[_.\[][\w.\]]*|\(vocabulary,\)", "", said)
    words = re.findall(r"(?<![\w-])[A-Za-z]{3,}(?!\w)", bare)
    return [word for word in words if word not in NAMES]


NAMES = {
    *("JSON", "UTF", "NaN", "RMSNorm", "RoPE", "Llama", "DeBERTa", "MLA"),
    *("NumPy", "Torch", "auto", "cpu", "cuda", "YaRN", "pip", "install", "eps"),
    *("null", "true", "false", "all", "attnviz", "safetensors", "tokenizers", "dtype", "inf"),
    *(
        "block",
        "identity",
        "placement",
        "activation",
        "latent",
        "layers",
        "encoder",
        "kind",
        "version",
        "format",
    ),
}
"""Names of formats, methods, fields and values of documents, which are the same in all languages."""


def test_a_second_bound_is_not_taken_for_the_first(chinese: None) -> None:
    for words, said in (
        ("a finite number above 0, or null", "大于 0 的有限数，或 null"),
        ("one of 'layer', 'rms', or null", "'layer', 'rms' 之一，或 null"),
        ("1,048,576 numbers at most", "最多 1,048,576 个数"),
    ):
        assert translated(f"a.b is x; legal is {words}") == f"a.b 为 x；允许的是：{said}"


def test_a_file_that_is_no_document(chinese: None, tmp_path: Path) -> None:
    file = tmp_path / "a b.json"
    file.write_text('{"format": "attnviz", ', encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        load(file)
    assert translated(str(caught.value)) == "a b.json：第 1 行第 23 列不是 JSON：此处应为加双引号的键"
    with pytest.raises(DocumentError) as caught:
        load(tmp_path / "none.json")
    assert translated(str(caught.value)) == f"none.json：{tmp_path} 中没有这个文件"


def test_every_refusal_of_the_source_has_a_translation(chinese: None) -> None:
    sentences = set(refusals_of_the_source()) - IN_PIECES
    left = {words: said for words in sentences if english(said := translated(words))}
    assert len(sentences) > 150 and left == {}


IN_PIECES = {"7: tensor 7 7", "7: tensor 7 is here; by 7 it is 7", "7; legal is 1 to 7", "vocabulary: 7"}
"""Sentences of which half is made elsewhere."""


LEGAL_ARGUMENT = {"require": 3, "_require": 3, "FieldError": 2, "Key": 3}
"""Functions of which an argument is what is legal."""

REFUSALS = {"ValueError", "DocumentError", "CheckpointError", "EngineError", "Named"}
"""Errors of which the first argument is a sentence for the user."""

PROGRAMMERS = {"threads.py", "levels.py", "text.py"}
"""Files whose `ValueError` no input of a user can reach."""


def refusals_of_the_source() -> Iterator[str]:
    """The sentences that the program refuses with, as far as they stand in one piece; 7 in every field."""
    package = Path(attnviz.__file__).parent
    for file in sorted(package.rglob("*.py")):
        if file.name in PROGRAMMERS or file.parts[len(package.parts)] in ("bench", "gui"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            place = LEGAL_ARGUMENT.get(node.func.id)
            if place is not None and len(node.args) > place:
                for words in written(node.args[place]):
                    yield f"a.b is 7; legal is {words}"
            elif node.func.id in REFUSALS and node.args:
                yield from written(node.args[0])


def written(node: ast.expr) -> list[str]:
    """The texts that an expression is, of both branches of a condition; none of what is made elsewhere."""
    if isinstance(node, ast.IfExp):
        return written(node.body) + written(node.orelse)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "7" for part in node.values)]
    return []


def test_other_sentences_come_back_unchanged(chinese: None) -> None:
    for sentence in ("", "out of memory on cuda:0", "x.json: it rains"):
        assert translated(sentence) == sentence

"""Special and added tokens in a text: the ids of the package `tokenizers`, for every kind of tokenizer."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.checkpoints import import_checkpoint
from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.texts import Tokens, read_tokens, token_ids
from attnviz.checkpoints.tokenizers.chat import turns
from attnviz.cli import main
from attnviz.core.piece_kinds import SPACE, byte_token
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import SeededVectors
from attnviz.model.spec.pieces import text_tokens
from attnviz.model.spec.vocabulary import Vocabulary
from attnviz.model.text import join_text, likely_splitting

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

CORPUS = ["the cat sat on the mat", "a dog and a cat", "don't go, 12 of 345", "naïve café 你好"] * 5
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
ENDS = ["<unk>", "<s>", "</s>"]


@cache
def flags() -> list[Any]:
    """Added tokens with every combination of the package's flags, and one that begins another."""
    names = ("lstrip", "rstrip", "single_word", "normalized")
    made = [
        AddedToken(f"<{index}>" if index % 3 else f"t{index}", **dict(zip(names, row, strict=True)))
        for index, row in enumerate(product((False, True), repeat=4))
    ]
    plain = [AddedToken(text, normalized=False) for text in ("<think>", "<think>x", "  ", "\n\n", "né", "你")]
    return [*made, *plain]


def special() -> list[Any]:
    return [
        AddedToken("<|im_start|>", special=True, normalized=False),
        AddedToken("[MASK]", special=True, normalized=False, lstrip=True),
        AddedToken("<|user|>", special=True, normalized=True),
    ]


def byte_level(cut: Any, normalizer: Any = None) -> Any:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = cut, decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=ENDS, initial_alphabet=ALPHABET, show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def spaced(normalizer: Any, cut: Any = None) -> Any:
    made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    made.normalizer = normalizer or normalizers.Replace(" ", SPACE)
    special = [*ENDS, *(byte_token(byte) for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, show_progress=False)
    made.train_from_iterator([f" {text}" for text in CORPUS], trainer)
    data = json.loads(made.to_str())
    data["added_tokens"] = data["added_tokens"][:3]  # bytes are no tokens of a text
    data["normalizer"] = None if normalizer is None else data["normalizer"]
    made = tokenizers.Tokenizer.from_str(json.dumps(data))
    if cut is not None:
        made.pre_tokenizer = cut
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence(steps)
    return made


def unigram() -> Any:
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, special_tokens=ENDS, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def word_piece() -> Any:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="<unk>"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=140, special_tokens=ENDS, show_progress=False)
    )
    return made


PREPEND = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
SPLIT = pre_tokenizers.Split(tokenizers.Regex(QWEN), "isolated")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

KINDS = {
    "byte level": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "byte level, space first": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "prepend and replace": lambda: spaced(PREPEND),
    "replace": lambda: spaced(normalizers.Replace(" ", SPACE)),
    "replace and split": lambda: spaced(
        normalizers.Replace(" ", SPACE), pre_tokenizers.Split(" ", "merged_with_previous")
    ),
    **{
        f"metaspace, {scheme}": lambda scheme=scheme: spaced(
            None, pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
        )
        for scheme in ("first", "always", "never")
    },
    "unigram": unigram,
    "word piece": word_piece,
    "split": lambda: byte_level(pre_tokenizers.Sequence([SPLIT, BYTES]), normalizers.NFC()),
    "digits": lambda: byte_level(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    ),
    "roberta": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
}
OWN = (
    "byte level", "byte level, space first", "prepend and replace", "replace", "replace and split",
    "metaspace, first", "metaspace, always",
)  # fmt: skip
"""Those that the program's own encoding reads; the last kind too, without tokens that take spaces."""

ENDINGS = {
    "roberta": lambda: processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
    "replace": lambda: None,
    "byte level": lambda: None,
}
BEGIN = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])


@cache
def both(kind: str) -> tuple[Any, Tokens]:
    """The package's tokenizer, and the program's of its file."""
    made = KINDS[kind]()
    ending = ENDINGS.get(kind, lambda: BEGIN)()
    if ending is not None:
        made.post_processor = ending
    made.add_tokens(flags())
    made.add_special_tokens(special())
    return made, tokens_of(json.loads(made.to_str()), made.get_vocab_size())


def tokens_of(data: Any, size: int, folder: Path = Path("folder")) -> Tokens:
    return read_tokens(Checkpoint(folder, {}, {}, config_name="model.gguf", tokenizer=data), size)


ADDED = [one.content for one in (*flags(), *special())]
TEXTS = (
    "the cat<|im_start|>sat", "<|im_start|>the cat", "<|im_start|> the cat <|im_start|>",
    "<s>the cat</s>", "<s> the cat </s>", "the [MASK] sat", "<|user|>\nthe cat</s>\n<|user|>", "<s><s>",
    "<think>x<think>y", "xt0 t0 t0x t3x", "a <1>  b", "a   <5>  <9>  b", "<|im_start|", "<<s>>", "né né", "",
    "  <think>  the", "the\u00a0<5>\u3000cat", "①t3 ⓐt3 e\u0301t3 \u200dt3 t3", "▁<think>▁the", "x\n\ny",
    "你好 你<s>你", "\x1c<5>\x1f",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_ids_of_a_text_are_those_of_the_package(kind: str) -> None:
    library, ours = both(kind)
    assert (ours.pieces is not None) == (kind in OWN)
    for text in TEXTS:
        compare(library, ours, text)


def compare(library: Any, ours: Tokens, text: str) -> None:
    for is_whole in (False, True):
        wanted = library.encode(text, add_special_tokens=not is_whole).ids
        if wanted:
            assert list(token_ids(ours, text, None, "ids", is_whole)) == wanted, (text, is_whole)


PARTS = st.sampled_from([*ADDED, *ENDS, " ", "  ", "a", "the", " cat", "\n", "\t", "é", "你", "7", SPACE])
_ONE = st.characters(exclude_categories=["Cs", "Cn"])


@pytest.mark.parametrize("kind", OWN)
@settings(max_examples=200, deadline=None)
@given(text=st.lists(PARTS | st.text(_ONE, max_size=2), max_size=12).map("".join))
def test_the_ids_of_any_text_are_those_of_the_package(kind: str, text: str) -> None:
    compare(*both(kind), text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_and_its_tokens_are_each_others(kind: str) -> None:
    """The text line shows the text of the tokens, and an edit of it encodes the whole of it again."""
    library, ours = both(kind)
    rows = Matrix(np.zeros((len(ours.texts), 2)))
    known = Vocabulary(
        ours.texts, rows, begin=ours.begin, end=ours.end, pieces=ours.pieces, tokenizer=ours.tokenizer
    )
    for text in TEXTS:
        tokens = text_tokens(known, text)
        assert [known.tokens.index(token) for token in tokens] == library.encode(text).ids
        is_known = "<unk>" in text or "<unk>" not in tokens
        is_spaced = SPACE in text or (kind == "word piece" and "  " in text)  # as a decoder reads them
        if tokens and is_known and not is_spaced:
            there = Experiment(tokens, SeededVectors(len(tokens), 2, 0), vocabulary=known)
            assert text_tokens(known, join_text(there, tokens, "model")) == tokens
            assert likely_splitting(there) == "model"


@pytest.mark.parametrize("n_missing", [1, 3])
def test_an_added_token_without_an_embedding_is_refused(n_missing: int) -> None:
    """Its letters would be other tokens; a package that gives its id is refused the same way."""
    library, _ours = both("prepend and replace")
    ours = tokens_of(json.loads(library.to_str()), library.get_vocab_size() - n_missing)
    with pytest.raises(
        CheckpointError, match=r"text must consist of tokens of the vocabulary; got '<\|user\|>'\.$"
    ):
        token_ids(ours, "a <|user|>", None, "ids")
    assert token_ids(ours, "the cat", None, "ids") == tuple(library.encode("the cat").ids)


TEMPLATES = {
    "Llama-2": "{% for m in messages %}{% if m.role == 'user' %}"
    "{{ bos_token + '[INST] ' + m.content + ' [/INST]' }}"
    "{% elif m.role == 'system' %}{{ '<<SYS>>\n' + m.content + '\n<</SYS>>\n\n' }}"
    "{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}",
    "ChatML": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
    "Gemma": "{{ bos_token }}{% for m in messages %}<|user|>{{ m.role }}\n"
    "{{ m.content | trim }}<|im_start|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|user|>model\n{% endif %}",
}
TALKS = (
    turns(["the cat sat"]),
    turns(["the cat", "a dog <think>", "don't go"]),
    turns([" né ", "<s>the", "  cat  "], system="a dog"),
)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_chat_has_the_ids_of_apply_chat_template(tmp_path: Path, kind: str, template: str) -> None:
    """No token is put before the text of a template, which has its own."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("jinja2")
    library, _ours = both(kind)
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=library, bos_token="<s>", eos_token="</s>", chat_template=template
    )
    theirs.save_pretrained(tmp_path)
    size = library.get_vocab_size()
    arrays = llama_arrays() | {"model.embed_tokens.weight": np.zeros((size, 4), np.float32)}
    write_folder(tmp_path, arrays, {**LLAMA_CONFIG, "vocab_size": size})
    for talk in TALKS:
        wanted = theirs.apply_chat_template(list(talk), add_generation_prompt=True)["input_ids"]
        document = import_checkpoint(tmp_path, chat=talk)
        known = document.experiment.vocabulary
        assert known is not None
        assert [known.tokens.index(token) for token in document.experiment.tokens] == wanted


def test_the_shell_reads_a_text_as_the_import_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library, _ours = both("prepend and replace")
    library.save(str(tmp_path / "tokenizer.json"))
    size = library.get_vocab_size()
    arrays = llama_arrays() | {"model.embed_tokens.weight": np.ones((size, 4), np.float32)}
    write_folder(tmp_path, arrays, {**LLAMA_CONFIG, "vocab_size": size, "bos_token_id": 1, "eos_token_id": 2})
    text, file = "the cat</s> a <think>x", tmp_path / "d.safetensors"
    wanted = [library.id_to_token(one) for one in library.encode(text).ids]
    assert main(["import", str(tmp_path), "--text", "the", "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["decode", str(file), "--text", text, "--json"]) == 0
    assert [step["token"] for step in json.loads(capsys.readouterr().out)["steps"]] == wanted

"""Tokenizers without a tokenizer.json: the ids of the libraries that wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.texts import Tokens, read_tokens, token_ids

TEXTS = ("the cat's  hat", " the Cat", "don't 12345 go", "naïve café 你好", "x\n\ny", "  two", "a<s>b")
CORPUS = [
    "the cat sat on the mat", "a dog and a cat", "don't go there, 12 of 345", "naïve café 你好 世界",
    "what is this thing called love", "hats and mats and rats", "x y z",
] * 20  # fmt: skip


def tokens_of(folder: Path, size: int, **config: Any) -> Tokens:
    return read_tokens(Checkpoint(folder, config, {}), size)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("has_bytes", [True, False])
def test_sentence_piece_gives_its_own_ids(tmp_path: Path, kind: str, has_bytes: bool) -> None:
    library = pytest.importorskip("sentencepiece")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(CORPUS), encoding="utf-8")
    library.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "tokenizer"), vocab_size=330 if has_bytes else 70,
        model_type=kind, byte_fallback=has_bytes, hard_vocab_limit=False, minloglevel=2, num_threads=1,
        normalization_rule_name="identity" if kind == "bpe" else "nmt_nfkc",
        remove_extra_whitespaces=kind != "bpe",
    )  # fmt: skip
    theirs = library.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    ours = tokens_of(tmp_path, theirs.vocab_size(), model_type="llama")
    begin = theirs.bos_id()
    for text in TEXTS[:-1]:
        if kind == "unigram" and not has_bytes and "你" in text:
            continue  # the library joins unknown characters, whose ids are the same
        assert list(token_ids(ours, text, None, "ids")) == [begin, *theirs.encode(text)], text


def test_pairs_and_merges_give_the_ids_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("tokenizers")
    made = library.ByteLevelBPETokenizer()
    made.train_from_iterator(CORPUS, vocab_size=320, special_tokens=["<s>", "</s>"], show_progress=False)
    made.save_model(str(tmp_path))
    gpt_2 = tokens_of(tmp_path, made.get_vocab_size(), model_type="gpt2")
    roberta = tokens_of(tmp_path, made.get_vocab_size(), model_type="roberta")
    for text in TEXTS[:-1]:
        wanted = made.encode(text).ids
        assert list(token_ids(gpt_2, text, None, "ids")) == wanted
        assert list(token_ids(roberta, text, None, "ids")) == [0, *wanted, 1]


def test_words_give_the_ids_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("tokenizers")
    made = library.BertWordPieceTokenizer()
    made.train_from_iterator(CORPUS, vocab_size=120, show_progress=False)
    made.save_model(str(tmp_path))
    theirs = library.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"))
    size = theirs.get_vocab_size()
    ours = tokens_of(tmp_path, size, model_type="bert")
    for text in TEXTS:
        assert list(token_ids(ours, text, None, "ids")) == theirs.encode(text).ids, text
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    cased = tokens_of(tmp_path, size, model_type="bert")
    assert token_ids(cased, "The", None, "ids") != token_ids(ours, "The", None, "ids")


@pytest.mark.parametrize(
    ("name", "kind"), [("vocab.txt", "llama"), ("vocab.json", "clip"), ("tokenizer.model", "xlm-roberta")]
)
def test_a_model_that_cuts_otherwise_needs_a_tokenizer_json(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    (tmp_path / name).write_bytes(b"\x0a\x08\x0a\x01a\x15\x00\x00\x80\x3f" if "model" in name else b"{}")
    with pytest.raises(CheckpointError, match=rf"^{name}: model_type must be .*; got '{kind}'\.$"):
        tokens_of(tmp_path, 3, model_type=kind)


@pytest.mark.parametrize("data", [b"", b"\xff\xff", b"\x0a\xff\x01", b"PK\x03\x04" * 9])
def test_other_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(data)
    with pytest.raises(CheckpointError, match="^tokenizer.model: The file must be a model of SentencePiece"):
        tokens_of(tmp_path, 3, model_type="llama")


FLAGS = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
SETTINGS: dict[str, dict[str, Any]] = {
    "roles": {"eos_token": "</s>", "pad_token": "the"},
    "list": {"additional_special_tokens": ["<|user|>", "cat"]},
    "names": {"extra_special_tokens": {"image_token": "<|user|>"}},
    "decoder": {"added_tokens_decoder": {"2": {"content": "</s>", "special": True, **FLAGS, "rstrip": True}}},
    "not there": {"added_tokens_decoder": {"90": {"content": "<think>", "special": False, **FLAGS}}},
    "a token with flags": {"mask_token": {"content": "<m>", "__type": "AddedToken", **FLAGS, "lstrip": True}},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_tokens_of_the_settings_are_found_in_a_text(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Files whose tokenizer.json lacks some of them: `AutoTokenizer` adds those of tokenizer_config.json."""
    transformers = pytest.importorskip("transformers")
    library = pytest.importorskip("tokenizers").ByteLevelBPETokenizer()
    special = ["<unk>", "<s>", "</s>", "<|user|>"]
    library.train_from_iterator(CORPUS, vocab_size=320, special_tokens=special, show_progress=False)
    library.save(str(tmp_path / "tokenizer.json"))
    data = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer.json").write_text(json.dumps({**data, "added_tokens": data["added_tokens"][:2]}))
    written = {"tokenizer_class": "PreTrainedTokenizerFast", **settings}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(written))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = tokens_of(tmp_path, len(theirs), model_type="llama")
    for text in ("the cat</s>  x <|user|>a", "<think>the  <m> cat</s>\n"):
        assert list(token_ids(ours, text, None, "ids")) == theirs(text)["input_ids"], text


SPECIAL_TEXTS = (
    "<s>[INST] the cat [/INST] a</s><s>[INST] x",
    "<start_of_turn>user\nthe cat<end_of_turn>\n",
    "a <mask>  b<unk>c",
)


@pytest.mark.parametrize(
    ("model_type", "settings"),
    [
        ("llama", {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True}),
        ("gemma", {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True}),
        ("t5", {"tokenizer_class": "T5Tokenizer"}),
    ],
)
def test_special_pieces_of_sentence_piece_are_found(
    tmp_path: Path, model_type: str, settings: dict[str, Any]
) -> None:
    transformers = pytest.importorskip("transformers")
    library, corpus = pytest.importorskip("sentencepiece"), tmp_path / "corpus.txt"
    corpus.write_text("\n".join(CORPUS), encoding="utf-8")
    gemma = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"}
    own: dict[str, dict[str, Any]] = {
        "llama": {"model_type": "bpe", "remove_extra_whitespaces": False},
        "gemma": {
            "model_type": "bpe", "remove_extra_whitespaces": False, "add_dummy_prefix": False, **gemma
        },
        "t5": {"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    }  # fmt: skip
    is_t5 = model_type == "t5"
    name = "spiece" if is_t5 else "tokenizer"
    library.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / name), vocab_size=120 if is_t5 else 340,
        byte_fallback=not is_t5, hard_vocab_limit=False, minloglevel=2, num_threads=1,
        normalization_rule_name="nmt_nfkc" if is_t5 else "identity",
        user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "[INST]"], control_symbols=["<mask>"],
        **own[model_type],
    )  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = tokens_of(tmp_path, len(theirs), model_type=model_type)
    for text in (*SPECIAL_TEXTS, *(("<extra_id_0> the<extra_id_1>",) if is_t5 else ())):
        assert list(token_ids(ours, text, None, "ids")) == theirs(text)["input_ids"], text


@pytest.mark.parametrize(
    "settings",
    [
        {"added_tokens_decoder": {"one": {"content": "a"}}},
        {"added_tokens_decoder": {"1": "a"}, "bos_token": {"lstrip": True}},
        {"additional_special_tokens": 7},
    ],
)
def test_settings_of_another_form_are_named(tmp_path: Path, settings: dict[str, Any]) -> None:
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"^tokenizer_config\.json: The file must name tokens as tran"):
        tokens_of(tmp_path, 3, model_type="llama")

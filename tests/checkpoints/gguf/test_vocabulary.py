"""The tokenizer in the metadata of a GGUF file: special tokens in a text, and wrong values by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attnviz.checkpoints.gguf.vocabulary import read_chat, read_tokenizer
from attnviz.checkpoints.reader import Checkpoint
from attnviz.checkpoints.texts import Tokens, read_tokens, token_ids
from attnviz.core.piece_kinds import SPACE, byte_token

ORDINARY, UNKNOWN, CONTROL, USERS, BYTE = 1, 2, 3, 4, 6
SPACED = {
    "<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL, "<|user|>": CONTROL, "<think>": USERS,
    **dict.fromkeys("\u2581 t h e \u2581t he \u2581the a c \u2581c at \u2581cat".split(), ORDINARY),
    **dict.fromkeys(map(byte_token, range(256)), BYTE),
}  # fmt: skip
TEXTS = (
    "the cat</s><s>the<|user|>\n a<think> the cat</think>",
    "<s>[INST] the cat [/INST] a </s><s>[INST] he",
    " the<unk>cat <|user|>  <|user|>",
    "<|user|>the</s>\n<|assistant|>",
)


def spaced(**changes: Any) -> dict[str, Any]:
    """Metadata of a vocabulary of SentencePiece."""
    found = {
        "model": "llama",
        "tokens": list(SPACED),
        "scores": [-float(one) for one in range(len(SPACED))],
        "token_type": list(SPACED.values()),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
        **changes,
    }
    return {f"tokenizer.ggml.{name}": value for name, value in found.items() if value is not None}


def tokens_of(metadata: dict[str, Any]) -> Tokens:
    data = read_tokenizer(metadata)
    checkpoint = Checkpoint(Path("folder"), {}, {}, config_name="model.gguf", tokenizer=data)
    return read_tokens(checkpoint, len(metadata["tokenizer.ggml.tokens"]))


def library(**parts: Any) -> Any:
    """The package's tokenizer of the same vocabulary, whose pairs merge by their scores."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import AddedToken, models, normalizers, processors

    names = list(SPACED)
    halves = [(name[:at], name[at:]) for name in names[5:18] for at in range(1, len(name))]
    merges = [pair for pair in halves if pair[0] in SPACED and pair[1] in SPACED]
    vocabulary = {name: one for one, name in enumerate(names)}
    made = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    replace = normalizers.Replace(" ", SPACE)
    made.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), replace])
    made.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    made.add_tokens([AddedToken(name, normalized=False, special=name != "<think>") for name in names[:5]])
    return made


@pytest.mark.parametrize("has_kinds", [True, False])
def test_special_tokens_of_a_spaced_vocabulary_are_found(has_kinds: bool) -> None:
    """Without the kinds of tokens, those that the file names by id."""
    ours = tokens_of(spaced(**({} if has_kinds else {"token_type": None})))
    theirs = library()
    for text in TEXTS if has_kinds else (TEXTS[1], " the<unk>cat</s>"):
        for is_whole in (False, True):
            wanted = theirs.encode(text, add_special_tokens=not is_whole).ids
            assert list(token_ids(ours, text, None, "ids", is_whole)) == wanted, text


def test_special_tokens_of_a_byte_level_vocabulary_are_found() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import AddedToken, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<|endoftext|>", "<|im_start|>", "<think>", *alphabet, "Ġt", "he", "Ġthe"]
    merges = ["Ġ t", "h e", "Ġt he"]
    kinds = [CONTROL, CONTROL, USERS, *[ORDINARY] * (len(names) - 3)]
    metadata = {
        "model": "gpt2", "pre": "gpt-2", "tokens": names, "token_type": kinds, "merges": merges,
        "bos_token_id": 0, "eos_token_id": 0,
    }  # fmt: skip
    ours = tokens_of({f"tokenizer.ggml.{name}": value for name, value in metadata.items()})
    pairs = [tuple(merge.split(" ")) for merge in merges]
    theirs = tokenizers.Tokenizer(models.BPE({name: one for one, name in enumerate(names)}, pairs))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.add_tokens([AddedToken(name, normalized=False, special=i < 2) for i, name in enumerate(names[:3])])
    for text in ("the cat<|endoftext|>", "<|im_start|>user\n the<think>x</think>", "<|im_start|><|im_end|>"):
        assert list(token_ids(ours, text, None, "ids")) == theirs.encode(text).ids, text


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bos_token_id", "1", "must be a whole number from 0 to 272; got '1'."),
        ("bos_token_id", 1.0, "must be a whole number from 0 to 272; got 1.0."),
        ("eos_token_id", True, "must be a whole number from 0 to 272; got true."),
        ("unknown_token_id", [0], "must be a whole number from 0 to 272; got [0]."),
        ("padding_token_id", "x", "must be a whole number from 0 to 272; got 'x'."),
        ("add_bos_token", 1, "must be true or false; got 1."),
        ("add_eos_token", "yes", "must be true or false; got 'yes'."),
        ("add_space_prefix", "no", "must be true or false; got 'no'."),
        ("token_type", [1], "must be a list with a number for each token; got [1]."),
    ],
)
def test_values_of_another_type_are_refused_by_name(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_tokenizer(spaced(**{name: value}))
    assert str(caught.value) == f"tokenizer.ggml.{name} {said}"


@pytest.mark.parametrize("value", ["1", 2.5])
def test_a_file_without_its_tokenizer_is_held_to_it_as_well(value: Any) -> None:
    """The chat template reads the same ids, whatever the kind of the vocabulary."""
    with pytest.raises(
        ValueError, match=r"^tokenizer\.ggml\.eos_token_id must be a whole number from 0 to 2"
    ):
        read_chat(spaced(model="other", eos_token_id=value))


def test_an_id_past_the_tokens_names_none() -> None:
    """Files have 4,294,967,295 for none."""
    assert read_chat(spaced(padding_token_id=2**32 - 1))["pad_token"] is None

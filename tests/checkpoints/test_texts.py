"""The text that an imported model reads: its own tokenizer's tokens, none of padding, none cut off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

import attnviz
from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.model.edit.edits import rename_token, set_tokens
from attnviz.model.io.files import save
from attnviz.model.text import split_text

TEXT = "cat sat cat sat"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model whose tokenizer asks for eight tokens a text: shorter texts padded, cut at two."""
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers, processors

    words = {"[PAD]": 0, "[CLS]": 1, "cat": 2, "sat": 3, "[SEP]": 4, "mat": 5, "on": 6}
    made = tokenizers.Tokenizer(models.WordLevel(words, unk_token="[PAD]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 4)]
    )
    made.enable_padding(length=8, pad_id=0, pad_token="[PAD]")
    made.enable_truncation(4)
    made.save(str(tmp_path / "tokenizer.json"))
    return write_folder(tmp_path, llama_arrays(), {**LLAMA_CONFIG, "vocab_size": 7})


def test_padding_and_truncation_of_a_tokenizer_are_not_applied(folder: Path) -> None:
    experiment = import_checkpoint(folder, text=TEXT).experiment
    assert experiment.tokens == ("[CLS]", "cat", "sat", "cat", "sat", "[SEP]")
    assert experiment == import_checkpoint(folder, ids=(1, 2, 3, 2, 3, 4)).experiment


def test_another_text_after_the_import_is_an_import_of_that_text(folder: Path, tmp_path: Path) -> None:
    """The text line and `--text` go through the model's tokenizer, before and after saving."""
    document = import_checkpoint(folder, text=TEXT)
    opened = attnviz.load(save(document, tmp_path / "saved.safetensors"))
    wanted = import_checkpoint(folder, text="mat on sat").experiment
    for experiment in (document.experiment, opened.experiment):
        assert set_tokens(experiment, split_text(experiment, "mat on sat", "model")) == wanted


def test_without_a_tokenizer_a_word_that_is_no_token_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    experiment = import_checkpoint(folder, ids=(1, 2)).experiment
    with pytest.raises(
        ValueError, match="a token of the vocabulary, which has no rule to split it; got 'xylophonic'"
    ):
        set_tokens(experiment, (*experiment.tokens, "xylophonic"))
    assert rename_token(experiment, 0, "‹3›").tokens == ("‹3›", "‹2›")


def test_a_broken_tokenizer_is_named_in_one_sentence(folder: Path) -> None:
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    data["pre_tokenizer"] = {"type": "Split", "pattern": 1.5}
    (folder / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(
        CheckpointError, match="^tokenizer.json: .*a tokenizer as the package tokenizers writes it"
    ):
        import_checkpoint(folder, text=TEXT)

"""Conversations by a model's chat template, against `apply_chat_template` of `transformers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")
transformers = pytest.importorskip("transformers")
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder  # noqa: E402

from attnviz.checkpoints import CheckpointError, import_checkpoint  # noqa: E402
from attnviz.checkpoints.importing import describe  # noqa: E402
from attnviz.checkpoints.opening import open_checkpoint  # noqa: E402
from attnviz.checkpoints.tokenizers.chat import MAX_LENGTH, render, turns  # noqa: E402
from attnviz.checkpoints.tokenizers.converter import Added, byte_level, with_added, with_ends  # noqa: E402

CHAT_ML = (
    "{% for m in messages %}\n"
    "<|im_start|>{{ m['role'] + '\\n' + m['content'] | trim }}<|im_end|>\n"
    "{% endfor %}\n"
    "{% if add_generation_prompt %}\n<|im_start|>assistant\n{% endif %}\n"
)
LOOPS = (
    "{{ bos_token }}{% for m in messages %}{% if loop.index0 > 4 %}{% break %}{% endif %}"
    "{% generation %}[{{ m.role }}|{{ m.content }}]{% endgeneration %}{{ eos_token }}{% endfor %}"
    "{{ {'é': [1, '<']} | tojson }}{{ range(3) | join(',') }}{% if tools %}tools{% endif %}"
)
TEMPLATES: dict[str, Any] = {
    "chat_ml": CHAT_ML,
    "loops": LOOPS,
    "named": [{"name": "tool_use", "template": "no"}, {"name": "default", "template": CHAT_ML}],
}
TALKS = {
    "one": turns(["Who are you?"]),
    "three": turns(["Hi", " a\nb ", "é 你好 <|im_end|>"], system="Be brief."),
}


def write(folder: Path, template: Any) -> Path:
    """A tiny Llama with this template."""
    write_folder(folder, llama_arrays(), LLAMA_CONFIG)
    settings = {"chat_template": template, "bos_token": "<s>", "eos_token": {"content": "</s>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_the_text_is_that_of_transformers(tmp_path: Path, template: Any, talk: Any) -> None:
    found = render(open_checkpoint(write(tmp_path, template)), talk)
    plain = template if isinstance(template, str) else template[1]["template"]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(), bos_token="<s>", eos_token="</s>", chat_template=plain
    )
    assert found == tokenizer.apply_chat_template(list(talk), tokenize=False, add_generation_prompt=True)


def _tokenizer() -> Any:
    import tokenizers

    return tokenizers.Tokenizer(tokenizers.models.BPE({"<s>": 0, "</s>": 1, "a": 2}, []))


def test_a_file_of_its_own_comes_first(tmp_path: Path) -> None:
    folder = write(tmp_path, "not this one")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}!", encoding="utf-8")
    assert render(open_checkpoint(folder), TALKS["one"]) == "Who are you?!"


def test_nothing_is_put_around_the_text(tmp_path: Path) -> None:
    """The template has the first token itself; the tokenizer would put it there once more."""
    folder = write(tmp_path, "<s>ab{{ messages[0].content }}")
    vocabulary = {"<s>": 0, "a": 1, "b": 2, "ab": 3}
    made = with_added(byte_level(vocabulary, [["a", "b"]]), [Added(0, "<s>")])
    (folder / "tokenizer.json").write_text(json.dumps(with_ends(made, ("<s>", 0), None)))
    assert describe(folder).reads_chat
    chat = import_checkpoint(folder, chat=turns(["ba"])).experiment
    assert chat.tokens == ("<s>", "ab", "b", "a")
    assert import_checkpoint(folder, text="ba").experiment.tokens == ("<s>", "b", "a")


ATTACKS = {
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "product of a text": "{{ 'a' * 1000000000 }}",
    "power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "length": "{% for i in range(2000) %}{{ messages[0].content }}{% endfor %}",
    "files": "{% include '/etc/passwd' %}",
    "changes": "{{ messages.append(1) }}",
    "syntax": "{% for %}",
    "refusal": "{{ raise_exception('Roles must alternate.') }}",
    "missing": "{{ messages[7].content.x.y }}",
    "format": "{{ '%999999999d' % 1 }}",
}


@pytest.mark.parametrize("template", ATTACKS.values(), ids=ATTACKS)
def test_a_template_that_fails_gets_one_sentence(tmp_path: Path, template: str) -> None:
    checkpoint = open_checkpoint(write(tmp_path, template))
    with pytest.raises(CheckpointError) as caught:
        render(checkpoint, turns(["x" * (MAX_LENGTH // 1000)]))
    sentence = str(caught.value)
    assert sentence.startswith(
        "tokenizer_config.json: chat_template must render this conversation; it says: "
    )
    assert "\n" not in sentence


def test_a_model_without_a_template(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write(tmp_path, None))
    assert not describe(tmp_path).reads_chat
    with pytest.raises(CheckpointError, match=r"^chat must be null for a model without a chat template; got"):
        render(checkpoint, TALKS["one"])


def test_a_conversation_stands_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, CHAT_ML)
    with pytest.raises(CheckpointError, match="chat must be null with a text or ids"):
        import_checkpoint(folder, ids=[1], chat=TALKS["one"])


def test_a_template_that_is_no_text(tmp_path: Path) -> None:
    (write(tmp_path, None) / "chat_template.jinja").write_bytes(b"\xff\xfe{{")
    with pytest.raises(CheckpointError, match=r"^chat_template\.jinja: "):
        describe(tmp_path)

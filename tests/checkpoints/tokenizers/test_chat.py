"""Conversations by a model's chat template, against `apply_chat_template` of `transformers`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

pytest.importorskip("jinja2")
transformers = pytest.importorskip("transformers")
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder  # noqa: E402

from attnviz.checkpoints import CheckpointError, import_checkpoint  # noqa: E402
from attnviz.checkpoints.importing import describe  # noqa: E402
from attnviz.checkpoints.opening import open_checkpoint  # noqa: E402
from attnviz.checkpoints.tokenizers.chat import render, turns  # noqa: E402
from attnviz.checkpoints.tokenizers.converter import Added, byte_level, with_added, with_ends  # noqa: E402
from attnviz.model.sandbox import process as sandbox  # noqa: E402
from attnviz.model.sandbox.worker import MOST_CHARACTERS  # noqa: E402

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


FAULTS = {
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "length": "{% for i in range(2000) %}{{ messages[0].content }}{% endfor %}",
    "ranges": "{{ range(99999999999) | list }}",
    "files": "{% include '/etc/passwd' %}",
    "changes": "{{ messages.append(1) }}",
    "syntax": "{% for %}",
    "refusal": "{{ raise_exception('Roles must alternate.') }}",
    "missing": "{{ messages[7].content.x.y }}",
    "division": "{{ 1/0 }}",
    "attribute": "{{ messages | attr(1) }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "two lines": "{{ raise_exception('Roles\nmust alternate.') }}",
}
LONG = "{% set x = 'a' * 99999999 %}"
BOMBS = {
    "product of a text": "{{ ('a' * 10000000000) | length }}",
    "power": "{{ 9 ** (9 ** (9 ** 9)) }}",
    "ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "format": "{{ ('%9999999999d' % 1) | length }}",
    "loops over texts": "{% set s = 'a' * 9999 %}"
    + "".join(f"{{% for {name} in s %}}" for name in "abcd")
    + "{% endfor %}" * 4,
    "macro": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "joined": LONG
    + "{% for i in range(9) %}{% set x = x ~ x %}{% set x = x ~ x ~ x ~ x ~ x ~ x %}{% endfor %}"
    "{{ (x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x ~ x) | length }}",
    "added": LONG
    + "{{ (x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x) | length }}",
    "lists": "{{ ([1] * 99999999 + [2] * 99999999 + [3] * 99999999) | length }}",
    "replaced": LONG + "{{ x.replace('a', 'b' * 999) | length }}",
    "replaced by a filter": LONG + "{{ x | replace('a', 'b' * 999) | length }}",
    "translated": LONG + "{{ x.translate({97: 'b' * 999}) | length }}",
    "slices": "{{ [1] | slice(9999999999) | list | length }}",
    "indent": "{{ [[1]] | tojson(indent=2000000000) | length }}",
    "center": "{{ 'x' | center(3000000000) | length }}",
    "ljust": "{{ 'x'.ljust(3000000000) | length }}",
    "zfill": "{{ 'x'.zfill(3000000000) | length }}",
    "widths": "{{ '{:3000000000}'.format('x') | length }}",
}


@pytest.mark.parametrize("template", FAULTS.values(), ids=FAULTS)
def test_a_template_that_fails_gets_one_sentence(tmp_path: Path, template: str) -> None:
    checkpoint = open_checkpoint(write(tmp_path, template))
    with pytest.raises(CheckpointError) as caught:
        render(checkpoint, turns(["x" * (MOST_CHARACTERS // 1000)]))
    sentence = str(caught.value)
    assert sentence.startswith(
        "tokenizer_config.json: chat_template must render this conversation; it says: "
    )
    assert "\n" not in sentence


@pytest.fixture(scope="module")
def short_process() -> Iterator[None]:
    """A process with less time: each of the templates below takes all that it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sandbox.SECONDS, "render", 1.0)
        sandbox.end_all()
        yield
        sandbox.end_all()


@pytest.mark.usefixtures("short_process")
@pytest.mark.parametrize("template", BOMBS.values(), ids=BOMBS)
def test_a_template_without_end_or_measure_is_stopped(tmp_path: Path, template: str) -> None:
    checkpoint = open_checkpoint(write(tmp_path, template))
    began = monotonic()
    with pytest.raises(CheckpointError) as caught:
        render(checkpoint, turns(["x"]))
    assert monotonic() - began < 30  # of a busy machine
    assert "chat_template must render this conversation; it needs more than 1 seconds or 2 GB" in str(
        caught.value
    )
    folder = tmp_path / "next"
    folder.mkdir()
    assert render(open_checkpoint(write(folder, "{{ messages[0].content }}")), turns(["next"])) == "next"


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

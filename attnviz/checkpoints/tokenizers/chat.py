"""A conversation as the text that a model was trained on: its own chat template, in Jinja's sandbox."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.tokenizers.files import SETTINGS, read_settings, read_text
from attnviz.errors import FieldError, InputError, Message, about, message_of, must_be, verbatim

TEMPLATE = "chat_template"
TEMPLATE_FILE = "chat_template.jinja"
SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")
"""Settings that a template reads as texts."""

MAX_LENGTH = 1_000_000
"""Most characters of a rendered conversation."""
MAX_STEPS = 100_000
"""Most numbers that all ranges of one template have together."""

NO_PACKAGE = Message("A chat template needs the package jinja2 (pip install attnviz[models]).")

Talk = Sequence[Mapping[str, str]]
"""Messages in their order: `role` is system, user or assistant, `content` is a text."""


def turns(texts: Sequence[str], system: str | None = None) -> Talk:
    """Messages of a user and an assistant who take turns, the user first, after a `system` message."""
    first = [] if system is None else [{"role": "system", "content": system}]
    return [*first, *({"role": ("user", "assistant")[i % 2], "content": t} for i, t in enumerate(texts))]


def reads_chat(checkpoint: Checkpoint) -> bool:
    """True if the checkpoint has a chat template and the package jinja2 is installed."""
    return importlib.util.find_spec("jinja2") is not None and _template(_settings(checkpoint)) is not None


def render(checkpoint: Checkpoint, talk: Talk) -> str:
    """The text of a conversation, up to where the assistant's answer begins.

    The template is that of chat_template.jinja, of tokenizer_config.json, or of the GGUF file; its variables
    are those that `transformers` gives it. It runs in Jinja's sandbox, with bounded ranges and text.
    Raises `CheckpointError` for a model without a template, for one that fails, and without the package.
    """
    settings = _settings(checkpoint)
    template = _template(settings)
    if template is None:
        needless = must_be("null for a model without a chat template")
        raise CheckpointError(FieldError("chat", talk[-1]["content"] if talk else None, needless).message)
    if importlib.util.find_spec("jinja2") is None:
        raise CheckpointError(NO_PACKAGE)
    import jinja2

    special = {name: _text(settings.get(name)) for name in SPECIAL if settings.get(name)}
    try:
        made = _environment().from_string(template)
        parts = made.generate(
            messages=list(talk), tools=None, documents=None, add_generation_prompt=True, **special
        )
        return "".join(_bounded(parts))
    except (jinja2.TemplateError, TypeError, ValueError, OverflowError, RecursionError) as error:
        works = Message("must render this conversation; it says: {error}", error=verbatim(str(error)))
        file = SETTINGS if checkpoint.chat is None else checkpoint.config_name
        raise CheckpointError(about(file, FieldError(TEMPLATE, template, works).message)) from None


def _settings(checkpoint: Checkpoint) -> Mapping[str, Any]:
    if checkpoint.chat is not None:
        return checkpoint.chat
    file, found = checkpoint.folder / TEMPLATE_FILE, read_settings(checkpoint.folder)
    try:
        return {**found, TEMPLATE: read_text(file)} if file.is_file() else found
    except (OSError, ValueError) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None


def _template(settings: Mapping[str, Any]) -> str | None:
    """The template, or the one named default of several."""
    found = settings.get(TEMPLATE)
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _text(value: Any) -> str:
    """A special token, which is stored as its text or with its properties."""
    return str(value.get("content", "") if isinstance(value, dict) else value)


def _bounded(parts: Iterator[str]) -> Iterator[str]:
    length = 0
    for part in parts:
        length += len(part)
        if length > MAX_LENGTH:
            raise InputError(Message("The text must have at most {most:,} characters.", most=MAX_LENGTH))
        yield part


def _environment() -> Any:
    """The sandbox in which `transformers` renders templates, with bounds on ranges and products."""
    from jinja2 import ext, nodes, sandbox

    steps = MAX_STEPS

    def bounded_range(*given: int) -> range:
        nonlocal steps
        made = range(*given)
        steps -= len(made)
        if steps < 0:
            raise OverflowError(f"ranges of more than {MAX_STEPS:,} steps")
        return made

    class Generation(ext.Extension):
        """`{% generation %}` marks an answer for training; the text inside stays."""

        tags = {"generation"}

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    class Sandbox(sandbox.ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(("*", "**", "%"))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not all(isinstance(one, int | float) and abs(one) <= MAX_LENGTH for one in (left, right)):
                raise OverflowError(f"{operator} of other values than numbers up to {MAX_LENGTH:,}")
            return super().call_binop(context, operator, left, right)

    made = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols])
    made.globals.update(range=bounded_range, raise_exception=_refuse, strftime_now=_now)
    made.filters["tojson"] = _as_json
    return made


def _refuse(sentence: str) -> NoReturn:
    import jinja2

    raise jinja2.TemplateError(sentence)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _as_json(value: Any, indent: int | None = None) -> str:
    """JSON without Jinja's escapes for pages, as templates of conversations expect it."""
    return json.dumps(value, ensure_ascii=False, indent=indent)

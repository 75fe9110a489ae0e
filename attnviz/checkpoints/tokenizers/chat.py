"""A conversation as the text that a model was trained on: its own chat template, in Jinja's sandbox."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.checkpoints.reader import Checkpoint, CheckpointError
from attnviz.checkpoints.tokenizers.files import NAMED, SETTINGS, read_settings, read_text
from attnviz.errors import FieldError, Message, about, message_of, must_be
from attnviz.model.sandbox.process import Exceeded, TaskError, kept_process

TEMPLATE = "chat_template"
TEMPLATE_FILE = "chat_template.jinja"
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
    are those that `transformers` gives it. It runs in Jinja's sandbox, in a process with limits of time and
    memory. Raises `CheckpointError` for a model without a template, for one that fails or exceeds the limits,
    and without the package.
    """
    settings = _settings(checkpoint)
    template = _template(settings)
    if template is None:
        needless = must_be("null for a model without a chat template")
        raise CheckpointError(FieldError("chat", talk[-1]["content"] if talk else None, needless).message)
    if importlib.util.find_spec("jinja2") is None:
        raise CheckpointError(NO_PACKAGE)
    special = {name: _text(settings.get(name)) for name in NAMED if settings.get(name)}
    given = {"messages": list(talk), "tools": None, "documents": None, "add_generation_prompt": True}
    try:
        with kept_process() as process:
            return str(process.ask("render", template=template, variables={**given, **special}))
    except TaskError as error:
        works = Message("must render this conversation; it says: {error}", error=error.message)
    except Exceeded as error:
        works = Message("must render this conversation; it needs {limits}", limits=error.message)
    file = SETTINGS if checkpoint.chat is None else checkpoint.config_name
    raise CheckpointError(about(file, FieldError(TEMPLATE, template, works).message))


def _settings(checkpoint: Checkpoint) -> Mapping[str, Any]:
    if checkpoint.chat is not None:
        return checkpoint.chat
    file, settings = checkpoint.folder / TEMPLATE_FILE, read_settings(checkpoint.folder)
    try:
        return {**settings, TEMPLATE: read_text(file)} if file.is_file() else settings
    except (OSError, ValueError) as error:
        raise CheckpointError(about(file.name, message_of(error))) from None


def _template(settings: Mapping[str, Any]) -> str | None:
    """The template, or the one named default of several."""
    template = settings.get(TEMPLATE)
    if isinstance(template, list):
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _text(value: Any) -> str:
    """A special token, which is stored as its text or with its properties."""
    return str(value.get("content", "") if isinstance(value, dict) else value)

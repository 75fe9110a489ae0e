"""Refusals in the language of the window: `heads.n_heads is 0; legal is a whole number from 1 to 64`.

The model, files and checkpoints say them in English, as the API does. Fields, values and names of files stay
as they stand there; what lies around them is translated, as far as `refusal_texts.py` has it.
"""

from __future__ import annotations

import re
from functools import cache

from attnviz.i18n import N_, _, current_language
from attnviz.model.errors.messages import LEGAL, SENTENCES, WHERE
from attnviz.model.errors.titles import field_title

VALUES = (N_("there"), N_("'there'"))
"""Values that are described, not quoted."""

_NUMBERS = ("least", "most", "n", "number", "last", "span")
_NUMBER = r"(?:[^,;]|,(?=\d))+?"  # a comma ends it, unless it stands between thousands
_PATH = re.compile(r"[\w.]+(?:\[\d+\][\w.]*)*(?= (?:is|has) )")
_FIELD = re.compile(r"\{\w+\}")


def translated(sentence: str) -> str:
    """A refusal in the present language; a sentence of another form comes back unchanged."""
    if current_language() == "en":
        return sentence
    # What it is about may stand before it, and it may have colons of its own: of all places to cut, the one
    # where most of what follows is known.
    parts = sentence.split(": ")
    cuts = [(parts[:place], _best(": ".join(parts[place:]), SENTENCES)) for place in range(len(parts))]
    known = [(about, found) for about, found in cuts if found is not None]
    if not known:
        return sentence
    about, found = max(known, key=lambda cut: (_said(*cut[1]), len(cut[0])))
    said = _filled(*found)
    for where in reversed(about):
        said = _(WHERE).format(where=where, problem=said)
    return said


def in_words(sentence: str) -> str:
    """A refusal as the window says it: not in English, a field is called what stands at its control."""
    found = _PATH.match(sentence)
    title = field_title(found[0]) if found and current_language() != "en" else ""
    return translated(f"“{title}”{sentence[len(found[0]) :]}" if found and title else sentence)


Found = tuple[str, dict[str, str]]
"""A message, and what stands in its fields."""


def _best(words: str, templates: tuple[str, ...]) -> Found | None:
    """The message that `words` are, of several the one with most letters of its own."""
    plain = words.replace("; legal are ", "; legal is ", 1)
    fitting = [(one, found.groupdict()) for one in templates if (found := _pattern(one).fullmatch(plain))]
    return max(fitting, key=lambda one: len(_FIELD.sub("", one[0])), default=None)


def _said(template: str, fields: dict[str, str]) -> int:
    """The letters of a message, and of the one behind its colon."""
    inner = _best(fields.get("problem", ""), SENTENCES)
    return len(_FIELD.sub("", template)) + (0 if inner is None else _said(*inner))


def _filled(template: str, fields: dict[str, str]) -> str:
    """The message in the present language."""
    return _(template).format(**{name: _field(name, text) for name, text in fields.items()})


def _field(name: str, text: str) -> str:
    """What stands in a field: words of a refusal are said in the present language as well."""
    if name == "problem":
        return translated(text)
    if name in ("legal", "one", "other"):
        found = _best(text, LEGAL)
        return text if found is None else _filled(*found)
    return _(text) if name == "value" and text in VALUES else text


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a message looks like once its fields are filled in."""
    parts = [part.replace("{{", "{") for part in _FIELD.split(template)]
    literal, fields = [re.escape(part) for part in parts], [one[1:-1] for one in _FIELD.findall(template)]
    named = [f"(?P<{name}>{_NUMBER if name in _NUMBERS else '.+?'})" for name in fields]
    return re.compile("".join(a + b for a, b in zip(literal, [*named, ""], strict=True)), re.DOTALL)

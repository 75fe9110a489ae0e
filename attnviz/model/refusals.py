"""Refusals in the language of the window: `heads.n_heads is 0; legal is a whole number from 1 to 64`.

The model says them in English, as the API does. Fields and values stay as they stand in a document; what
lies around them is translated, as far as `LEGAL` has it.
"""

from __future__ import annotations

import re
from functools import cache

from attnviz.i18n import N_, _

FRAME = N_("{field} is {value}; legal is {legal}")

LEGAL = (
    N_("{legal}, or null"),
    N_("a finite number"),
    N_("a finite number above {least}"),
    N_("a finite number of at least {least}"),
    N_("a finite number of {least} or more"),
    N_("a number"),
    N_("a number above {least}"),
    N_("a number of at least {least}"),
    N_("a number from {least} to {most}"),
    N_("a whole number"),
    N_("a whole number of at least {least}"),
    N_("a whole number from {least} to {most}"),
    N_("an even number"),
    N_("an even number of at least {least}"),
    N_("an even number up to {most}"),
    N_("a divisor of {number}"),
    N_("one of {choices}"),
    N_("one row"),
    N_("one token at least"),
    N_("one mask at least"),
    N_("{most} at most"),
    N_("{most} numbers at most"),
    N_("each text once"),
    N_("ascending positions, each once"),
    N_("texts that are not empty"),
    N_("as many as there are tokens ({n})"),
    N_("a projection of {shape}; this one has {found}"),
    N_("a projection that is not tied itself"),
    N_("an operation that is applied"),
    N_("a layer where its numbers are set"),
    N_("a second sequence"),
    N_("to remove a layer where there is another"),
    N_("{legal} where there are sinks"),
    N_("{legal} where there is no memory"),
    N_("null where the kind is {kind}"),
    N_("null without a feed_forward"),
    N_("null where there is no encoder"),
    N_("null where there is a cross attention: it stands behind that one"),
    N_("null where there is a latent: what is cached is normalised instead"),
    N_("null where there is a latent"),
    N_("true where the placement is {kind}"),
    N_("true where the activation is {kind}"),
    N_("one that needs no gate"),
    N_("one that does not meet q and k where there is a latent"),
    N_("false where there is a latent: values have none of the features that turn"),
    N_("2 or more with rotary positions: these are the features that turn"),
    N_("n_heads ({n}) where there is a latent: every head makes its own keys and values from it"),
    N_("'query' or 'output' where there is a latent: W_K and W_V are not used"),
    N_("identity where there is a latent, which keys and values are made from"),
    N_("{least} at least: the last token stands at position {last}, past the table's end"),
    N_("2 or more with rotary positions"),
    N_("null where the placement is not {kind}"),
    N_("null where latent.d_q is null"),
    N_("null in an encoder"),
    N_("null or not in all layers alike"),
    N_("{n}, as the vectors have"),
    N_("length {n}, one number for each head"),
    N_("length {n} at most, one number for each rotated pair"),
    N_("{shape} (in x out) for these vectors and heads"),
    N_("{shape} (in x out) for these vectors and this d_hidden"),
    N_("{shape} (in x out) for these vectors, heads and widths"),
    N_("{shape} for these vectors and heads"),
    N_("{n} columns, one number for each feature of a token vector"),
    N_("{n} columns, one for each head"),
    N_("{n} rows, one for each bucket"),
    N_("{most} at most for {n} columns"),
    N_("{most} at most for {n} tokens"),
    N_("{least} to {most}"),
    N_("a number from {least} to less than {most}"),
    N_("a number above {least}, up to {most}"),
    N_("an even number, or set position.n_rotated"),
    N_("ascending heads below {n}, each once"),
    N_("each kind of mask once"),
    N_("each kind of operation once"),
    N_("a list in which each is {legal}"),
    N_("a text"),
    N_("true or false"),
    N_("a block where there is something in it"),
    N_("a norm where its numbers are set"),
    N_("a norm where there are gains"),
    N_("more than {least}, the distances with a bucket of their own"),
    N_("more than {least} with {span} buckets on each side"),
)
"""What may be legal. Of those that fit a sentence, the one with most letters of its own says it."""

VALUES = (N_("there"), N_("'there'"))
"""Values that are described, not quoted."""

_FIELD = re.compile(r"\{\w+\}")


def translated(sentence: str) -> str:
    """A refusal in the present language; a sentence of another form comes back unchanged."""
    found = _pattern(FRAME).fullmatch(sentence.replace("; legal are ", "; legal is ", 1))
    if found is None or _(FRAME) == FRAME:
        return sentence
    value = found["value"]
    shown = _(value) if value in VALUES else value
    return _(FRAME).format(field=found["field"], value=shown, legal=_legal(found["legal"]))


def _legal(words: str) -> str:
    fitting = [(template, found) for template in LEGAL if (found := _pattern(template).fullmatch(words))]
    if not fitting:
        return words
    template, found = max(fitting, key=lambda one: len(_FIELD.sub("", one[0])))
    named = found.groupdict()
    if "legal" in named:
        named["legal"] = _legal(named["legal"])
    return _(template).format(**named)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a message looks like once its fields are filled in."""
    literal = [re.escape(part) for part in _FIELD.split(template)]
    named = [f"(?P<{name[1:-1]}>.+?)" for name in _FIELD.findall(template)]
    return re.compile("".join(a + b for a, b in zip(literal, [*named, ""], strict=True)), re.DOTALL)

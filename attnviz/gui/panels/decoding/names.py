"""The tokens of a decoding as they are shown: bytes as bytes, spaces as spaces, nothing hidden."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from attnviz.core.text import SPACE, isolated, visible
from attnviz.core.tokens import token_bytes
from attnviz.engines.decode.run import Decoding
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.text import shown_token


class Names:
    """Display of a decoding's tokens: bytes as bytes, spaces as spaces, nothing hidden."""

    def __init__(self, decoding: Decoding) -> None:
        experiment = decoding.experiment
        self.ids = {token: id_ for id_, token in enumerate(decoding.vocabulary)}
        self._labels: dict[str, str] = {}
        self._vocabulary = experiment.vocabulary
        # Without the vocabulary's logits, the ids are those of the distinct tokens.
        self._pairs = byte_pairs(self._vocabulary) if experiment.readout == "vocabulary" else None
        texts = (text for text in decoding.vocabulary if len(text) > 1)
        has_vocabulary = self._vocabulary is not None
        self.are_joined = has_vocabulary and any(self.label(text).startswith(SPACE) for text in texts)
        """Whether tokens bring their own spaces, so that none are put between them."""

    def label(self, token: str) -> str:
        """The token with its spaces as signs."""
        if token not in self._labels:
            self._labels[token] = shown_token(self._vocabulary, token)
        return self._labels[token]

    def written(self, token: str) -> str:
        """The token inside a text: the spaces around a word are spaces."""
        label = self.label(token)
        return label.replace(SPACE, " ") if self.are_joined else label

    def tokens_of(self, text: str) -> tuple[str, ...]:
        """The tokens of a text: the one that is written so, or those of the model's tokenisation."""
        shown = visible(text)
        one = next((token for token in self.ids if self.label(token) == shown), None)
        if one is not None or self._pairs is None:
            return (text if one is None else one,)
        return tuple(self._pairs.tokens[id_] for id_ in self._pairs.encode_inside(text))

    def described(self, token: str) -> str:
        """“text”, its id and its bytes in hexadecimal digits."""
        one = self.ids.get(token)
        data = (
            self._pairs.token_bytes(one)
            if self._pairs is not None and one is not None
            else token_bytes(token)
        )
        words = [
            f"“{isolated(self.label(token))}”",
            "" if one is None else f"id {one}",
            data.hex(" ").upper(),
        ]
        return " · ".join(word for word in words if word)


_names: WeakKeyDictionary[Decoding, Names] = WeakKeyDictionary()


def names_of(decoding: Decoding) -> Names:
    """The names of a decoding's tokens, cached for its life."""
    names = _names.get(decoding)
    if names is None:
        names = _names[decoding] = Names(decoding)
    return names


def written_tokens(decoding: Decoding) -> list[str]:
    """The text of a decoding: the computed tokens, and the last one, which was sampled but not computed."""
    drawn = None if decoding.experiment.writing is None else decoding.steps[-1].next_token
    return [step.token for step in decoding.steps] + ([] if drawn is None else [drawn])

"""Choice of the next token, and the end of the generation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.bpe import shown_bytes
from attnviz.core.sampling import can_sample
from attnviz.core.text import isolated, visible
from attnviz.engines.decode.step import SiteStep
from attnviz.errors import Message
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.spec.sampling import Sampling, choose, stopped


class Choice:
    """The tokens of a text as they are chosen: it is updated with every step and knows the next one.

    `names` are the texts of the logits. Tokens of the document that are none of them count for no
    repetition penalty.
    """

    def __init__(self, experiment: Experiment, names: tuple[str, ...]) -> None:
        self._writing, self._names = experiment.writing, names
        self._n_given = experiment.n_queries
        self._ids = {token: id_ for id_, token in enumerate(names)}
        end = None if experiment.vocabulary is None else experiment.vocabulary.end
        self._end = None if end is None else self._ids.get(end)
        forced = () if experiment.writing is None else experiment.writing.forced
        self._forced = {one.step: self._ids[one.token] for one in forced if one.token in self._ids}
        self.notices = tuple(
            Message(
                "The forced token “{token}” is not in the vocabulary.", token=isolated(visible(one.token))
            )
            for one in forced
            if one.token not in self._ids
        )
        self._seen: list[int] = []
        self._written: list[int] = []
        self._pairs = byte_pairs(experiment.vocabulary) if experiment.readout == "vocabulary" else None
        self.next: int | None = 0
        """The token that comes next; None where the logits give none."""
        self.stopped: Message | None = None
        self.failure: Message | None = None
        """Why no token can be sampled after the last one; None where one can."""

    def after(self, index: int, token: str, step: SiteStep) -> None:
        """Choose, after the token at `index` was computed."""
        id_ = self._ids.get(token)
        if id_ is not None:
            self._seen.append(id_)
        self.failure = None
        is_given = self._writing is None or index < self._n_given - 1
        found = step["probabilities" if is_given else "logits"]
        if not can_sample(found):
            self.next, self.failure = (
                None,
                Message(
                    "The logits of step {step} (“{token}”) must be finite to sample a token; got NaN or ∞.",
                    step=index + 1,
                    token=isolated(visible(token)),
                ),
            )
        elif self._writing is None or is_given:
            self.next = int(np.argmax(found))  # the first of the largest
        else:
            self._sample(found, self._writing.sampling, index - self._n_given + 1)

    def _sample(self, logits: NDArray[Any], sampling: Sampling, step: int) -> None:
        forced = self._forced.get(step)
        self.next = choose(sampling, logits, self._seen, step) if forced is None else forced
        self._written.append(self.next)
        text = self._text() if sampling.stop.strings else ""
        self.stopped = stopped(sampling.stop, text, self._written, self._end)

    def _text(self) -> str:
        """The generated text, as the vocabulary decodes it, else its tokens one by one."""
        if self._pairs is not None:
            return shown_bytes(b"".join(map(self._pairs.token_bytes, self._written)))
        return "".join(self._names[id_] for id_ in self._written)

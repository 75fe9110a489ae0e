"""The number that an analysis explains: a logit, or the difference of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.engines.engine import Engine
from attnviz.engines.run import SiteRun
from attnviz.errors import FieldError, among, must_be
from attnviz.model.operands.matrices import classes_of
from attnviz.model.trace import SiteTrace


@dataclass(frozen=True)
class Target:
    """The logit of `token` at `position`, minus that of `against` if it has one.

    A difference of logits is the logarithm of the ratio of their probabilities. `position` counts from 0, or
    from the end if it is negative. A token is written as the vocabulary writes it, or as it reads (" Paris").
    """

    token: str
    against: str | None = None
    position: int = -1

    def columns(self, last: SiteTrace) -> tuple[int, ...]:
        """The columns of the logits that count, for a trace's last site.

        Raises `FieldError` for a model without logits, or a token or position that it does not have.
        """
        if "logits" not in last.stages:
            raise FieldError("readout", last.experiment.layer.readout, must_be("a read-out to logits"))
        n_tokens = last.shape("logits")[0]
        if not -n_tokens <= self.position < n_tokens:
            within = must_be("a whole number from {low} to {high}", low=-n_tokens, high=n_tokens - 1)
            raise FieldError("target.position", self.position, within)
        wanted = (self.token,) if self.against is None else (self.token, self.against)
        return tuple(column_of(last.labels("vocabulary"), token) for token in wanted)

    def read(self, engine: Engine, last: SiteRun, columns: tuple[int, ...]) -> float:
        """The number in a pass whose last site is `last`."""
        row = last.features.tf["logits"][self.position]
        logits = [float(engine.to_numpy(row[column])) for column in columns]
        return logits[0] - sum(logits[1:])


def likeliest(last: SiteTrace) -> str:
    """The token that a trace's last site finds most probable after the text; of a classifier, the class.

    Raises `FieldError` for a model without logits.
    """
    if "logits" not in last.stages:
        raise FieldError("readout", last.experiment.layer.readout, must_be("a read-out to logits"))
    classes = classes_of(last.experiment)
    row = last.window("logits")[0 if classes is not None and classes.reads == "first" else -1]
    return last.labels("vocabulary")[int(np.argmax(row))]


def column_of(vocabulary: tuple[str, ...], token: str, field: str = "target") -> int:
    """The number of a token: as it is written, or with the mark for its leading space.

    Raises `FieldError` for one that the vocabulary lacks.
    """
    for written in (token, token.replace(" ", "Ġ"), token.replace(" ", "▁")):
        if written in vocabulary:
            return vocabulary.index(written)
    likeliest = [known for known in vocabulary if token.strip() and token.strip() in known][:8]
    raise FieldError(field, token, among(likeliest) if likeliest else must_be("a token of the vocabulary"))

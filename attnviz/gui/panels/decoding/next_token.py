"""The next token of a step by the document's present sampling, and the rule that chooses it."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.compute.decoding import Decoded
from attnviz.engines.decode.run import Decoding
from attnviz.gui.panels.decoding.names import names_of
from attnviz.i18n import N_, _
from attnviz.model.edit.generation import forced_positions
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.sampling import Sampling, choose

GIVEN = N_("given: “{token}” · p {p} · rank {rank}")
MOST_PROBABLE = N_("most probable: “{token}” · p {p} · rank {rank}")
FORCED = N_("forced: “{token}” · p {p} · rank {rank}")
SAMPLED = N_("sampled: “{token}” · p {p} · rank {rank}")


@dataclass(frozen=True)
class Drawn:
    """The id of the next token, and a sentence for it, a message with {token}, {p} and {rank}."""

    id: int
    rule: str

    @property
    def is_forced(self) -> bool:
        """True if the document names the token."""
        return self.rule == FORCED

    @property
    def words(self) -> str:
        """The sentence in the present language."""
        return _(self.rule)


def drawn_after(decoded: Decoded, index: int, experiment: Experiment) -> Drawn:
    """The token after step `index` by the sampling of `experiment`, which may be newer than the decoding.

    Raises `ValueError` where the logits are NaN.
    """
    decoding, ids = decoded.decoding, names_of(decoded.decoding).ids
    step, writing = decoding.steps[index], experiment.writing
    n_given = n_given_tokens(decoding)
    if index < n_given - 1:
        given = decoding.steps[index + 1].token if index + 1 < len(decoding.steps) else ""
        if given in ids:
            return Drawn(ids[given], GIVEN)
    if step.next_token is not None and (writing is None or index < n_given - 1):
        return Drawn(ids[step.next_token], MOST_PROBABLE)
    if step.next_token is not None and index + 1 in forced_positions(experiment):
        return Drawn(ids[step.next_token], FORCED)
    sampling = sampling_of(experiment)
    return Drawn(choose(sampling, step.logits, seen_ids(decoded, index), index - n_given + 1), SAMPLED)


def sampling_of(experiment: Experiment) -> Sampling:
    """The document's sampling; without generation, the model's own distribution."""
    return Sampling() if experiment.writing is None else experiment.writing.sampling


def seen_ids(decoded: Decoded, index: int) -> list[int]:
    """Ids of the text up to a step, as far as the vocabulary has them."""
    ids = names_of(decoded.decoding).ids
    return [ids[step.token] for step in decoded.decoding.steps[: index + 1] if step.token in ids]


def n_given_tokens(decoding: Decoding) -> int:
    """Number of steps whose token came from the document."""
    return sum(not step.generated for step in decoding.steps)

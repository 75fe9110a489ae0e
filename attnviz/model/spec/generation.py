"""Generation of an experiment: its sampling, its end, its forced tokens, and its cache between two steps."""

from __future__ import annotations

from typing import Annotated, ClassVar

from attnviz.errors import must_be
from attnviz.i18n import N_
from attnviz.model.caches import Cache, FullCache
from attnviz.model.spec.field import Field, Index
from attnviz.model.spec.sampling import Sampling
from attnviz.model.spec.value import Value, require


class Forced(Value, frozen=True):
    """One generated token that the document names: it stands in the place of the sampled one."""

    where: ClassVar[str] = "forced."

    step: Annotated[Index, Field(N_("new token"), N_("Number of the new token, counted from 0"))]
    token: Annotated[str, Field(N_("forced token"), N_("Text of the token, as the vocabulary has it"))]


class Writing(Value, frozen=True):
    """Decoding continues after the document's tokens: with `sampling`, until one of its stop conditions
    holds.

    `cache` is the cache of every attention. `forced` tokens are not sampled; one that the vocabulary lacks
    is. All three are independent of the full pass, which runs over the
    document's tokens.
    """

    sampling: Annotated[Sampling, Field(N_("Sampling"), N_("How the next token is chosen"))] = Sampling()
    cache: Annotated[Cache, Field(N_("Cache type"), N_("What decoding keeps of earlier positions"))] = (
        FullCache()
    )
    forced: Annotated[
        tuple[Forced, ...], Field(N_("Forced tokens"), N_("Generated tokens that are chosen by hand"))
    ] = ()

    def check(self) -> None:
        steps = [one.step for one in self.forced]
        ascending = must_be("ascending steps, each once")
        require(steps == sorted(set(steps)), "forced", steps, ascending)

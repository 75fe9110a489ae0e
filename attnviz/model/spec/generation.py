"""Generation of an experiment: its sampling, its end, and its cache between two steps."""

from __future__ import annotations

from typing import Annotated

from attnviz.i18n import N_
from attnviz.model.caches import Cache, FullCache
from attnviz.model.spec.field import Field
from attnviz.model.spec.sampling import Sampling
from attnviz.model.spec.value import Value


class Writing(Value, frozen=True):
    """Decoding continues after the document's tokens: with `sampling`, until one of its stop conditions
    holds.

    `cache` is the cache of every attention. Both are independent of the full pass, which runs over the
    document's tokens.
    """

    sampling: Annotated[Sampling, Field(N_("Sampling"), N_("How the next token is chosen"))] = Sampling()
    cache: Annotated[Cache, Field(N_("Cache type"), N_("What decoding keeps of earlier positions"))] = (
        FullCache()
    )

"""`CACHES`: what a decoder keeps of the keys and values it has computed, and whether that is exact.

Adding a kind is one record, one row, and one class in `engines/decode/cache.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from attnviz.i18n import N_
from attnviz.model.spec.field import Field, Index, Positive
from attnviz.model.spec.value import Value

__all__ = [
    "FullCache",
    "PagedCache",
    "QuantisedCache",
    "RestartingCache",
    "RingCache",
    "SinkCache",
]

_WINDOW = Field(N_("last positions"), N_("Number of last positions that stay cached"), typed=(1, 100_000))


class CacheKind(Value, frozen=True):
    """Interface of every kind; most keep every position."""

    restarts: ClassVar[bool] = False
    """True if each pass counts its positions from 0, as if the cache were empty."""

    def kept(self, length: int) -> tuple[range, range]:
        """The positions that are left after `length` of them were appended: the first, and the last, ones."""
        return range(0), range(length)

    def capacity(self, length: int) -> int:
        """Positions for which memory is allocated after `length` were appended."""
        return sum(map(len, self.kept(length)))


class FullCache(CacheKind, frozen=True, tag_field="kind", tag="full"):
    """Every position, unchanged."""


class RingCache(CacheKind, frozen=True, tag_field="kind", tag="ring"):
    """The last `window` positions; the next one takes the oldest one's place."""

    where: ClassVar[str] = "cache."

    window: Annotated[Positive, _WINDOW] = 16
    n_sinks: ClassVar[int] = 0

    def kept(self, length: int) -> tuple[range, range]:
        """The last ones."""
        return range(0), range(max(0, length - self.window), length)


class SinkCache(CacheKind, frozen=True, tag_field="kind", tag="sinks"):
    """The first `n_sinks` positions and the last `window` ones."""

    where: ClassVar[str] = "cache."

    n_sinks: Annotated[
        Index, Field(N_("sinks"), N_("Number of first positions that stay cached"), typed=(0, 100_000))
    ] = 4
    window: Annotated[Positive, _WINDOW] = 12

    def kept(self, length: int) -> tuple[range, range]:
        """The sinks and the last ones."""
        sinks = min(self.n_sinks, length)
        return range(sinks), range(max(sinks, length - self.window), length)


class QuantisedCache(CacheKind, frozen=True, tag_field="kind", tag="quantised"):
    """Every position, each head's key and value as whole numbers of `bits` bits and one step."""

    where: ClassVar[str] = "cache."

    bits: Annotated[Literal[4, 8], Field(N_("bits"), N_("Bits of each number in the cache"))] = 8


class PagedCache(CacheKind, frozen=True, tag_field="kind", tag="paged"):
    """Every position, in blocks of `block` that are taken as they are needed."""

    where: ClassVar[str] = "cache."

    block: Annotated[
        Positive,
        Field(N_("positions per block"), N_("Number of positions allocated together"), typed=(1, 100_000)),
    ] = 16

    def capacity(self, length: int) -> int:
        """Whole blocks."""
        return -(-length // self.block) * self.block


class RestartingCache(CacheKind, frozen=True, tag_field="kind", tag="restarting"):
    """Every position, unchanged; but each pass adds and rotates by positions that begin at 0."""

    restarts: ClassVar[bool] = True


Cache = FullCache | RingCache | SinkCache | QuantisedCache | PagedCache | RestartingCache


@dataclass(frozen=True)
class CacheRow:
    """One kind. `title`, `hint` and `source` are messages.

    `is_exact`: decoding with it equals the full pass.
    """

    id: str
    kind: type[Cache]
    title: str
    hint: str
    source: str
    is_exact: bool


CACHES: tuple[CacheRow, ...] = (
    CacheRow(
        "full",
        FullCache,
        N_("full"),
        N_("Keeps every key and value unchanged"),
        N_("Shazeer 2019, section 2.4"),
        is_exact=True,
    ),
    CacheRow(
        "ring",
        RingCache,
        N_("ring"),
        N_("Keeps the last positions only; exact if a window mask hides the others"),
        N_("Jiang et al. 2023, Mistral 7B, section 2"),
        is_exact=False,
    ),
    CacheRow(
        "sinks",
        SinkCache,
        N_("sinks + window"),
        N_("Keeps the first positions and the last ones"),
        "Xiao et al. 2023, StreamingLLM",
        is_exact=False,
    ),
    CacheRow(
        "quantised",
        QuantisedCache,
        N_("quantised"),
        N_("Integers of 8 or 4 bits, with one step per head and position"),
        N_("Dettmers et al. 2022, LLM.int8(), section 2.1"),
        is_exact=False,
    ),
    CacheRow(
        "paged",
        PagedCache,
        N_("paged"),
        N_("Blocks allocated as needed; the last one is partly empty"),
        "Kwon et al. 2023, PagedAttention",
        is_exact=True,
    ),
    CacheRow(
        "restarting",
        RestartingCache,
        N_("restarting"),
        N_("A fault: every pass counts its positions from 0, whatever the cache holds"),
        N_("a program that forgets the offset of the cache"),
        is_exact=False,
    ),
)

CACHE_BY_ID = {row.id: row for row in CACHES}

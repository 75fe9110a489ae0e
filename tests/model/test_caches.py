"""Positions that each kind of cache still has, and the number that it holds memory for."""

from __future__ import annotations

import pytest

from attnviz.model.caches import CACHES, FullCache, PagedCache, RingCache, SinkCache


def positions(cache: object, length: int) -> list[int]:
    first, last = cache.kept(length)  # type: ignore[arg-type]
    return [*first, *last]


def test_a_ring_keeps_the_last_positions() -> None:
    assert positions(RingCache(3), 2) == [0, 1]
    assert positions(RingCache(3), 7) == [4, 5, 6]


def test_sinks_stay_and_no_position_counts_twice() -> None:
    assert positions(SinkCache(2, 3), 4) == [0, 1, 2, 3]
    assert positions(SinkCache(2, 3), 9) == [0, 1, 6, 7, 8]
    assert positions(SinkCache(4, 3), 2) == [0, 1]
    assert positions(SinkCache(0, 1), 5) == [4]


@pytest.mark.parametrize(("length", "held"), [(1, 16), (16, 16), (17, 32)])
def test_pages_are_taken_whole(length: int, held: int) -> None:
    assert PagedCache(16).capacity(length) == held
    assert FullCache().capacity(length) == length
    assert positions(PagedCache(16), length) == list(range(length))


def test_the_table_has_every_kind_once() -> None:
    assert [row.kind.__struct_config__.tag for row in CACHES] == [row.id for row in CACHES]
    assert RingCache(3).capacity(7) == 3 and SinkCache(2, 3).capacity(9) == 5

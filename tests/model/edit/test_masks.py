"""Edits of masks: where a mask goes, what joins by "or", what takes whose place."""

from __future__ import annotations

import pytest
from experiments import MASK_SETS, ONE_MASK, sited, small
from hypothesis import given
from mask_formulas import sees

from attnviz.model.edit.masks import (
    find_mask,
    fitting_mask,
    has_pattern,
    joined,
    joining,
    put_mask,
    set_joining,
    take_mask,
)
from attnviz.model.masks import MASK_ORDER, MASKS
from attnviz.model.spec import parts as p

SPARSE = sited(small(masks=(p.Causal(), p.AnyOf((p.Window(1), p.Global((0,)))))))


def test_a_mask_is_replaced_where_it_stands() -> None:
    assert put_mask(SPARSE, p.Window(2)).masks == (p.Causal(), p.AnyOf((p.Window(2), p.Global((0,)))))
    alone = small(masks=(p.Window(1), p.AnyOf((p.Window(5), p.Global((0,))))))
    assert put_mask(sited(alone), p.Window(2)).masks == (p.Window(2), p.AnyOf((p.Window(5), p.Global((0,)))))
    assert find_mask(sited(alone), p.Window) == p.Window(1) and find_mask(sited(alone), p.Global) == p.Global(
        (0,)
    )
    assert find_mask(sited(alone), p.Strided) is None


def test_a_new_pattern_joins_the_joined_ones_and_other_masks_stand_alone() -> None:
    assert put_mask(SPARSE, p.Strided(3)).masks[1] == p.AnyOf((p.Window(1), p.Strided(3), p.Global((0,))))
    padded = put_mask(SPARSE, p.Padding((1,)))
    assert padded.masks == (p.Causal(), p.Padding((1,)), SPARSE.masks[1])
    assert put_mask(sited(small()), p.Strided(3)).masks == (p.Strided(3),)


def test_causal_and_prefix_take_each_others_place() -> None:
    prefixed = put_mask(SPARSE, p.Prefix(2))
    assert prefixed.masks == (p.Prefix(2), SPARSE.masks[1])
    assert put_mask(prefixed, p.Causal()) == SPARSE


def test_the_last_joined_mask_takes_the_group_with_it() -> None:
    one = take_mask(SPARSE, p.Window)
    assert one.masks == (p.Causal(), p.AnyOf((p.Global((0,)),))) and joining(one) == "any"
    assert take_mask(one, p.Global).masks == (p.Causal(),)


def test_patterns_are_joined_and_set_side_by_side() -> None:
    side = set_joining(SPARSE, "all")
    assert side.masks == (p.Causal(), p.Window(1), p.Global((0,))) and joining(side) == "all"
    assert set_joining(side, "any") == SPARSE
    assert not has_pattern(sited(small(masks=(p.Causal(), p.Padding((0,)))))) and has_pattern(side)
    assert set_joining(sited(small(masks=(p.Causal(),))), "any").masks == (p.Causal(),)


@given(MASK_SETS)
def test_joining_keeps_each_kind_and_is_what_it_says(masks: tuple[p.Mask, ...]) -> None:
    experiment = small(masks=masks)
    kinds = {family.kind for family in MASKS if find_mask(sited(experiment), family.kind) is not None}
    for how in ("all", "any"):
        changed = set_joining(sited(experiment), how)
        assert {family.kind for family in MASKS if find_mask(changed, family.kind) is not None} == kinds
        patterns = {family.kind for family in MASKS if family.is_pattern} & kinds
        assert {type(mask) for mask in joined(changed)} >= (patterns if how == "any" else set())
        assert how == "any" or not joined(changed)
        assert changed.masks == tuple(sorted(changed.masks, key=lambda mask: MASK_ORDER.index(type(mask))))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (p.Padding((1, 4, 5)), p.Padding((1, 4))),
        (p.Padding((5,)), p.Padding((4,))),
        (p.Global((0, 5)), p.Global((0,))),
        (p.Documents((7,)), p.Documents((0, 2))),
        (p.Documents((3, 7)), p.Documents((3,))),
        (p.Window(9), p.Window(9)),
    ],
)
def test_positions_past_the_end_do_not_come_back(mask: p.OneMask, expected: p.OneMask) -> None:
    assert fitting_mask(mask, sited(small())) == expected


@given(MASK_SETS, ONE_MASK)
def test_any_mask_can_be_put_and_taken(masks: tuple[p.Mask, ...], mask: p.OneMask) -> None:
    put = put_mask(sited(small(masks=masks)), mask)
    assert find_mask(put, type(mask)) == mask
    assert find_mask(take_mask(put, type(mask)), type(mask)) is None


@pytest.mark.parametrize(("query", "key", "seen"), [(3, 2, True), (3, 0, True), (3, 1, False), (0, 3, False)])
def test_causal_and_either_a_window_or_a_global_token(query: int, key: int, seen: bool) -> None:
    assert all(sees(mask, query, key) for mask in SPARSE.masks) == seen

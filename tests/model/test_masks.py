"""The table of masks: complete, equal to the formulas cell by cell, combined by and / or, said in words."""

from __future__ import annotations

import re
from typing import Any, get_args

import numpy as np
import pytest
from cases import MASKS as CASES
from cases import TOKENS
from experiments import MASK_OF_KIND, MASK_SETS, ONE_MASK, sited, small
from first_layer import stacked, with_fields
from gaps import require_all, row_of_kind
from hypothesis import given
from hypothesis import strategies as st
from mask_formulas import SEES, STATED, blocks_cell, sees
from msgspec.structs import replace

from attnviz.model.io.files import dumps, loads
from attnviz.model.io.schema import document_schema
from attnviz.model.masks import (
    FAMILY_OF,
    MASK_ORDER,
    MASKS,
    blocked,
    blocked_by,
    looks_ahead,
    visible_pairs,
    why_blocked,
)
from attnviz.model.spec import parts as p
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site

N = len(TOKENS)
EVERYWHERE = np.arange(N)
FAR = np.arange(40)
"""Positions well past the numbers of the random masks."""
EXAMPLES = {
    kind: [mask for masks in CASES.values() for mask in masks if type(mask) is kind] for kind in MASK_ORDER
}
SPANS = [(0, 6, 0, 6), (3, 4, 0, 9), (2, 7, 4, 6)]


def random_mask(data: st.DataObject, kind: type) -> Any:
    """A mask of one kind, with small numbers."""
    return data.draw(row_of_kind("MASK_OF_KIND in tests/experiments.py", MASK_OF_KIND, kind))


def numbers_of(value: Any) -> set[float]:
    """The numbers in the fields of a mask, lists and pairs included."""
    members = value if isinstance(value, tuple) else ()
    return {value} if isinstance(value, int | float) else set().union(*map(numbers_of, members))


def is_telling(mask: p.Mask, query: int, key: int) -> bool:
    """True if no two numbers that a reason may state are equal, so that none is taken for another."""
    values = [getattr(mask, name) for name in mask.__struct_fields__]
    numbers = [query, key, abs(query - key), *(value for value in values if isinstance(value, int))]
    return len(set(numbers)) == len(numbers)


def of_n(n: int, *masks: p.Mask, n_keys: int | None = None) -> Experiment:
    memory = None if n_keys is None else p.Memory(("m",) * n_keys, p.SeededVectors(n_keys, 2))
    return stacked(("t",) * n, p.SeededVectors(n, 2), memory, masks=masks)


def site_of_n(n: int, *masks: p.Mask, n_keys: int | None = None) -> Site:
    return sited(of_n(n, *masks, n_keys=n_keys))


# --- the table -------------------------------------------------------------------------------------


def test_every_kind_has_its_examples_in_the_tests() -> None:
    require_all("MASKS in tests/cases.py", [kind for kind in MASK_ORDER if EXAMPLES[kind]], MASK_ORDER)
    require_all("MASK_OF_KIND in tests/experiments.py", MASK_OF_KIND, [family.kind for family in MASKS])
    for family in MASKS:
        shares = [np.mean(blocked_by(mask, EVERYWHERE, EVERYWHERE)) for mask in EXAMPLES[family.kind]]
        assert any(0 < share < 1 for share in shares), (
            f"MASKS in tests/cases.py needs an example of {family.tag} that hides some cells of {N} tokens, "
            "and not all"
        )
    telling = {type(mask) for mask, (query, key), _sentence in SENTENCES if is_telling(mask, query, key)}
    place = "SENTENCES in tests/model/test_masks.py, with query, key, distance and numbers all different,"
    require_all(place, telling, [family.kind for family in MASKS])
    require_all("SEES in tests/mask_formulas.py", SEES, MASK_ORDER)


def test_every_kind_that_a_document_can_name_has_one_row() -> None:
    assert tuple(family.kind for family in MASKS) == get_args(p.OneMask)
    assert set(get_args(p.Mask)) == set(MASK_ORDER) and MASK_ORDER[-1] is p.AnyOf
    assert len({family.tag for family in MASKS}) == len({family.title for family in MASKS}) == len(MASKS)
    in_schema = document_schema()["$defs"]["AnyOf"]["properties"]["masks"]["items"]["anyOf"]
    named = {reference["$ref"].rsplit("/")[-1] for reference in in_schema}
    assert named == {family.kind.__name__ for family in MASKS}


def test_documents_name_the_kinds_as_they_did() -> None:
    names = "causal prefix padding window dilated strided blocks global documents painted"
    assert {family.tag for family in MASKS} >= set(names.split())
    assert p.AnyOf.__struct_config__.tag == "any_of"


@pytest.mark.parametrize("family", MASKS, ids=lambda family: family.tag)
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_what_a_form_begins_with_fits_every_length(family: Any, n: int) -> None:
    experiment = of_n(n)
    mask = family.fresh(sited(experiment))
    assert isinstance(mask, family.kind)
    masked = with_fields(experiment, masks=(mask,))
    if n == 12 and family.kind is not p.Painted:
        assert 0 < visible_pairs(sited(masked)) < 144, "a switch that changes nothing explains nothing"
    whole = blocked(sited(masked), np.arange(n), np.arange(n))
    assert whole is not None and whole.shape == (n, n)


@given(MASK_SETS)
def test_masks_come_back_from_a_file(masks: tuple[p.Mask, ...]) -> None:
    experiment = small(masks=masks)
    assert loads(dumps(Document(experiment))).experiment.layers[0].masks == masks


# --- what is blocked -------------------------------------------------------------------------------


@given(ONE_MASK, st.sampled_from(SPANS))
def test_each_mask_is_its_formula(mask: p.OneMask, span: tuple[int, int, int, int]) -> None:
    queries, keys = range(span[0], span[1]), range(span[2], span[3])
    hidden = blocked_by(mask, np.array(queries), np.array(keys))
    assert hidden.tolist() == [[not sees(mask, query, key) for key in keys] for query in queries]


@given(MASK_SETS)
def test_masks_side_by_side_must_all_let_through_and_one_of_the_joined_ones(
    masks: tuple[p.Mask, ...],
) -> None:
    hidden = blocked(sited(small(masks=masks)), EVERYWHERE, EVERYWHERE)
    assert (hidden is None) == (masks == ())
    if hidden is not None:
        expected = [[blocks_cell(masks, query, key) for key in range(N)] for query in range(N)]
        assert hidden.tolist() == expected


@given(MASK_SETS)
def test_a_cell_is_blocked_exactly_where_a_reason_is_given(masks: tuple[p.Mask, ...]) -> None:
    experiment = small(masks=masks)
    for query in range(5):
        for key in range(5):
            reasons = why_blocked(sited(experiment), query, key)
            blocking = [mask for mask in masks if not sees(mask, query, key)]
            assert len(reasons) == len(blocking)
            for reason, mask in zip(reasons, blocking, strict=True):
                members = mask.masks if isinstance(mask, p.AnyOf) else (mask,)
                assert all(f"{FAMILY_OF[type(member)].title}: " in reason for member in members)


@pytest.mark.parametrize("family", MASKS, ids=lambda family: family.tag)
@given(st.data())
def test_a_reason_states_the_numbers_of_its_cell_and_of_its_mask(family: Any, data: st.DataObject) -> None:
    """A wrong number may be a right one by chance in one cell, not in all of them."""
    mask = random_mask(data, family.kind)
    own = numbers_of(tuple(getattr(mask, name) for name in mask.__struct_fields__))
    places = np.array([0, 1, 2, 3, 5, 8, 13, 21, 34])
    hidden = blocked_by(mask, places, places)
    for query, key in places[np.argwhere(hidden)].tolist():
        reason = family.reason(mask, query, key)
        for name, position in (("query", query), ("key", key)):
            named = set(map(int, re.findall(rf"\b{name} (\d+)", reason)))
            assert named <= {position}, f"{reason!r} must name {name} {position}"
        computed = STATED[family.kind](mask, query, key) if family.kind in STATED else set()
        known = {query, key, abs(query - key), *own, *computed}
        strange = [text for text in re.findall(r"\d+(?:\.\d+)?", reason) if float(text) not in known]
        assert not strange, (
            f"{reason!r} states {', '.join(strange)}: neither a position of the cell, nor their distance, "
            f"nor a number of {mask}; if it is computed from these, STATED in tests/mask_formulas.py needs it"
        )


SENTENCES: tuple[tuple[p.Mask, tuple[int, int], str], ...] = (
    (p.Causal(), (2, 5), "causal: key 5 comes after query 2"),
    (p.Padding((1, 5)), (2, 5), "padding: key 5 is hidden from every query"),
    (p.Window(2, 1), (8, 3), "window: key 3 is 5 before query 8; the limit is 2"),
    (p.Window(2, 1), (3, 7), "window: key 7 is 4 after query 3; the limit is 1"),
    (p.Painted(((3, 1),)), (3, 1), "painted: blocked by hand"),
    (p.Prefix(2), (3, 7), "prefix: key 7 comes after query 3 and is not among the first 2"),
    (
        p.Dilated(1, 0, 4),
        (8, 2),
        "dilated: key 2 is 6 away from query 8; only multiples of 4 are visible",
    ),
    (p.Dilated(1, 1, 3), (6, 0), "dilated: key 0 is 6 before query 6; the limit is 3"),
    (p.Dilated(1, 0, 3), (1, 4), "dilated: key 4 is 3 after query 1; the limit is 0"),
    (p.Strided(2), (8, 3), "strided: key 3 is 5 before query 8; only multiples of 2 are visible"),
    (p.Strided(2), (2, 4), "strided: key 4 comes after query 2"),
    (p.Blocks(3, 1), (8, 2), "blocks: query 8 is in block 2, which does not attend to block 0 of key 2"),
    (p.Global((0,)), (2, 3), "global: neither query 2 nor key 3 is a global token"),
    (p.Documents((0, 4)), (5, 3), "documents: query 5 is in document 2, key 3 in document 1"),
    (p.Documents((4,)), (3, 5), "documents: query 3 is in document 1, key 5 in document 2"),
    (
        p.AnyOf((p.Window(1), p.Global((0,)))),
        (5, 2),
        "blocked by every combined mask (window: key 2 is 3 before query 5; the limit is 1;"
        " global: neither query 5 nor key 2 is a global token)",
    ),
)
"""A mask, a cell that it blocks as (query, key), and its reason."""


@pytest.mark.parametrize(("mask", "cell", "sentence"), SENTENCES)
def test_the_sentence_of_a_blocked_cell(mask: p.Mask, cell: tuple[int, int], sentence: str) -> None:
    assert why_blocked(sited(of_n(9, mask)), *cell) == (sentence,)


# --- how many pairs are left -----------------------------------------------------------------------


@given(MASK_SETS, st.integers(1, 7), st.one_of(st.none(), st.integers(1, 5)))
def test_visible_pairs_are_counted(masks: tuple[p.Mask, ...], n: int, n_keys: int | None) -> None:
    seen = [not blocks_cell(masks, query, key) for query in range(n) for key in range(n_keys or n)]
    assert visible_pairs(site_of_n(n, *masks, n_keys=n_keys)) == sum(seen)


@pytest.mark.parametrize("n", [12, 1100, 2050])
def test_closed_forms_of_the_families(n: int) -> None:
    """Counted by rows on paper: what is cut off at the ends is a triangle."""

    def pairs(*masks: p.Mask) -> int:
        return visible_pairs(site_of_n(n, *masks))

    w, d, s, b, g, m = 3, 2, 4, 5, 2, 7
    triangle = w * (w + 1) // 2
    assert pairs(p.Causal()) == n * (n + 1) // 2
    assert pairs(p.Prefix(m)) == n * (n + 1) // 2 + m * (m - 1) // 2
    assert pairs(p.Padding((0, 2))) == n * (n - 2)
    assert pairs(p.Window(w, w)) == n * (2 * w + 1) - 2 * triangle
    assert pairs(p.Causal(), p.Window(w, w)) == n * (w + 1) - triangle
    assert pairs(p.Dilated(w, 0, d)) == n * (w + 1) - d * triangle
    whole, rest = divmod(n, s)
    assert pairs(p.Strided(s)) == s * whole * (whole + 1) // 2 + rest * (whole + 1)
    assert pairs(p.Blocks(b)) == n // b * b * b + (n % b) ** 2
    assert pairs(p.Global((0, 5))) == 2 * g * n - g * g
    assert pairs(p.Documents((0, 4))) == 16 + (n - 4) ** 2
    # Longformer: the window of all, and the rows and columns of the global token that it does not have.
    window_of_first = w + 1
    joined = n * (2 * w + 1) - 2 * triangle + 2 * (n - window_of_first)
    assert pairs(p.AnyOf((p.Window(w, w), p.Global((0,))))) == joined


def test_the_pairs_of_three_attentions() -> None:
    """Six and four tokens: 36 in the encoder, 16 in the decoder (10 of them causal), 24 across."""
    assert visible_pairs(site_of_n(6)) == 36
    assert visible_pairs(site_of_n(4)) == 16 and visible_pairs(site_of_n(4, p.Causal())) == 10
    assert visible_pairs(site_of_n(6, n_keys=4)) == 24


def test_rows_of_an_additive_mask_past_the_end_of_the_text_count_for_nothing() -> None:
    cut = p.AdditiveMask.of(np.array([[0.0, -np.inf, -np.inf]] * 5))
    assert visible_pairs(replace(site_of_n(2), additive_mask=cut)) == 2


# --- decoding --------------------------------------------------------------------------------------


@given(MASK_SETS)
def test_masks_that_do_not_look_ahead_let_no_later_key_through(masks: tuple[p.Mask, ...]) -> None:
    if not looks_ahead(masks):
        for query in range(12):
            assert all(blocks_cell(masks, query, key) for key in range(query + 1, 14))


@pytest.mark.parametrize(
    ("mask", "ahead"),
    [
        (p.Causal(), False),
        (p.Prefix(0), False),
        (p.Prefix(1), False),
        (p.Prefix(2), True),
        (p.Window(3), False),
        (p.Window(3, 1), True),
        (p.Dilated(3), False),
        (p.Dilated(3, 1), True),
        (p.Strided(3), False),
        (p.Blocks(1), False),
        (p.Blocks(2, 1), True),
        (p.Global((0,)), True),
        (p.Documents((2,)), True),
        (p.Padding((0,)), True),
        (p.Painted(()), True),
        (p.AnyOf((p.Strided(3), p.Window(2))), False),
        (p.AnyOf((p.Strided(3), p.Global((0,)))), True),
    ],
)
def test_which_masks_look_ahead(mask: p.Mask, ahead: bool) -> None:
    assert looks_ahead((mask,)) == ahead
    assert ahead == any(sees(mask, query, key) for query in range(9) for key in range(query + 1, 9))
    assert not looks_ahead((mask, p.Causal()))


@pytest.mark.parametrize("family", MASKS, ids=lambda family: family.tag)
@given(st.data())
def test_a_row_says_exactly_if_its_mask_looks_ahead(family: Any, data: st.DataObject) -> None:
    mask = random_mask(data, family.kind)
    ahead = bool(np.triu(~blocked_by(mask, FAR, FAR), 1).any())
    attends = "attends" if ahead else "never attends"
    assert family.looks_ahead(mask) == ahead, (
        f"looks_ahead in the row of {family.tag} must be {ahead} for {mask}: a query {attends} to a later key"
    )


@pytest.mark.parametrize("family", MASKS, ids=lambda family: family.tag)
def test_a_pattern_leaves_at_most_half_of_the_earlier_keys(family: Any) -> None:
    """Of the keys up to a query far behind the numbers of a form, which count the tokens of a short text."""
    n = 200
    mask = family.fresh(sited(of_n(12)))
    visible = n - int(np.sum(blocked_by(mask, np.array([n - 1]), np.arange(n))))
    assert family.is_pattern == (visible <= n / 2), (
        f"is_pattern in the row of {family.tag} must be {visible <= n / 2}: "
        f"the last of {n} tokens attends to {visible} of them under {mask}"
    )

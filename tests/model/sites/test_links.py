"""The tokens of one attention in another: counted on the three attentions of an encoder and a decoder."""

from __future__ import annotations

import pytest

from attnviz.model.sites.links import same_tokens, tokens_in
from attnviz.model.spec.site import Place

ENCODER, SELF = Place("encoder", 0, "self"), Place("decoder", 0, "self")
CROSS = Place("decoder", 0, "cross", is_second=True)


@pytest.mark.parametrize(
    ("source", "target", "rows", "columns"),
    [
        # Token 2 of the tokens attends to token 5 of the memory.
        (CROSS, ENCODER, {5}, {5}),
        (CROSS, SELF, {2}, {2}),
        (CROSS, Place("decoder", 1, "cross", is_second=True), {2}, {5}),
        # Token 2 of the memory attends to its token 5: both are keys of the cross-attention.
        (ENCODER, CROSS, set(), {2, 5}),
        (ENCODER, SELF, set(), set()),
        (ENCODER, Place("encoder", 1, "self"), {2}, {5}),
        # Token 2 of the tokens attends to its token 5.
        (SELF, CROSS, {2, 5}, set()),
        (SELF, ENCODER, set(), set()),
        (Place("layers", 0, "self"), Place("layers", 1, "self"), {2}, {5}),
        (Place("layers", 0, "cross"), Place("layers", 1, "cross"), {2}, {5}),
    ],
)
def test_a_token_is_found_in_the_role_that_it_has(
    source: Place, target: Place, rows: set[int], columns: set[int]
) -> None:
    assert same_tokens(source, (2,), (5,), target) == (rows, columns)


def test_a_cell_of_queries_alone_has_no_keys() -> None:
    assert same_tokens(CROSS, (2,), (), ENCODER) == (set(), set())
    assert same_tokens(SELF, (2,), (), Place("decoder", 1, "self")) == ({2}, {2})


def test_the_tokens_of_a_sequence() -> None:
    assert tokens_in("tokens", CROSS, (2,), (5,)) == {2}
    assert tokens_in("memory", CROSS, (2,), (5,)) == {5}
    assert tokens_in("tokens", ENCODER, (2,), (5,)) == set()

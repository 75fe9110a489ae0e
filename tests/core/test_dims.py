"""Heads apart and together again, against plain slicing of columns."""

from __future__ import annotations

import array_api_compat.numpy as xp
import numpy as np
import pytest

from attnviz.core.dims import group_counts, in_heads, join_heads

LAYOUTS = [(1, 1, 4), (3, 1, 2), (1, 6, 2), (2, 3, 4)]
"""(key/value groups, query heads in each, features of a head)."""


@pytest.mark.parametrize(("groups", "size", "d"), LAYOUTS)
def test_query_heads_are_columns_side_by_side_group_after_group(groups: int, size: int, d: int) -> None:
    x = np.arange(5 * groups * size * d, dtype=float).reshape(5, -1)
    apart = in_heads(xp, x, (groups, size, 5, d))
    for head in range(groups * size):
        group, member = divmod(head, size)
        np.testing.assert_array_equal(apart[group, member], x[:, head * d : (head + 1) * d])


@pytest.mark.parametrize(("groups", "size", "d"), LAYOUTS)
def test_key_value_heads_are_columns_side_by_side(groups: int, size: int, d: int) -> None:
    x = np.arange(5 * groups * d, dtype=float).reshape(5, -1)
    apart = in_heads(xp, x, (groups, 5, d))
    for group in range(groups):
        np.testing.assert_array_equal(apart[group], x[:, group * d : (group + 1) * d])


@pytest.mark.parametrize(("groups", "size", "d"), LAYOUTS)
def test_joining_undoes_splitting(groups: int, size: int, d: int) -> None:
    x = np.random.default_rng(0).standard_normal((5, groups * size * d))
    np.testing.assert_array_equal(join_heads(xp, in_heads(xp, x, (groups, size, 5, d))), x)


def test_split_agrees_with_view_and_permute() -> None:
    """(batch, token, head, d) and (batch, head, token, d)."""
    x = np.arange(24.0).reshape(3, 8)
    np.testing.assert_array_equal(in_heads(xp, x, (2, 3, 4)), x.reshape(1, 3, 2, 4).transpose(0, 2, 1, 3)[0])


def test_key_value_heads_are_shared_evenly() -> None:
    assert group_counts(12) == (1, 2, 3, 4, 6, 12) and group_counts(1) == (1,) and group_counts(7) == (1, 7)

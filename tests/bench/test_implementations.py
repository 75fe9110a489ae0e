"""Three implementations of attention: equal outputs, those that torch gives, and times of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnviz.bench.cases import Size
from attnviz.bench.implementations import IMPLEMENTATIONS, timed


@pytest.mark.parametrize("row", IMPLEMENTATIONS, ids=lambda row: row.id)
@pytest.mark.parametrize("size", [Size(1, 1, 3), Size(13, 2, 8)], ids=str)
def test_each_computes_causal_attention_as_torch_does(row, size: Size) -> None:  # type: ignore[no-untyped-def]
    chance = np.random.default_rng(4)
    q, k, v = chance.standard_normal((3, size.heads, size.n, size.d_head), dtype=np.float32)
    scores = torch.from_numpy(q).double() @ torch.from_numpy(k).double().mT / size.d_head**0.5
    scores = scores.masked_fill(torch.ones(size.n, size.n).triu(1).bool(), -torch.inf)
    wanted = scores.softmax(-1) @ torch.from_numpy(v).double()
    np.testing.assert_allclose(row.make(q, k, v)(), wanted.numpy(), atol=2e-6)


def test_they_are_timed_where_they_can_be_and_differ_in_rounding_alone() -> None:
    found = timed(Size(16, 2, 8))
    assert [one.implementation for one in found] == list(IMPLEMENTATIONS)
    assert all(one.seconds > 0 and one.difference < 1e-5 for one in found)
    assert [row.id for row in IMPLEMENTATIONS if row.omits(Size(4096, 8, 64))] == ["loops", "matrices"]


def test_a_cancelled_measurement_ends() -> None:
    class Cancelled(Exception):
        pass

    def check() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        timed(Size(16, 2, 8), check)

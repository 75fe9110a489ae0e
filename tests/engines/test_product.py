"""Products with large matrices: they are shared out in bands, and the bands are the whole product."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from attnviz.compute.threads import parallel_map
from attnviz.engines.engine import Workers
from attnviz.engines.product import BAND_BYTES, product
from attnviz.engines.table import ENGINES, EngineKind


@pytest.mark.parametrize("stored_by_output", [False, True])
@pytest.mark.parametrize(
    "kind", [kind for kind in ENGINES if not kind.unavailable()], ids=lambda kind: kind.id
)
def test_few_rows_by_a_large_matrix_are_several_products_for_several_threads(
    kind: EngineKind, stored_by_output: bool
) -> None:
    items: list[int] = []
    threads: set[int] = set()
    both = threading.Barrier(2)

    def for_each(function: Callable[[Any], None], starts: Iterable[Any]) -> None:
        first_two = list(starts)[:2]

        def noted(start: int) -> None:
            if start in first_two:
                both.wait(timeout=60)  # so that no thread takes all of them
            threads.add(threading.get_ident())
            items.append(start)
            function(start)

        parallel_map(noted, starts, 2)

    rng = np.random.default_rng(5)
    n_in, n_out = 512, 3 * BAND_BYTES // (4 * 512) + 17
    x = rng.standard_normal((3, n_in), dtype=np.float32)
    w = rng.standard_normal((n_out, n_in), dtype=np.float32).T
    w = w if stored_by_output else np.ascontiguousarray(w)
    engine = kind.make("float32", "cpu", Workers(for_each))
    with engine.active():
        y = engine.to_numpy(product(engine, engine.asarray(x), engine.asarray(w)))
    assert len(items) == 4
    assert len(threads) == 2
    exact = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(y, exact, rtol=0, atol=2e-4)

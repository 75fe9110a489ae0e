"""Promises of conftest to every test."""

from __future__ import annotations

import gc
import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st


def _examples() -> list[float]:
    """Examples that hypothesis draws for one and the same test."""
    drawn: list[float] = []

    @given(st.floats(0, 1e6))
    def draw(value: float) -> None:
        drawn.append(value)

    draw()
    return drawn


def test_examples_do_not_depend_on_what_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _examples()
    assert len(before) == 40
    constants = [float(1000 + i) + 0.123 for i in range(200)]
    source = tmp_path / "many_constants.py"
    source.write_text("\n".join(f"C{i} = {value}" for i, value in enumerate(constants)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("many_constants", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "many_constants", module)
    spec.loader.exec_module(module)
    assert _examples() == before


def test_frozen_objects_stay_frozen() -> None:
    with pytest.raises(AssertionError, match="process of its own"):
        gc.unfreeze()
    assert gc.get_freeze_count() > 10_000

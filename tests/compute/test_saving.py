"""Numbers on disk are the numbers of the trace, to the last digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import experiment

import attnviz
from attnviz.compute.budget import BudgetError
from attnviz.compute.saving import array_bytes, save_arrays, save_npz
from attnviz.model.io.presets import load_preset


def test_npz_holds_every_stage_under_its_site(tmp_path: Path) -> None:
    trace = attnviz.run(experiment())
    with np.load(save_npz(trace, None, tmp_path / "all.npz"), allow_pickle=False) as read:
        assert set(read) == {f"layers.0.self.{stage}" for stage in trace.only.stages}
        for stage in trace.only.stages:
            np.testing.assert_array_equal(read[f"layers.0.self.{stage}"], trace[stage])
        assert array_bytes(trace, None) == sum(read[name].nbytes for name in read)


def test_npz_of_several_sites_holds_what_each_has(tmp_path: Path) -> None:
    trace = attnviz.run(load_preset("encoder-decoder"))
    with np.load(save_npz(trace, ("memory", "weights"), tmp_path / "all.npz")) as read:
        names = [f"{name}.weights" for name in trace.sites]
        assert set(read) == {*names, "decoder.0.cross.memory"}
        for name in trace.sites:
            np.testing.assert_array_equal(read[f"{name}.weights"], trace.site(name)["weights"])
        assert array_bytes(trace, ("memory", "weights")) == sum(read[name].nbytes for name in read)
    with pytest.raises(KeyError, match=r"stage must be a stage of encoder\.0\.self; got 'memory'\."):
        save_npz(trace, ("memory",), tmp_path / "no.npz", ("encoder.0.self",))
    assert not (tmp_path / "no.npz").exists()


def test_the_same_trace_is_the_same_file(tmp_path: Path) -> None:
    trace = attnviz.run(experiment())
    files = [save_npz(trace, ("q", "weights"), tmp_path / name).read_bytes() for name in ("a.npz", "b.npz")]
    assert files[0] == files[1]


def test_too_many_numbers_are_refused_before_they_are_gathered(tmp_path: Path) -> None:
    trace = attnviz.run(experiment())
    size = 3 * array_bytes(trace, ("weights",))
    save_arrays(trace, ("weights",), tmp_path / "a.npz", available=2 * size)
    with pytest.raises(
        BudgetError,
        match=r"A run must fit in 4\.6 KiB, half of the 9\.2 KiB available; got file: 3 × "
        r"1\.5 KiB of arrays = 4\.6 KiB\.",
    ):
        save_arrays(trace, ("weights",), tmp_path / "b.npz", available=2 * size - 1)
    assert not (tmp_path / "b.npz").exists()

"""A site is asked once: what it takes to compute it is resolved, and the program reads nothing else."""

from __future__ import annotations

import ast
import gc
from pathlib import Path
from weakref import ref

import numpy as np
import pytest
from experiments import SPREAD, STACKS, sited, small
from msgspec.structs import replace

from attnviz import engines
from attnviz.core.progress import never_cancelled
from attnviz.engines import resolution
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.resolution import operands_of, resolve
from attnviz.engines.run import HeldStages, forward, run
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site

PROGRAM = (
    *("operands", "program", "projecting", "steps", "product", "features"),
    *("sight", "tiles", "windows", "decode/cache"),
)
DOCUMENT = ("Site", "Experiment", "Attention", "Layer")


@pytest.mark.parametrize("module", PROGRAM)
def test_the_program_does_not_know_the_document(module: str) -> None:
    file = Path(next(iter(engines.__path__))) / f"{module}.py"
    imports = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
    assert imports
    known = {name.name for node in imports for name in node.names} & set(DOCUMENT)
    assert not known
    assert not [node.module for node in imports if (node.module or "").startswith("attnviz.model.sites")]


def is_gone(one: ref[Site]) -> bool:
    """True once it is collected, with the youngest objects first: a whole collection takes 0.1 s."""
    for generation in range(3):
        if one() is not None:
            gc.collect(generation)
    return one() is None


@pytest.mark.parametrize("name", SPREAD)
def test_a_pass_and_its_windows_need_no_site(name: str) -> None:
    """The site is gone before the first stage is computed."""
    engine, expected = NumpyEngine("float64"), run(NumpyEngine("float64"), SPREAD[name]).only
    experiment = replace(SPREAD[name])
    site = sited(experiment)
    gone = ref(site)
    with engine.active():
        operands = resolve(engine, site)
        del site, experiment
        assert is_gone(gone)
        held = HeldStages(engine, operands.scoring, forward(engine, operands, None, None, never_cancelled))
    assert held.stages == expected.stages
    for stage in held.stages:
        found = held.window(stage, 0, slice(None), slice(None))
        np.testing.assert_array_equal(found, expected.window(stage), err_msg=stage)


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sites that were resolved, by name."""
    names: list[str] = []
    monkeypatch.setattr(resolution, "_known", type(resolution._known)(lambda one: {}, resolution.LATEST))

    def counted(engine, site):  # type: ignore[no-untyped-def]
        names.append(site.place.name)
        return resolve(engine, site)

    monkeypatch.setattr(resolution, "resolve", counted)
    return names


@pytest.mark.parametrize("name", STACKS)
def test_two_runs_of_an_experiment_resolve_each_site_once(name: str, resolved: list[str]) -> None:
    first, again = (run(NumpyEngine("float64"), STACKS[name]) for _time in range(2))
    assert resolved == list(first.sites) == list(again.sites)


def test_a_decoding_resolves_each_site_once(resolved: list[str]) -> None:
    decoding = decode(NumpyEngine("float64"), STACKS["encoder and decoder"], 4)
    for step in decoding.steps:
        for site in step.sites.values():
            for stage in site.stages:
                assert site.get(stage) is not None
    assert resolved.count("decoder.0.cross") == resolved.count("decoder.1.self") == 1


def test_operands_belong_to_a_precision() -> None:
    experiment = small()
    site = sited(experiment)
    kinds = [operands_of(NumpyEngine(dtype), experiment, site) for dtype in ("float32", "float64")]
    assert [kind.vectors.dtype for kind in kinds] == ["float32", "float64"]  # type: ignore[union-attr]
    assert operands_of(NumpyEngine("float32"), experiment, site) is kinds[0]


def test_operands_go_with_their_experiment_and_with_the_oldest() -> None:
    engine = NumpyEngine()

    def made(experiment: Experiment) -> object:
        return ref(operands_of(engine, experiment, sited(experiment)))

    kept = [small(temperature=1.0 + index) for index in range(resolution.LATEST + 1)]
    known = [made(experiment) for experiment in kept]
    gc.collect()
    assert [one() is None for one in known] == [True] + [False] * resolution.LATEST  # type: ignore[operator]
    kept.clear()
    gc.collect()
    assert all(one() is None for one in known)  # type: ignore[operator]

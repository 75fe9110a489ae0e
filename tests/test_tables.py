"""Every row of every closed table: computed, explained, decoded, saved, drawn, translated.

The tables are found by walking the package: a row that is added anywhere is asked too.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import pkgutil
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import sited, small
from first_layer import with_fields
from msgspec.structs import replace

import attnviz
from attnviz import i18n
from attnviz.checkpoints import rotary
from attnviz.checkpoints.families.family import Family
from attnviz.core.block import ACTIVATIONS, GATED_UNITS, GatedUnit
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.engines.table import EngineKind
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.arithmetic.positions import ADDED_LINES, BIASES
from attnviz.explain.position_curves import candidates
from attnviz.explain.scripts.positions import BIAS_CODE
from attnviz.gui.forms.fields import FormField
from attnviz.gui.panels.mechanism import mask, position, rope
from attnviz.model.caches import CACHES
from attnviz.model.edit.switching import set_position
from attnviz.model.io.tables import Table, table_bytes
from attnviz.model.masks import MASKS
from attnviz.model.normalisers import NORMALISERS
from attnviz.model.operands.relative import RELATIVES
from attnviz.model.positions import POSITIONS, rotation
from attnviz.model.scalings import SCALINGS
from attnviz.model.sites.sites import alone
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import QKNorm, Rope
from attnviz.model.spec.sampling import SAMPLING_OPERATIONS, Sampling
from attnviz.model.spec.view import Cell
from attnviz.operations.norm import NORM_KINDS

ENGINE = NumpyEngine("float64")
PAST = 4
"""Steps past the end of the document's tokens."""

MESSAGES = {
    "title",
    "description",
    "hint",
    "label",
    "short",
    "sentence",
    "when_equal",
    "text",
    "help",
    "words",
}
"""Fields whose texts a person reads."""

IDS = ("id", "key", "name", "tag")

NAMES = (EngineKind, Family)
"""Rows whose titles are names, the same in every language."""

WORD = re.compile(r"\b[A-Za-z][a-z]{2,}\b")


def closed_tables() -> dict[str, tuple[Any, ...]]:
    """Every constant of the package that is a tuple of records, by the module that it was found in first."""
    found: dict[int, tuple[str, tuple[Any, ...]]] = {}
    for module in pkgutil.walk_packages(attnviz.__path__, "attnviz."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.isupper() and isinstance(value, tuple) and value and all(map(is_record, value)):
                found.setdefault(id(value), (f"{module.name}.{name}", value))
    return dict(found.values())


def is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


TABLES = closed_tables()


def with_writing(**fields: Any) -> Experiment:
    return small(writing=Writing(**fields))


def rope_with(row: Any) -> Experiment:
    plain = small(position=Rope())
    return small(position=Rope(scaling=row.fresh(rotation(sited(plain)))))


def past_the_original_length(row: Any) -> Experiment:
    experiment = rope_with(row)
    rope: Any = experiment.layers[0].position
    if not hasattr(rope.scaling, "original_length"):
        return experiment
    return with_fields(experiment, position=replace(rope, scaling=replace(rope.scaling, original_length=3)))


def computed() -> Iterator[tuple[str, Experiment]]:
    """An experiment for each row that changes a number."""
    for row in MASKS:
        yield f"mask {row.tag}", small(masks=(row.fresh(sited(small())),))
    for row in POSITIONS:
        yield f"position {row.id}", alone(set_position(sited(small()), row.record()))
    for row in SCALINGS:
        yield f"scaling {row.id}", rope_with(row)
        yield f"scaling {row.id} past its length", past_the_original_length(row)
    for row in NORMALISERS:
        yield f"normaliser {row.id}", small(normaliser=row.id)
    for row in NORM_KINDS:
        yield f"qk norm {row.id}", small(qk_norm=QKNorm(row.id))
    for unit in (*ACTIVATIONS, *GATED_UNITS):
        is_gated = isinstance(unit, GatedUnit)
        feed_forward = FeedForward(8, unit.id, gated=is_gated)
        yield (
            f"{'gated unit' if is_gated else 'activation'} {unit.id}",
            small(block=Block(feed_forward=feed_forward)),
        )
    for row in CACHES:
        yield f"cache {row.id}", with_writing(cache=row.kind())
    for row in SAMPLING_OPERATIONS:
        yield f"sampling {row.id}", with_writing(sampling=Sampling(operations=(row.fresh,)))


CASES = dict(computed())
INEXACT = {f"cache {row.id}" for row in CACHES if not row.is_exact}


# --- what is computed ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_explained_in_every_stage(name: str) -> None:
    site = run(ENGINE, CASES[name]).only
    for stage in site.stages:
        values = site[stage]
        for place in {(0,) * values.ndim, tuple(size - 1 for size in values.shape)}:
            head, query, column = (0, *place) if values.ndim == 2 else place
            explanation = explain(site, Cell(stage, query, column, head))
            for line in explanation.lines:
                shown, result = line.value, line.recomputed
                assert shown == pytest.approx(result, rel=1e-9, abs=1e-12, nan_ok=True), (stage, place)
            assert explanation.lines[0].value == pytest.approx(values[place], nan_ok=True), (stage, place)


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_decoded_past_the_end_of_the_tokens(name: str) -> None:
    experiment = CASES[name]
    decoding = decode(ENGINE, experiment, experiment.n_queries + PAST)
    assert len(decoding.steps) == experiment.n_queries + PAST
    if name not in INEXACT:
        assert max(parity(decoding, run(ENGINE, decoding.experiment)).values()) < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_exported_and_read_again(name: str, tmp_path: Path) -> None:
    experiment = CASES[name]
    for suffix in ("json", "safetensors"):
        assert attnviz.load(attnviz.save(experiment, tmp_path / f"a.{suffix}")).experiment == experiment
    attnviz.render(experiment, tmp_path / "a.svg", stage="weights")
    assert len(list(ET.parse(tmp_path / "a.svg").getroot())) > 1
    site = run(ENGINE, experiment).only
    rows = list(csv.reader(io.StringIO(table_bytes(Table.of(site, "weights"), "csv").decode("utf-8-sig"))))
    np.testing.assert_array_equal(np.array([row[1:] for row in rows[1:]], float), site["weights"][0])


# --- what a table promises -------------------------------------------------------------------------


def test_every_position_has_the_functions_that_its_kind_of_change_needs() -> None:
    of = {kind: {row.record for row in POSITIONS if row.changes == kind} for kind in ("vectors", "bias")}
    assert {row.record for row in POSITIONS if row.added} == of["vectors"] == set(ADDED_LINES)
    assert {row.record for row in POSITIONS if row.bias} == of["bias"] == set(BIASES) == set(BIAS_CODE)
    assert {row.record for row in POSITIONS if row.changes == "relative"} == set(RELATIVES)


def test_every_position_and_scaling_has_its_curve() -> None:
    ids = {id_ for id_, _title, _experiment in candidates(sited(small()))}
    scaled = {f"rope_{row.id}" for row in SCALINGS if row.id != "none"}
    assert ids == {row.id for row in POSITIONS} | scaled


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_every_scaling_is_read_from_a_configuration(row: Any) -> None:
    scaling: Any = sited(rope_with(row)).position
    numbers = {name: getattr(scaling.scaling, name) for name in row.record.__struct_fields__}
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in numbers.items()}
    length = {"original_max_position_embeddings": given.pop("original_length", 16)}
    given.pop("length", None)
    config = {"max_position_embeddings": 64, "rope_scaling": {**given, **length}}
    for type_ in row.types:
        config["rope_scaling"]["type"] = type_
        read = rotary.rope(config, 2).scaling
        assert type(read) is row.record
        same = set(given) & set(numbers) - {"attention_factor"}
        assert {name: getattr(read, name) for name in same} == {name: numbers[name] for name in same}


def test_no_two_scalings_share_a_name_in_configurations() -> None:
    names = [type_ for row in SCALINGS for type_ in row.types]
    assert len(set(names)) == len(names) == len(rotary.RECORDS)


def fields_of(*forms: tuple[FormField, ...]) -> Iterator[FormField]:
    for form in forms:
        yield from form


FORM = tuple(
    fields_of(
        position.FIELDS,
        rope.SCALING_FIELDS,
        position.TABLE_FIELDS,
        position.RELATIVE_FIELDS,
        mask.PARAMETERS,
    )
)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("position", "scaling"))])
def test_every_form_reads_what_it_writes(name: str) -> None:
    site = sited(CASES[name])
    for field in FORM:
        if field.shown(site):
            value = field.read(site)
            again = field.edit(site, value)
            assert field.read(again) == pytest.approx(value), field.name


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_every_field_of_a_scaling_can_be_changed_in_the_form(row: Any) -> None:
    site: Any = sited(rope_with(row))
    present, covered = site.position.scaling, set()
    for field in rope.SCALING_FIELDS:
        if field.shown(site):
            value = field.read(site)
            is_whole = isinstance(value, int)
            other = not value if isinstance(value, bool) else value + 1 if is_whole else value * 1.25
            changed: Any = field.edit(site, other)
            covered |= {
                name
                for name in present.__struct_fields__
                if getattr(changed.position.scaling, name) != getattr(present, name)
            }
    assert covered == set(present.__struct_fields__)


# --- every table of the package --------------------------------------------------------------------


def test_the_tables_of_the_design_are_found() -> None:
    known = {name.rpartition(".")[2] for name in TABLES}
    wanted = {"MASKS", "POSITIONS", "SCALINGS", "NORMALISERS", "CACHES", "STAGES", "NORM_KINDS", "FAMILIES"}
    wanted |= {"SAMPLING_OPERATIONS", "ENGINES", "PANELS", "ACTIONS", "SETTINGS", "PRESETS", "WHY_NOTS"}
    assert wanted <= known


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_an_id_of_its_own(name: str) -> None:
    for field in IDS:
        if all(hasattr(row, field) for row in TABLES[name]):
            ids = [getattr(row, field) for row in TABLES[name]]
            assert len(set(ids)) == len(ids)
            return


@pytest.mark.parametrize("name", TABLES)
def test_every_text_of_a_row_is_in_the_chinese_catalogue(name: str) -> None:
    catalogue = i18n._load("zh_CN")._catalog  # type: ignore[attr-defined]
    for row in TABLES[name]:
        for field in dataclasses.fields(row):
            text = getattr(row, field.name)
            if field.name in MESSAGES and isinstance(text, str) and WORD.search(text):
                assert isinstance(row, NAMES) or text in catalogue, (
                    f"{text!r}, the {field.name} of a row, has no translation: run resources/i18n/update.py"
                )


def test_a_lesson_may_name_the_parts_that_the_window_has() -> None:
    from attnviz.explain.bills import EXPERIMENT, QUANTITIES
    from attnviz.gui.panels.gradients.gradients import SHOWN
    from attnviz.gui.panels.mechanism.mechanism import SECTIONS
    from attnviz.gui.panels.table import PANEL_NAMES, PANELS
    from attnviz.gui.workspaces.table import WORKSPACE_BY_ID
    from attnviz.study.lessons import window

    assert set(PANEL_NAMES.beside) == WORKSPACE_BY_ID["learn"].panels - {"lesson"}
    assert set(PANEL_NAMES.hidden) == {row.id for row in PANELS} - {"lesson"}
    assert window.SECTIONS == tuple(section.id for section in SECTIONS)
    assert window.QUANTITIES == tuple(row.id for row in QUANTITIES)
    assert window.EXPERIMENT == EXPERIMENT
    assert window.CURVES == tuple(id_ for id_, _label, _hint in SHOWN)
    assert set(window.WORKSPACES) == WORKSPACE_BY_ID.keys() - {"learn"}

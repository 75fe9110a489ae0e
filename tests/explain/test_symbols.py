"""Formulas in parts: joined they are the formula, and each part names a stage that the trace has."""

from __future__ import annotations

import pytest
from experiments import SPREAD, block, sited, small
from msgspec.structs import replace

import attnviz
from attnviz.explain.formulas.stages import stage_formula
from attnviz.explain.formulas.symbols import site_lines, stage_parts
from attnviz.model.spec.block import Norm
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGES, inputs


def stages(experiment: Experiment) -> tuple[str, ...]:
    return attnviz.run(experiment).only.stages


@pytest.mark.parametrize("name", SPREAD)
def test_parts_are_the_formula_and_name_what_the_stage_reads(name: str) -> None:
    experiment = SPREAD[name]
    present = stages(experiment)
    for stage in present:
        parts = stage_parts(sited(experiment), stage, present)
        assert "".join(part.text for part in parts) == stage_formula(sited(experiment), stage)
        assert {part.stage for part in parts} <= {"", stage, *inputs(stage, present)}


@pytest.mark.parametrize("name", SPREAD)
def test_the_line_of_a_site_names_stages_that_there_are(name: str) -> None:
    present = stages(SPREAD[name])
    for line in site_lines(sited(SPREAD[name]), present):
        assert {part.stage for part in line} <= {"", *present}
        assert not [part for part in line if not part.stage and part.text.strip(" =W")]


def test_every_input_of_every_stage_has_its_symbols() -> None:
    for stage in STAGES:
        if stage.reads and stage.id != "concatenated":
            assert len(stage.symbols) == len(stage.reads), stage.id


def test_symbols_of_a_rotated_score() -> None:
    experiment = SPREAD["rope interleaved"]
    parts = stage_parts(sited(experiment), "scores", stages(experiment))
    assert [(part.text, part.stage) for part in parts] == [
        ("s", "scores"),
        (" = ", ""),
        ("q", "q_rotated"),
        (" · ", ""),
        ("k", "k_rotated"),
    ]


def test_a_symbol_in_a_word_is_none() -> None:
    experiment = SPREAD["dropout"]
    parts = stage_parts(sited(experiment), "dropped", stages(experiment))
    assert [part.text for part in parts if part.stage] == ["w"]  # not the one of a "w" in a word


GATED = "SwiGLU({0} W_gate, {0} W_up) W_down"
SOFT = "softmax(q kᵀ ÷ √4) v W_O"


@pytest.mark.parametrize(
    ("placement", "norms", "lines"),
    [
        ("pre", {}, (f"x + {SOFT}", "y + " + GATED.format("norm(y)"))),
        ("post", {}, (f"norm(x + {SOFT})", f"norm(y + {GATED.format('y')})")),
        ("parallel", {}, (f"x + {SOFT}", "y + " + GATED.format("norm(x)"))),
        (
            "sandwich",
            {"after_1": Norm(), "after_2": Norm()},
            (f"x + norm({SOFT})", f"y + norm({GATED.format('norm(y)')})"),
        ),
    ],
)
def test_each_placement_of_the_norms_has_its_line(
    placement: str, norms: dict[str, Norm], lines: tuple[str, str]
) -> None:
    experiment = small(block=block(placement, **norms))
    found = site_lines(sited(experiment), stages(experiment))
    first = "q k v = x W" if placement == "post" else "q k v = norm(x) W"
    first_line, second_line = lines
    said = tuple("".join(part.text for part in line) for line in found)
    assert said == (first, f"y = {first_line}", f"z = {second_line}")


def test_the_line_says_what_is_done_to_the_scores() -> None:
    (_first, line) = site_lines(sited(SPREAD["everything"]), stages(SPREAD["everything"]))
    assert "".join(part.text for part in line) == "dropout(softmax(mask(cap(q kᵀ × 1.3 ÷ 0.6)))) v W_O"
    made = {part.stage: part.text for part in line if "(" in part.text}
    assert made == {"dropped": "dropout(", "weights": "softmax(", "masked": "mask(", "capped": "cap("}


def test_the_norm_around_a_sum_belongs_to_its_stage() -> None:
    experiment = replace(SPREAD["post-norm"])
    _projections, first, second = site_lines(sited(experiment), stages(experiment))
    assert (first[2].text, first[2].stage, first[-1].stage) == ("norm(", "norm_1", "norm_1")
    assert (first[0].text, first[0].stage, second[0].text) == ("y", "norm_1", "z")
    assert (second[2].stage, second[3].text, second[3].stage) == ("norm_2", "y", "norm_1")


def test_keys_of_a_memory_are_made_of_it() -> None:
    line = site_lines(sited(SPREAD["cross"]), stages(SPREAD["cross"]))[0]
    assert "".join(part.text for part in line) == "q = x W   k v = m W"
    assert [part.stage for part in line if part.text in "xm"] == ["tokens_embedded", "memory"]


def test_latents_are_made_of_what_comes_in_and_of_the_memory() -> None:
    line = site_lines(sited(SPREAD["mla with query latent"]), stages(SPREAD["mla with query latent"]))[0]
    assert "".join(part.text for part in line) == "q = c_Q W   k v = c W   c_Q = x W   c = m W"

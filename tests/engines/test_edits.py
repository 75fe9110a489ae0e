"""Numbers set by hand: the cell itself, all that follows, decoding with a cache, and the gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.cli import main
from attnviz.compute.execute import execute, execute_decoding, execute_job
from attnviz.engines.backward.backward import backward
from attnviz.engines.decode.decodable import causal_experiment
from attnviz.engines.engine import Engine
from attnviz.engines.parity import parity
from attnviz.engines.patches import Patch
from attnviz.engines.run import sites_of
from attnviz.errors import FieldError
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.gradients.cell import explain_gradient
from attnviz.explain.scripts.library import LIBRARIES, Library
from attnviz.explain.scripts.script import script
from attnviz.model.edit.by_hand import all_edits, as_text, take_all, with_text
from attnviz.model.sites.sites import main_site, place_of, put, site_names, sites, with_records
from attnviz.model.spec.document import Document
from attnviz.model.spec.edit import EDITABLE, FROM_LATENT, OPERATIONS, Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.view import Cell
from attnviz.model.stages import STAGE_BY_ID, result_of
from attnviz.operations.terms import digits
from attnviz.study.contrast.differences import differences, value_text

ENGINES = ("numpy", "torch")
PRESETS = ("decoder-only", "multi-head-latent", "attention-sinks", "encoder-decoder", "experts", "deberta")
AFTER = {"set": lambda old: 0.8, "add": lambda old: old + 0.8, "scale": lambda old: old * 0.8}


def preset(name: str) -> Experiment:
    return replace(load_preset(name).experiment, dtype="float64")


def edited(experiment: Experiment, site: str, *edits: Edit) -> Experiment:
    return with_records(experiment, {place_of(experiment, site): {"edits": edits}}, {})


def stages_to_edit(experiment: Experiment, site: str) -> list[str]:
    found = sites(experiment)[place_of(experiment, site)]
    refused = FROM_LATENT if found.latent is not None else ()
    stages = execute(experiment).site(site).stages
    return [stage for stage in stages if stage in EDITABLE and stage not in refused]


def cell_of(stage: str, shape: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The place of an edit and the index of its cell: the last head, the second row, the first column."""
    head = shape[0] - 1 if STAGE_BY_ID[stage].per_head else None
    return {"head": head, "position": 1, "column": 0}, (1, 0) if head is None else (head, 1, 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PRESETS)
def test_the_cell_of_every_stage_is_edited_and_no_other(name: str, engine: str) -> None:
    experiment = preset(name)
    site = site_names(experiment)[-1]
    plain = execute(experiment, engine).site(site)
    for stage in stages_to_edit(experiment, site):
        where, at = cell_of(stage, plain.shape(stage))
        for operation, _title, _hint in OPERATIONS:
            edit = Edit(stage, value=0.8, operation=operation, **where)
            found = execute(edited(experiment, site, edit), engine).site(site)
            wanted = np.array(plain[stage])
            wanted[at] = AFTER[operation](wanted[at])
            np.testing.assert_array_equal(found[stage], wanted, err_msg=f"{stage} {operation}")
            for before in plain.stages[: plain.stages.index(stage)]:
                np.testing.assert_array_equal(found[before], plain[before], err_msg=f"{before} of {stage}")


def test_a_vector_is_added_to_a_row_and_all_behind_it_follows() -> None:
    experiment = preset("decoder-only")
    first, last = site_names(experiment)[0], site_names(experiment)[-1]
    more = tuple(np.linspace(-1, 1, experiment.d_model).tolist())
    stage = result_of(execute(experiment).site(first).stages)
    moved = execute(edited(experiment, first, Edit(stage, 2, more, "add")))
    plain = execute(experiment)
    wanted = np.array(plain.site(first)[stage])
    wanted[2] += more
    np.testing.assert_allclose(moved.site(first)[stage], wanted, atol=1e-15)

    def job(engine: Engine) -> np.ndarray:
        made = sites_of(engine, experiment, patches=[Patch(first, stage, wanted)])
        return np.asarray(made[-1].trace["logits"])

    np.testing.assert_array_equal(moved.site(last)["logits"], execute_job(experiment, job))
    assert np.abs(moved.site(last)["logits"] - plain.site(last)["logits"]).max() > 1e-3


def test_a_weight_of_a_hidden_key_counts() -> None:
    experiment = causal_experiment(preset("decoder-only"))
    site = site_names(experiment)[0]
    found = execute(edited(experiment, site, Edit("weights", 0, 1.0, "set", 0, 3))).site(site)
    plain = execute(experiment).site(site)
    group = 0 // (plain.shape("weights")[0] // plain.shape("v")[0])
    wanted = plain["weights"][0, 0, 0] * plain["v"][group, 0] + plain["v"][group, 3]
    np.testing.assert_allclose(found["mixed"][0, 0], wanted, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PRESETS)
def test_decoding_with_a_cache_equals_the_edited_pass(name: str, engine: str) -> None:
    """Of every stage in turn, and with edits past the end of the text, which change nothing."""
    experiment = causal_experiment(preset(name))
    site = site_names(experiment)[-1]
    plain = execute(experiment).site(site)
    edits = []
    for stage in stages_to_edit(experiment, site):
        where, _at = cell_of(stage, plain.shape(stage))
        edits += [Edit(stage, value=0.3, operation="add", **where)]
        edits += [Edit(stage, value=9.0, **where | {"position": 1000})]
    moved = edited(experiment, site, *edits)
    decoding = execute_decoding(moved, engine=engine)
    assert max(parity(decoding, execute(moved, engine)).values()) < 1e-11
    assert decoding.steps[1].site(site).get("scores") == pytest.approx(
        execute(moved).site(site)["scores"][:, 1, : decoding.steps[1].site(site).seen], abs=1e-11
    )


def test_a_generated_token_is_edited_at_its_own_position_only() -> None:
    experiment = preset("stories-en")
    site, n = site_names(experiment)[0], experiment.n_queries
    plain = execute_decoding(experiment, n + 3)
    row = Edit("attention_output", n + 1, 5.0, "add")
    found = execute_decoding(edited(experiment, site, row), n + 3)
    stages = [step.site(site)["attention_output"] for step in found.steps]
    for index, step in enumerate(plain.steps[: len(stages)][: n + 2]):
        by = 5.0 if index == n + 1 else 0.0
        np.testing.assert_allclose(stages[index], step.site(site)["attention_output"] + by, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PRESETS)
def test_the_gradient_by_every_stage_in_front_of_and_behind_edits(name: str, engine: str) -> None:
    """Central differences, through patches; a cell set by hand cuts, a multiplied one passes its factor."""
    experiment = preset(name)
    first, last = main_site(experiment).place.name, site_names(experiment)[-1]
    shapes = execute(experiment).site(first)
    changed = [s for s in ("q", "k", "scaled", "weights", "mixed", "residual_1") if s in shapes.stages]
    refused = FROM_LATENT if main_site(experiment).latent is not None else ()
    edits = [
        Edit(stage, value=0.7, operation=operation, **cell_of(stage, shapes.shape(stage))[0])
        for stage, operation in zip(changed, ("set", "scale", "add", "set", "scale", "set"), strict=False)
        if stage not in refused
    ]
    moved = edited(experiment, first, *edits)
    draw, step = np.random.default_rng(0), 1e-5
    by_hand = {edit.stage for edit in edits}

    def job(made_by: Engine) -> None:
        stage = result_of(tuple(sites_of(made_by, moved)[-1].features.order))
        trace, found = backward(made_by, moved, f"{last}.{stage}[2, 1]")
        for edit in edits:
            at = cell_of(edit.stage, shapes.shape(edit.stage))[1]
            if edit.operation == "set":
                assert found.site(first)[edit.stage][at] == 0.0
        for site in trace.sites:
            for name in trace.site(site).stages:
                values = trace.site(site)[name]
                cell = tuple(int(draw.integers(n)) for n in values.shape)
                is_edited = site == first and name in by_hand
                if not np.isfinite(values[cell]) or is_edited or name in ("logits", "probabilities"):
                    continue
                ends = []
                for by in (step, -step):
                    whole = values.copy()
                    whole[cell] += by
                    made = sites_of(made_by, moved, patches=[Patch(site, name, whole)])
                    ends.append(made[-1].trace[stage][2, 1])
                rise = (ends[0] - ends[1]) / (2 * step)
                assert found.site(site)[name][cell] == pytest.approx(rise, abs=1e-7), (site, name, cell)

    execute_job(moved, job, engine)


def test_a_multiplied_number_passes_its_factor_and_an_added_one_all() -> None:
    experiment = preset("decoder-only")
    site, last = site_names(experiment)[0], site_names(experiment)[-1]
    target = f"{last}.logits[2, 1]"
    stage = "attention_output"
    found = {}
    for operation, value in (("scale", 1.0), ("scale", 0.0), ("add", 0.0), ("set", 0.0)):
        edit = Edit(stage, 2, value, operation)
        moved = attnviz.backward(edited(experiment, site, edit), target)
        found[operation, value] = moved.site(site)[stage]
    plain = attnviz.backward(experiment, target).site(site)[stage]
    np.testing.assert_allclose(found["scale", 1.0], plain, atol=1e-13)
    np.testing.assert_allclose(found["add", 0.0], plain, atol=1e-13)
    assert not found["scale", 0.0][2].any() and not found["set", 0.0][2].any()
    assert plain[2].any()


def test_an_edit_of_what_a_pass_lacks_changes_nothing() -> None:
    experiment = preset("decoder-only")
    site = site_names(experiment)[0]
    absent = [Edit("capped", 0, 1.0), Edit("q", 0, 1.0, "set", 99), Edit("q", 999, 1.0), Edit("q", 0, (1.0,))]
    found = execute(edited(experiment, site, *absent))
    said = [str(notice) for notice in found.notices]
    assert len(said) == len(absent) and all("changes nothing" in text for text in said)
    for name in found.sites:
        for stage in found.site(name).stages:
            np.testing.assert_array_equal(found.site(name)[stage], execute(experiment).site(name)[stage])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"stage": "tokens_embedded"}, "edits.stage must be a stage that the attention computes"),
        ({"stage": "layer_input"}, "edits.stage must be a stage that the attention computes"),
        ({"stage": "nonsense"}, "edits.stage must be a stage that the attention computes"),
        ({"stage": "ffn_up", "head": 1}, "edits.head must be null for a stage without heads"),
        ({"stage": "q", "column": 1, "value": (1.0, 2.0)}, "edits.value must be one number"),
        ({"stage": "weights", "value": (1.0, 2.0)}, "edits.value must be one number for a stage of queries"),
        ({"stage": "q", "value": float("nan")}, "edits.value must be a finite number"),
        ({"stage": "q", "position": -1}, "edits.position must be"),
        ({"stage": "q", "operation": "turn"}, "edits.operation must be"),
    ],
)
def test_what_cannot_be_edited_is_refused_in_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FieldError) as refused:
        Edit(**{"position": 0, "value": 1.0} | fields)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_keys_from_a_latent_are_edited_at_the_latent() -> None:
    site = main_site(preset("multi-head-latent"))
    with pytest.raises(FieldError, match="must be 'latent' or 'rope_key'"):
        put(preset("multi-head-latent"), replace(site, edits=(Edit("k", 0, 1.0),)))


def test_the_explanation_says_what_stands_there_and_what_was_computed() -> None:
    experiment = preset("toy-attention")
    site = site_names(experiment)[0]
    plain = execute(experiment).site(site)["scaled"][0, 1, 0]
    for operation, _title, _hint in OPERATIONS:
        edit = Edit("scaled", 1, 0.8, operation, 0, 0)
        found = execute(edited(experiment, site, edit)).site(site)
        said = explain(found, Cell("scaled", 1, 0, 0))
        assert said.value == pytest.approx(AFTER[operation](plain), abs=1e-12)
        assert said.recomputed == pytest.approx(said.value, abs=1e-12)
        by_hand, computed = said.lines[:2]
        assert computed.value == pytest.approx(plain, abs=1e-12)
        note = "".join(piece.text for piece in by_hand.notes[0])  # type: ignore[union-attr]
        assert "by hand" in note and digits(plain, 6) in note and digits(0.8, 6) in note
        below = explain(found, Cell("weights", 1, 0, 0))
        assert below.value == pytest.approx(found["weights"][0, 1, 0], abs=1e-12)
        assert below.recomputed == pytest.approx(below.value, abs=1e-12)


def test_the_explanation_of_a_gradient_says_why_it_is_zero() -> None:
    experiment = preset("decoder-only")
    site, last = site_names(experiment)[0], site_names(experiment)[-1]
    for operation, factor in (("set", 0.0), ("add", 1.0), ("scale", 0.8)):
        edit = Edit("mixed", 1, 0.8, operation, 0, 0)
        found = attnviz.backward(edited(experiment, site, edit), f"{last}.logits[2, 1]").site(site)
        own, after = explain_gradient(found, Cell("mixed", 1, 0, 0)).lines[:2]
        assert own.value == pytest.approx(after.value * factor, abs=1e-12)
        assert own.recomputed == pytest.approx(own.value, abs=1e-12)
        assert after.value != 0.0 and "by hand" in own.notes[0][0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda row: row.id)
def test_the_script_reproduces_the_edits(library: Library) -> None:
    experiment = preset("decoder-only")
    first, last = site_names(experiment)[0], site_names(experiment)[-1]
    row = tuple(np.linspace(-1, 1, experiment.d_model).tolist())
    edits = (
        Edit("q", 1, 0.8, "set", 0, 2),
        Edit("weights", 2, 0.5, "scale", None, 0),
        Edit("ffn_output", 3, row, "add"),
        Edit("k", 999, 1.0),
    )
    moved = edited(experiment, first, *edits)
    code = script(Document(moved), library)
    assert code.count("set by hand") == 3
    found: dict[str, Any] = {}
    exec(compile(code, "script", "exec"), found)
    wanted = execute(moved).site(last)["logits"]
    np.testing.assert_allclose(np.asarray(found["logits"]), wanted, atol=1e-12)


def test_a_document_keeps_its_edits(tmp_path: Path) -> None:
    experiment = preset("decoder-only")
    site = site_names(experiment)[0]
    edits = (Edit("q", 1, 0.8, "set", 0, 2), Edit("ffn_output", 3, (1.0, 2.0), "add"))
    document = Document(edited(experiment, site, *edits))
    attnviz.save(document, tmp_path / "edited.json")
    assert attnviz.load(tmp_path / "edited.json").experiment.layers[0].edits == edits


def test_an_edit_as_text_is_read_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = preset("decoder-only")
    ones = ", ".join(["1"] * experiment.d_model)
    for text in ("q[0, 1, 2] = 0.8", "weights[:, 2, 0] *= 0.5", f"ffn_output[3, :] += {ones}"):
        moved = with_text(experiment, f"layers.0.self.{text}")
        ((name, edit),) = all_edits(moved)
        assert name == "layers.0.self" and as_text(edit)[:20] == text[:20]
        assert take_all(moved) == experiment
    moved = with_text(experiment, "layers.1.self.mixed[0, 1, :] = 0")
    (difference,) = differences(experiment, moved)
    assert value_text(difference.second, difference.row) == "mixed[0, 1, :] = 0"
    assert main(["run", "decoder-only", "--edit", "layers.1.self.mixed[0, 1, :] = 0"]) == 0
    capsys.readouterr()
    assert not execute(moved).site("layers.1.self")["mixed"][0, 1].any()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mixed = 3", "edit must be such as layers.0.self.mixed[1, 3, 2] = 0.8, += or *="),
        ("layers.0.self.q[0, 1, 2] = x", "edit must be such as"),
        ("q[0, 1, 2] = 1", "edit must be"),
        ("layers.9.self.q[0, 1, 2] = 1", "edit must be"),
        ("layers.0.self.capped[0, 1, 2] = 1", "edit must be"),
        ("layers.0.self.tokens_embedded[0, 1] = 1", "must be a stage that the attention computes"),
        ("layers.0.self.q[0, 1] = 1", "edit must be 3 indices: head, row, column"),
        ("layers.0.self.q[99, 1, 2] = 1", "edit must be inside the stage's"),
    ],
)
def test_an_edit_as_text_is_refused_in_one_sentence(
    text: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "decoder-only", "--edit", text]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_score_in_a_fully_masked_row_takes_all_weight(engine: str) -> None:
    experiment = preset("fully-masked-row")
    plain = execute(experiment)
    row = int(np.flatnonzero(plain.only.fully_masked())[0])
    moved = edited(experiment, plain.sites[0], Edit("masked", row, 1.0, "set", 0, 0))
    found = execute(moved, engine)
    wanted = np.array(plain["weights"])
    wanted[0, row, 0] = 1.0
    np.testing.assert_allclose(found["weights"], wanted, atol=1e-15)
    np.testing.assert_allclose(found["mixed"][0, row], found["v"][0, 0], atol=1e-15)
    by_hand = attnviz.backward(moved, f"{plain.sites[0]}.mixed[0, {row}, 0]", engine=engine)
    assert by_hand.only["v"][0, 0, 0] == pytest.approx(1.0) and not by_hand.only["masked"].any()

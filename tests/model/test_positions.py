"""The table of positions, what cannot be constructed, and edits that keep tables fitting."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from cases import POSITIONS as CASES
from cases import SHORT, experiment
from experiments import SCALING_OF_KIND, sited, small
from explained import exact, formulas, maximum, worked_out
from first_layer import with_fields
from gaps import require_all
from msgspec.structs import replace
from positions_by_hand import TURNING, turning

from attnviz.core.text import number
from attnviz.engines.decode.decodable import CHANGES
from attnviz.engines.decode.run import decode
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import parity
from attnviz.engines.run import run
from attnviz.explain.arithmetic.cell import explain
from attnviz.model import scalings
from attnviz.model.edit import edits, switching
from attnviz.model.io.files import dumps, load, loads, save
from attnviz.model.positions import (
    POSITIONS,
    added_rows,
    changes,
    learned_table,
    magnitude,
    pair_frequencies,
    rope_of,
    rotated_features,
)
from attnviz.model.scalings import SCALINGS, Rotation
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import one_layer
from attnviz.model.spec.parts import Alibi, Heads, Position, Rope, SeededVectors, Sinusoidal
from attnviz.model.spec.positions import Deberta, Learned, NoPosition, T5Buckets, TransformerXl
from attnviz.model.spec.scalings import (
    DynamicNtk,
    LinearScaling,
    Llama3Scaling,
    LongRope,
    NoScaling,
    Scaling,
    Yarn,
)
from attnviz.model.spec.source import DrawnTable, WrittenTable
from attnviz.model.spec.view import Cell
from attnviz.operations.terms import plain

ENGINE = NumpyEngine("float64")
STAGES_OF = {
    "nothing": set(),
    "vectors": {"x"},
    "rotation": {"q_rotated", "k_rotated"},
    "relative": {"relative"},
    "bias": {"biased"},
}


ROPES = {name: position for name, position in CASES.items() if isinstance(position, Rope)}
EXAMPLES = CASES | {f"{name}, dialled": replace(rope, multipliers=(1.5,)) for name, rope in ROPES.items()}


def written(rows: int, columns: int) -> WrittenTable:
    return WrittenTable(Matrix(np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)))


# --- scalings, in the examples ---------------------------------------------------------------------

START, END, LONGEST = 2, 13, 900_000
"""Tokens of a prompt, of the text generated from it, and more than any model was trained on."""


def rotation_of(rope: Rope, n_tokens: int) -> Rotation:
    return Rotation(rope, 4, rope.start + n_tokens)


def frequencies(rope: Rope, n_tokens: int) -> list[float]:
    return scalings.pair_frequencies(rotation_of(rope, n_tokens)).tolist()


def examples_of(row: Any) -> list[Rope]:
    return [rope for rope in ROPES.values() if type(rope.scaling) is row.record]


def reads_length(rope: Rope, *lengths: int) -> bool:
    """True if the frequencies at any of these lengths differ from those of a prompt."""
    return any(frequencies(rope, n) != frequencies(rope, START) for n in lengths)


def changes_frequencies(rope: Rope) -> bool:
    return frequencies(rope, END) != frequencies(replace(rope, scaling=NoScaling()), END)


def reading_length(row: Any) -> list[Rope]:
    """Rotations with a scaling of this row, whose frequencies depend on the length."""
    fresh = replace(Rope(), scaling=row.fresh(rotation_of(Rope(), START)))
    return [rope for rope in (*examples_of(row), fresh) if reads_length(rope, END, LONGEST)]


# --- the tables ------------------------------------------------------------------------------------


def test_every_kind_has_its_examples_in_the_tests() -> None:
    examples = {type(position) for position in CASES.values()}
    require_all("POSITIONS in tests/cases.py", examples, [row.record for row in POSITIONS])
    records, scaled = [row.record for row in SCALINGS], {type(rope.scaling) for rope in ROPES.values()}
    require_all("POSITIONS in tests/cases.py", scaled, records)
    for row in SCALINGS:
        assert row.record is NoScaling or any(changes_frequencies(rope) for rope in examples_of(row)), (
            f"POSITIONS in tests/cases.py needs an example of {row.record.__name__} that changes a frequency "
            f"of {END} tokens"
        )
    require_all("SCALING_OF_KIND in tests/experiments.py", SCALING_OF_KIND, records)
    require_all("TURNING in tests/positions_by_hand.py", TURNING, records)


@pytest.mark.parametrize("name", ROPES)
def test_the_frequencies_are_those_by_hand(name: str) -> None:
    site = sited(experiment(position=name))
    rope, rotated = rope_of(site), rotated_features(site)
    n = rotated.stop - rotated.start
    dials = rope.multipliers + (1.0,) * (n // 2 - len(rope.multipliers))
    for pair, (frequency, dial) in enumerate(zip(pair_frequencies(site), dials, strict=True)):
        by_hand, lengthened = turning(site, rope, pair, n)
        assert frequency == pytest.approx(by_hand * dial, rel=1e-12)
        assert magnitude(rope) == pytest.approx(lengthened, rel=1e-12)


def test_the_tables_are_the_unions() -> None:
    assert tuple(row.record for row in POSITIONS) == get_args(Position)
    assert tuple(row.record for row in SCALINGS) == get_args(Scaling)


def test_documents_name_the_kinds_as_they_did() -> None:
    positions = "none sinusoidal learned rope alibi t5 transformer_xl deberta"
    assert {row.id for row in POSITIONS} >= set(positions.split())
    assert {row.id for row in SCALINGS} >= set("none linear dynamic_ntk yarn llama3 longrope".split())


@pytest.mark.parametrize("row", POSITIONS, ids=lambda row: row.id)
def test_each_position_adds_the_stages_that_its_row_says(row: Any) -> None:
    plain = run(ENGINE, small()).only.stages
    stages = run(ENGINE, small(position=row.record())).only.stages
    assert set(stages) - set(plain) == STAGES_OF[row.changes]
    assert changes(row.record()) == row.changes


@pytest.mark.parametrize("row", POSITIONS, ids=lambda row: row.id)
def test_each_position_goes_through_a_file(row: Any) -> None:
    experiment = small(position=row.record())
    assert loads(dumps(experiment)).experiment == experiment


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_each_scaling_goes_through_a_file(row: Any) -> None:
    experiment = small(position=Rope(scaling=row.record()))
    assert loads(dumps(experiment)).experiment == experiment


def test_written_tables_live_in_a_tensors_file(tmp_path: Any) -> None:
    experiment = small(position=Learned(9, table=written(9, 6)))
    path = save(experiment, tmp_path / "a.safetensors")
    assert load(path).experiment == experiment
    assert b"position.table" in path.read_bytes()


def test_a_rotation_of_fewer_pairs_keeps_the_divisors_that_it_has_pairs_for() -> None:
    rope = Rope(scaling=LongRope(2.0, (1.5, 2.5), (3.5, 4.5, 5.5), 16))
    wide = small(heads=Heads(2, 1, 6), position=rope)
    cut = switching.set_position(sited(small(heads=Heads(2, 1, 4))), rope).position
    assert isinstance(cut, Rope) and cut.scaling == LongRope(2.0, (1.5, 2.5), (3.5, 4.5), 16)
    assert loads(dumps(wide)).experiment == wide


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: LinearScaling(0.5),
            "position.scaling.factor must be a finite number of at least 1; got 0.5.",
        ),
        (
            lambda: LongRope(2.0, (1.0, 0.0)),
            "position.scaling.short_factor[1] must be a finite number above 0; got 0.0.",
        ),
        (
            lambda: LongRope(2.0, original_length=1),
            "position.scaling.original_length must be a whole number of at least 2; got 1.",
        ),
        (
            lambda: small(heads=Heads(1, 1, 4), position=Rope(scaling=LongRope(long_factor=(1.0,) * 3))),
            "position.scaling.long_factor must have length 2 or less, one number for each rotated "
            "pair; got length 3.",
        ),
        (
            lambda: Yarn(2.0, beta_fast=1.0),
            "position.scaling.beta_fast must be a number above beta_slow (1) and of at most 1e6; got 1.0.",
        ),
        (
            lambda: Yarn(attention_factor=0.0),
            "position.scaling.attention_factor must be a finite number above 0, or null; got 0.0.",
        ),
        (
            lambda: Llama3Scaling(high_freq_factor=1.0),
            "position.scaling.high_freq_factor must be a finite number above low_freq_factor (1); got 1.0.",
        ),
        (
            lambda: Rope(base=1.0, scaling=Yarn()),
            "position.base must be a number above 1 with YaRN; got 1.0.",
        ),
        (lambda: DrawnTable(std=-1), "position.table.std must be a finite number of at least 0; got -1.0."),
        (
            lambda: T5Buckets(n_buckets=2),
            "position.n_buckets must be an even number of at least 4 in both directions; got 2.",
        ),
        (
            lambda: T5Buckets(n_buckets=5, bidirectional=False),
            "position.n_buckets must be an even number of at least 2; got 5.",
        ),
        (
            lambda: T5Buckets(max_distance=8),
            "position.max_distance must be above 8, the number of distances with their own bucket; got 8.",
        ),
        (
            lambda: T5Buckets(4, 9, table=written(5, 1)),
            "position.table.values must have 4 rows, one for each bucket; got 5 rows.",
        ),
        (
            lambda: small(position=T5Buckets(4, 9, table=written(4, 3))),
            "position.table.values must be 4x1 for these vectors and heads; got 4x3.",
        ),
        (lambda: Deberta(3), "position.span must be an even number of at least 2; got 3."),
        (
            lambda: Deberta(8, 5),
            "position.max_distance must be above 5 with 8 buckets on each side; got 5.",
        ),
        (
            lambda: small(position=TransformerXl(u=written(2, 4))),
            "position.u.values must be 1x4 for these vectors and heads; got 2x4.",
        ),
        (
            lambda: small(position=Deberta(4, 9, queries=written(4, 4))),
            "position.queries.values must be 8x4 for these vectors and heads; got 4x4.",
        ),
        (
            lambda: Learned(4, table=written(5, 6)),
            "position.length must be the number of rows of position.table.values (5); got 4.",
        ),
        (
            lambda: small(position=Learned(5, table=written(5, 4))),
            "position.table.values must be 5x6 for these vectors and heads; got 5x4.",
        ),
        (
            lambda: small(position=Learned(4)),
            "position.length must be at least 5 for a last token at position 4; got 4.",
        ),
        (
            lambda: small(position=Learned(6, start=2)),
            "position.length must be at least 7 for a last token at position 6; got 6.",
        ),
    ],
)
def test_illegal_values_are_refused_with_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).removeprefix("layers[0].") == sentence


def test_tokens_past_the_tables_end_are_refused_by_edits_and_by_decoding() -> None:
    full = small(position=Learned(5))
    with pytest.raises(
        ValueError, match=r"position\.length must be at least 6 for a last token at position 5; got 5\."
    ):
        edits.set_tokens(full, (*full.tokens, "more"))
    with pytest.raises(
        ValueError, match=r"position\.length must be at least 6 for a last token at position 5; got 5\."
    ):
        edits.set_n_tokens(full, 6)
    assert edits.set_n_tokens(full, 4).layers[0].position == Learned(5)
    assert len(decode(ENGINE, full).steps) == 5
    with pytest.raises(
        ValueError, match=r"position\.length must be at least 6 for a last token at position 5; got 5\."
    ):
        decode(ENGINE, full, 6)


# --- learned rows ----------------------------------------------------------------------------------


def test_a_learned_row_is_added_to_each_token_and_not_to_the_memory() -> None:
    table = written(9, 6)
    experiment = small(position=Learned(9, start=2, table=table))
    trace = run(ENGINE, experiment)
    np.testing.assert_array_equal(trace["x"] - trace["tokens_embedded"], table.values.array[2:7])
    np.testing.assert_array_equal(edits.added_position(sited(experiment), "tokens", 3), table.values.array[5])


def test_a_longer_drawn_table_begins_with_the_same_rows() -> None:
    short, long = (learned_table(Learned(n, table=DrawnTable(7, 0.02)), 6) for n in (8, 20))
    np.testing.assert_array_equal(short, long[:8])
    drawn = learned_table(Learned(5000, table=DrawnTable(7, 0.02)), 6)
    assert drawn.std() == pytest.approx(0.02, rel=0.02)


# --- edits keep explicit numbers fitting -------------------------------------------------------------


def test_written_tables_follow_features_and_heads() -> None:
    experiment = small(position=Learned(9, table=written(9, 6)))
    wider = edits.set_d_model(experiment, 8).layers[0].position
    assert isinstance(wider, Learned) and isinstance(wider.table, WrittenTable)
    assert wider.table.values.array[3].tolist() == [18, 19, 20, 21, 22, 23, 0, 0]
    biased = small(position=T5Buckets(4, 9, table=written(4, 1)))
    more = edits.set_heads(sited(biased), n_heads=3).position
    assert isinstance(more, T5Buckets) and isinstance(more.table, WrittenTable)
    assert more.table.values.array[3].tolist() == [3, 0, 0]


def test_tables_of_relative_positions_follow_features_and_heads(tmp_path: Any) -> None:
    xl = small(position=TransformerXl(weights=written(6, 4), v=written(1, 4)))
    more = edits.set_heads(sited(edits.set_d_model(xl, 7)), n_heads=2).position
    assert isinstance(more, TransformerXl) and isinstance(more.weights, WrittenTable)
    assert more.weights.values.shape == (7, 8) and more.u == TransformerXl().u
    assert isinstance(more.v, WrittenTable) and more.v.values.array.tolist() == [[0, 1, 2, 3], [0, 0, 0, 0]]
    deberta = small(position=Deberta(4, 9, keys=written(8, 4)))
    narrow = edits.set_heads(sited(deberta), d_head=2).position
    assert isinstance(narrow, Deberta) and isinstance(narrow.keys, WrittenTable)
    assert narrow.keys.values.array[7].tolist() == [28, 29]
    chosen = switching.set_position(sited(small(heads=Heads(2, 1, 4))), deberta.layers[0].position).position
    assert isinstance(chosen, Deberta) and isinstance(chosen.keys, WrittenTable)
    assert chosen.keys.values.shape == (8, 8)
    path = save(xl, tmp_path / "xl.safetensors")
    assert load(path).experiment == xl and b"position.weights" in path.read_bytes()


def test_choosing_a_learned_table_makes_it_long_enough() -> None:
    experiment = small()
    assert switching.set_position(sited(experiment), Learned(3)).position == Learned(5)
    chosen = switching.set_position(sited(experiment), Learned(3, start=1, table=written(3, 2))).position
    assert isinstance(chosen, Learned) and isinstance(chosen.table, WrittenTable)
    assert chosen.length == 6 and chosen.table.values.shape == (6, 6)
    assert switching.set_position(sited(experiment), Learned(99)).position == Learned(99)


def test_buckets_go_where_they_are_legal() -> None:
    start = small(position=T5Buckets())
    assert switching.set_buckets(sited(start), n_buckets=7).position == T5Buckets(6)
    assert switching.set_buckets(sited(start), n_buckets=1).position == T5Buckets(4)
    assert switching.set_buckets(sited(start), n_buckets=1, bidirectional=False).position == T5Buckets(
        2, 128, False
    )
    assert switching.set_buckets(sited(start), bidirectional=False).position == T5Buckets(32, 128, False)
    assert switching.set_buckets(sited(start), max_distance=1).position == T5Buckets(32, 9)
    assert switching.set_buckets(sited(start), n_buckets=600).position == T5Buckets(600, 151)
    tabled = small(position=T5Buckets(4, 9, table=written(4, 1)))
    fewer = switching.set_buckets(sited(tabled), n_buckets=6).position
    assert isinstance(fewer, T5Buckets) and isinstance(fewer.table, WrittenTable)
    assert fewer.table.values.array[:, 0].tolist() == [0, 1, 2, 3, 0, 0]


# --- RoPE ------------------------------------------------------------------------------------------


def test_yarn_lengthens_q_and_k_by_the_attention_factor() -> None:
    rope = Rope(scaling=Yarn(4.0, 30))
    trace = run(ENGINE, small(position=rope))
    ratio = np.linalg.norm(trace["q_rotated"], axis=-1) / np.linalg.norm(trace["q"], axis=-1)
    np.testing.assert_allclose(ratio, 1 + np.log(4.0) / 10, rtol=1e-12)
    assert magnitude(rope) == pytest.approx(1 + np.log(4.0) / 10)


def test_a_factor_of_one_is_no_scaling() -> None:
    plain = run(ENGINE, small(position=Rope()))["scores"]
    for scaling in (LinearScaling(1.0), DynamicNtk(1.0, 9), Yarn(1.0, 9), Llama3Scaling(1.0)):
        found = run(ENGINE, small(position=Rope(scaling=scaling)))["scores"]
        np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-13)


def test_decoding_past_the_tokens_fixes_the_length_of_dynamic_ntk() -> None:
    experiment = small(position=Rope(100.0, start=1, scaling=DynamicNtk(4.0, 4)))
    inside = decode(ENGINE, experiment)
    assert inside.experiment.layers[0].position == experiment.layers[0].position and inside.notices == (
        CHANGES["masks"],
    )
    longer = decode(ENGINE, experiment, 12)
    assert longer.experiment.layers[0].position == Rope(100.0, start=1, scaling=DynamicNtk(4.0, 4, length=13))
    assert str(longer.notices[1]).startswith("RoPE depends on the length: ")
    assert max(parity(longer, run(ENGINE, longer.experiment)).values()) < 1e-12
    # Freed again, the experiment has the tokens that make it as long: the same numbers.
    freed = with_fields(longer.experiment, position=experiment.layers[0].position)
    assert max(parity(longer, run(ENGINE, freed)).values()) < 1e-12
    assert not np.allclose(longer.steps[3].weights, inside.steps[3].weights, atol=1e-6)


# --- scalings and lengths --------------------------------------------------------------------------


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_a_scaling_is_fixed_to_the_length_that_its_frequencies_read(row: Any) -> None:
    for rope in reading_length(row):
        for n in (START, END, LONGEST):
            fixed = replace(rope, scaling=row.at_length(rope.scaling, rope.start + n))
            found = [frequencies(fixed, other) for other in (START, END, LONGEST)]
            assert found == [frequencies(rope, n)] * 3, (
                f"the frequencies of {row.id} depend on the length: {row.record.__name__} needs a field "
                "`length`, and its row in SCALINGS needs at_length=_own_length"
            )


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_decoding_past_the_length_of_a_scaling_equals_the_full_pass(row: Any) -> None:
    for rope in examples_of(row):
        decoding = decode(ENGINE, with_fields(experiment(**SHORT), position=rope), END)
        difference = max(parity(decoding, run(ENGINE, decoding.experiment)).values())
        assert difference < 1e-12, (
            f"{START} tokens, continued to {END} with {rope.scaling}, differ by {difference} from the full "
            f"pass: the frequencies of {row.id} must stay those of `length` (at_length=_own_length)"
        )
    crossed = any(reads_length(rope, END) for rope in examples_of(row))
    assert crossed or not reading_length(row), (
        f"POSITIONS in tests/cases.py needs an example of {row.record.__name__} whose frequencies differ "
        f"between {START} and {END} tokens, by an original length of 5 for instance"
    )


@pytest.mark.parametrize("row", SCALINGS, ids=lambda row: row.id)
def test_a_note_tells_what_the_fields_of_a_scaling_do_not_say(row: Any) -> None:
    """At which lengths the frequencies change, and that q and k grow."""
    for rope in reading_length(row):
        notes = [row.note(rotation_of(rope, n)) for n in (START, LONGEST)]
        assert "" not in notes and len(set(notes)) == 2, (
            f"the frequencies of {row.id} depend on the length: its row in SCALINGS needs a `note` that "
            f"tells how; got {notes}"
        )
    for rope in examples_of(row):
        grown, note = magnitude(rope), row.note(rotation_of(rope, END))
        assert grown == 1.0 or number(grown, 3) in note, (
            f"{row.id} multiplies cosines and sines by {number(grown, 3)}: its row in SCALINGS needs a "
            f"`note` that says so; got {note!r}"
        )


@pytest.mark.parametrize("fewer", [{}, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if STAGES_OF[changes(EXAMPLES[name])]])
def test_the_arithmetic_of_every_example_gives_its_numbers(name: str, fewer: dict[str, Any]) -> None:
    """Every column of the last row, in the stages that a position adds."""
    site = run(ENGINE, with_fields(experiment(**fewer), position=EXAMPLES[name])).only
    for stage in STAGES_OF[changes(EXAMPLES[name])]:
        *_heads, rows, columns = site.shape(stage)
        for column in range(columns):
            explanation = explain(site, Cell(stage, rows - 1, column, 0))
            assert explanation.value == pytest.approx(site.window(stage, 0)[-1, column], rel=1e-12)
            results = [(line.recomputed, line.value, line) for line in explanation.lines]
            results += [
                (worked_out(exact(step), maximum(line)), line.value, line)
                for line in explanation.lines
                for step in formulas(line)
            ]
            assert len(results) > len(explanation.lines)
            for result, value, line in results:
                assert result == pytest.approx(value, rel=1e-10, abs=1e-12), (
                    f"{name}: {plain(line.name)} is {value} in column {column} of {stage}; its line gives "
                    f"{result}: " + " = ".join(map(plain, line.steps))
                )


def test_added_rows_are_none_without_an_additive_position() -> None:
    for position in (NoPosition(), Rope(), Alibi(), T5Buckets()):
        assert added_rows(sited(small(position=position)), np.arange(3)) is None
    found = added_rows(sited(small(position=Sinusoidal())), np.array([0]))
    assert found is not None and found.tolist() == [[0, 1, 0, 1, 0, 1]]


def test_a_table_that_is_too_large_is_refused() -> None:
    tokens = ("a", "b")
    with pytest.raises(
        ValueError, match=r"position\.length must be at most 53,687 with 5000 columns; got 1000000\."
    ):
        one_layer(tokens, SeededVectors(2, 5000), heads=Heads(1, 1, 2), position=Learned(1_000_000))

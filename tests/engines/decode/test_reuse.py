"""Steps of an earlier decoding and numbers by hand, with every cache and position: as computed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS
from experiments import positions, small
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from stacks import stacks

from attnviz.engines import program
from attnviz.engines.decode.decodable import CHANGES
from attnviz.engines.decode.run import NOT_FINITE, Decoding, decode
from attnviz.engines.engine import Engine
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.parity import compare, compared
from attnviz.engines.run import run
from attnviz.engines.torch_engine import TorchEngine
from attnviz.errors import FieldError
from attnviz.model.caches import CACHE_BY_ID, CACHES, Cache, FullCache, RestartingCache, RingCache, SinkCache
from attnviz.model.edit.by_hand import as_text
from attnviz.model.masks import mask_of
from attnviz.model.positions import changes
from attnviz.model.sites.sites import at, places, record_at, site_names, with_records
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.edit import EDITABLE, FROM_LATENT, OPERATIONS, Edit
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.parts import Causal, ExplicitVectors, Heads, Painted, SeededVectors
from attnviz.model.spec.positions import Rope
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature
from attnviz.model.spec.scalings import DynamicNtk, LongRope, Yarn
from attnviz.model.stages import STAGE_BY_ID

MAKE = {"numpy": lambda: NumpyEngine("float64"), "torch": lambda: TorchEngine("float64")}
NAMES, ROWS = tuple("abcdefghijkl"), np.random.default_rng(5).standard_normal((12, 8))
MOST_SCORE = 1e4
"""Past it the exponential of the softmax enlarges the rounding of the scores."""


@st.composite
def caches(draw: st.DrawFn) -> Cache:
    """A cache of any kind, small enough to evict."""
    kind = draw(st.sampled_from(CACHES)).kind
    try:
        return kind(**{field: draw(st.sampled_from((1, 2, 3, 4, 8))) for field in kind.__struct_fields__})
    except FieldError:
        return kind()


@st.composite
def drawn_edits(draw: st.DrawFn, experiment: Experiment) -> Experiment:
    """The experiment with up to three numbers by hand more, at any stage of any site."""
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(site_names(experiment)))
        site = at(experiment, name)
        refused = () if site.latent is None else FROM_LATENT
        possible = [one for one in site_stages(site) if one in EDITABLE and one not in refused]
        stage = draw(st.sampled_from(possible))
        n_heads, _rows, n_columns = (1, *stage_shape(site, stage))[-3:]
        heads = st.sampled_from((None, *range(n_heads))) if STAGE_BY_ID[stage].per_head else st.none()
        edit = Edit(
            stage,
            draw(st.integers(0, experiment.n_queries + 2)),
            draw(st.sampled_from((-1.5, 0.0, 0.25, 2.0))),
            draw(st.sampled_from([row[0] for row in OPERATIONS])),
            draw(heads),
            draw(st.sampled_from((None, *range(n_columns + 2 * STAGE_BY_ID[stage].score_shaped)))),
        )
        edits = {"edits": (*site.edits, edit)}
        experiment = with_records(experiment, {site.place: edits}, {})
    return experiment


def with_text(experiment: Experiment, text: tuple[int, ...]) -> Experiment:
    """The experiment over these rows of `ROWS`."""
    vectors = ExplicitVectors(Matrix(ROWS[list(text), : experiment.d_embedding]))
    return replace(experiment, tokens=tuple(NAMES[row] for row in text), vectors=vectors)


@st.composite
def documents(draw: st.DrawFn) -> Experiment:
    """Any stack with numbers by hand, whose decoder has one of all positions; with or without a cache."""
    experiment = draw(stacks())
    fields = {}
    for place in places(experiment):
        record = record_at(experiment, place)
        if record.latent is None:
            fields[place] = {"position": draw(positions(record.heads.n_heads, record.heads.d_head))}
    experiment = with_records(experiment, fields, {})
    experiment = with_text(experiment, tuple(range(experiment.n_queries)))
    if draw(st.booleans()):
        stop = StopConditions(end_token=False, length=draw(st.integers(1, 4)))
        experiment = replace(
            experiment, writing=Writing(Sampling((Temperature(0.0),), stop=stop), draw(caches()))
        )
    return draw(drawn_edits(experiment))


@st.composite
def next_documents(draw: st.DrawFn, experiment: Experiment) -> Experiment:
    """A document after one act of a user: another text, other numbers by hand, another setting."""
    text = [NAMES.index(token) for token in experiment.tokens]
    act = draw(st.sampled_from(("grow", "change", "cut", "edit", "take", "temperature", "length", "nothing")))
    if act == "grow":
        text += draw(st.lists(st.integers(0, 11), min_size=1, max_size=3))
    elif act == "change":
        text[draw(st.integers(0, len(text) - 1))] = draw(st.integers(0, 11))
    elif act == "cut":
        del text[draw(st.integers(1, len(text))) :]
    elif act == "edit":
        return draw(drawn_edits(experiment))
    elif act == "take":
        place = draw(st.sampled_from(places(experiment)))
        return with_records(experiment, {place: {"edits": record_at(experiment, place).edits[:-1]}}, {})
    elif act == "temperature":
        place = draw(st.sampled_from(places(experiment)))
        return with_records(experiment, {place: {"temperature": 1.5}}, {})
    elif act == "length" and experiment.writing is not None:
        return replace(
            experiment,
            writing=replace(
                experiment.writing, sampling=Sampling((Temperature(0.0),), stop=StopConditions(length=2))
            ),
        )
    return with_text(experiment, tuple(text))


def with_evictions(decoding: Decoding) -> Experiment | None:
    """The experiment whose full pass equals a decoding: what its cache has evicted is painted as a mask.

    None if the cache changes the numbers that it keeps.
    """
    experiment = decoding.experiment
    cache = FullCache() if experiment.writing is None else experiment.writing.cache
    own = [place for place in places(experiment) if place.stack != "encoder" and place.kind == "self"]
    counting = [record_at(experiment, place) for place in own if cache.restarts]
    if any(one.position_temperature or changes(one.position) in ("rotation", "vectors") for one in counting):
        return None
    if type(cache) is CACHE_BY_ID["quantised"].kind:
        return None
    cells = []
    for query in range(experiment.n_queries):
        kept = {position for part in cache.kept(query + 1) for position in part}
        cells += [(query, key) for key in range(query + 1) if key not in kept]
    fields = {}
    for place in own if cells else ():
        masks = record_at(experiment, place).masks
        painted = mask_of(at(experiment, place.name), Painted) or Painted(())
        others = tuple(mask for mask in masks if mask is not painted)
        fields[place] = {"masks": (*others, Painted((*painted.cells, *cells)))}
    return with_records(experiment, fields, {})


def assert_same(one: Decoding, other: Decoding, tolerance: float) -> None:
    """All stages of all steps, and what is said about them."""
    for mine, theirs in zip(one.steps, other.steps, strict=False):
        if mine.token != theirs.token:  # rounding has chosen between equal logits
            last, first = np.sort(one.steps[mine.index - 1].logits)[-2:]
            assert first - last <= tolerance * max(1.0, abs(first))
            assume(False)
        assert (mine.prefill, mine.held_bytes, mine.read) == (theirs.prefill, theirs.held_bytes, theirs.read)
        for name, site in mine.sites.items():
            assert site.stages == theirs.site(name).stages
            for stage in site.stages:
                found = compare(site[stage], theirs.site(name)[stage])
                assume(found.size < MOST_SCORE)
                where = mine.index, name, stage, found
                assert found.difference <= tolerance * max(1.0, found.size), where
    assert len(one.steps) == len(other.steps)
    assert one.notices == other.notices and one.stopped == other.stopped


def check(engine: Engine, given_: Experiment, earlier: Decoding | None) -> Decoding:
    """A decoding that takes over what it can, beside one computed anew and beside the full pass."""
    made, anew = decode(engine, given_, earlier=earlier), decode(engine, given_)
    assert_same(made, anew, 1e-10)
    whole = with_evictions(made)
    if whole is not None and NOT_FINITE not in made.notices:
        found = compared(made, run(engine, whole))
        assume(all(one.size < MOST_SCORE for one in found.values()))
        apart = {s: one for s, one in found.items() if not one.difference <= 1e-10 * max(1.0, one.size)}
        assert not apart
    return made


def judge(engine: str, document: Experiment, data: st.DataObject) -> None:
    """A document and what two acts make of it, each decoded after the one before it."""
    made = None
    for _act in range(3):
        made = check(MAKE[engine](), document, made)
        document = data.draw(next_documents(document))


@pytest.mark.parametrize("engine", ENGINE_IDS)
@given(document=documents(), data=st.data())
def test_what_is_taken_over_is_what_would_be_computed(
    engine: str, document: Experiment, data: st.DataObject
) -> None:
    judge(engine, document, data)


# --- one by one ------------------------------------------------------------------------------------------


def plain(n: int, **changes: Any) -> Experiment:
    """The first `n` rows of `ROWS` as tokens, under a causal mask."""
    fields = {"heads": Heads(2, 1, 4), "masks": (Causal(),), **changes}
    return with_text(small(vectors=SeededVectors(5, 8, 0), **fields), tuple(range(n)))


def written(cache: Cache, length: int = 1) -> Writing:
    stop = StopConditions(end_token=False, length=length)
    return Writing(Sampling((Temperature(0.0),), stop=stop), cache)


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("cache", [RingCache(1), RingCache(2), SinkCache(1, 1)])
def test_a_mixture_by_hand_in_a_prompt_that_is_evicted_changes_its_own_token(
    cache: Cache, engine: str
) -> None:
    for position in range(4):
        one = plain(4, edits=(Edit("mixed", position, 9.0),), writing=written(cache))
        before = decode(MAKE[engine](), plain(4, writing=written(cache)))
        found = decode(MAKE[engine](), one)
        for index, (step, without) in enumerate(zip(found.steps, before.steps, strict=True)):
            wanted = np.full_like(without["mixed"], 9.0) if index == position else without["mixed"]
            np.testing.assert_array_equal(step["mixed"], wanted)


LENGTHENED = [DynamicNtk(4.0, 4), LongRope(3.0, (1.0, 1.5), (3.0, 5.0), 6)]


@pytest.mark.parametrize("scaling", LENGTHENED, ids=lambda one: type(one).__name__)
def test_steps_of_other_frequencies_are_computed_anew(scaling: Any) -> None:
    engine, position = MAKE["numpy"](), Rope(100.0, scaling=scaling)
    first = decode(engine, plain(6, position=position))
    longer = plain(8, position=position)
    again, anew = decode(engine, longer, earlier=first), decode(engine, longer)
    assert again.reused == 0
    for mine, theirs in zip(again.steps, anew.steps, strict=True):
        np.testing.assert_allclose(mine["weights"], theirs["weights"], atol=1e-14)


@pytest.mark.parametrize("stage", ["logits", "probabilities"])
def test_what_is_read_out_by_hand_stays_in_steps_that_are_taken_over(stage: str) -> None:
    engine, edit = MAKE["numpy"](), Edit(stage, 0, 1.5, column=0)
    first = decode(engine, plain(3, edits=(edit,)))
    again = decode(engine, plain(4, edits=(edit,)), earlier=first)
    assert again.reused == 3
    assert again.steps[0][stage][0] == 1.5


LATER = [
    Edit("weights", 1, 0.5, column=3),
    Edit("weights", 1, 0.5),
    Edit("weights", 1, 0.5, "add", head=1),
    Edit("masked", 1, 2.0, column=2),
    Edit("masked", 2, 0.7),
    Edit("masked", 2, 0.0, "scale"),
]


@pytest.mark.parametrize("engine", ENGINE_IDS)
@pytest.mark.parametrize("writing", [None, written(FullCache(), 3)], ids=["steps", "prompt"])
@pytest.mark.parametrize("edit", LATER, ids=as_text)
def test_numbers_of_later_keys_are_left_out_and_said(edit: Edit, writing: Any, engine: str) -> None:
    given_ = plain(5, edits=(edit,), writing=writing)
    decoding = decode(MAKE[engine](), given_)
    assert CHANGES["edits"] in decoding.notices and "edits" in decoding.changed
    found = compared(decoding, run(MAKE[engine](), decoding.experiment))
    assert max(one.difference for one in found.values()) < 1e-12
    whole = decode(MAKE[engine](), plain(5, writing=writing))
    row = decoding.steps[edit.position][edit.stage]
    wanted = np.array(whole.steps[edit.position][edit.stage])
    if edit.column is None:
        wanted = np.array([[edit.applied(value, 0) for value in head] for head in wanted])
        if edit.head is not None:
            wanted[0] = whole.steps[edit.position][edit.stage][0]
    np.testing.assert_allclose(row, wanted, atol=1e-13)


@pytest.mark.parametrize(
    "edit",
    [
        Edit("weights", 1, 0.5, column=1),
        Edit("weights", 1, 2.0, "scale"),
        Edit("weights", 1, 0.0),
        Edit("masked", 1, 2.0, "add"),
        Edit("scores", 1, 2.0),
        Edit("weights", 40, 0.5),
    ],
    ids=as_text,
)
def test_numbers_that_no_later_key_gets_stay_and_need_no_notice(edit: Edit) -> None:
    decoding = decode(MAKE["numpy"](), plain(5, edits=(edit,)))
    assert decoding.experiment.layers[0].edits == (edit,) and not decoding.changed
    found = compared(decoding, run(MAKE["numpy"](), decoding.experiment))
    assert max(one.difference for one in found.values()) < 1e-12


@pytest.mark.parametrize(("first", "then"), [(3, 5), (5, 3), (4, 4)])
def test_a_pass_that_counts_anew_takes_over_what_was_counted_alike(first: int, then: int) -> None:
    """Of a restarting cache: a token that was alone stood at 0, one of a prompt behind the others."""
    engine, writing = MAKE["numpy"](), written(RestartingCache(), 3)
    before, after = (plain(n, position=Rope(100.0), writing=writing) for n in (first, then))
    text = (*range(then - 1), 9)  # and its last token is another one
    for one in (after, with_text(after, text)):
        again, anew = decode(engine, one, earlier=decode(engine, before)), decode(engine, one)
        assert again.reused >= min(first, then) - 1
        for mine, theirs in zip(again.steps, anew.steps, strict=True):
            np.testing.assert_allclose(mine["scores"], theirs["scores"], atol=1e-13)


# --- what need not be computed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"position": Rope(100.0, scaling=DynamicNtk(4.0, 64))},
        {"position": Rope(100.0, scaling=LongRope(3.0, (1.0, 1.5), (3.0, 5.0), 64))},
        {"position": Rope(100.0, scaling=LongRope(3.0, (1.0, 1.5), (3.0, 5.0), 2))},
        {"position": Rope(100.0, scaling=DynamicNtk(4.0, 4, length=20))},
        {"position": Rope(100.0, scaling=Yarn(4.0, 8))},
        {"edits": (Edit("logits", 0, 1.5, column=0), Edit("weights", 1, 0.2, column=0))},
        {"edits": (Edit("weights", 1, 0.2),)},
    ],
)
@pytest.mark.parametrize("writing", [None, written(FullCache(), 3)], ids=["steps", "prompt"])
def test_a_token_more_is_one_query_more(
    writing: Any, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps before it are taken over where they have the same frequencies and numbers by hand."""
    engine = MAKE["numpy"]()
    first = decode(engine, plain(6, writing=writing, **changes))
    queries, attend = [], program.attend

    def counted(engine: Any, scoring: Any, features: Any, q_positions: Any, *rest: Any) -> Any:
        queries.extend(q_positions.tolist())
        return attend(engine, scoring, features, q_positions, *rest)

    monkeypatch.setattr(program, "attend", counted)
    again = decode(engine, plain(7, writing=writing, **changes), earlier=first)
    assert again.reused == 6 and queries == list(range(6, len(again.steps)))

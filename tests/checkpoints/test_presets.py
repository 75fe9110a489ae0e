"""Presets of the shipped model: what it reads and generates, and what its heads do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz import resources
from attnviz.analysis import head_scores
from attnviz.checkpoints.presets import LENGTH, PRESETS, load_preset, needs_model, preset_ids
from attnviz.model.edit.edits import set_tokens
from attnviz.model.io import presets as files
from attnviz.model.io.files import INLINE_NUMBERS, DocumentError, number_count
from attnviz.model.io.model_presets import MODEL, MODEL_PRESETS, ModelPreset
from attnviz.model.operands.matrices import token_ids, vectors_array
from attnviz.model.sites.sites import site_names
from attnviz.model.text import join_text, likely_splitting, split_text

IDS = [preset.id for preset in MODEL_PRESETS]
each = pytest.mark.parametrize("preset", MODEL_PRESETS, ids=IDS)


def measured() -> Any:
    return json.loads(resources.path("models", MODEL, "measures.json").read_text(encoding="utf-8"))


def test_all_presets_are_told_apart_and_stories_come_first() -> None:
    assert len(set(preset_ids())) == len(PRESETS) == len(MODEL_PRESETS) + len(files.PRESETS)
    assert preset_ids()[:2] == ("stories-en", "stories-zh")
    assert [needs_model(id_) for id_ in preset_ids()] == [True] * len(IDS) + [False] * len(files.PRESETS)
    assert load_preset("toy-attention") == files.load_preset("toy-attention")
    with pytest.raises(
        DocumentError,
        match=r"^preset must be one of .*; got 'nope'\.$",
    ):
        load_preset("nope")


@each
def test_a_story_is_the_prompt_read_by_the_model(preset: ModelPreset) -> None:
    document = load_preset(preset.id)
    experiment, known = document.experiment, document.experiment.vocabulary
    assert known is not None and document.title == preset.title
    assert (known.begin, known.end) == ("<|begin|>", "<|end|>") and experiment.tokens[0] == known.begin
    assert likely_splitting(experiment) == "model"
    assert join_text(experiment, experiment.tokens, "model") == preset.prompt
    rows = [token_ids(known)[token] for token in experiment.tokens]
    np.testing.assert_array_equal(vectors_array(experiment.vectors), known.embedding.array[rows])
    assert document.view.site in site_names(experiment)
    assert document.view.head < experiment.layers[0].heads.n_heads
    assert document.view.query < experiment.n_queries == document.view.step + 1
    assert number_count(experiment) > INLINE_NUMBERS  # such documents are saved as safetensors


REFERENCES = {
    "stories-name": {(" he", " Tom"), (" she", " Lily")},
    "stories-name-zh": {("他", "大"), ("他", "伟"), ("她", "佳")},
    "stories-owner": {(" She", " Lily"), (" her", " Lily")},
    "experts": {("she", "Lily")},
}


@pytest.mark.parametrize("preset_id", preset_ids())
def test_a_pronoun_refers_to_every_token_of_its_name(preset_id: str) -> None:
    experiment = load_preset(preset_id).experiment
    tokens, pairs = experiment.tokens, experiment.references
    found = {(tokens[pronoun], tokens[name]) for pronoun, name in pairs}
    assert found == REFERENCES.get(preset_id, set())
    for text, name in found:
        pronoun = tokens.index(text)
        assert {one for one, there in pairs if there >= 0 and tokens[one] == text} == {pronoun}
        assert {there for one, there in pairs if one == pronoun and tokens[there] == name} == {
            at for at, token in enumerate(tokens[:pronoun]) if token == name
        }


def best_head(score: str) -> tuple[str, int]:
    """The head that does a job best, as the model's own records say."""
    heads = [head for head in measured()["heads"] if head["layer"] is not None]
    best = max(heads, key=lambda head: float(head[score]))
    return f"layers.{best['layer']}.self", best["head"]


@pytest.mark.parametrize(
    ("preset_id", "score", "looked_at"),
    [
        ("stories-name", "named_most_en", " Lily"),
        ("stories-name-zh", "named_most_zh", "佳"),
        ("stories-count", "counted_en", " cat"),
        ("stories-induction", "induction", " box"),
        ("stories-owner", "thing_most_en", " old"),
    ],
)
def test_it_opens_on_the_head_that_was_measured(preset_id: str, score: str, looked_at: str) -> None:
    document = load_preset(preset_id)
    view, tokens = document.view, document.experiment.tokens
    assert (view.site, view.head) == best_head(score)
    row = attnviz.run(document.experiment).site(view.site)["weights"][view.head, view.query]
    assert tokens[int(row.argmax())] in looked_at
    places = [i for i in range(view.query) if tokens[i] in looked_at]
    assert row[places].sum() > 0.5, "more than on all others together"


def test_the_score_of_names_finds_the_head_that_was_measured() -> None:
    """The records are of the last token of held-out texts, before the name that comes next."""
    experiment = load_preset("stories-name").experiment
    last = tuple(pair for pair in experiment.references if pair[0] == experiment.n_queries - 1)
    found = head_scores(attnviz.run(replace(experiment, references=last)))["reference"]
    scores = {(site, head): value for site, row in found.items() for head, value in enumerate(row.tolist())}
    assert max(scores, key=scores.__getitem__) == best_head("named_right_en")


@pytest.mark.parametrize(
    ("preset_id", "word", "after"), [("stories-en", " yellow", " doll"), ("stories-zh", "小", "红")]
)
def test_in_a_story_the_head_finds_what_followed_a_word_before(preset_id: str, word: str, after: str) -> None:
    """As the caption says: at the second copy of a word, most weight goes to what followed the first."""
    document = load_preset(preset_id)
    view, decoding = document.view, attnviz.decode(document)
    assert (view.site, view.head) == best_head("induction")
    tokens = list(decoding.experiment.tokens)
    first = tokens.index(word)
    second = tokens.index(word, first + 1)
    row = decoding.steps[second].site(view.site)["weights"][view.head].ravel()
    assert int(row.argmax()) == first + 1 and tokens[first + 1] == after and row.max() > 0.5


def test_the_thing_is_that_of_the_person_who_is_meant() -> None:
    """As described: with the other pronoun the head attends to the other person's thing."""
    document = load_preset("stories-owner")
    text = "Tom had a red coin and Lily had an old flute. He showed us his"
    experiment = set_tokens(document.experiment, split_text(document.experiment, text, "model"))
    trace, view = attnviz.run(experiment), document.view
    row = trace.site(view.site)["weights"][view.head, view.query]
    assert experiment.tokens[int(row.argmax())] == " red" and row.max() > 0.5
    likeliest = trace.site("layers.3.self")["probabilities"][-1].argmax()
    assert experiment.vocabulary is not None and experiment.vocabulary.tokens[int(likeliest)] == " red"


@pytest.mark.parametrize(
    ("preset_id", "she", "he", "names"),
    [("stories-name", " she", " he", (" Lily", " Tom")), ("stories-name-zh", "她", "他", ("佳佳", "大伟"))],
)
def test_the_name_is_that_of_the_person_who_is_meant(
    preset_id: str, she: str, he: str, names: tuple[str, str]
) -> None:
    """As described: the other pronoun's row attends to the other name, which comes next."""
    document = load_preset(preset_id)
    assert document.experiment.tokens[-1] == she
    for pronoun, meant in zip((she, he), names, strict=True):
        experiment = set_tokens(document.experiment, (*document.experiment.tokens[:-1], pronoun))
        trace = attnviz.run(experiment)
        row = trace.site(document.view.site)["weights"][document.view.head, -1]
        places = [i for i, token in enumerate(experiment.tokens) if token in meant]
        assert int(row.argmax()) in places and row[places].sum() > 0.5
        likeliest = trace.site("layers.3.self")["probabilities"][-1].argmax()
        assert experiment.vocabulary is not None
        assert meant.startswith(experiment.vocabulary.tokens[int(likeliest)])


def test_what_is_counted_is_where_the_token_was() -> None:
    """As described, also with one cat less: the head attends to all earlier cats and to nothing else."""
    document = load_preset("stories-count")
    tokens = document.experiment.tokens
    places = [i for i, token in enumerate(tokens[:-1]) if token == " cat"]
    assert len(places) == 3 and tokens[-1] == " cat"
    for left in (3, 2):
        fewer = [" dog" if i in places[left:] else token for i, token in enumerate(tokens)]
        experiment = set_tokens(document.experiment, tuple(fewer))
        row = attnviz.run(experiment).site(document.view.site)["weights"][document.view.head, -1]
        assert row[places[:left]].sum() > 0.5 and int(row.argmax()) in places[:left]
        assert row[places[left:]].sum() < 0.05


@each
def test_it_writes_on_until_it_ends(preset: ModelPreset) -> None:
    experiment = load_preset(preset.id).experiment
    assert experiment.writing is not None
    decoding = attnviz.decode(experiment)
    written = [step.token for step in decoding.steps[experiment.n_queries :]]
    assert str(decoding.stopped) == "the end token was generated" and 5 <= len(written) < LENGTH
    text = join_text(experiment, tuple(written), "model")
    assert "⟨" not in text, "no bytes that are no character"
    again = attnviz.decode(load_preset(preset.id).experiment)
    assert [step.token for step in again.steps] == [step.token for step in decoding.steps]

"""Stop strings are looked for in the text that a reader sees, not in the names of tokens."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from attnviz.checkpoints.presets import load_preset
from attnviz.engines.decode.choice import Choice
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.pieces import byte_pairs
from attnviz.model.spec.sampling import Sampling, StopConditions


class Logits(dict):  # type: ignore[type-arg]
    """A step whose only stage is the logits of one certain token."""


def test_a_character_of_four_bytes_is_found_when_its_last_byte_is_written() -> None:

    experiment = load_preset("stories-zh").experiment
    vocabulary = experiment.vocabulary
    assert vocabulary is not None
    pairs = byte_pairs(vocabulary)
    assert pairs is not None
    ids = pairs.encode_inside("🙂")
    assert len(ids) == 4
    stop = StopConditions(end_token=False, length=50, strings=("🙂",))
    choice = Choice(replace(experiment, writing=Writing(Sampling((), 0, stop))), vocabulary.tokens)
    for place, id_ in enumerate(ids):
        assert choice.stopped is None
        logits = np.full(len(vocabulary.tokens), -np.inf)
        logits[id_] = 0.0
        step = Logits(logits=logits, probabilities=np.exp(logits))
        choice.after(experiment.n_queries - 1 + place, "?", step)  # type: ignore[arg-type]
    assert "🙂" in str(choice.stopped)

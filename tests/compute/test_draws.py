"""Several samples: each is the text that the document generates with that seed alone."""

from __future__ import annotations

import numpy as np

from attnviz.checkpoints.presets import load_preset
from attnviz.compute.draws import draws
from attnviz.compute.execute import execute_decoding
from attnviz.core.progress import Progress
from attnviz.model.edit.generation import set_seed


def test_a_draw_is_the_decoding_of_its_seed() -> None:
    experiment = load_preset("stories-en").experiment
    shares: list[float] = []
    first = execute_decoding(experiment)
    progress = Progress(lambda: None, shares.append)
    found = draws(experiment, (3, 4, 5), "numpy", "auto", progress, 0, first)
    assert [draw.seed for draw in found] == [3, 4, 5] and len({draw.tokens for draw in found}) > 1
    assert shares == sorted(shares) and shares[-1] <= 1
    for draw in found:
        alone = execute_decoding(set_seed(experiment, draw.seed))
        n_given = len(experiment.tokens)
        last = alone.steps[-1].next_token
        written = tuple(step.token for step in alone.steps[n_given:])
        assert draw.tokens == (written if last is None else (*written, last))
        for token, p, step in zip(draw.tokens, draw.probabilities, alone.steps[n_given - 1 :], strict=True):
            np.testing.assert_allclose(p, step.probabilities[alone.vocabulary.index(token)], rtol=1e-5)

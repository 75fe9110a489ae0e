"""What a view shows of a trace."""

from __future__ import annotations

from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import View, shown_head
from attnviz.model.stages import STAGE_BY_ID


def test_the_shown_head_of_keys_is_the_one_that_the_query_head_reads() -> None:
    experiment = load_preset("grouped-query").experiment
    assert (experiment.heads.n_heads, experiment.heads.n_kv_heads) == (8, 2)
    for head in range(8):
        view = View(head=head)
        assert shown_head(experiment, view, "weights") == head
        assert shown_head(experiment, view, "k") == head // 4
        assert shown_head(experiment, view, "tokens_embedded") == 0
    assert shown_head(experiment, View(head=99), "scores") == 7
    assert all(shown_head(experiment, View(), stage) == 0 for stage in STAGE_BY_ID)

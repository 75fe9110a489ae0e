"""The part of a trace that a view shows."""

from __future__ import annotations

from experiments import sited

from attnviz.model.io.presets import load_preset
from attnviz.model.spec.view import Cell, View, shown_head
from attnviz.model.stages import STAGE_BY_ID


def test_the_shown_head_of_keys_is_the_one_that_the_query_head_reads() -> None:
    experiment = load_preset("grouped-query").experiment
    assert (experiment.layers[0].heads.n_heads, experiment.layers[0].heads.n_kv_heads) == (8, 2)
    for head in range(8):
        view = View(head=head)
        assert shown_head(sited(experiment), view, "weights") == head
        assert shown_head(sited(experiment), view, "k") == head // 4
        assert shown_head(sited(experiment), view, "tokens_embedded") == 0
    assert shown_head(sited(experiment), View(head=99), "scores") == 7
    assert all(shown_head(sited(experiment), View(), stage) == 0 for stage in STAGE_BY_ID)


def test_a_locked_cell_of_a_stage_with_heads_follows_the_selected_head() -> None:
    document = load_preset("grouped-query")
    locked = {"weights": 5, "scores": 5, "k": 1, "v": 1, "attention_output": 0}
    for stage, head in locked.items():
        seen = document.looking(locked=Cell(stage, 1, 1, 0)).looking(head=5)
        assert seen.view.locked == Cell(stage, 1, 1, head)
    chosen = document.looking(locked=Cell("weights", 1, 1, 2), head=5)
    assert chosen.view.locked == Cell("weights", 1, 1, 2), "what is locked with the head stays as it is"
    elsewhere = Cell("weights", 1, 1, 0, site="layers.7.self")
    assert document.looking(locked=elsewhere).looking(head=5).view.locked == elsewhere


def test_a_range_belongs_to_a_kind_of_stage() -> None:
    view = View()
    view = View(ranges=view.with_range("scores", "symmetric"))
    view = View(ranges=view.with_range("norm_1", "log"))
    for stage in STAGE_BY_ID.values():
        expected = {"scores": "symmetric", "features": "log", "weights": "head"}[stage.kind]
        assert view.range_of(stage.id) == expected
        assert stage.signed == (stage.kind != "weights")

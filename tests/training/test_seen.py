"""The sentence of a run, on measures whose heads are known."""

from __future__ import annotations

from two_layers import model

from attnviz.training.record import Measures
from attnviz.training.seen import Birth, births, sentence

FIRST, SECOND = SITES = ("layers.0.self", "layers.1.self")


def measured(step: int, previous: tuple[float, float], induction: tuple[float, float]) -> Measures:
    """The scores of one head of each layer."""
    both = {"previous": previous, "induction": induction}
    scores = {
        (id_, site, 0): value for id_, row in both.items() for site, value in zip(SITES, row, strict=True)
    }
    return Measures(step, 1.0, 0.5, 0.5, scores)


RUN = (
    measured(0, (0.1, 0.1), (0.1, 0.1)),
    measured(10, (0.4, 0.1), (0.1, 0.1)),
    measured(20, (0.2, 0.1), (0.1, 0.1)),
    measured(30, (0.5, 0.1), (0.1, 0.5)),
    measured(40, (0.5, 0.1), (0.1, 0.7)),
    measured(50, (0.5, 0.1), (0.1, 0.9)),
)


def test_a_layer_is_named_with_the_step_from_which_on_its_score_stays() -> None:
    assert births(RUN, SITES) == (Birth(FIRST, 30), Birth(SECOND, 40))
    assert sentence(model(), RUN, SITES) == (
        "Layer 1 attends to the word before (from step 30 on); layer 2 finds what followed (from step 40 on)."
    )


def test_without_induction_only_the_first_layer_is_named() -> None:
    assert births(RUN[:4], SITES) == (Birth(FIRST, 30), None)
    assert sentence(model(), RUN[:4], SITES).startswith(
        "Layer 1 attends to the word before (from step 30 on); no"
    )


def test_what_fell_again_is_not_seen() -> None:
    assert births(RUN[:3], SITES) == (None, None)
    assert sentence(model(), RUN[:3], SITES).startswith("No head attends to the word before")


def test_induction_in_the_layer_of_the_previous_token_does_not_count() -> None:
    alone = (measured(10, (0.5, 0.1), (0.9, 0.1)),)
    assert births(alone, SITES) == (Birth(FIRST, 10), None)


def test_a_score_without_meaning_is_not_above() -> None:
    nan = float("nan")
    assert births((measured(10, (nan, nan), (nan, nan)),), SITES) == (None, None)


def test_before_the_first_step_nothing_is_learned() -> None:
    assert sentence(model(), RUN[:1], SITES).startswith("Nothing is learned yet")

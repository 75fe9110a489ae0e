"""Stages that fold behind a tile where the strip has no room for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

FOLDS: tuple[tuple[str, ...], ...] = (
    (
        "attention_dropped",
        "attention_normed",
        "residual_1",
        "norm_2",
        "router",
        "routing",
        "ffn_gate",
        "ffn_up",
        "ffn_gate_routed",
        "ffn_up_routed",
        "ffn_hidden",
        "ffn_routed",
        "ffn_output",
        "ffn_dropped",
        "ffn_normed",
        "residual_2",
    ),
    ("transform", "transform_hidden", "transform_normed"),
    ("x", "x_normed", "x_projected", "norm_1"),
    ("q_latent", "q_latent_normed"),
    ("latent_projected", "latent", "rope_key"),
    ("q_normed", "k_normed"),
    ("mixed_normed", "gate", "gated"),
    ("concatenated",),
    ("relative", "capped", "biased", "added"),
    ("dropped", "combined"),
    ("k", "v", "v_rotated"),
    ("output", "logits"),
    ("scaled",),
)
"""Groups of stages, the first to fold first."""

LAST_FOLDS: tuple[tuple[str, ...], ...] = (
    ("memory",),
    ("masked",),
    ("q_rotated", "q_tempered", "k_rotated"),
    ("q",),
    ("scores",),
    ("mixed",),
)
"""Groups that fold in a very narrow strip; the stages of neither table always stand in it."""

Run = tuple[str, ...]
"""One place of the strip: a stage alone, or the stages behind a tile."""


def runs(stages: Sequence[str], folded: Iterable[str]) -> tuple[Run, ...]:
    """The places of the strip: neighbours that are folded share one."""
    hidden, made, is_open = set(folded), list[Run](), False
    for stage in stages:
        if stage in hidden and is_open:
            made[-1] = (*made[-1], stage)
        else:
            made.append((stage,))
        is_open = stage in hidden
    return tuple(made)


def fold(
    stages: Sequence[str], measure: Callable[[frozenset[str]], int], room: int, kept: Iterable[str]
) -> frozenset[str]:
    """The stages to fold so that the strip fits into `room` pixels; `kept` ones stay.

    `measure` returns the width of the strip with some stages folded. A group folds as a whole; a stage alone
    behind a tile saves little, so that comes last.
    """
    folded: frozenset[str] = frozenset()
    for groups, may_be_alone in ((FOLDS, False), (FOLDS, True), (LAST_FOLDS, True)):
        for group in groups:
            width = measure(folded)
            if width <= room:
                return folded
            more = folded | (frozenset(group) & frozenset(stages)) - frozenset(kept)
            if not may_be_alone:
                more -= {run[0] for run in runs(stages, more) if len(run) == 1}
            if measure(more) < width:
                folded = more
    return folded

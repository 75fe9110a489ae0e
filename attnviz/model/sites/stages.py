"""The stages of a site, before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from attnviz.model.memo import WeakMemo
from attnviz.model.operands.matrices import output_tokens
from attnviz.model.spec.site import Site, experts_of
from attnviz.model.stages import STAGE_BY_ID

Stages = tuple[str, ...]


@WeakMemo
def site_stages(site: Site) -> Stages:
    """Ids of all stages that a site computes, in the order of its trace."""
    numbers = {stage: number for number, stage in enumerate(STAGE_BY_ID)}
    places = []
    for stage, row in STAGE_BY_ID.items():
        if row.is_in(site):
            after = row.after(site.layer)
            places.append((numbers[after or stage], bool(after), numbers[stage], stage))
    return tuple(stage for *_place, stage in sorted(places))


def map_of(present: Stages) -> str:
    """The stage that is the map: the coefficients with which the queries mix the values."""
    return _maps(present)[-1]


def raw_map_of(present: Stages) -> str:
    """The map as it is before a dropout or a difference: what panels open with and studies measure."""
    return _maps(present)[0]


def _maps(present: Stages) -> Stages:
    return tuple(stage for stage in present if STAGE_BY_ID[stage].phase == "weights")


def score_stages(site: Site) -> Stages:
    """Ids of the score-shaped stages that a site computes, in order."""
    return tuple(stage for stage, row in STAGE_BY_ID.items() if row.score_shaped and row.is_in(site))


def token_stages(site: Site) -> Stages:
    """Ids of the stages of a site whose heads have a matrix for each token."""
    return tuple(stage for stage, row in STAGE_BY_ID.items() if row.by_token and row.is_in(site))


@dataclass(frozen=True)
class AxisRow:
    """One axis: its length in a stage of a site, and its labels; None: numbers alone."""

    length: Callable[[Site, str], int]
    labels: Callable[[Site], tuple[str, ...]] | None = None


def stage_shape(site: Site, stage: str) -> tuple[int, ...]:
    """Public shape of a stage of a site."""
    return tuple(AXES[axis].length(site, stage) for axis in STAGE_BY_ID[stage].axes)


def n_matrices(site: Site, stage: str) -> int:
    """The number of matrices (row, column) of a stage: one for each head, perhaps for each of its tokens."""
    return math.prod(stage_shape(site, stage)[:-2])


def head_and_token(site: Site, stage: str, matrix: int) -> tuple[int, int]:
    """The head of a matrix of a stage, and its token where each has one; 0 without them."""
    return divmod(matrix, stage_shape(site, stage)[1]) if STAGE_BY_ID[stage].by_token else (matrix, 0)


def has_names(axis: str) -> bool:
    """True for an axis of tokens or experts; False if it has numbers alone."""
    return AXES[axis].labels is not None


def axis_labels(site: Site, axis: str) -> tuple[str, ...]:
    """Labels of an axis. Raises `KeyError` if it has numbers alone."""
    labels = AXES[axis].labels
    if labels is None:
        raise KeyError(f"axis is {axis!r}; only tokens have names")
    return labels(site)


_OWN = AxisRow(lambda site, stage: site.n_queries, lambda site: site.tokens)
_READ = AxisRow(lambda site, stage: site.n_keys, lambda site: site.key_tokens)

AXES: dict[str, AxisRow] = {
    "head": AxisRow(lambda site, stage: site.heads.n_heads),
    "kv_head": AxisRow(lambda site, stage: site.heads.n_kv_heads),
    "token": _OWN,
    "query": _OWN,
    "key": _READ,
    "memory": _READ,
    "feature": AxisRow(lambda site, stage: STAGE_BY_ID[stage].width(site)),
    "key_feature": AxisRow(lambda site, stage: site.d_qk),
    "vocabulary": AxisRow(lambda site, stage: len(output_tokens(site)), output_tokens),
    "expert": AxisRow(
        lambda site, stage: experts_of(site.layer).n_columns, lambda site: experts_of(site.layer).names
    ),
}

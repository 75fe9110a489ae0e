"""From a site to its operands on an engine: the one place where a run asks the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnviz.engines import operands
from attnviz.engines.engine import Engine
from attnviz.engines.in_file import InFile
from attnviz.engines.operands import Operands, Scoring
from attnviz.engines.sight import Masks
from attnviz.model.binding import bind
from attnviz.model.memo import WeakMemo
from attnviz.model.operands.matrices import compared_vectors, vectors_array
from attnviz.model.sites.stages import score_stages, site_stages, token_stages
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.weights import WEIGHT_BY_PATH, Weight, weights_of
from attnviz.operations.logits import VECTORS
from attnviz.operations.operation import Operation
from attnviz.operations.products import Mixture

LATEST = 4
"""Experiments whose operands are at hand: those of an undo history would fill the memory."""


def operands_of(engine: Engine, experiment: Experiment, site: Site) -> Operands:
    """The operands of a site of an experiment, the same for every run while it is one of the latest."""
    known, key = _known(experiment), (site.place, engine.name, engine.device, engine.dtype)
    found = known.get(key)
    if found is None:
        found = known[key] = resolve(engine, site)
    return found


def _nothing(experiment: Experiment) -> dict[Any, Operands]:
    return {}


_known = WeakMemo(_nothing, LATEST)


def resolve(engine: Engine, site: Site) -> Operands:
    """All that a pass through a site needs, on the engine."""
    memory, stages = site.memory, site_stages(site)
    made = {stage: bind(site, stage) for stage in stages}
    rows = [row for operation in made.values() for row in operation.rows]
    paths = [path for operation in made.values() for path in operation.matrices]
    weights = [weight for path in paths if (weight := WEIGHT_BY_PATH.get(path)) and not weight.passes(site)]
    matrices = {weight.path: _of_weight(engine, site, weight) for weight in weights}
    if VECTORS in paths:
        matrices[VECTORS] = engine.xp.matrix_transpose(engine.asarray(compared_vectors(site)))
    return Operands(
        vectors=engine.asarray(vectors_array(site.vectors)) if site.inputs.begins else None,
        memory=None if memory is None else engine.asarray(vectors_array(memory.vectors)),
        scoring=scoring_of(site, made),
        stages=stages,
        operations=made,
        rows={row.path: engine.asarray(row.numbers()) for row in rows},
        matrices=matrices,
    )


def rebound(engine: Engine, operands: Operands, site: Site, numbers: Mapping[str, NDArray[Any]]) -> Operands:
    """The operands of a site with other numbers in some weights: (rows, columns), by the paths of `WEIGHTS`.

    A matrix tied to another one follows it. Weights of which functions are made, tables of positions and
    numbers of scores, are resolved anew. Raises `KeyError` for a weight that the site does not use.
    """
    numbers = {path: np.ascontiguousarray(one) for path, one in numbers.items()}  # as a document has them
    held = operands.rows.keys() | {path for one in operands.operations.values() for path in one.matrices}
    others = [path for path in numbers if path not in held]
    if others:
        used = {weight.path: weight for weight in weights_of(site)}
        for path in others:
            site = used[path].put(site, numbers[path])
        operands = resolve(engine, site)
    rows = {path: engine.asarray(numbers[path][0]) for path in numbers if path in operands.rows}
    matrices = {path: engine.asarray(numbers[path]) for path in numbers if path in held - rows.keys()}
    for path in (held & WEIGHT_BY_PATH.keys()) - numbers.keys():
        to, transposes = WEIGHT_BY_PATH[path].follows(site)
        if to in matrices:
            matrices[path] = engine.asarray(numbers[to].T if transposes else numbers[to])
    return replace(operands, rows={**operands.rows, **rows}, matrices={**operands.matrices, **matrices})


def _of_weight(engine: Engine, site: Site, weight: Weight) -> operands.Matrix:
    """A matrix on the engine; of one in a file, where it lies."""
    written, transposes = weight.stored(site)
    if written is not None and written.lies_in_file:
        return InFile(engine, written, transposes)
    return engine.asarray(weight.array(site))


def scoring_of(site: Site, made: Mapping[str, Operation]) -> Scoring:
    """The functions from a site's queries and keys to weights, of the operations that its stages have."""
    is_before = site.mask_placement == "before_softmax"
    stages = score_stages(site)
    return Scoring(
        stages=stages,
        n_kv_heads=site.heads.n_kv_heads,
        group_size=site.heads.group_size,
        operations={stage: made[stage] for stage in stages},
        masks=Masks(site.masks, site.query_offset),
        # The mixture of two heads follows that of all tiles, so that each has all keys.
        spares_keys=bool(site.masks) and is_before and site.mask_bias is None and site.differential is None,
        mixture=cast(Mixture, made["mixed"]),
        states={stage: made[stage] for stage in token_stages(site)},
    )

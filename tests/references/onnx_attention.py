"""ONNX Attention in terms of attnviz: one experiment for each batch element.

What is converted:

- A boolean mask allows where it is True; attnviz blocks where a mask is True.
- -inf in a float mask, and the columns that a short mask does not reach, become padding where a whole
  column is blocked and paint where single cells are.
- Finite numbers in a float mask are *added* to the scaled scores. attnviz has no such bias, but adding is
  what a dot product does: query i gets a one at extra feature i, and key j the number to add there,
  divided by the scale. After a soft cap nothing can be added, and the adapter refuses.
- A mask that differs between heads means one experiment for each query head with its key/value head.
- Cached keys come first, so that queries stand at positions from the length of the cache on.
  `nonpad_kv_seqlen` is a padding mask, and queries are the last ones before the padding.
- Values of another width than keys are filled up with zero features, and the scale is stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments import sited
from first_layer import stacked
from numpy.typing import NDArray
from references.onnx_cases import NodeCase

from attnviz.engines import program, projecting
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.resolution import resolve
from attnviz.engines.run import run
from attnviz.engines.windows import ScoreWindows
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    Causal,
    Explicit,
    ExplicitVectors,
    Heads,
    Mask,
    Memory,
    Padding,
    Painted,
    Projections,
    ScaleValue,
    Window,
)
from attnviz.model.spec.site import Site

Array = NDArray[Any]

UNBOUNDED = 1_000_000
"""Keys on a side of a window that ends nowhere."""


class NotExpressibleError(Exception):
    """attnviz has no such computation; the message says what is missing."""


@dataclass(frozen=True)
class Problem:
    """Attention of one batch element, or of one head of it, in attnviz's terms."""

    q: Array  # (head, query, feature)
    k: Array  # (kv_head, key, feature)
    v: Array
    bias: Array  # (query, key), finite, what is added to the scaled scores
    masks: tuple[Mask, ...]
    offset: int  # position of the first query
    scale: float
    cap: float | None


@dataclass(frozen=True)
class Solution:
    """`mixed` (head, query, feature), and the named score-shaped stages, each (head, query, key)."""

    mixed: Array
    stages: dict[str, Array]


def outputs(case: NodeCase, engine: Engine) -> dict[str, Array]:
    """Everything that the case expects, by output name, computed by attnviz."""
    q, k, v = (_heads_apart(case, name) for name in ("Q", "K", "V"))
    if "past_key" in case.inputs:
        k = np.concatenate((case.inputs["past_key"], k), axis=2)
        v = np.concatenate((case.inputs["past_value"], v), axis=2)
    found = [_element(case, engine, index, q, k, v) for index in range(len(q))]
    y = np.stack([one["Y"] for one in found])
    if case.inputs["Q"].ndim == 3:
        y = y.transpose(0, 2, 1, 3).reshape(*y.shape[:1], y.shape[2], -1)
    named = {"Y": y, "present_key": k, "present_value": v}
    if "qk_matmul_output" in case.outputs:
        named["qk_matmul_output"] = np.stack([one["qk"] for one in found])
    return {name: named[name] for name in case.outputs}


def _heads_apart(case: NodeCase, name: str) -> Array:
    """(batch, head, token, feature) of an input that may have its heads side by side."""
    array = case.inputs[name]
    if array.ndim == 4:
        return array
    n_heads = case.attributes["q_num_heads" if name == "Q" else "kv_num_heads"]
    apart = array.reshape(*array.shape[:2], n_heads, -1)
    return apart.transpose(0, 2, 1, 3)


def _element(case: NodeCase, engine: Engine, index: int, q: Array, k: Array, v: Array) -> dict[str, Array]:
    added = _added(case, (*q.shape[:3], k.shape[2]))[index]
    group_size = q.shape[1] // k.shape[1]
    if np.array_equal(added, np.broadcast_to(added[:1], added.shape)):
        parts = [_problem(case, index, q[index], k[index], v[index], added[0])]
    else:
        parts = []
        for head in range(q.shape[1]):
            shared = slice(head // group_size, head // group_size + 1)
            parts.append(
                _problem(
                    case, index, q[index, head : head + 1], k[index, shared], v[index, shared], added[head]
                )
            )
    solved = [solve(part, engine, case) for part in parts]
    found = {"Y": np.concatenate([one.mixed for one in solved])}
    if "qk_matmul_output" in case.outputs:
        found["qk"] = np.concatenate([_qk_output(case, one) for one in solved])
    return found


def _added(case: NodeCase, shape: tuple[int, ...]) -> Array:
    """The mask as numbers to add, (batch, head, query, key): 0 or -inf where it was boolean."""
    mask = case.inputs.get("attn_mask")
    if mask is None:
        return np.zeros(shape)
    if mask.dtype == np.bool_:
        mask = np.where(mask, 0.0, -np.inf)
    missing = [(0, 0)] * (mask.ndim - 1) + [(0, shape[-1] - mask.shape[-1])]
    return np.broadcast_to(np.pad(mask.astype(np.float64), missing, constant_values=-np.inf), shape)


def _problem(case: NodeCase, index: int, q: Array, k: Array, v: Array, added: Array) -> Problem:
    attributes, inputs = case.attributes, case.inputs
    n_queries = len(added)
    lengths = inputs.get("nonpad_kv_seqlen")
    offset = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    masks: list[Mask] = []
    if attributes.get("is_causal"):
        masks.append(Causal())
    left, right = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    if left >= 0 or right >= 0:
        masks.append(Window(left if left >= 0 else UNBOUNDED, right if right >= 0 else UNBOUNDED))
    if lengths is not None and masks:  # without these, nobody asks where the queries stand
        offset = int(lengths[index]) - n_queries
    hidden = np.isneginf(added)
    nobody_sees = hidden.all(axis=0)
    cells = np.argwhere(hidden & ~nobody_sees) + (offset, 0)
    if lengths is not None:
        nobody_sees[int(lengths[index]) :] = True
    if nobody_sees.any():
        masks.append(Padding(tuple(np.flatnonzero(nobody_sees).tolist())))
    if len(cells):
        masks.append(Painted(tuple((int(query), int(key)) for query, key in cells)))
    cap = attributes.get("softcap") or None
    bias = np.where(hidden, 0.0, added)
    if cap is not None and bias.any():
        raise NotExpressibleError("finite numbers added between the soft cap and the softmax")
    scale = attributes.get("scale", q.shape[-1] ** -0.5)
    return Problem(q, k, v, bias, tuple(masks), offset, scale, cap)


def _qk_output(case: NodeCase, solution: Solution) -> Array:
    """The scores or weights that the case asks to see."""
    mode = case.attributes.get("qk_matmul_output_mode", 0)
    stages = solution.stages
    if mode == 3:
        return stages["weights"]
    if mode == 2:
        return stages.get("masked", stages.get("capped", stages["scaled"]))
    return stages["capped"] if mode == 1 and "capped" in stages else stages["unbiased"]


# --- one problem on attnviz ------------------------------------------------------------------------


def solve(problem: Problem, engine: Engine, case: NodeCase) -> Solution:
    """Run the program; where queries start at position 0 also through the public run, which must agree."""
    experiment = experiment_of(problem)
    solution = _by_program(problem, experiment, engine)
    if problem.offset == 0:
        trace = run(engine, experiment)
        width = problem.v.shape[-1]
        np.testing.assert_array_equal(trace["mixed"][..., :width], solution.mixed)
        np.testing.assert_array_equal(trace["weights"], solution.stages["weights"])
    if "qk_matmul_output" in case.outputs:
        plain = experiment_of(Problem(**{**vars(problem), "bias": np.zeros_like(problem.bias)}))
        solution.stages["unbiased"] = _by_program(problem, plain, engine).stages["scaled"]
    return solution


def experiment_of(problem: Problem) -> Experiment:
    """Queries are the token vectors, keys and values side by side are the memory's vectors."""
    q, k = _with_bias(problem)
    width = max(q.shape[-1], problem.v.shape[-1])
    q, k, v = (_filled(x, width) for x in (q, k, problem.v))
    keys_and_values = np.concatenate((_side_by_side(k), _side_by_side(v)), axis=1)
    n_kv = len(k) * width
    first = np.concatenate((np.eye(n_kv), np.zeros((n_kv, n_kv))))
    return stacked(
        tokens=("q",) * q.shape[1],
        vectors=ExplicitVectors(Matrix(_side_by_side(q))),
        memory=Memory(("k",) * k.shape[1], ExplicitVectors(Matrix(keys_and_values))),
        heads=Heads(len(q), len(k), width),
        projections=Projections(
            key=Explicit(Matrix(first)), value=Explicit(Matrix(np.roll(first, n_kv, axis=0)))
        ),
        scale=ScaleValue(problem.scale),
        cap=problem.cap,
        masks=problem.masks,
    )


def _with_bias(problem: Problem) -> tuple[Array, Array]:
    """q and k whose scaled dot products have the bias in them."""
    q, k = problem.q.astype(np.float64), problem.k.astype(np.float64)
    if not problem.bias.any():
        return q, k
    n_queries = q.shape[1]
    marks = np.broadcast_to(np.eye(n_queries), (len(q), n_queries, n_queries))
    numbers = np.broadcast_to(problem.bias.T / problem.scale, (len(k), k.shape[1], n_queries))
    return np.concatenate((q, marks), axis=-1), np.concatenate((k, numbers), axis=-1)


def _filled(x: Array, width: int) -> Array:
    return np.pad(x, ((0, 0), (0, 0), (0, width - x.shape[-1])))


def _side_by_side(x: Array) -> Array:
    """(head, token, feature) -> (token, head · feature)."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1).astype(np.float64)


def _by_program(problem: Problem, experiment: Experiment, engine: Engine) -> Solution:
    """The program at the positions of a cache: queries from `offset` on, keys from 0 on."""
    assert isinstance(experiment.vectors, ExplicitVectors) and experiment.memory is not None
    assert isinstance(experiment.memory.vectors, ExplicitVectors)
    q_positions = np.arange(experiment.n_queries) + problem.offset
    k_positions = np.arange(sited(experiment).n_keys)
    x = engine.asarray(experiment.vectors.values.array)
    memory = engine.asarray(experiment.memory.vectors.values.array)
    with engine.active():
        return _attend(problem, sited(experiment), engine, x, memory, q_positions, k_positions)


def _attend(
    problem: Problem,
    site: Site,
    engine: Engine,
    x: Any,
    memory: Any,
    q_positions: NDArray[np.int64],
    k_positions: NDArray[np.int64],
) -> Solution:
    features, operands = Features(), resolve(engine, site)
    features.add("tokens_embedded", x)
    features.add("memory", memory)
    projecting.query_heads(engine, operands, features, q_positions)
    projecting.key_value_heads(engine, operands, features, k_positions)
    attended, scores = program.attend(engine, operands.scoring, features, q_positions, k_positions)
    windows = ScoreWindows(engine, operands.scoring, scores)
    n_heads = site.heads.n_heads

    def heads_first(array: Any) -> Array:
        found = engine.to_numpy(array)
        return found.reshape(n_heads, *found.shape[2:])

    stages = {"weights": heads_first(attended.weights)}
    whole = slice(None)
    for stage in operands.scoring.stages:
        if stage != "weights":
            rows = [windows.window(stage, head, whole, whole) for head in range(n_heads)]
            stages[stage] = np.stack([engine.to_numpy(row) for row in rows])
    return Solution(heads_first(attended.mixed)[..., : problem.v.shape[-1]], stages)

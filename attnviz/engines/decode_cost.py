"""What one decoding step costs with a cache of keys and values, and without one: exact counts.

Written for one attention, step t counted from 1, H query heads, G key/value heads of d features, vectors
of d_model features, `itemsize` bytes a number; a row is the K and V of one position, 2·G·d numbers.

Self-attention at step t                 with a cache            without (all t tokens again)
    K/V projections, in tokens           1                       t
    score pairs (query, key), per head   t                       t(t+1)/2
    rows moved (written + read)          1 + t                   t + t
    rows held after the step             t                       0

Cross-attention over M memory tokens, cached before step 1 and counted there
    K/V projections, in tokens           M at step 1, then 0     M
    score pairs (query, key), per head   M                       t·M
    rows moved (written + read)          2M at step 1, then M    M + M
    rows held after the step             M                       0

Bytes are rows times 2·G·d·itemsize. FLOPs count a multiplication and an addition as two: 2·d_model·H·d for q
and as many for the output of each query token, 2·d_in·G·d for k and for v of each projected token (d_in: the
width of what K and V are made from); an identity costs nothing; 4·d + 5 for each score pair and query head
(q·k, weight·v, softmax). Pairs that the causal mask blocks are not counted: a kernel that computes them in
order to throw them away does t² instead of t(t+1)/2. Over T steps, without a cache, the pairs come to
T(T+1)(T+2)/6 and the projections to T(T+1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.model.experiment import Experiment
from attnviz.model.materialise import is_identity
from attnviz.model.parts import Role


@dataclass(frozen=True)
class Cost:
    """Counts of one step, or of several added up (`bytes_held` is then that of the last)."""

    kv_projections: int = 0
    score_pairs: int = 0
    bytes_moved: int = 0
    bytes_held: int = 0
    flops: int = 0

    def then(self, later: Cost) -> Cost:
        """This and a later step together."""
        return Cost(
            self.kv_projections + later.kv_projections,
            self.score_pairs + later.score_pairs,
            self.bytes_moved + later.bytes_moved,
            later.bytes_held,
            self.flops + later.flops,
        )


def step_costs(experiment: Experiment, step: int, itemsize: int) -> tuple[Cost, Cost]:
    """(with a cache, without one) of decoding step `step`, counted from 0; formulas above."""
    t = step + 1
    memory = None if experiment.memory is None else experiment.n_keys
    if memory is None:
        projected, pairs, read, held = 1, t, t, t
        projected_again, pairs_again = t, t * (t + 1) // 2
    else:
        projected, pairs, read, held = (memory if step == 0 else 0), memory, memory, memory
        projected_again, pairs_again = memory, t * memory
    row = 2 * experiment.heads.n_kv_heads * experiment.heads.d_head * itemsize
    cached = Cost(
        projected, pairs, (projected + read) * row, held * row, _flops(experiment, 1, projected, pairs)
    )
    uncached = Cost(
        projected_again,
        pairs_again,
        2 * projected_again * row,
        0,
        _flops(experiment, t, projected_again, pairs_again),
    )
    return cached, uncached


def _flops(experiment: Experiment, query_tokens: int, kv_tokens: int, pairs: int) -> int:
    heads = experiment.heads
    per_query = _projection(experiment, "query") + _projection(experiment, "output")
    per_key = _projection(experiment, "key") + _projection(experiment, "value")
    scores = pairs * heads.n_heads * (4 * heads.d_head + 5)
    return query_tokens * per_query + kv_tokens * per_key + scores


def _projection(experiment: Experiment, role: Role) -> int:
    """FLOPs of one token's product with one weight matrix."""
    if is_identity(experiment, role):
        return 0
    rows, columns = experiment.projection_shape(role)
    return 2 * rows * columns

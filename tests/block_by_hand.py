"""Blocks, layers and read-outs worked out again in plain Python, without the package's numerics.

Each function gives one cell from the numbers that its provenance names. `read(stage, head, row, column)`
reads one of those, `read.row(stage, head, row)` a whole row, and `read.stages` are their stages in order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from experiments import sited

from attnviz.model.operands.matrices import projection_array
from attnviz.model.spec.block import FeedForward, Norm
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.parts import Explicit, Identity, Role, Seeded
from attnviz.model.spec.rows import DrawnRow, Row
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Cell
from attnviz.model.trace import Trace

ROLES: dict[str, Role] = {"q": "query", "k": "key", "v": "value", "attention_output": "output"}
LATENT = ("q_latent", "latent_projected", "latent", "rope_key")
MAPS = {"router": "router", "ffn_gate": "gate", "ffn_up": "up", "ffn_output": "down"}


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def entry_of(row: Row | None, features: int, column: int, default: float) -> float:
    """One number of a bias or a gain."""
    if row is None:
        return default
    if isinstance(row, DrawnRow):
        drawn = np.random.default_rng(row.seed).standard_normal(features)
        return row.mean + row.std * float(drawn[column])
    return float(row.values.array[0, column])


def norms(experiment: Site) -> dict[str, Norm | None]:
    block, latent = experiment.block, experiment.latent
    transform = experiment.vocabulary and experiment.vocabulary.transform
    return {
        "latent": latent and latent.norm,
        "q_latent_normed": latent and latent.query_norm,
        "x_normed": experiment.embedding_norm,
        "norm_1": block and block.norm_1,
        "attention_normed": block and block.after_1,
        "norm_2": block and block.norm_2,
        "ffn_normed": block and block.after_2,
        "output": experiment.final_norm,
        "transform_normed": transform and transform.norm,
    }


def normed(norm: Norm, cell: Cell, read: Any) -> float:
    """Ba et al. 2016, equations 3 and 4; Zhang and Sennrich 2019, equation 4."""
    row = read.row(read.stages[0], 0, cell.row)
    mean = math.fsum(row) / len(row) if norm.kind == "layer" else 0.0
    variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
    gain = entry_of(norm.gain, len(row), cell.column, 1.0)
    bias = entry_of(norm.bias, len(row), cell.column, 0.0)
    return gain * (row[cell.column] - mean) / math.sqrt(variance + norm.eps) + bias


def projected(experiment: Site, cell: Cell, read: Any) -> float:
    """x W + b of one head."""
    role = ROLES[cell.stage]
    # DeepSeek-AI 2024, equation 16: a query's features beside the content stand in its own head.
    width = experiment.heads.d_head
    if role == "query" and experiment.latent is not None:
        width += experiment.latent.d_rope
    column = cell.column if role == "output" else cell.head * width + cell.column
    weights = projection_array(sited(experiment), role)
    bias = getattr(experiment.projections, f"{role}_bias")
    added = entry_of(bias, weights.shape[1], column, 0.0)
    return dot(read.row(read.stages[0], 0, cell.row), weights[:, column].tolist()) + added


def transformed(ffn: FeedForward, d_model: int, cell: Cell, read: Any) -> float:
    """x W_gate + b, x W_up + b or h W_down + b; with experts also x W_router + b."""
    role, experts = MAPS[cell.stage], ffn.experts
    width = ffn.d_hidden if experts is None else experts.n * ffn.d_hidden + experts.d_shared
    rows = width if experts is None or not experts.biased else width + experts.n
    shape = (rows, d_model) if role == "down" else (d_model, width)
    if role == "router":
        assert experts is not None
        shape = (d_model, experts.n + experts.shared_gate)
    weights = matrix(getattr(ffn, role), shape)
    added = entry_of(getattr(ffn, f"{role}_bias"), shape[1], cell.column, 0.0)
    return dot(read.row(read.stages[0], 0, cell.row), weights[:, cell.column].tolist()) + added


def matrix(source: Identity | Seeded | Explicit, shape: tuple[int, int]) -> Any:
    """W, (in, out)."""
    if isinstance(source, Identity):
        return np.eye(*shape)
    if isinstance(source, Seeded):
        return np.random.default_rng(source.seed).standard_normal(shape) / math.sqrt(shape[0])
    return source.values.array


def from_latent(experiment: Site, cell: Cell, read: Any) -> float:
    """A latent, or a key or value made of it: DeepSeek-AI 2024, equations 9 to 17."""
    latent, heads = experiment.latent, experiment.heads
    assert latent is not None
    column = cell.column
    if cell.stage == "k" and column >= heads.d_head:
        return float(read("rope_key", 0, cell.row, column - heads.d_head))
    row = read.row(read.stages[0], 0, cell.row)
    if cell.stage in ("k", "v"):
        source, width = latent.up_key if cell.stage == "k" else latent.up_value, heads.n_heads * heads.d_head
        column += cell.head * heads.d_head
    elif cell.stage == "q_latent":
        source, width = latent.query_down, latent.d_q or 0
    elif cell.stage == "rope_key":
        source, width = latent.rope_key, latent.d_rope
    else:
        source, width = latent.down, latent.d_c
    return dot(row, matrix(source, (len(row), width))[:, column].tolist())


def hidden(ffn: FeedForward, cell: Cell, read: Any) -> float:
    """act(up), or act(gate) · up (Shazeer 2020, equations 5 and 6)."""
    end = "_routed" if ffn.experts is not None and ffn.experts.weighted == "input" else ""
    up = read(f"ffn_up{end}", 0, cell.row, cell.column)
    if not ffn.gated:
        return activated(ffn.activation, up)
    gate = read(f"ffn_gate{end}", 0, cell.row, cell.column)
    if ffn.activation == "clamped_swish":
        gate, up = min(gate, 7.0), max(-7.0, min(up, 7.0))
        return (up + 1) * gate / (1 + math.exp(-1.702 * gate))
    return activated(ffn.activation, gate) * up


def routed_to(experts: Experts, cell: Cell, read: Any) -> float:
    """The weight of an expert: DeepSeek-AI 2024 (V3), equations 13 to 16; Mixtral's with a softmax."""
    logits = read.row("router", 0, cell.row)
    if cell.column == experts.n:
        return 1 / (1 + math.exp(-logits[cell.column]))
    logits = logits[: experts.n]
    powers = [math.exp(logit) for logit in logits]
    shares = [power / math.fsum(powers) for power in powers]
    if experts.shares == "sigmoid":
        shares = [1 / (1 + math.exp(-logit)) for logit in logits]
    measured = [
        share + entry_of(experts.correction, experts.n, index, 0.0) for index, share in enumerate(shares)
    ]
    size = experts.n // experts.n_groups
    groups = [measured[start : start + size] for start in range(0, experts.n, size)]
    of_group = [sum(sorted(group)[-2:]) if experts.shares == "sigmoid" else max(group) for group in groups]
    best = sorted(range(len(groups)), key=lambda group: -of_group[group])[: experts.n_active_groups]
    allowed = [index for index in range(experts.n) if index // size in best]
    chosen = sorted(allowed, key=lambda index: -measured[index])[: experts.n_active]
    if cell.column not in chosen:
        return 0.0
    total = math.fsum(shares[index] for index in chosen) if experts.normalised else 1.0
    return experts.scale * shares[cell.column] / total


def times_weight(ffn: FeedForward, cell: Cell, read: Any) -> float:
    """A hidden feature, gate or up times the weight of its expert; 1 of a shared one without a gate."""
    experts = ffn.experts
    assert experts is not None
    width = experts.n * ffn.d_hidden + experts.d_shared
    if cell.column >= width:
        return float(read("routing", 0, cell.row, cell.column - width))
    read_from = "ffn_hidden" if cell.stage == "ffn_routed" else cell.stage.removesuffix("_routed")
    value = float(read(read_from, 0, cell.row, cell.column))
    expert = cell.column // ffn.d_hidden
    if expert < experts.n:
        return value * float(read("routing", 0, cell.row, expert))
    return value * float(read("routing", 0, cell.row, experts.n)) if experts.shared_gate else value


def activated(activation: str, z: float) -> float:
    if activation == "relu":
        return max(z, 0.0)
    if activation == "gelu":
        return z * math.erfc(-z / math.sqrt(2)) / 2
    if activation == "gelu_tanh":
        return z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2
    if activation == "silu":
        return z / (1 + math.exp(-z))
    if activation == "sigmoid":
        return 1 / (1 + math.exp(-z))
    if activation == "quick_gelu":
        return z / (1 + math.exp(-1.702 * z))
    if activation == "relu_squared":
        return max(0.0, z) ** 2
    if activation == "tanh":
        return math.tanh(z)
    assert activation == "identity"
    return z


def before_vocabulary(experiment: Site, cell: Cell, read: Any) -> float:
    """o W_T + b_T, and its activation."""
    assert experiment.vocabulary is not None
    transform, d_model = experiment.vocabulary.transform, experiment.d_model
    assert transform is not None
    features = d_model if experiment.vocabulary.classes else experiment.vocabulary.embedding.shape[1]
    if cell.stage == "transform_hidden":
        return activated(transform.activation, read("transform", 0, cell.row, cell.column))
    weights = matrix(transform.weights, (d_model, features))[:, cell.column].tolist()
    added = entry_of(transform.bias, features, cell.column, 0.0)
    return dot(read.row(read.stages[0], 0, cell.row), weights) + added


def known_logit(experiment: Site, cell: Cell, read: Any) -> float:
    """The logit of a vocabulary."""
    known = experiment.vocabulary
    assert known is not None
    own = known.unembedding
    column = known.embedding.array[cell.column] if own is None else own.array[:, cell.column]
    value = dot(read.row(read.stages[0], 0, cell.row), column.tolist())
    value = known.logit_scale * (value + entry_of(known.bias, known.n_logits, cell.column, 0.0))
    return value if known.cap is None else known.cap * math.tanh(value / known.cap)


def widened(experiment: Site, cell: Cell, read: Any) -> float:
    """x W_X + b_X: Lan et al. 2020, section 3.1."""
    projection = experiment.embedding_projection
    assert projection is not None
    row = read.row(read.stages[0], 0, cell.row)
    weights = matrix(projection.weights, (len(row), projection.d_model))[:, cell.column].tolist()
    return dot(row, weights) + entry_of(projection.bias, projection.d_model, cell.column, 0.0)


def comes_from(trace: Trace, name: str) -> dict[str, str]:
    """The sites that one is given something by, from their names alone."""
    stack, _layer, kind = name.split(".")
    same = [other for other in trace.sites if other.split(".")[0] == stack]
    encoder = [other for other in trace.sites if other.startswith("encoder")]
    before = same[: same.index(name)]
    found = {"layer_input": before[-1], "tokens_embedded": same[0]} if before else {}
    return found | ({"memory": encoder[-1]} if kind == "cross" and encoder else {})


def last_stage(trace: Trace, name: str) -> str:
    """Result of a site: its last stage before the read-out."""
    read_out = ("transform", "transform_hidden", "transform_normed", "logits", "probabilities")
    return [stage for stage in trace.site(name).stages if stage not in read_out][-1]

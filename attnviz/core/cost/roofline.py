"""Compute or memory: which of the two limits a device in a pass, by the roofline model.

A pass takes at least operations ÷ (operations per second), and at least bytes ÷ (bytes per second); the
larger is its bound. The operations per byte at which both are equal are the ridge of the device. Source:
Williams, Waterman and Patterson, Roofline (Communications of the ACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.core.cost import stack as cost_stack
from attnviz.core.cost.architecture import Architecture
from attnviz.core.cost.lines import Line, parameter_count, total
from attnviz.core.cost.memory import GB, Format
from attnviz.core.cost.stack import Stack, decoded
from attnviz.i18n import N_, _

TERA, NANO = 10**12, 10**9


@dataclass(frozen=True)
class Device:
    """Published peaks: dense 16-bit matrix products in TFLOP/s, and memory bandwidth in GB/s."""

    id: str
    name: str
    tflops: int
    bandwidth: int


DEVICES: tuple[Device, ...] = (
    Device("H100", "NVIDIA H100 SXM", 989, 3_350),
    Device("H200", "NVIDIA H200 SXM", 989, 4_800),
    Device("A100", "NVIDIA A100 SXM, 80 GB", 312, 2_039),
    Device("RTX 4090", "NVIDIA GeForce RTX 4090", 165, 1_008),
    Device("RTX 3050", "NVIDIA GeForce RTX 3050, 8 GB", 18, 224),
)
"""Without structured sparsity, sums in float32: NVIDIA's data sheets, and its Ada architecture paper.

The RTX 3050: 20 multiprocessors × 512 FLOP (its GA102 paper) × 1.777 GHz, and 128 bits × 14 Gbit/s.
"""

DEVICE_BY_ID = {device.id: device for device in DEVICES}


@dataclass(frozen=True)
class Pass:
    """A pass of the model: its title, the label of its time, its operations, and the parameters it reads."""

    title: str
    time: str
    operations: Callable[[Stack, int, int], tuple[Line, ...]]
    reads: Callable[[Stack, int, int], int]


def _of_prefill(stack: Stack, n: int, batch: int) -> int:
    return sum(parameters_read(a, (a.n_tokens or n) * batch) for a in stack)


def _of_step(stack: Stack, n: int, batch: int) -> int:
    """The encoder ran before the step."""
    return sum(parameters_read(a, batch) for a in decoded(stack))


def parameters_read(a: Architecture, tokens: int) -> int:
    """Parameters that a pass over `tokens` tokens reads.

    A token reads a row of the embedding, unless the output head reads the whole table, and the routed
    experts that it is sent to: at most `tokens` times the experts of a token.
    """
    count = parameter_count(a)
    if a.vocabulary and not a.tied:
        count -= max(a.vocabulary - tokens, 0) * a.d_model
    if a.experts is not None:
        idle = max(a.experts.n_routed - tokens * a.experts.n_active, 0)
        count -= a.expert_layers * idle * 3 * a.d_model * a.experts.d_expert
    return count


PASSES: tuple[Pass, ...] = (
    Pass(N_("Prefill of {n} tokens"), N_("prefill, at least"), cost_stack.prefill, _of_prefill),
    Pass(N_("Decoding step at token {n}"), N_("decoding step, at least"), cost_stack.decode_step, _of_step),
)


def roofline(
    stack: Stack, n: int, batch: int, weights: Format, kv: Format, tflops: int, bandwidth: int
) -> tuple[Line, ...]:
    """The bound of each pass, line by line: operations, bytes, and the time that each takes at least.

    Weights are read once, and keys and values of n tokens are written or read once for each of `batch`
    sequences; activations stay on the chip. Times are nanoseconds, rounded up.
    """
    lines: list[Line] = []
    for row in PASSES:
        lines += _bound(row, stack, n, batch, (weights, kv), (tflops, bandwidth))
    lines.append(
        Line(_("Peaks as published; a kernel reaches a part of them, so it takes longer."), kind="note")
    )
    return tuple(lines)


def _bound(
    row: Pass, stack: Stack, n: int, batch: int, formats: tuple[Format, Format], peaks: tuple[int, int]
) -> tuple[Line, ...]:
    weights, kv = formats
    operations = total(row.operations(stack, n, batch))
    held = weights.stored(row.reads(stack, n, batch))
    cached = cost_stack.cache_bytes(stack, n, kv, batch)
    moved = held + cached
    computing, moving = (
        -(-operations * NANO // (peaks[0] * TERA)),
        -(-moved * NANO // (peaks[1] * GB)),
    )
    each, ridge = operations / max(moved, 1), peaks[0] * TERA / (peaks[1] * GB)
    is_compute = computing >= moving
    says = _("Compute-bound: {each} FLOP per byte; the ridge point of the device is {ridge}.")
    if not is_compute:
        says = _("Memory-bound: {each} FLOP per byte; the ridge point of the device is {ridge}.")
    return (
        Line(_(row.title).format(n=f"{n:,}"), kind="title"),
        Line(_("operations"), "", "", operations, "FLOP", "part"),
        Line(_("weights, {format}").format(format=weights.id), "", "", held, "B", "part"),
        Line(_("keys and values, {format}").format(format=kv.id), "", "", cached, "B", "part"),
        Line(_("compute"), "", f"{operations:,} ÷ {peaks[0]:,}·10¹²", computing, "ns", "part"),
        Line(_("memory traffic"), "", f"{moved:,} ÷ {peaks[1]:,}·10⁹", moving, "ns", "part"),
        Line(_(row.time), "", "", max(computing, moving), "ns", "total"),
        Line(says.format(each=_short(each), ridge=_short(ridge)), kind="note"),
    )


def _short(number: float) -> str:
    """Three digits: 0.998, 295, 12,300."""
    return f"{float(f'{number:.3g}'):,.10g}"

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
from attnviz.i18n import N_, _, ngettext

TERA, NANO = 10**12, 10**9


@dataclass(frozen=True)
class Peaks:
    """Operations of matrix products in TFLOP/s, in a number `format` ("": unknown), and GB/s of the memory.

    `tf32` are the TFLOP/s of float32 factors that are rounded to TF32; None of another format.
    """

    tflops: float
    bandwidth: int
    format: str = ""
    tf32: float | None = None


@dataclass(frozen=True)
class Device:
    """Published peaks: dense matrix products in TFLOP/s by number format, and memory bandwidth in GB/s.

    `half` is that of both 16-bit formats with sums in float32; `float8` is None where the device has none.
    """

    id: str
    name: str
    float64: float
    float32: float
    tf32: float
    half: float
    float8: float | None
    bandwidth: int

    def peaks(self, weights: Format) -> Peaks:
        """The peaks with weights of a format; one that only stores them is converted to float16."""
        if weights.bits > 16:
            is_single = weights.id == "float32"
            tflops = self.float32 if is_single else self.float64
            return Peaks(tflops, self.bandwidth, weights.id, self.tf32 if is_single else None)
        if weights.bits == 16:
            return Peaks(self.half, self.bandwidth, weights.id)
        if weights.id == "float8" and self.float8 is not None:
            return Peaks(self.float8, self.bandwidth, weights.id)
        return Peaks(self.half, self.bandwidth, "float16")


DEVICES: tuple[Device, ...] = (
    Device("H100", "NVIDIA H100 SXM", 67, 67, 494.7, 989, 1_979, 3_350),
    Device("H200", "NVIDIA H200 SXM", 67, 67, 494.7, 989, 1_979, 4_800),
    Device("A100", "NVIDIA A100 SXM, 80 GB", 19.5, 19.5, 156, 312, None, 2_039),
    Device("RTX 4090", "NVIDIA GeForce RTX 4090", 1.3, 82.6, 82.6, 165.2, 330.3, 1_008),
    Device("RTX 3050", "NVIDIA GeForce RTX 3050, 8 GB", 0.14, 9.1, 9.1, 18.2, None, 224),
)
"""Without structured sparsity: NVIDIA's data sheets of H100, H200 and A100 (their float64 is that of the
tensor cores, their float32 that of the CUDA cores), its Hopper architecture paper for TF32, its Ada
architecture paper for the RTX 4090 (float64 is a 64th of float32).

The RTX 3050: 20 multiprocessors × 256 FLOP in float32 and TF32, 512 in 16 bits, 4 in float64 (its GA102
paper) × 1.777 GHz, and 128 bits × 14 Gbit/s.
"""

DEVICE_BY_ID = {device.id: device for device in DEVICES}


@dataclass(frozen=True)
class Pass:
    """A pass of the model: its title at n tokens, the label of its time, its operations, and the parameters
    that it reads.
    """

    title: Callable[[int], str]
    time: str
    operations: Callable[[Stack, int, int], tuple[Line, ...]]
    reads: Callable[[Stack, int, int], int]


def _prefill_title(n: int) -> str:
    return ngettext("Prefill of {n} token", "Prefill of {n} tokens", n).format(n=f"{n:,}")


def _step_title(n: int) -> str:
    return _("Decoding step at token {n}").format(n=f"{n:,}")


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
    Pass(_prefill_title, N_("prefill, at least"), cost_stack.prefill, _of_prefill),
    Pass(_step_title, N_("decoding step, at least"), cost_stack.decode_step, _of_step),
)


def roofline(stack: Stack, n: int, batch: int, weights: Format, kv: Format, peaks: Peaks) -> tuple[Line, ...]:
    """The bound of each pass, line by line: operations, bytes, and the time that each takes at least.

    Weights are read once, and keys and values of n tokens are written or read once for each of `batch`
    sequences; activations stay on the chip. Times are nanoseconds, rounded up.
    """
    lines: list[Line] = []
    for row in PASSES:
        lines += _bound(row, stack, n, batch, (weights, kv), peaks)
    if peaks.tf32 is not None:
        says = _("float32 as it is; rounded to TF32, products would have a peak of {tf32}·10¹² FLOP/s.")
        lines.append(Line(says.format(tf32=_peak(peaks.tf32)), kind="note"))
    lines.append(
        Line(_("Peaks as published; a kernel reaches a part of them, so it takes longer."), kind="note")
    )
    return tuple(lines)


def _bound(
    row: Pass, stack: Stack, n: int, batch: int, formats: tuple[Format, Format], peaks: Peaks
) -> tuple[Line, ...]:
    weights, kv = formats
    operations = total(row.operations(stack, n, batch))
    held = weights.stored(row.reads(stack, n, batch))
    cached = cost_stack.cache_bytes(stack, n, kv, batch)
    moved = held + cached
    per_second = round(peaks.tflops * TERA)
    computing, moving = -(-operations * NANO // per_second), -(-moved * NANO // (peaks.bandwidth * GB))
    each, ridge = operations / max(moved, 1), per_second / (peaks.bandwidth * GB)
    compute = _("compute, {format}").format(format=peaks.format) if peaks.format else _("compute")
    is_compute = computing >= moving
    says = _("Compute-bound: {each} FLOP per byte; the ridge point of the device is {ridge}.")
    if not is_compute:
        says = _("Memory-bound: {each} FLOP per byte; the ridge point of the device is {ridge}.")
    return (
        Line(row.title(n), kind="title"),
        Line(_("operations"), "", "", operations, "FLOP", "part"),
        Line(_("weights, {format}").format(format=weights.id), "", "", held, "B", "part"),
        Line(_("keys and values, {format}").format(format=kv.id), "", "", cached, "B", "part"),
        Line(compute, "", f"{operations:,} ÷ {_peak(peaks.tflops)}·10¹²", computing, "ns", "part"),
        Line(_("memory traffic"), "", f"{moved:,} ÷ {peaks.bandwidth:,}·10⁹", moving, "ns", "part"),
        Line(_(row.time), "", "", max(computing, moving), "ns", "total"),
        Line(says.format(each=_short(each), ridge=_short(ridge)), kind="note"),
    )


def _peak(tflops: float) -> str:
    """A whole number, or two decimals: 989, 82.6."""
    return f"{round(tflops, 2):,}" if tflops % 1 else f"{int(tflops):,}"


def _short(number: float) -> str:
    """Three digits: 0.998, 295, 12,300."""
    return f"{float(f'{number:.3g}'):,.10g}"

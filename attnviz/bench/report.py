"""The bench as a table: times, ratios, and whether the requirements hold."""

from __future__ import annotations

from typing import Any

from attnviz.bench.cases import (
    WANTED_BUSY,
    WANTED_CAUSAL,
    WANTED_FILLED_S,
    WANTED_FIRST_FRAME,
    WANTED_FLOOR,
    WANTED_FROM_N,
    WANTED_GRADIENT,
    WANTED_P95_MS,
    WANTED_SWITCH_MS,
    WANTED_TORCH,
    Size,
)
from attnviz.core.text import columns
from attnviz.i18n import _

SLOWEST = 3
"""Parts that a line of the window names."""

ENGINE_COLUMNS = ("numpy", "torch", "plain_torch", "plain_torch_own_threads", "floor")


def print_report(report: dict[str, Any]) -> None:
    """Print all measurements, times in milliseconds."""
    lines = [*machine_lines(report["machine"]), "", *_engines(report["engines"])]
    lines += ["", *_causal(report["causal"])]
    lines += ["", *_gradients(report["gradients"])]
    if report["window"] is not None:
        lines += ["", *_window(report["window"])]
    print("\n".join(lines))


def verdict(value: float, wanted: float) -> str:
    """Verdict whether `value` is at most `wanted`, and the excess."""
    if value <= wanted:
        return _("PASS (≤ {wanted:g})").format(wanted=wanted)
    return _("over by {percent:.0f} % (≤ {wanted:g})").format(
        percent=100 * (value / wanted - 1), wanted=wanted
    )


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """Lines that describe the machine of the measurement."""
    packages = ", ".join(f"{name} {version or '—'}" for name, version in machine["packages"].items())
    blas = ", ".join(f"{one['internal_api']} ({one['num_threads']})" for one in machine["blas"])
    load = "" if machine["load"] is None else " · " + _("load {load:.1f}").format(load=machine["load"][0])
    cores = _("{cores} cores").format(cores=machine["cores"])
    python = f"Python {machine['python']}"
    return [
        f"{machine['system']} · {cores}{load} · {python}",
        packages,
        _("BLAS (threads): {blas}").format(blas=blas),
    ]


def _engines(measured: dict[str, Any]) -> list[str]:
    lines = [
        _("ENGINES: median milliseconds of one experiment (float32, scores scaled by 1/√d_head, no mask)."),
        _("NumPy and Torch: the public execute, weights kept. Plain: eager torch that keeps raw scores,"),
        _("weights and output, on as many threads, and on torch's own number. Floor: the products and"),
        _("one exp. Ratios are medians over interleaved rounds; in brackets, of the minima."),
    ]
    if measured["torch_missing"]:
        lines.append(_("Torch is not measured: {reason}").format(reason=measured["torch_missing"]))
    titles = {
        "identity": _("Identity projections (q = k = v = x); no product with a weight matrix"),
        "seeded": _("Seeded projections; the four products with W count for every contender"),
    }
    for projections, title in titles.items():
        lines += [
            "",
            title,
            *_engine_table([c for c in measured["cases"] if c["projections"] == projections]),
        ]
    return lines


def _engine_table(cases: list[dict[str, Any]]) -> list[str]:
    heads = (_("tokens · heads · d"), _("threads"), "NumPy", "Torch", _("plain"), _("plain, own"), _("floor"))
    rows: list[tuple[str, ...]] = [(*heads, _("NumPy / plain"), _("NumPy / floor"))]
    notes: list[str] = []
    for case in cases:
        size = Size(case["n"], case["heads"], case["d_head"])
        times = (ms(case["median"].get(name)) for name in ENGINE_COLUMNS)
        ratios, least = case["ratios"]["numpy"], case["ratios_of_minima"]["numpy"]
        rows.append(
            (
                size.text,
                str(case["threads"]),
                *times,
                _pair(ratios, least, "plain_torch"),
                _pair(ratios, least, "floor"),
            )
        )
        if case["n"] >= WANTED_FROM_N:
            notes += [
                f"  {size.text}: NumPy / {name} {ratios[key]:.2f} {verdict(ratios[key], wanted)}"
                for key, name, wanted in (
                    ("plain_torch", _("plain"), WANTED_TORCH),
                    ("floor", _("floor"), WANTED_FLOOR),
                )
                if key in ratios
            ]
    return [*aligned(rows), *notes]


def _causal(measured: dict[str, Any]) -> list[str]:
    lines = [
        _("CAUSAL: one thread, seeded projections, beside eager torch with a causal mask. Busy: the NumPy"),
        _("engine on all threads over the same on one, both while another program takes one core."),
    ]
    rows: list[tuple[str, ...]] = [
        (_("tokens · heads · d"), "NumPy", "Torch", _("plain"), _("NumPy / plain"), _("busy"))
    ]
    notes = []
    for case in measured["cases"]:
        size = Size(case["n"], case["heads"], case["d_head"])
        times = (ms(case["median"].get(name)) for name in ("numpy", "torch", "plain_torch"))
        ratio = case["ratios"].get("numpy", {}).get("plain_torch")
        rows.append((size.text, *times, "—" if ratio is None else f"{ratio:.2f}", f"{case['busy']:.2f}"))
        judged = [(_("busy"), case["busy"], WANTED_BUSY)]
        if ratio is not None:
            judged.insert(0, (_("NumPy / plain"), ratio, WANTED_CAUSAL[size]))
        notes += [f"  {size.text}: {name} {value:.2f} {verdict(value, most)}" for name, value, most in judged]
    return [*lines, *aligned(rows), *notes]


def _gradients(measured: dict[str, Any]) -> list[str]:
    lines = [_("GRADIENT: a pass and the gradient of one output by every stage, over the pass.")]
    names = _("tokens · heads · d"), _("engine"), _("pass"), _("pass + gradient"), _("ratio")
    rows: list[tuple[str, ...]] = [(*names, _("with matrices"))]
    notes = []
    for case in measured["cases"]:
        size = Size(case["n"], case["heads"], case["d_head"])
        times = (ms(case["median"][name]) for name in ("pass", "both"))
        ratios = (f"{case[name]:.2f}" for name in ("ratio", "ratio_with_matrices"))
        rows.append((size.text, case["engine"], *times, *ratios))
        notes.append(f"  {size.text}: {case['engine']} {verdict(case['ratio'], WANTED_GRADIENT)}")
    return [*lines, *aligned(rows), *notes]


def _window(measured: dict[str, Any]) -> list[str]:
    if "failed" in measured:
        return [_("WINDOW: not measured ({reason})").format(reason=measured["failed"])]
    platform = measured["edits"][0]["platform"]
    title = _("WINDOW ({platform}): milliseconds from an edit to the end of the paint that shows it")
    lines = [title.format(platform=platform), *aligned(_edit_rows(measured["edits"]))]
    lines += ["", _("Milliseconds to another workspace"), *aligned(_switch_rows(measured["switches"]))]
    return [*lines, "", *_start(measured["start"])]


def _edit_rows(cases: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One row for each case, judged by the smaller time: other programs lengthen the clock alone."""
    heads = (_("tokens · heads · d"), _("workspace"), "p50", "p95", _("p95 of CPU time"))
    rows: list[tuple[str, ...]] = [(*heads, _("p50 to the numbers"), "p95", _("slowest parts"))]
    for case in cases:
        size = Size(case["n"], case["heads"], case["d_head"])
        judged = verdict(1000 * min(case["p95"], case["p95_cpu"]), WANTED_P95_MS[size])
        times = (ms(case[name]) for name in ("p50", "p95", "p95_cpu", "p50_to_trace"))
        rows.append((size.text, case["workspace"], *times, judged, _slowest(case["parts"])))
    return rows


def _slowest(parts: dict[str, float]) -> str:
    """The panels, or their painting, that take most of the window's time, with their milliseconds."""
    ordered = sorted(parts, key=lambda name: -parts[name])[:SLOWEST]
    return ", ".join(f"{name} {ms(parts[name])}" for name in ordered)


def _switch_rows(cases: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [(_("workspace"), _("slowest"), _("CPU time"), "")]
    for case in cases:
        judged = verdict(1000 * min(case["most"], case["most_cpu"]), WANTED_SWITCH_MS)
        rows.append((case["workspace"], ms(case["most"]), ms(case["most_cpu"]), judged))
    return rows


def _start(start: dict[str, Any]) -> list[str]:
    first = _(
        "First frame: {ours} ms, an empty window {empty} ms; ratio {ratio:.2f}, CPU time {cpu:.2f} {verdict}"
    )
    filled = _("Filled {seconds:.2f} s later, CPU time {cpu:.2f} s {verdict}")
    lines = [
        first.format(
            ours=ms(start["median"]["attnviz"]),
            empty=ms(start["median"]["empty"]),
            ratio=start["ratio"],
            cpu=start["ratio_cpu"],
            verdict=verdict(min(start["ratio"], start["ratio_cpu"]), WANTED_FIRST_FRAME),
        ),
        filled.format(**start["filled"], verdict=verdict(min(start["filled"].values()), WANTED_FILLED_S)),
    ]
    if start["imported"]:
        lines.append(_("Imported before the first frame: {names}").format(names=", ".join(start["imported"])))
    return lines


def ms(seconds: float | None) -> str:
    """Seconds as milliseconds, a dash for None."""
    return "—" if seconds is None else f"{1000 * seconds:.2f}"


def _pair(ratios: dict[str, float], least: dict[str, float], key: str) -> str:
    return f"{ratios[key]:.2f} ({least[key]:.2f})" if key in ratios else "—"


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell, the first left-aligned, the others right-aligned."""
    widths = [max(columns(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *rest in rows:
        cells = [first + " " * (widths[0] - columns(first))]
        cells += [" " * (width - columns(cell)) + cell for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines

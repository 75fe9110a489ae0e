"""The decoding bench as tables: tokens per second, times of a step, and whether the requirements hold."""

from __future__ import annotations

from typing import Any

from attnviz.bench.report import aligned, machine_lines, ms, verdict
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.i18n import _

WANTED_SPEED = 1.0
"""Smallest ratio of tokens per second with a cache to those of `transformers`."""
WANTED_CACHE = 0.2
"""Largest ratio of the time of a step with a cache to one without, at the longest text."""


def print_decode_report(report: dict[str, Any]) -> None:
    """Print the measurements, times in milliseconds."""
    measured = report["decode"]
    lines = [
        *machine_lines(report["machine"]),
        "",
        *_head(measured),
        "",
        *_speed(measured),
        "",
        *_steps(measured),
    ]
    print("\n".join(lines))


def _head(measured: dict[str, Any]) -> list[str]:
    model = _(
        "DECODING: {model}: {layers} layers, d_model {d_model}, {vocabulary} tokens, {dtype}; threads: {n}"
    )
    lines = [model.format(**measured, n=measured["threads"])]
    if measured["transformers_missing"]:
        lines.append(
            _("transformers is not measured: {reason}").format(reason=measured["transformers_missing"])
        )
    for reason in measured["torch_missing"].values():
        lines.append(_("Torch is not measured: {reason}").format(reason=reason))
    for name, same in measured["same"].items():
        sentence = (
            _("{name}: the same tokens; logits differ by {difference:.1e} from NumPy's full pass")
            if same["tokens"]
            else _("{name}: OTHER TOKENS; logits differ by {difference:.1e} from NumPy's full pass")
        )
        lines.append(sentence.format(name=_label(name), difference=same["difference"]))
    return lines


def _speed(measured: dict[str, Any]) -> list[str]:
    sentence = _(
        "Tokens per second, {written} generated after {prompt}; in brackets, relative to transformers"
    )
    rows: list[tuple[str, ...]] = [("", _("with cache"), _("without"))]
    speed, ratios = measured["speed"]["tokens_per_second"], measured["speed"]["ratios"]
    names = list(measured["same"])
    for name in names:
        cells = []
        for how in ("cache", "no cache"):
            key = f"{name}, {how}"
            ratio = f" ({ratios[key]:.2f})" if key in ratios else ""
            cells.append(f"{speed[key]:.0f}{ratio}")
        rows.append((_label(name), *cells))
    notes = [
        f"  {_label(name)}: {_at_least(ratios[f'{name}, cache'])}"
        for name in names
        if f"{name}, cache" in ratios
    ]
    return [sentence.format(**measured), *aligned(rows), *notes]


def _at_least(value: float) -> str:
    """Verdict on a speed: met, or its shortfall."""
    if value >= WANTED_SPEED:
        return _("{value:.2f} PASS (≥ {wanted:g})").format(value=value, wanted=WANTED_SPEED)
    return _("{value:.2f}, short by {percent:.0f} % (≥ {wanted:g})").format(
        value=value, percent=100 * (1 - value / WANTED_SPEED), wanted=WANTED_SPEED
    )


def _steps(measured: dict[str, Any]) -> list[str]:
    steps = measured["steps"]
    lines = [_("Milliseconds of one step by text length; without a cache, one full pass over the text")]
    rows: list[tuple[str, ...]] = [("", *map(str, steps["contexts"]))]
    for name, kinds in steps["median"].items():
        rows.append((_("{name}, with cache").format(name=_label(name)), *map(ms, kinds["cache"])))
        rows.append((_("{name}, without").format(name=_label(name)), *map(ms, kinds["no cache"])))
    lines += aligned(rows)
    for name, ratio in steps["cache_over_none"].items():
        lines.append(
            _("  {name}: with / without a cache at {n} tokens {ratio:.3f} {verdict}").format(
                name=_label(name), n=steps["contexts"][-1], ratio=ratio, verdict=verdict(ratio, WANTED_CACHE)
            )
        )
    return lines


def _label(name: str) -> str:
    return ENGINE_BY_ID[name].label if name in ENGINE_BY_ID else name

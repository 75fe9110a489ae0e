"""The training bench as a table: milliseconds of a step, ratios, and whether the requirements hold."""

from __future__ import annotations

from typing import Any

from attnviz.bench.report import aligned, machine_lines, ms, verdict
from attnviz.bench.training.bench import PLAIN_NUMPY, PLAIN_TORCH
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.i18n import N_, _

LABELS = {PLAIN_NUMPY: N_("plain NumPy"), PLAIN_TORCH: N_("plain torch")}

WANTED = {("numpy", PLAIN_NUMPY): 1.3, (PLAIN_NUMPY, PLAIN_TORCH): 1.15}
"""Largest ratio of the time of a step to that of another contender."""


def print_training_report(report: dict[str, Any]) -> None:
    """Print the measurements, times in milliseconds."""
    measured = report["train"]
    sizes = _(
        "TRAINING: {layers} layers, d_model {d_model}, {heads} heads, {d_hidden} hidden features, "
        "{vocabulary} tokens in the vocabulary, sequences of {n}; float32, one thread"
    )
    lines = [*machine_lines(report["machine"]), "", sizes.format(**measured)]
    if measured["torch_missing"]:
        lines.append(_("Torch is not measured: {reason}").format(reason=measured["torch_missing"]))
    for name, difference in measured["differences"].items():
        says = _("{name}: gradients in float64 differ by {difference:.1e} from those of plain NumPy")
        lines.append(says.format(name=_label(name), difference=difference))
    lines += ["", _("Milliseconds of a step with AdamW, by the number of sequences"), *_table(measured)]
    print("\n".join(lines))


def _table(measured: dict[str, Any]) -> list[str]:
    cases = measured["cases"]
    rows: list[tuple[str, ...]] = [("", *(str(case["batch"]) for case in cases))]
    rows += [(_label(name), *(ms(case["median"][name]) for case in cases)) for name in cases[0]["median"]]
    notes = []
    for case in cases:
        for one in case["ratios"]:
            pair = one["ours"], one["theirs"]
            judged = verdict(one["ratio"], WANTED[pair]) if pair in WANTED else ""
            names = " / ".join(map(_label, pair))
            notes.append(f"  {case['batch']}: {names} {one['ratio']:.2f} {judged}".rstrip())
    return [*aligned(rows), *notes]


def _label(name: str) -> str:
    return ENGINE_BY_ID[name].label if name in ENGINE_BY_ID else _(LABELS[name])

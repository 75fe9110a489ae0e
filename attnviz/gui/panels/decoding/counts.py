"""Quantities that a decoding counts, its parity with the full pass, and what it reused."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from attnviz.compute.decoding import Decoded
from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.engines.decode.run import Decoding
from attnviz.gui.look.words import Words, says
from attnviz.gui.widgets.tone import Tone
from attnviz.i18n import N_, _, ngettext
from attnviz.model.caches import CACHES
from attnviz.model.sites.sites import places
from attnviz.model.sites.titles import site_label
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID

COUNTS: tuple[tuple[str, str, str], ...] = (
    (
        "kv_projections",
        N_("K, V projections"),
        N_(
            "Tokens whose keys and values were computed, over all steps so far and all attentions: "
            "with the cache each token once, without it all tokens again in each step"
        ),
    ),
    (
        "score_pairs",
        N_("score pairs"),
        N_(
            "Query–key pairs per head, over all steps so far and all attentions, blocked pairs "
            "excluded: step t of self-attention has t (t + 1) / 2, with the cache only the t of its "
            "own query"
        ),
    ),
    (
        "flops",
        N_("FLOPs"),
        N_(
            "Multiplications and additions in all steps so far, from the matrix shapes: projections, "
            "scores, weighted sums, feed-forward layers, norms, and one token's logits per step"
        ),
    ),
    (
        "bytes_moved",
        N_("bytes moved"),
        N_("Keys and values read and written in all steps so far, in bytes of this dtype"),
    ),
    (
        "bytes_held",
        N_("bytes held"),
        N_(
            "Keys and values held after this step, by formula, none without a cache; the panel Cache "
            "shows the measured bytes"
        ),
    ),
)
"""Counted quantities: the field of a `Cost`, its title, and the origin of its number."""

TIME = "milliseconds"

NOT_MEASURED, MEASURING = "–", "…"
"""Placeholders of a missing time, and of one being measured."""

LARGE = 100.0
"""Size from which a stage's largest number stands beside its greatest difference: rounding grows with it."""

MOST_UNDEFINED = 6
"""Stages with NaN that the light's tooltip lists: NaN propagates to all later stages."""


@dataclass(frozen=True)
class Verdict:
    """Content of the light, `kind` being a key of `_TONES`, and the stages behind it."""

    kind: str
    text: str
    stages: str

    @property
    def tone(self) -> Tone:
        return _TONES[self.kind]


_TONES: dict[str, Tone] = {
    "equal": "right",
    "approximate": "warning",
    "undefined": "warning",
    "differs": "error",
}
"""The tone of each kind of verdict."""


def verdict(decoded: Decoded) -> Verdict:
    """Compare decoding with the full pass, number by number.

    Approximate is the result of an inexact cache: the greatest difference of all stages, and that of the
    probabilities. Undefined is NaN in both: neither equal nor different.
    """
    n = len(decoded.decoding.steps)
    heading = ngettext("Largest difference over {n} step:", "Largest difference over all {n} steps:", n)
    heading = heading.format(n=n)
    stages, worst = "\n".join((heading, *_worst_stages(decoded))), number(decoded.worst, 1)
    is_within = decoded.is_within
    if decoded.is_undefined or (decoded.undefined and is_within):
        return Verdict(
            "undefined", _undefined_text(decoded, worst), "\n".join((stages, *_undefined(decoded)))
        )
    if is_within:
        text = _("equal to the full pass: at most {worst} apart")
        changed = decoded.decoding.changed - {"readout"}
        if changed:
            text = _("equal to the full pass of the document as decoding changes it: at most {worst} apart")
        if changed == {"masks"}:
            text = _("equal to the full pass with a causal mask: at most {worst} apart")
        return Verdict("equal", _beside_size(decoded, text.format(worst=worst)), stages)
    writing = decoded.decoding.experiment.writing
    is_exact = writing is None or next(row for row in CACHES if row.kind is type(writing.cache)).is_exact
    if is_exact:
        return Verdict("differs", _("differs: up to {worst} apart").format(worst=worst), stages)
    errors = [d for name, d in decoded.differences.items() if _stage(name) == "probabilities"]
    text = _("approximate: up to {worst} apart, in probabilities {p}")
    return Verdict("approximate", text.format(worst=worst, p=number(max(errors, default=0.0), 3)), stages)


def _beside_size(decoded: Decoded, said: str) -> str:
    """A sentence about the greatest difference, with the largest number of its stage where that is large."""
    stage = max(decoded.differences, key=decoded.differences.__getitem__, default=None)
    largest = 0.0 if stage is None else decoded.sizes[stage]
    if largest < LARGE:
        return said
    return _("{said}, beside numbers up to {largest}").format(said=said, largest=grouped(round(largest)))


def _undefined_text(decoded: Decoded, worst: str) -> str:
    """Number of NaN in both, and the verdict on the others."""
    if decoded.is_undefined:
        return _("not comparable: the probabilities are NaN with the cache and without")
    count = grouped(sum(count for count, _total in decoded.undefined.values()))
    text = _("{count} numbers are NaN with the cache and without; the others are at most {worst} apart")
    return text.format(count=count, worst=worst)


def _undefined(decoded: Decoded) -> list[str]:
    """The first stages with NaN on both sides, in data-flow order: the first is where it comes from."""
    experiment = decoded.decoding.experiment
    is_alone = len(places(experiment)) == 1
    text = _("{stage}: {count} of {total} are NaN on both sides")
    return [
        text.format(
            stage=_(STAGE_BY_ID[name].title) if is_alone else _site_and_stage(experiment, name),
            count=grouped(count),
            total=grouped(total),
        )
        for name, (count, total) in list(decoded.undefined.items())[:MOST_UNDEFINED]
    ]


def _stage(name: str) -> str:
    """The stage of `decoder.0.cross.scores`."""
    return name.rpartition(".")[2]


def reuse_words(decoded: Decoded) -> str:
    """Number of steps reused from an earlier decoding, and the saved cost; else empty.

    Also empty if all were reused: nothing was computed, as after a change of the language.
    """
    decoding = decoded.decoding
    if decoding.reused in (0, len(decoding.steps)):
        return ""
    saved = decoding.total(decoding.reused - 1)[0]
    milliseconds = 1000 * sum(step.seconds for step in decoding.steps[: decoding.reused])
    text = _("{reused} of {count} steps reused, saved {flops} FLOPs, {projections} projections, {ms} ms")
    return text.format(
        reused=decoding.reused,
        count=len(decoding.steps),
        flops=grouped(saved.flops),
        projections=grouped(saved.kv_projections),
        ms=number(milliseconds, 1),
    )


def taken_over(decoding: Decoding) -> range:
    """The first positions, whose rows an earlier decoding had cached; empty if nothing was computed."""
    return range(decoding.reused if decoding.reused < len(decoding.steps) else 0)


def grouped(count: int) -> str:
    """Thousands apart, by thin spaces as in the text."""
    return f"{count:,}".replace(",", "\u202f")


def plain_label(id_: str, words: Words = "", tip: Words = "") -> QLabel:
    """A label that shows its text as it is."""
    label = says(QLabel(), words, id=id_, tip=tip)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _worst_stages(decoded: Decoded) -> list[str]:
    """Each stage with its difference; with several attentions, the worst stage of each."""
    differences = decoded.differences
    if len(places(decoded.decoding.experiment)) == 1:
        return [_stage_line(_(STAGE_BY_ID[stage].title), worst) for stage, worst in differences.items()]
    worst_of: dict[str, str] = {}
    for name in differences:
        site = name.rpartition(".")[0]
        if site not in worst_of or differences[name] > differences[worst_of[site]]:
            worst_of[site] = name
    return [
        _stage_line(_site_and_stage(decoded.decoding.experiment, name), differences[name])
        for name in worst_of.values()
    ]


def _site_and_stage(experiment: Experiment, name: str) -> str:
    """`decoder.0.cross.scores` in words."""
    site, _dot, stage = name.rpartition(".")
    return f"{site_label(experiment, site)} · {_(STAGE_BY_ID[stage].title)}"


def _stage_line(name: str, worst: float) -> str:
    return named(name, number(worst, 2))

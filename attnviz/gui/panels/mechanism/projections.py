"""Sources of W_q, W_k, W_v and W_o, and the gate on the heads' output.

Their numbers are edited in the panel of matrices.
"""

from __future__ import annotations

from functools import partial

from attnviz.gui.forms.paths import presence, row
from attnviz.gui.panels.mechanism.former_parts import SeenBySite
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.panels.mechanism.weights import KINDS, WeightLines, WeightSlot, option_of
from attnviz.gui.widgets.tone import Tone
from attnviz.i18n import N_, _
from attnviz.model.edit.block import set_bias
from attnviz.model.edit.edits import set_projection
from attnviz.model.edit.gate import change_gate, gate_of, gate_source, set_gate, set_gate_bias
from attnviz.model.edit.switching import fits
from attnviz.model.operands.matrices import projection_array
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.parts import ROLES, Explicit, Identity, Projection, Role, Seeded, Tied
from attnviz.model.spec.site import Site

SYMBOLS = {"query": "W_q", "key": "W_k", "value": "W_v", "output": "W_o"}
GATE = "gate"
TITLES = {id_: title for id_, title, _hint in KINDS}
_HUES: dict[str, Tone] = {"query": "query", "key": "key", "value": "value", "output": ""}


def _is_used(site: Site, role: str) -> bool:
    """True if the matrix exists: keys and values from a latent have none, a gate may be absent."""
    if role == GATE:
        return site.gate is not None
    return site.latent is None or role not in ("key", "value")


class ProjectionsSection(Section):
    """One line for each matrix: its kind, its seed and a die if it is seeded, and its bias."""

    id = "projections"
    heading = N_("Projections")
    spoken = {
        **{f"{role}_projection_combo": (f"W_{role[0]}", N_("Source of {matrix}")) for role in ROLES},
        **{f"{role}_bias_toggle": (N_("Bias of {matrix}"),) for role in ROLES},
        "gate_projection_combo": ("W_g", N_("Source of {matrix}")),
    }

    def fill(self) -> None:
        self._seen = SeenBySite(self.store)
        self._lines = WeightLines(self, self.store, tuple(self._slot(role) for role in ROLES))
        self.body.addLayout(self._lines)
        self.add_form(
            (
                presence("gate", lambda e, is_on: set_gate(e, is_on, self._seen.here)),
                row("gate.per", edit=lambda e, per: change_gate(e, per=per)),
            )
        )
        self._gate = WeightLines(self, self.store, (self._gate_slot(),))
        self.body.addLayout(self._gate)

    def present(self, document: Document) -> str:
        """The kinds of the sources: "seeded · identity"."""
        site = document.attention
        used = [getattr(site.projections, role) for role in ROLES if _is_used(site, role)]
        kinds = [_("tied") if isinstance(one, Tied) else _(TITLES[option_of(one)]) for one in used]
        kinds += [_("gate")] if site.gate is not None else []
        return " · ".join(dict.fromkeys(kinds))

    def on_document(self, old: Document | None, new: Document) -> None:
        experiment = new.attention
        self._seen.here.note_block(experiment)
        for role in ROLES:
            source = getattr(experiment.projections, role)
            self._seen.here.note(f"{role}.{source.__struct_config__.tag}", source)
        self._note_gate(experiment)
        super().on_document(old, new)
        self._refresh()

    def _refresh(self) -> None:
        for lines in (self._lines, self._gate):
            lines.refresh(self.store.attention, partial(_is_used, self.store.attention))

    def _note_gate(self, site: Site) -> None:
        """Remember the gate, its matrix and its bias, which a switch brings back."""
        if site.gate is None:
            return
        kind = site.gate.weights.__struct_config__.tag
        records = (("gate", site.gate), (f"gate.{kind}", site.gate.weights), ("gate.bias", site.gate.bias))
        for name, record in records:
            self._seen.here.note(name, record)

    def _gate_slot(self) -> WeightSlot:
        return WeightSlot(
            id=GATE,
            path="gate.weights",
            symbol="W_g",
            short="W_g",
            read=lambda e: gate_of(e).weights,
            source=lambda e, option: gate_source(e, option, self._seen.here),
            edit=lambda e, source: change_gate(e, weights=source),
            bias=lambda e: gate_of(e).bias,
            set_bias=lambda e, is_on: set_gate_bias(e, is_on, self._seen.here),
            bias_path="gate.bias",
        )

    def _slot(self, role: Role) -> WeightSlot:
        return WeightSlot(
            id=role,
            path=f"projections.{role}",
            symbol=SYMBOLS[role],
            short=SYMBOLS[role].removeprefix("W_"),
            hue=_HUES[role],
            read=lambda e: getattr(e.projections, role),
            source=partial(self._source, role),
            edit=lambda e, source: set_projection(e, role, source),
            bias=lambda e: getattr(e.projections, f"{role}_bias"),
            set_bias=lambda e, is_on: set_bias(e, role, is_on, self._seen.here),
            ties=tuple((to, SYMBOLS[to]) for to in ROLES if to != role),
            why_not_tied=lambda e, to: e.why_not_tied(role, to),
        )

    def _source(self, role: Role, site: Site, option: str) -> Projection:
        """The source of an option; the seed and the numbers that the matrix had before come back."""
        last = self._seen.here.last
        if option in ROLES:
            return Tied(option)
        if option == "seeded":
            return last(f"{role}.seeded", Seeded, Seeded(ROLES.index(role)))
        if option == "explicit":
            present = Explicit(Matrix(projection_array(site, role)))
            source = last(f"{role}.explicit", Explicit, present)
            return source if fits(site, role, source) else present
        return Identity()

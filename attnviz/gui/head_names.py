"""The names that somebody gave to heads: kept with the model, whatever its text or its file."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from attnviz.gui.settings import Settings
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment
from attnviz.study.heads.names import model_key

LONGEST = 60
"""Characters of a name."""


class HeadNames(QObject):
    """Names by site and head. Without settings they last as long as the window."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings: Settings | None = None
        self._of: tuple[object, str] | None = None
        self._names: dict[str, dict[str, str]] = {}

    def keep_in(self, settings: Settings) -> None:
        """Read names from the settings from now on, and write them there."""
        self._settings = settings

    def named(self, experiment: Experiment) -> dict[tuple[str, int], str]:
        """Every name of a model, by site and head."""
        named_heads = {}
        for place, name in self._stored(self._key(experiment)).items():
            site, _colon, head = place.rpartition(":")
            if head.isdecimal():
                named_heads[site, int(head)] = name
        return named_heads

    def name(self, experiment: Experiment, site: str, head: int) -> str:
        """The name of a head; empty without one."""
        return self._stored(self._key(experiment)).get(f"{site}:{head}", "")

    def title(self, experiment: Experiment, site: str, head: int) -> str:
        """The number of a head, with its name if it has one."""
        number, name = _("head {head}").format(head=head + 1), self.name(experiment, site, head)
        return f"{number} “{name}”" if name else number

    def rename(self, experiment: Experiment, site: str, head: int, name: str) -> None:
        """Give a head a name, without the spaces around it; an empty one removes it."""
        key, name = self._key(experiment), " ".join(name.split())[:LONGEST]
        if name == self.name(experiment, site, head):
            return
        names = {**self._stored(key), f"{site}:{head}": name}
        self._names[key] = {place: one for place, one in names.items() if one}
        if self._settings is not None:
            self._settings.set_head_names(key, self._names[key])
        self.changed.emit()

    def _key(self, experiment: Experiment) -> str:
        """The model of an experiment, found once for all edits that leave its layers alone."""
        if self._of is None or self._of[0] is not experiment.layers:
            self._of = experiment.layers, model_key(experiment)
        return self._of[1]

    def _stored(self, key: str) -> dict[str, str]:
        if key not in self._names:
            self._names[key] = {} if self._settings is None else self._settings.head_names(key)
        return self._names[key]

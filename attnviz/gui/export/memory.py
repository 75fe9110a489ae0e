"""The choices of the export dialog that it remembers from one file to the next."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attnviz.gui.export.table import GROUP_BY_ID, Export

Texts = dict[str, str]
SHARED = ("format", "width")
"""Options that the next row of a group begins with, where its rows are alike."""


@dataclass
class Memory:
    """The last format and the last options of each row, and the rows, that of the last file first.

    `groups` are the options that the rows of a group share, by its id. `folder` is that of the last file.
    """

    formats: Texts = field(default_factory=dict)
    kinds: dict[str, Texts] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    groups: dict[str, Texts] = field(default_factory=dict)
    folder: str = ""

    @staticmethod
    def read(text: str) -> Memory:
        """The record of the settings; what is not understood is left out."""
        try:
            found = json.loads(text or "{}")
        except ValueError:
            return Memory()
        record = found if isinstance(found, dict) else {}
        rows = record.get("rows")
        return Memory(
            _texts(record.get("formats")),
            _texts_by_id(record.get("kinds")),
            [row for row in rows if isinstance(row, str)] if isinstance(rows, list) else [],
            _texts_by_id(record.get("groups")),
            _texts(record).get("folder", ""),
        )

    def start(self, name: str) -> str:
        """The path that the file dialog begins with: in the last folder, while it exists."""
        return str(Path(self.folder) / name) if Path(self.folder).is_dir() else name

    def keep(self, row: Export, texts: Texts) -> None:
        """Remember the options of a row, its format among them; some of them are those of its group."""
        self.kinds[row.id] = {name: text for name, text in texts.items() if name != "format"}
        self.groups[row.group] = {name: texts[name] for name in SHARED}

    def options_of(self, row: Export) -> Texts:
        """The options that a row begins with, as far as any were remembered: a film has not the width of a
        column of a paper.
        """
        shared = self._shared(row)
        return {**self.kinds.get(row.id, {}), **{name: shared[name] for name in shared if name != "format"}}

    def format_of(self, row: Export, present: str) -> str:
        """The format that a row begins with: that of its group if it has it, its last one, or `present`."""
        shared = self._shared(row).get("format", "")
        has_shared = shared in [one.id for one in row.formats]
        return shared if has_shared else self.formats.get(row.id, present)

    def _shared(self, row: Export) -> Texts:
        return self.groups.get(row.group, {}) if GROUP_BY_ID[row.group].is_alike else {}

    def use(self, row: str, format_id: str) -> None:
        """Remember a row that was exported, and its format."""
        self.formats[row] = format_id
        self.rows = [row, *(one for one in self.rows if one != row)]

    @property
    def text(self) -> str:
        """The record for the settings."""
        return json.dumps(asdict(self))


def _record(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _texts_by_id(found: object) -> dict[str, Texts]:
    return {id_: _texts(texts) for id_, texts in _record(found).items()}


def _texts(found: object) -> Texts:
    return {name: text for name, text in _record(found).items() if isinstance(text, str)}

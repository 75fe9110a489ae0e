"""The choices of the export dialog that it remembers from one file to the next."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

Texts = dict[str, str]


@dataclass
class Memory:
    """The last format and the last options of each row, and the rows, that of the last file first."""

    formats: Texts = field(default_factory=dict)
    kinds: dict[str, Texts] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    @staticmethod
    def read(text: str) -> Memory:
        """The record of the settings; what is not understood is left out."""
        try:
            found = json.loads(text or "{}")
        except ValueError:
            return Memory()
        record = found if isinstance(found, dict) else {}
        kinds, rows = _record(record.get("kinds")), record.get("rows")
        return Memory(
            _texts(record.get("formats")),
            {id_: _texts(texts) for id_, texts in kinds.items()},
            [row for row in rows if isinstance(row, str)] if isinstance(rows, list) else [],
        )

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


def _texts(found: object) -> Texts:
    return {name: text for name, text in _record(found).items() if isinstance(text, str)}

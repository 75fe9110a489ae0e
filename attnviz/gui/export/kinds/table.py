"""Numbers of a stage as a table."""

from __future__ import annotations

from pathlib import Path

from attnviz.checkpoints.stories import record_of
from attnviz.core.progress import Check
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.i18n import _
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.carriers.table import files_carrying
from attnviz.model.io.files import replace_files
from attnviz.model.io.tables import MOST_DIGITS, TABLE_BY_ID, Table, table_bytes
from attnviz.model.spec.view import shown_head

MOST_SHOWN = 20_000
"""Characters of a text in the preview."""


def table(source: Source, choice: Choice, check: Check) -> Made:
    """One head of a stage; the preview is its text."""
    subject = choice.subject(source, check)
    site, stage = subject.shown_site, subject.checked_stage
    head = subject.head if isinstance(subject.head, int) else shown_head(site.experiment, subject.view, stage)
    digits = choice.number("digits", 0, MOST_DIGITS)
    row = TABLE_BY_ID[choice.format]
    data = table_bytes(Table.of(site, stage, head), row.id, digits, check)
    record = record_of(subject.document(source.document))
    if row.is_text:
        return as_text(data, row.suffix, record)
    return _carrying(data, row.suffix, record, _("NumPy arrays: values, rows, columns"))


def as_text(data: bytes, suffix: str, record: Record) -> Made:
    """A file of text that carries its document; the preview and the clipboard have the text alone."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return _carrying(data, suffix, record, shortened(text), text)


def _carrying(data: bytes, suffix: str, record: Record, shown: str, copied: str = "") -> Made:
    def write(_contents: tuple[bytes, ...], path: Path) -> tuple[Path, ...]:
        return replace_files(files_carrying(data, path, record))

    files = files_carrying(data, Path(f"table{suffix}"), record)
    return Made(tuple(files.values()), shown, copied, write)


def shortened(text: str) -> str:
    """The text, or its beginning."""
    return text[:MOST_SHOWN] + ("…" if len(text) > MOST_SHOWN else "")

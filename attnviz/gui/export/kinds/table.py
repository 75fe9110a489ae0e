"""Numbers of a stage as a table."""

from __future__ import annotations

from attnviz.core.progress import Check
from attnviz.gui.export.source import Choice, Made, Source
from attnviz.i18n import _
from attnviz.model.io.tables import MOST_DIGITS, Table, table_bytes
from attnviz.model.spec.view import shown_head

MOST_SHOWN = 20_000
"""Characters of a text in the preview."""


def table(source: Source, choice: Choice, check: Check) -> Made:
    """One head of a stage; the preview is its text."""
    subject = choice.subject(source, check)
    site, stage = subject.shown_site, subject.checked_stage
    head = subject.head if isinstance(subject.head, int) else shown_head(site.experiment, subject.view, stage)
    digits = choice.number("digits", 0, MOST_DIGITS)
    data = table_bytes(Table.of(site, stage, head), choice.format, digits, check)
    if choice.format == "npz":
        return Made((data,), _("NumPy arrays: values, rows, columns"))
    return as_text(data)


def as_text(data: bytes) -> Made:
    """A file of text; a long one shows its beginning."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return Made((data,), shortened(text), text)


def shortened(text: str) -> str:
    """The text, or its beginning."""
    return text[:MOST_SHOWN] + ("…" if len(text) > MOST_SHOWN else "")

"""Titles of the document's fields in the window, and errors in the words of its controls."""

from __future__ import annotations

from attnviz.errors import InputError, Message, message_of
from attnviz.i18n import _, current_language


def field_title(path: str) -> str:
    """Title of the field at a path in the active language, in any layer; else empty."""
    from attnviz.model.fields import (
        field_at,
    )  # its table is slow to make: the first frame does not wait for it

    row = field_at(path)
    if row is None and path.endswith(".kind"):  # which of the parts it is: the field that holds the part
        row = field_at(path.removesuffix(".kind"))
    return "" if row is None else _(row.field.title)


def in_words(error: BaseException | Message) -> str:
    """An error as the window shows it: in the active language, with the titles of the fields' controls."""
    message = error if isinstance(error, Message) else message_of(error)
    return message.text(_title_or_path)


def reason_in_words(refusal: InputError | None) -> str | None:
    """Why something cannot be chosen, as the window shows it; None if it can."""
    return None if refusal is None else in_words(refusal)


def _title_or_path(path: str) -> str:
    title = "" if current_language() == "en" else field_title(path)
    return f"“{title}”" if title else path

"""Translated messages: one gettext function for core, figures, CLI and window."""

from __future__ import annotations


def _(message: str) -> str:
    """Translate `message` into the active language; unknown messages come back unchanged."""
    return message


def N_(message: str) -> str:
    """Mark `message` for extraction where it is stored; translate it with `_` where it is shown."""
    return message

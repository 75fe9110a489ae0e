"""Saving of a comparison: asks for a file, and has the worker draw the figure or write the numbers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from attnviz.errors import suffix_error
from attnviz.figures import FORMATS
from attnviz.figures.contrast import render_contrast
from attnviz.figures.files import save_figure
from attnviz.gui.live.compare.asked import OwnAnswer
from attnviz.gui.panels.compare.picture import change_sentence
from attnviz.gui.panels.compare.texts import captions, title
from attnviz.i18n import _
from attnviz.model.contrast.table import contrast_csv
from attnviz.model.io.files import replace_file

CSV_SUFFIX = ".csv"


def ask_path(parent: QWidget) -> Path | None:
    """The file that the user names: a figure or a table, by its suffix."""
    filters = [f"{row.title} (*.{row.id})" for row in FORMATS]
    filters.append(_("Numbers, CSV ({pattern})").format(pattern=f"*{CSV_SUFFIX}"))
    text, kind = QFileDialog.getSaveFileName(parent, _("Export"), "comparison.svg", ";;".join(filters))
    if not text:
        return None
    path = Path(text)
    return path if path.suffix else path.with_name(path.name + kind[kind.rfind("*.") + 1 : kind.rfind(")")])


def save_comparison(answer: OwnAnswer, path: Path, theme: str) -> Path:
    """Write the three maps as a figure, or all numbers as CSV, by the suffix of `path`.

    Raises `ValueError` for another suffix, and `OSError` if writing fails.
    """
    suffix = path.suffix.lower()
    if suffix == CSV_SUFFIX:
        data = contrast_csv(answer.contrast).encode("utf-8-sig", "backslashreplace")
        replace_file(path, data)
        return path
    suffixes = [f".{row.id}" for row in FORMATS]
    if suffix not in suffixes:
        raise suffix_error(path.suffix, [*suffixes, CSV_SUFFIX])
    first, second = captions(answer)
    names = f"A · {first}", f"B · {second}", "B − A"
    heading = title(answer.document, answer.contrast.stage)
    changes = answer.contrast.changes
    note = _("greatest change: {change}").format(change=change_sentence(changes[0])) if changes else ""
    view = answer.document.view
    return save_figure(render_contrast(answer.contrast, heading, names, note, view, theme), path)

"""The precision that everything is computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from attnviz.errors import InputError
from attnviz.gui.forms.fields import Choice
from attnviz.gui.panels.mechanism.section import Section
from attnviz.gui.store import Store
from attnviz.i18n import N_
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment

DTYPES = (
    ("float16", "fp16", N_("float16: half precision")),
    ("bfloat16", "bf16", N_("bfloat16: the range of single precision, fewer digits")),
    ("float32", "fp32", N_("float32: single precision")),
    ("float64", "fp64", N_("float64: double precision")),
)


def no_reason(dtype: str) -> str:
    """Every dtype can be had."""
    return ""


def _set_dtype(experiment: Experiment, dtype: Any) -> Experiment:
    return replace(experiment, dtype=dtype)


class DTypeSection(Section):
    """float16 to float64; `reason` returns why one of them is unavailable with the present engine."""

    id = "dtype"
    heading = N_("Precision")

    def __init__(self, store: Store, parent: QWidget) -> None:
        super().__init__(store, parent)
        self.reason: Callable[[str], str] = no_reason

    def fill(self) -> None:
        self.add_whole_form(
            (
                Choice(
                    name="dtype_segmented",
                    path="dtype",
                    label="",
                    hint=N_("Precision"),
                    read=lambda e: e.dtype,
                    edit=_set_dtype,
                    options=DTYPES,
                    why_not=lambda e, dtype: InputError(text) if (text := self.reason(dtype)) else None,
                ),
            )
        )

    def present(self, document: Document) -> str:
        return document.experiment.dtype

    def set_reason(self, reason: Callable[[str], str]) -> None:
        """Use `reason` from now on, and show its result."""
        self.reason = reason
        for form in self._forms:
            form.refresh()

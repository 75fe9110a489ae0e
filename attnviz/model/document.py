"""The document: what is saved, undone and shared."""

from __future__ import annotations

from attnviz.model.experiment import Experiment
from attnviz.model.value import Value
from attnviz.model.view import View


class Document(Value, frozen=True):
    """An experiment and how it is looked at. `title` names it in the window and in figures."""

    experiment: Experiment
    view: View = View()
    title: str = ""

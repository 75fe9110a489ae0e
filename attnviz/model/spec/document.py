"""The document: what is saved, undone and shared."""

from __future__ import annotations

from attnviz.model.sites.sites import at, shown_site
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Value
from attnviz.model.spec.view import Cell, View


class Document(Value, frozen=True):
    """An experiment and how it is looked at. `title` names it in the window and in figures."""

    experiment: Experiment
    view: View = View()
    title: str = ""

    @property
    def site(self) -> str:
        """The site that the view looks at: the main one where the experiment has none of its name."""
        return shown_site(self.experiment, self.view.site)

    @property
    def attention(self) -> Site:
        """The attention that the view looks at."""
        return at(self.experiment, self.site)

    @property
    def locked_here(self) -> Cell | None:
        """The locked cell, where it is one of the attention that the view looks at."""
        locked = self.view.locked
        return locked if locked is not None and locked.site in ("", self.site) else None

"""The document: it is saved, undone and shared as a whole."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from attnviz.errors import (
    FieldError,
    InputError,
    Message,
    about,
    must_be,
    token_count,
    verbatim,
    whole_number,
)
from attnviz.model.captions import pieces
from attnviz.model.expressions.parser import parse
from attnviz.model.memo import WeakMemo
from attnviz.model.notebook import html
from attnviz.model.sites.sites import at, shown_site
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.field import LONGEST_NAME, LONGEST_TEXT
from attnviz.model.spec.image import Image
from attnviz.model.spec.site import Site
from attnviz.model.spec.value import Value, check_texts
from attnviz.model.spec.view import Cell, View, shown_head

MOST_CLAIMS = 32
"""Claims of a document: each is computed with every run."""


class Document(Value, frozen=True):
    """An experiment and its view. `title` names it in the window and in figures.

    `caption` says in a sentence what to see in it; its words may refer to tokens (see `model/captions.py`).
    `claims` are conditions over its stages, such as `weights[2].sum() == 1` (see `study/claims/`). `image` is
    the one whose patches are the tokens; `trained_length` is the most tokens of the texts that the model was
    trained on, None where that is not known. Both change no number.
    """

    experiment: Experiment
    view: View = View()
    title: str = ""
    caption: str = ""
    claims: tuple[str, ...] = ()
    image: Image | None = None
    trained_length: int | None = None

    def check(self) -> None:
        check_texts("title", (self.title,), LONGEST_NAME)
        check_texts("caption", (self.caption,), LONGEST_TEXT)
        _check_controls(self.caption)
        if self.trained_length is not None and self.trained_length < 1:
            raise FieldError("trained_length", self.trained_length, whole_number(1))
        if len(self.claims) > MOST_CLAIMS:
            raise FieldError("claims", len(self.claims), must_be("at most {most} claims", most=MOST_CLAIMS))
        for number, claim in enumerate(self.claims):
            try:
                parse(claim)
            except InputError as error:
                raise InputError(about(verbatim(f"claims[{number}]"), error.message)) from None

    def _repr_html_(self) -> str | None:
        return html(self)

    @property
    def site(self) -> str:
        """The selected site: the main one if the experiment has none of its name."""
        return self.attention.place.name

    def has_work_of(self, other: Document) -> bool:
        """True if two documents differ in their views alone, so that neither has unsaved work of its own."""
        own, others = ((one.title, one.caption, one.claims) for one in (self, other))
        return own == others and self.experiment == other.experiment

    def beyond_training(self, n_tokens: int) -> Message | None:
        """The sentence about a text of `n_tokens` that is longer than those of the training; else None."""
        if self.trained_length is None or n_tokens <= self.trained_length:
            return None
        return Message(
            "The model was trained on texts of up to {most}; this one has {n:,}.",
            most=token_count(self.trained_length),
            n=n_tokens,
        )

    @property
    def attention(self) -> Site:
        """The selected attention."""
        return _selected(self)

    @property
    def locked_here(self) -> Cell | None:
        """The locked cell, if it belongs to the selected attention."""
        locked = self.view.locked
        return locked if locked is not None and locked.site in ("", self.site) else None

    def looking(self, **fields: Any) -> Document:
        """The document with other fields of its view.

        Where another head is selected, the locked cell of a stage with heads goes to that head, so that the
        cell that is outlined and the one that is explained are the same.
        """
        seen = replace(self, view=replace(self.view, **fields))
        if "head" not in fields or "locked" in fields:
            return seen
        return replace(seen, view=replace(seen.view, locked=seen.of_shown_head(self.view.locked)))

    def of_shown_head(self, cell: Cell | None) -> Cell | None:
        """A cell of this attention, in the head that the view shows of its stage; any other as it is."""
        if cell is None or cell.site not in ("", self.site):
            return cell
        return replace(cell, head=shown_head(self.attention, self.view, cell.stage))


@lru_cache(maxsize=64)
def _check_controls(caption: str) -> None:
    """Raise `InputError` for a wrong control; a caption is read once for all edits of its document."""
    try:
        pieces(caption)
    except InputError as error:
        raise InputError(about(verbatim("caption"), error.message)) from None


@WeakMemo
def _selected(document: Document) -> Site:
    """The attention that the view selects, which every panel reads several times after each edit."""
    return at(document.experiment, shown_site(document.experiment, document.view.site))

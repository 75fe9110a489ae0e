"""Subject of the fields of a form: the selected attention, or the whole experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from attnviz.gui.store import Store
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site

S = TypeVar("S", bound=Site | Experiment)


@dataclass(frozen=True)
class Subject(Generic[S]):
    """Reading and editing of a form's subject by its rows.

    `now` is its present value; `edited` are all values that an edit changes, `now` first; `edit` takes a
    pure edit and its arguments.
    """

    now: Callable[[], S]
    edited: Callable[[], tuple[S, ...]]
    edit: Callable[..., bool]


def selected_attention(store: Store) -> Subject[Site]:
    """The selected attention, and with it those that are edited alike."""
    return Subject(lambda: store.attention, lambda: store.edited_attentions, store.edit_attention)


def whole_experiment(store: Store) -> Subject[Experiment]:
    """The whole experiment of the document."""
    return Subject(lambda: store.experiment, lambda: (store.experiment,), store.edit)

"""`CONTROLS`: the controls that stand in sentences, as `[temperature](set temperature 1.0)`.

`(set PATH VALUE)` is a number that is dragged and typed in place; any other value is set by a press, and one
of true and false is switched. `(type WORD)` replaces the last word of the text, `(type WORD for OLD)` the
last OLD, and a second press takes that back; without WORD the words in the brackets are typed. `(mask KIND)`
switches a mask on or off, and `(head 3)` selects a head, counted from 1 as the window names them. Captions
and lessons share the syntax; on paper only the words in the brackets remain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from attnviz.errors import FieldError, Message, among, message_of, must_be, quoted, whole_number
from attnviz.i18n import _
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.masks import find_mask, fitting_mask, put_mask, take_mask
from attnviz.model.edit.settings import (
    check_name,
    is_of_experiment,
    setting_of,
    with_own_setting,
    with_setting,
    with_shared_setting,
    written_value,
)
from attnviz.model.edit.switching import LastOfKind
from attnviz.model.fields import field_at
from attnviz.model.masks import MASKS, MaskFamily
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.text import MODEL, join_text, likely_splitting, split_text

if TYPE_CHECKING:
    from attnviz.model.spec.document import Document

_NARROW = r"[^\W\u2e80-\uffef]"
"""A letter or digit of a script that writes spaces between words."""
_WORD = re.compile(rf"{_NARROW}+(?:['’-]{_NARROW}+)*|\w")
"""A word; a Chinese character is one."""
_DECIMALS = re.compile(r"-?\d+\.(\d+)")
_TYPED = re.compile(r"(?:(?!for )(?P<new>.+?))??(?:(?:^| )for (?P<old>.+))?$")


class Hand(Protocol):
    """A hand that presses controls: it edits one document, and remembers the masks that it switched off."""

    @property
    def document(self) -> Document: ...

    @property
    def remembered(self) -> LastOfKind: ...

    def edit(self, function: Callable[[Experiment], Experiment]) -> object: ...

    def edit_attention(self, function: Callable[[Site], Site]) -> object: ...

    def look(self, *, head: int) -> object: ...


class Control(Protocol):
    """A control of a sentence."""

    @property
    def is_number(self) -> bool:
        """True if it shows a number, which is dragged and typed; any other control is pressed."""

    def number(self, document: Document) -> float | None:
        """The number that it shows; None for a control that is pressed, and in a document without it."""

    def is_on(self, document: Document) -> bool:
        """True if the document is as a press makes it."""

    def why_not(self, document: Document) -> Message | None:
        """Why it cannot be used in a document."""

    def press(self, hand: Hand) -> None:
        """Do what a click does."""

    def said(self) -> str:
        """A sentence, in the active language, about what a press does."""


@dataclass(frozen=True)
class Setting:
    """`set temperature 1.0`: the value of a field."""

    path: str
    value: Any
    digits: int = 0
    """The decimals with which the value is written."""

    @classmethod
    def read(cls, argument: str, word: str) -> Setting:
        """From the words after `set`. Raises `InputError`."""
        path, _space, written = argument.partition(" ")
        check_name(path)
        digits = _DECIMALS.fullmatch(written.strip())
        return cls(path, written_value(written.strip()), len(digits[1]) if digits else 0)

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)

    def number(self, document: Document) -> float | None:
        now = self._now(document)
        has_number = isinstance(now, int | float) and not isinstance(now, bool)
        return now if self.is_number and has_number else None

    def is_on(self, document: Document) -> bool:
        try:
            return bool(self._now(document) == self._then(document, self.value))
        except ValueError:
            return False

    def why_not(self, document: Document) -> Message | None:
        if self.is_number and self.number(document) is None:
            return FieldError(self.path, None, must_be("a number, which this control changes")).message
        try:
            self._then(document, self.value)
        except ValueError as error:
            return message_of(error)
        return None

    def press(self, hand: Hand) -> None:
        """Set the value; one of true and false changes with each press."""
        is_switch = isinstance(self.value, bool) and self.is_on(hand.document)
        self.enter(hand, not self.value if is_switch else self.value)

    def enter(self, hand: Hand, value: Any) -> None:
        """Set another value in the place of the written one."""
        if is_of_experiment(self.path):
            hand.edit(lambda experiment: with_shared_setting(experiment, self.path, value))
        else:
            hand.edit_attention(lambda site: with_own_setting(site, self.path, value))

    def said(self) -> str:
        return _("Set {field}").format(field=self.title)

    @property
    def title(self) -> str:
        """The title of the field in the active language; its path without one."""
        row = field_at(self.path)
        return self.path if row is None or not row.field.title else _(row.field.title)

    def _now(self, document: Document) -> Any:
        return setting_of(document.experiment, document.site, self.path)

    def _then(self, document: Document, value: Any) -> Any:
        """The value after it is set. Raises `ValueError` where it is not valid."""
        changed = with_setting(document.experiment, document.site, self.path, value)
        return setting_of(changed, document.site, self.path)


@dataclass(frozen=True)
class Typing:
    """`type he for she`: another word in the text, in the place of the last `old`, or of the last word."""

    new: str
    old: str = ""

    is_number = False

    @classmethod
    def read(cls, argument: str, word: str) -> Typing:
        """From the words after `type`. Raises `InputError`."""
        match = _TYPED.match(argument)
        assert match is not None
        return cls((match["new"] or word).strip(), (match["old"] or "").strip())

    def number(self, document: Document) -> float | None:
        return None

    def is_on(self, document: Document) -> bool:
        text = _text_of(document.experiment, MODEL.id)
        last = _last_word(text)
        if not self.old:
            return last is not None and last.group() == self.new
        return _last(text, self.old) is None and _last(text, self.new) is not None

    def why_not(self, document: Document) -> Message | None:
        text = _text_of(document.experiment, MODEL.id)
        if self.is_on(document) or self._place(text) is not None:
            return None
        if not self.old:
            return Message("The text has no word to replace.")
        return Message("The text must have the word {word}, which is replaced.", word=quoted(self.old))

    def press(self, hand: Hand) -> None:
        """Type the word; where it stands already, a second press types `old` again."""
        is_on = self.is_on(hand.document)
        if not is_on:
            hand.edit(lambda experiment: self._typed(experiment, self._place, self.new))
        elif self.old:
            hand.edit(
                lambda experiment: self._typed(experiment, lambda text: _last(text, self.new), self.old)
            )

    def said(self) -> str:
        if self.old:
            return _("Type {new} in the place of {old}").format(new=self.new, old=self.old)
        return _("Type {new} in the place of the last word").format(new=self.new)

    def _place(self, text: str) -> re.Match[str] | None:
        return _last(text, self.old) if self.old else _last_word(text)

    def _typed(
        self, experiment: Experiment, place: Callable[[str], re.Match[str] | None], word: str
    ) -> Experiment:
        way = likely_splitting(experiment)
        text = _text_of(experiment, way)
        there = place(text)
        if there is None:
            return experiment
        changed = f"{text[: there.start()]}{word}{text[there.end() :]}"
        return set_tokens(experiment, split_text(experiment, changed, way, keeps_ends=True))


@dataclass(frozen=True)
class MaskSwitch:
    """`mask causal`: a kind of mask that is switched on or off."""

    tag: str

    is_number = False

    @classmethod
    def read(cls, argument: str, word: str) -> MaskSwitch:
        """From the words after `mask`. Raises `FieldError`."""
        tags = [family.tag for family in MASKS]
        if argument not in tags:
            raise FieldError("mask", argument, among(tags))
        return cls(argument)

    @property
    def family(self) -> MaskFamily:
        return next(family for family in MASKS if family.tag == self.tag)

    def number(self, document: Document) -> float | None:
        return None

    def is_on(self, document: Document) -> bool:
        return find_mask(document.attention, self.family.kind) is not None

    def why_not(self, document: Document) -> Message | None:
        return None

    def press(self, hand: Hand) -> None:
        """Remove the mask, or add the last one of its kind, as far as it fits."""
        kind, family = self.family.kind, self.family
        if self.is_on(hand.document):
            hand.remembered.note(find_mask(hand.document.attention, kind))
            hand.edit_attention(lambda site: take_mask(site, kind))
        else:
            hand.edit_attention(
                lambda site: put_mask(
                    site, fitting_mask(hand.remembered.last(kind, family.fresh(site)), site)
                )
            )

    def said(self) -> str:
        return _("Switch the {mask} mask on or off").format(mask=_(self.family.title))


@dataclass(frozen=True)
class HeadChoice:
    """`head 3`: the selected head, counted from 1."""

    place: int

    is_number = False

    @classmethod
    def read(cls, argument: str, word: str) -> HeadChoice:
        """From the words after `head`. Raises `FieldError`."""
        if not argument.isdecimal() or len(argument) > 6 or int(argument) < 1:
            raise FieldError("head", argument, whole_number(1))
        return cls(int(argument))

    def number(self, document: Document) -> float | None:
        return None

    def is_on(self, document: Document) -> bool:
        return document.view.head == self.place - 1

    def why_not(self, document: Document) -> Message | None:
        most = document.attention.heads.n_heads
        return None if self.place <= most else FieldError("head", self.place, whole_number(1, most)).message

    def press(self, hand: Hand) -> None:
        hand.look(head=self.place - 1)

    def said(self) -> str:
        return _("Select head {head}").format(head=self.place)


CONTROLS: dict[str, Callable[[str, str], Control]] = {
    "set": Setting.read,
    "type": Typing.read,
    "mask": MaskSwitch.read,
    "head": HeadChoice.read,
}
"""The reader of each verb: a function of the words after it and of the words in the brackets."""

TARGET = rf"(?:{'|'.join(CONTROLS)}) [^()]+|type"
"""The target of a link that is a control, as a regular expression."""


def control_of(target: str, word: str) -> Control:
    """The control of a link with such a target, and these words. Raises `InputError`."""
    verb, _space, argument = target.partition(" ")
    return CONTROLS[verb](argument.strip(), word)


def _text_of(experiment: Experiment, way: str) -> str:
    return join_text(experiment, experiment.tokens, way)


def _last_word(text: str) -> re.Match[str] | None:
    return next(reversed([*_WORD.finditer(text)]), None)


def _last(text: str, word: str) -> re.Match[str] | None:
    """The last place of some words of a text, not inside of other words."""
    before = rf"(?<!{_NARROW})" if re.match(_NARROW, word) else ""
    after = rf"(?!{_NARROW})" if re.match(_NARROW, word[-1:]) else ""
    return next(reversed([*re.finditer(f"{before}{re.escape(word)}{after}", text)]), None)

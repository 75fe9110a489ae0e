"""The open sections: one at a time, and those that are pinned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Folding:
    """The section opened last, and the sections that stay open beside it."""

    current: str = ""
    pinned: frozenset[str] = frozenset()

    @property
    def opened(self) -> frozenset[str]:
        """The open sections."""
        return self.pinned | {self.current} - {""}

    def choose(self, section: str) -> Folding:
        """Close an open section, or open one in place of the current one."""
        if section in self.opened:
            return Folding("" if section == self.current else self.current, self.pinned - {section})
        return replace(self, current=section)

    def pin(self, section: str) -> Folding:
        """Keep a section open beside the others, or close a pinned one."""
        if section in self.pinned:
            return replace(self, pinned=self.pinned - {section})
        return Folding("" if section == self.current else self.current, self.pinned | {section})

    def text(self) -> str:
        """The state for the settings: the current section or a dash, then the pinned ones."""
        return " ".join((self.current or "-", *sorted(self.pinned)))

    @classmethod
    def read(cls, text: str, known: Iterable[str]) -> Folding:
        """The state of `text`, without sections that are not `known`."""
        current, *pinned = text.split()
        names = frozenset(known)
        return cls(current if current in names else "", frozenset(pinned) & names)

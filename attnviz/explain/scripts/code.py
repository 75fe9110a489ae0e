"""The code of one stage: its lines, and the definitions that they need before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from attnviz.core.text import columns
from attnviz.explain.scripts.library import Library
from attnviz.i18n import _
from attnviz.model.sites.stages import Stages, stage_shape
from attnviz.model.spec.site import Site
from attnviz.model.stages import inputs

Lines = tuple[str, ...]

NOTE = "  # "
"""Between a line and its comment."""

WIDTH = 100
"""Columns of a line of code with its comment."""


@dataclass(frozen=True)
class Definition:
    """A matrix, a table or a function that stages use: the name that it binds, and its lines.

    A script has it once, until one of the names in its lines gets another meaning; see `Written`.
    """

    name: str
    lines: Lines

    @cached_property
    def is_function(self) -> bool:
        """True if the names in its lines are its own."""
        return self.lines[0].startswith("def ")

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that must keep their meaning."""
        return frozenset({self.name} if self.is_function else _NAME.findall("\n".join(self.lines)))

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that get a meaning."""
        return frozenset({self.name}) if self.is_function else bound_names(self.lines)


def bound_names(lines: Lines) -> frozenset[str]:
    """The names to which lines assign."""
    targets = (_TARGET.match(line) for line in lines)
    return frozenset(name for target in targets if target for name in target[1].split(", "))


_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGET = re.compile(r"\s*([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*) (?:\|)?= ")


class Written:
    """The definitions that hold at a place in a script."""

    def __init__(self) -> None:
        self._holding: dict[str, Definition] = {}

    def lines(self, code: Code) -> Iterator[str]:
        """The lines of a stage, and before them its definitions that do not hold already."""
        for definition in code.definitions:
            if self._holding.get(definition.name) != definition:
                yield from definition.lines
                self._forget(definition.bound)
                self._holding[definition.name] = definition
        yield from code.lines
        self._forget(bound_names(code.lines))

    def _forget(self, bound: frozenset[str]) -> None:
        self._holding = {name: one for name, one in self._holding.items() if not bound & one.names}


@dataclass(frozen=True)
class Code:
    """The code of a stage; its last line binds the stage's name."""

    lines: Lines
    definitions: tuple[Definition, ...] = ()

    @property
    def all_lines(self) -> Lines:
        """Definitions and lines, to read alone."""
        return (*(line for one in self.definitions for line in one.lines), *self.lines)


Keep = Callable[[str, NDArray[Any]], str]
"""Stores a large array under a name; returns the expression that reads it."""


def in_a_dictionary(name: str, array: NDArray[Any]) -> str:
    """The expression of a stored array."""
    return f'stored["{name}"]'


@dataclass
class Asked:
    """The request for the code of one stage of a site: what a `Writer` reads and collects.

    `stages` are all of the site. `define` collects definitions, in the order of their use. `trained` are the
    expressions of parameters, by path, that the code reads instead of their numbers in the document.
    """

    site: Site
    stage: str
    stages: Stages
    library: Library
    keep: Keep = in_a_dictionary
    trained: Mapping[str, str] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)

    @property
    def reads(self) -> Stages:
        """The stages that this one reads, whose names are those of variables."""
        return inputs(self.stage, self.stages)

    @property
    def xp(self) -> str:
        """Name of the library's module in the code."""
        return self.library.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the stage."""
        return stage_shape(self.site, self.stage)

    def define(self, name: str, *lines: str) -> str:
        """Add a definition; returns its name."""
        definition = Definition(name, tuple(_narrow(lines)))
        if definition not in self.definitions:
            self.definitions.append(definition)
        return name

    def done(self, *lines: str) -> Code:
        """The code of the stage."""
        return Code(tuple(_narrow(lines)), tuple(self.definitions))


def _narrow(lines: Lines) -> Iterator[str]:
    """The lines; a comment that leaves the page stands above its line."""
    for line in lines:
        code, mark, comment = line.partition(NOTE)
        if code and mark and columns(line) > WIDTH:
            yield " " * (len(code) - len(code.lstrip())) + mark.strip() + " " + comment
            yield code
        else:
            yield line


def note(text: str, *fields: Any, **named: Any) -> str:
    """A comment behind a line; `text` is a message."""
    return f"{NOTE}{_(text).format(*fields, **named)}"


def shape_note(shape: tuple[int, ...]) -> str:
    """A comment with a shape."""
    return f"{NOTE}{shape}"

"""A command of the shell, its options that depend on others, and the ways in which it refuses its input."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnviz.core.phrases import enumerated
from attnviz.errors import InputError, Message, quoted, verbatim

OUTPUT = "--output"


class Refused(Exception):
    """Wrong input: one sentence for standard error."""


class Named(InputError):
    """An error whose message already names the file."""


@dataclass(frozen=True)
class Condition:
    """`option` has an effect only if `other` is typed, or has one of `values`, or if `also` is typed.

    With `of`, only these values of `option` have the condition; with `but`, all others. With `is_barred` it
    is turned around: the option has no effect beside `other`, or beside these `values` of it. Options have
    their long names, arguments those in the help; the values of `--output` are suffixes.

    The document decides a value that neither the command line nor a default gives: it meets every condition
    on values until it is known.
    """

    option: str
    other: str
    values: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    also: str = ""
    is_barred: bool = False

    def is_met(self, options: Namespace) -> bool:
        """True if these options have no such option, or one that has an effect."""
        if self.option not in options.typed or self.also in options.typed:
            return True
        value = value_of(options, self.option)
        if value in self.but or (self.of and value not in self.of):
            return True
        return self._has_other(options) != self.is_barred

    def _has_other(self, options: Namespace) -> bool:
        """True if the other option is typed, or has one of the values."""
        if not self.values:
            return self.other in options.typed
        given = value_of(options, self.other)
        if given is None:
            return not self.is_barred
        return (Path(given).suffix.lower() if self.other == OUTPUT else given) in self.values

    def refusal(self, options: Namespace) -> Message:
        """One sentence about options that do not meet the condition."""
        option = f"{self.option} {value_of(options, self.option)}" if self.of else self.option
        if self.is_barred:
            other = f"{self.other} {value_of(options, self.other)}" if self.values else self.other
            return Message("{option} must be left out with {other}", option=option, other=other)
        if not self.values:
            return Message("{option} needs {needed}", option=option, needed=self._needed())
        got = quoted(value_of(options, self.other))
        return Message("{option} needs {needed}; got {got}", option=option, needed=self._needed(), got=got)

    def _needed(self) -> Message:
        """The other option with its values, and the one that may stand in its place."""
        name = self.other if self.other.startswith("-") else ""
        if self.other == OUTPUT and self.values:
            needed = Message(
                "{option} with the suffix {suffixes}", option=OUTPUT, suffixes=_either(self.values)
            )
        elif self.values:
            first, *others = self.values
            needed = _either((f"{name} {first}".lstrip(), *others))
        else:
            needed = verbatim(self.other)
        return Message("{one} or {other}", one=needed, other=self.also) if self.also else needed


def _either(names: Iterable[str]) -> Message:
    """One of some names: `step, plane or dials`."""
    *before, last = names
    if not before:
        return verbatim(last)
    return Message("{one} or {other}", one=enumerated(before), other=last)


def check_conditions(options: Namespace, conditions: Iterable[Condition]) -> None:
    """Raise `Refused` for the first condition that the options do not meet."""
    for row in conditions:
        if not row.is_met(options):
            raise Refused(row.refusal(options).text())


def value_of(options: Namespace, name: str) -> Any:
    """The value of an option or an argument by its name on the command line."""
    return getattr(options, options.fields[name])


# --- typed options ---------------------------------------------------------------------------------


def keep_apart(command: ArgumentParser) -> None:
    """Let `typed_apart` tell the options of a command that were typed from those that have a default."""
    fields: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    for action in command._actions:
        if action.default is not SUPPRESS:
            names = action.option_strings or [str(action.metavar or action.dest)]
            fields |= dict.fromkeys(names, action.dest)
            defaults[action.dest] = action.default
            if action.option_strings:
                action.default = SUPPRESS
    command.set_defaults(fields=fields, defaults=defaults)


def typed_apart(options: Namespace) -> Namespace:
    """The options with their defaults, and the names of those that were `typed`."""
    typed = {name for name, field in options.fields.items() if getattr(options, field, None) is not None}
    return Namespace(**{**options.defaults, **vars(options), "typed": frozenset(typed)})


@dataclass(frozen=True)
class Command:
    """A row of `COMMANDS`: the name, one line of help, the options, and what it does.

    `help` and `epilog` are messages. `run` returns the exit code; it imports what it needs when it runs, so
    that `attnviz --help` stays quick. Options that do not meet the `conditions` are refused before it.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    epilog: str = ""
    conditions: tuple[Condition, ...] = ()

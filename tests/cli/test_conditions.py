"""`CONDITIONS` of each command: an option that would have no effect is refused in one sentence."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace

import pytest

from attnviz.cli.command import OUTPUT, Command, Condition, check_conditions, typed_apart
from attnviz.cli.shell import main, parser
from attnviz.cli.table import COMMANDS

Capture = pytest.CaptureFixture[str]
Typed = dict[str, str | None]
"""Options by name with their texts; None for an option that is absent."""

ROWS = [(command, row) for command in COMMANDS for row in command.conditions]
EACH = pytest.mark.parametrize(
    ("command", "row"), ROWS, ids=[f"{command.name} {row.option} {row.other}" for command, row in ROWS]
)


def options_of(command: Command) -> dict[str, Action]:
    """The options and arguments of a command by every name."""
    made = ArgumentParser()
    command.add(made)
    for group in made._mutually_exclusive_groups:
        group._group_actions[0].required = group.required
    return {name: one for one in made._actions for name in (one.option_strings or [one.metavar or one.dest])}


def sample(action: Action) -> str:
    """A text that the option takes; empty for a switch."""
    return "" if action.nargs == 0 else next(iter(action.choices or ("2",)))


def met(command: Command, row: Condition) -> str | None:
    """A text of the other option with which the condition is met; None to leave it out."""
    found = options_of(command)[row.other]
    if row.is_barred:
        return next((text for text in found.choices or () if text not in row.values), None)
    return "".join(("a" if row.other == OUTPUT else "", *row.values[:1])) or sample(found)


def unmet(command: Command, row: Condition) -> str | None:
    """A text of the other option with which the condition is not met."""
    found = options_of(command)[row.other]
    if row.is_barred:
        return row.values[0] if row.values else sample(found)
    return (
        next((text for text in found.choices or ("none",) if text not in row.values), None)
        if row.values
        else None
    )


def line(command: Command, typed: Typed) -> list[str]:
    """The command with these options and all that it requires."""
    words = [command.name]
    for name, action in options_of(command).items():
        text = typed.get(name)
        if text is None and (not action.required or name in typed or name == "-o"):
            continue
        if text is None and not any(other in typed for other in action.option_strings):
            text = sample(action)
        words += [*([name] if action.option_strings else []), *([text] if text else [])]
    return words


def parsed(words: list[str]) -> Namespace:
    return typed_apart(parser().parse_args(words))


@EACH
def test_an_option_without_effect_is_refused(command: Command, row: Condition, capsys: Capture) -> None:
    option = options_of(command)[row.option]
    typed: Typed = {row.option: row.of[0] if row.of else sample(option), row.other: unmet(command, row)}
    assert main(line(command, typed)) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith(f"attnviz: {row.option}") and error.count("\n") == 1
    assert row.other in error or any(value in error for value in row.values), error


@EACH
def test_an_option_with_an_effect_is_taken(command: Command, row: Condition) -> None:
    """The other conditions of the command are met, too: some line of each command has the option."""
    option = options_of(command)[row.option]
    typed: Typed = {row.option: row.of[0] if row.of else sample(option), row.other: met(command, row)}
    for _round in command.conditions:
        options = parsed(line(command, typed))
        typed |= {one.other: met(command, one) for one in command.conditions if not one.is_met(options)}
    options = parsed(line(command, typed))
    assert row.option in options.typed
    check_conditions(options, command.conditions)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda row: row.name)
def test_an_option_that_nobody_typed_is_never_refused(command: Command) -> None:
    options = parsed(line(command, {}))
    check_conditions(options, command.conditions)
    assert all(hasattr(options, field) for field in options.fields.values()), "each has its default"

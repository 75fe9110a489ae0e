"""The command line: its arguments, its language, its exit codes."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from attnviz.checkpoints.hub import is_downloaded
from attnviz.checkpoints.presets import preset_ids
from attnviz.cli.command import Named, Refused, check_conditions, keep_apart, typed_apart
from attnviz.cli.commands import gui
from attnviz.cli.table import COMMANDS
from attnviz.core.phrases import named
from attnviz.core.text import wrapped
from attnviz.errors import about, message_of
from attnviz.i18n import LANGUAGES, N_, _, ngettext, set_language
from attnviz.model.io.carriers.table import CARRYING
from attnviz.model.io.files import JSON_SUFFIX, TENSORS_SUFFIX
from attnviz.version import __version__

WORDS = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("unrecognized arguments: %s"),
    N_("the following arguments are required: %s"),
    N_("expected one argument"),
    N_("expected at least one argument"),
    N_("ignored explicit argument %r"),
    N_("not allowed with argument %s"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""The argparse messages that a user of this program can encounter."""


class Help(argparse.HelpFormatter):
    """Counts columns instead of characters, breaks Chinese lines, and ends Chinese headings in Chinese."""

    def format_help(self) -> str:
        # argparse itself puts a half-width colon behind every heading.
        return re.sub(r"(?<=[\u4e00-\u9fff]):$", "：", super().format_help(), flags=re.MULTILINE)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrapped(text, width - len(indent)))


def speak() -> None:
    """Let argparse look up its texts in the program's catalogue.

    By default it uses the catalogue of the process, which follows the environment alone and not --language,
    through two names in its own module; if those names are missing, its texts stay English.
    """
    vars(argparse).update(_=_, ngettext=ngettext)


REFUSED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit codes: wrong input or no room for the output; Ctrl+C; the reader of standard output closed it."""

SUFFIXES = (JSON_SUFFIX, TENSORS_SUFFIX, *CARRYING)
"""Suffixes of the files that open: documents, and what carries one."""


OPTIONS = {
    "ids": "--text",
    "memory_ids": "--memory-text",
    "corrupted": "--corrupted-text",
    "other": "--other-text",
    "references": "--refers",
    "n_tokens": "--tokens",
    "sizes": "--sizes",
}
"""The options that give fields of another name."""


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise Refused(_("{message} (see {command} --help)").format(message=message, command=self.prog))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _prepare_streams()
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except Refused as refusal:
        _say_error(str(refusal))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:  # files are named where they are written; the remaining case is standard output
        _drop_output()
        _say_error(named(error.filename or _("standard output"), error.strerror or str(error)))
    return REFUSED


def _prepare_streams() -> None:
    """Make every print succeed, and keep libraries quiet."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, or a Windows program without a console
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif hasattr(getattr(sys, name), "reconfigure"):
            # A terminal without Chinese must not cause a failure.
            getattr(sys, name).reconfigure(errors="backslashreplace")
    # matplotlib complains there about a home directory that it cannot write to, and works without one.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def main_gui() -> int:
    """Open the window, for a launcher without a terminal; arguments as for `attnviz gui`."""
    return main(["gui", *sys.argv[1:]])


def _drop_output() -> None:
    """The interpreter flushes once more at exit: redirect that to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    # The language first: the help and the errors use it.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    known, others = _language_parser().parse_known_args(arguments[:end])
    if known.language is not None:
        _set_language(known.language)
        arguments = [*others, *arguments[end:]]
    speak()
    options = parser().parse_args(_with_command(arguments))
    options.language = known.language
    command = next(row for row in COMMANDS if row.name == (options.command or "gui"))
    if command is gui.COMMAND:
        return command.run(options)
    options = typed_apart(options)
    check_conditions(options, command.conditions)
    from attnviz.engines.engine import EngineError

    named = getattr(options, "document", None)
    as_typed = partial(_as_typed, options)
    try:
        return command.run(options)
    except Named as error:
        raise Refused(error.message.text(as_typed)) from None
    except (EngineError, ValueError, MemoryError) as error:
        message = message_of(error)
        raise Refused((about(named, message) if named else message).text(as_typed)) from None


def _as_typed(options: argparse.Namespace, path: str) -> str:
    """A field as the typed option of another name that gives it: --refers[0] for references[0]."""
    field = re.split(r"\W", path, maxsplit=1)[0]
    option = OPTIONS.get(field, "")
    return option + path.removeprefix(field) if option in options.typed else path


def _language_parser() -> argparse.ArgumentParser:
    """Read --language alone, at any place; without its value it is reported with the other errors."""
    only = _Parser(add_help=False, allow_abbrev=False, exit_on_error=False)
    only.add_argument("--language", nargs="?")
    return only


def _with_command(arguments: list[str]) -> list[str]:
    """The arguments with `gui` before a document, a preset or a model in the place of a command."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 1
    if at == len(arguments) or arguments[at] in {row.name for row in COMMANDS}:
        return arguments
    named = Path(arguments[at])
    is_opened = named.suffix.lower() in SUFFIXES or arguments[at] in preset_ids()
    is_opened = is_opened or (arguments[at] != "" and (named.exists() or is_downloaded(arguments[at])))
    return [*arguments[:at], "gui", *arguments[at:]] if is_opened else arguments


def _set_language(code: str) -> None:
    try:
        set_language(code)
    except ValueError as error:
        raise Refused(str(error)) from None


def _say_error(sentence: str) -> None:
    from attnviz.core.text import visible

    print(f"attnviz: {visible(sentence)}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    # No abbreviations: a script that says --out today must not mean something else tomorrow.
    top = _Parser(
        prog="attnviz",
        description=_(
            "A workbench for the mechanics of attention. Without a command it opens the window; "
            "attnviz FILE opens a document in it, attnviz FOLDER imports a trained model."
        ),
        formatter_class=Help,
        allow_abbrev=False,
    )
    shows = _("show the version of the program and exit")
    top.add_argument("--version", action="version", version=f"attnviz {__version__}", help=shows)
    codes = ", ".join(language.code for language in LANGUAGES)
    top.add_argument(
        "--language", metavar="CODE", help=_("the language of all texts: {codes}").format(codes=codes)
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    for row in COMMANDS:
        command = commands.add_parser(
            row.name,
            help=_(row.help),
            description=_(row.help),
            epilog=_(row.epilog) if row.epilog else "",
            formatter_class=Help,
            allow_abbrev=False,
        )
        row.add(command)
        keep_apart(command)
    return top

"""The shell: `attnviz` opens the window; its commands compute and draw without one.

Every user error is one line on standard error that names the fault, with exit code 2. `cli_commands.py` runs
the commands; this file defines their arguments.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from attnviz.cli_words import Help, speak
from attnviz.errors import about, message_of
from attnviz.i18n import LANGUAGES, N_, _, set_language
from attnviz.version import __version__

REFUSED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit codes: wrong input or no room for the output; Ctrl+C; the reader of standard output closed it."""

ORIENTATIONS = ("queries_as_rows", "queries_as_columns")
PICTURES = ("map", "lines")

SUFFIXES = (".json", ".safetensors")
"""Suffixes of document files."""

DOC_HELP = N_("a document file, or the name of a preset (see attnviz presets)")

DECODE_FORMAT = N_(
    "With --json: one object with format, version, document, engine, device, dtype, seconds, "
    "notices, stopped, vocabulary, total and steps. Each step has index (from 0), token, generated, "
    "prefill (whether it was read in one pass with the rest of a prompt), seconds, read and appended "
    "(positions of the cache), weights (a list for each head, over the keys seen so far), output, "
    "probabilities (over the vocabulary), next_token, and the costs cached and uncached: "
    "kv_projections, score_pairs, bytes_read, bytes_written, bytes_moved, bytes_held, flops, over "
    "all layers. With several attentions, read, appended, weights and output are those of the first "
    "one outside the encoder, and sites has the same for each of them by name. Numbers that JSON "
    'lacks are the strings "NaN", "Infinity" and "-Infinity".'
)


class Refused(Exception):
    """Wrong input: one sentence for standard error."""


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise Refused(_("{message} (see {command} --help)").format(message=message, command=self.prog))


def _whole_number(text: str) -> int:
    """Parse the number of an option; its range is checked where it is used."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            _("must be a whole number of at least 1; got {text!r}").format(text=text)
        ) from None


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
        _say_error(f"{error.filename or _('standard output')}: {error.strerror or error}")
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
    known, _others = _language_parser().parse_known_args(arguments)
    if known.language is not None:
        _set_language(known.language)
    speak()
    options = parser().parse_args(_with_command(arguments))
    command = options.command or "gui"
    if command == "gui":
        return _open_window(getattr(options, "document", None))
    from attnviz import cli_commands
    from attnviz.engines.engine import EngineError

    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "presets": cli_commands.presets,
        "run": cli_commands.run,
        "render": cli_commands.render,
        "decode": cli_commands.decode,
        "import": cli_commands.import_,
        "bench": cli_commands.bench,
    }
    named = getattr(options, "document", None)
    try:
        return actions[command](options)
    except cli_commands.Named as error:
        raise Refused(error.message.text()) from None
    except (EngineError, ValueError, MemoryError) as error:
        message = message_of(error)
        raise Refused((about(named, message) if named else message).text()) from None


def _language_parser() -> argparse.ArgumentParser:
    """Read --language alone, at any place; errors in it are reported with the others."""
    only = _Parser(add_help=False, allow_abbrev=False, exit_on_error=False)
    only.add_argument("--language", nargs="?")
    return only


def _with_command(arguments: list[str]) -> list[str]:
    """The arguments with `gui` before a document in the place of a command: `attnviz FILE`."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] == "--language" else 1
    if at < len(arguments) and (Path(arguments[at]).suffix in SUFFIXES or Path(arguments[at]).is_file()):
        return [*arguments[:at], "gui", *arguments[at:]]
    return arguments


def _open_window(document: str | None) -> int:
    if document is not None and not Path(document).is_file():
        raise Refused(_("{file}: no such file").format(file=document))
    has_display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    if sys.platform.startswith("linux") and not has_display:
        raise Refused(
            _(
                "the window needs a display; found none. attnviz --help lists the commands that work "
                "without one"
            )
        )
    try:
        from attnviz.gui.app import main as window
    except ImportError as error:
        raise Refused(_("the window cannot be opened: {reason}").format(reason=error)) from None
    return window(Path(document) if document is not None else None)


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
            "attnviz FILE opens a document in it."
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

    def command(name: str, text: str, epilog: str = "") -> argparse.ArgumentParser:
        return commands.add_parser(
            name, help=text, description=text, epilog=epilog, formatter_class=Help, allow_abbrev=False
        )

    gui = command("gui", _("open the window"))
    gui.add_argument("document", nargs="?", metavar="DOC", help=_("a document file"))
    command("presets", _("list the documents that ship with the program"))
    _add_run(command("run", _("compute a document; save its stages, or list them")))
    _add_render(command("render", _("save a stage as a heat map")))
    _add_import(command("import", _("import a trained model with a text as a document")))
    _add_decode(command("decode", _("decode token by token with a cache"), _(DECODE_FORMAT)))
    bench = command("bench", _("measure the engines and the window on this machine, or decoding"))
    bench.add_argument(
        "subject",
        nargs="?",
        choices=("decode",),
        help=_("decode: tokens per second beside transformers (default: engines and window)"),
    )
    bench.add_argument("--json", action="store_true", help=_("print JSON"))
    return top


def _add_document(command: argparse.ArgumentParser) -> None:
    command.add_argument("document", metavar="DOC", help=_(DOC_HELP))
    command.add_argument("--engine", default="numpy", help=_("numpy or torch (default: numpy)"))
    command.add_argument("--device", default="auto", help=_("auto, cpu, cuda or cuda:N (default: auto)"))
    command.add_argument("--dtype", help=_("the precision, instead of the document's dtype"))
    command.add_argument(
        "--text", help=_("an input text that replaces the document's; needs a model's vocabulary")
    )


def _add_run(command: argparse.ArgumentParser) -> None:
    _add_document(command)
    command.add_argument("-o", "--output", metavar="FILE.npz", help=_("arrays named site.stage"))
    command.add_argument("--stages", metavar="A,B", help=_("only these stages (default: all)"))
    command.add_argument("--site", metavar="NAME", help=_("only this attention (default: all)"))


def _add_render(command: argparse.ArgumentParser) -> None:
    from attnviz.core.levels import RANGES

    _add_document(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".svg, .pdf or .png"))
    command.add_argument("--stage", help=_("the stage (default: the one the document shows)"))
    command.add_argument(
        "--site",
        metavar="NAME|all",
        help=_("the attention, such as decoder.0.cross, or all of them (default: the selected one)"),
    )
    command.add_argument("--head", metavar="N|all", help=_("a head, 0 the first, or all of them"))
    command.add_argument("--theme", default="light", help=_("light or dark (default: light)"))
    command.add_argument("--orientation", choices=ORIENTATIONS, help=_("the orientation of the matrix"))
    command.add_argument("--range", choices=[row.id for row in RANGES], help=_("the range of the colours"))
    command.add_argument(
        "--as",
        dest="picture",
        choices=PICTURES,
        help=_("a map, or lines from words to words, of weights"),
    )
    command.add_argument(
        "--query", metavar="N|all", help=_("with lines: one query, 0 the first, or all (default: the view's)")
    )
    command.add_argument(
        "--dpi",
        type=_whole_number,
        default=200,
        help=_("pixels per inch of a PNG (default: {dpi})").format(dpi=200),
    )


def _add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", metavar="FOLDER", help=_("a checkpoint: config.json, model.safetensors, tokenizer.json")
    )
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".safetensors or .json"))
    command.add_argument("--text", help=_("the input text; needs the package tokenizers"))
    command.add_argument("--ids", metavar="1,2,3", help=_("token ids instead of a text"))
    command.add_argument(
        "--memory-text", metavar="TEXT", help=_("the input text of the encoder of an encoder-decoder")
    )
    command.add_argument("--memory-ids", metavar="1,2,3", help=_("token ids instead of that text"))
    command.add_argument("--dtype", default="float32", help=_("the precision (default: float32)"))
    command.add_argument(
        "--attention-only", action="store_true", help=_("only the attention of the first layer")
    )


def _add_decode(command: argparse.ArgumentParser) -> None:
    _add_document(command)
    length = command.add_mutually_exclusive_group()
    length.add_argument(
        "--new",
        type=_whole_number,
        metavar="N",
        help=_("the number of new tokens after the prompt (default: the document's, or none)"),
    )
    length.add_argument(
        "--steps",
        type=_whole_number,
        metavar="N",
        help=_("the largest number of tokens to feed, the prompt included"),
    )
    command.add_argument("--json", action="store_true", help=_("print JSON instead of a table"))


if __name__ == "__main__":
    sys.exit(main())

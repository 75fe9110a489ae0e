"""Options and steps of several commands: the document and its engine, stages and sites, files to write."""

from __future__ import annotations

import shlex
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from attnviz.checkpoints.opening import names_model
from attnviz.checkpoints.stories import load_named, record_of
from attnviz.cli.command import Named, Refused
from attnviz.core.text import columns, visible
from attnviz.errors import (
    FieldError,
    Message,
    about,
    among,
    listed,
    message_of,
    missing,
    must_be,
    quoted,
    verbatim,
    whole_number,
)
from attnviz.i18n import N_, _
from attnviz.model.edit.by_hand import with_text
from attnviz.model.edit.edits import set_tokens
from attnviz.model.edit.movement import removed_with_tokens
from attnviz.model.io.carriers import npz
from attnviz.model.io.files import DocumentError
from attnviz.model.spec.document import Document
from attnviz.model.text import MODEL, split_text

if TYPE_CHECKING:
    from attnviz.model.io.carriers.record import Record
    from attnviz.model.trace import Trace
    from attnviz.training.run import Run

DOC_HELP = N_(
    "a document file, an .npz file (see attnviz gui --help), the name of a preset (see attnviz presets), "
    "or, with --text, a model's folder, .gguf or name of the hub"
)


READS_MORE = must_be("a document that attnviz import writes, as the input of this model is not one text")


def add_document(command: ArgumentParser, *, is_needed: bool = True) -> None:
    """Add the document, the engine, the precision and the text."""
    command.add_argument("document", metavar="DOC", nargs=None if is_needed else "?", help=_(DOC_HELP))
    command.add_argument("--engine", default="numpy", help=_("numpy or torch (default: numpy)"))
    command.add_argument("--device", default="auto", help=_("auto, cpu, cuda or cuda:N (default: auto)"))
    command.add_argument("--dtype", help=_("the precision, instead of the document's dtype"))
    add_text(command)
    command.add_argument(
        "--edit",
        metavar="CELL",
        action="append",
        default=[],
        help=_("set, add to or multiply numbers by hand, such as 'layers.0.self.mixed[1, 3, :] *= 0'"),
    )


def add_text(command: ArgumentParser) -> None:
    """Add the text in the place of the document's tokens."""
    command.add_argument(
        "--text", help=_("an input text that replaces the document's; needs a model's vocabulary")
    )


def document(options: Namespace) -> Document:
    """The file or preset that `DOC` names, with the requested text, dtype and edits by hand."""
    opened = _without_edits(options)
    for text in getattr(options, "edit", ()):
        opened = replace(opened, experiment=with_text(opened.experiment, text))
    return opened


def no_document(name: str) -> Message:
    """A name that is neither a file nor a preset."""
    return Message(
        "The document must be a file, a trained model or a preset (attnviz presets lists them); got {name}.",
        name=quoted(name),
    )


def _without_edits(options: Namespace) -> Document:
    name = options.document
    if not name:  # as a path it would be the current folder
        raise Named(no_document(name))
    if names_model(name):
        return _imported(options)
    try:
        document = load_named(name)
    except DocumentError as error:
        is_name = not Path(name).suffix and not Path(name).exists()
        raise Named(no_document(name) if is_name else error.message) from None
    if npz.is_of_arrays(Path(name)):
        notice(verbatim(document.caption))  # how the arrays were read, and which were not
    if options.text is not None:
        tokens = split_text(document.experiment, options.text, MODEL.id)
        experiment = set_tokens(document.experiment, tokens)
        removed = removed_with_tokens(document.experiment, experiment)
        if removed is not None:
            notice(removed)
        document = replace(document, experiment=experiment)
    if options.dtype is None:
        return document
    from attnviz.engines.engine import ITEMSIZE

    if options.dtype not in ITEMSIZE:
        raise FieldError("dtype", options.dtype, among(ITEMSIZE))
    return replace(document, experiment=replace(document.experiment, dtype=options.dtype))


def _imported(options: Namespace) -> Document:
    """The model in a folder or a file of weights, with the text."""
    from attnviz.checkpoints import CheckpointError, import_checkpoint

    name = options.document
    try:
        if options.text is not None:
            return import_checkpoint(name, options.text, dtype=options.dtype or "float32")
        fault = about(name, missing("--text", must_be("the text that the model reads")).message)
    except CheckpointError as error:
        fault = error.message
    raise Named(_reason(name, fault))


def _reason(name: str, fault: Message) -> Message:
    """Why a model is no document: a fault of its files, more inputs than a text, else `fault`."""
    from attnviz.checkpoints import CheckpointError
    from attnviz.checkpoints.importing import describe

    try:
        described = describe(name)
    except CheckpointError as error:
        return error.message
    reads_more = described.n_encoder_layers or described.signal is not None
    return FieldError("DOC", name, READS_MORE).message if reads_more else fault


def execute(document: Document, options: Namespace) -> Trace:
    """Run the document on the chosen engine; its notices go to standard error."""
    from attnviz.compute.execute import execute as compute

    trace = compute(document.experiment, options.engine, options.device)
    for said in trace.notices:
        notice(said)
    return trace


def sites(trace: Trace, wanted: str | None) -> tuple[str, ...]:
    """The site named by `--site`, or all."""
    if wanted is None:
        return trace.sites
    if wanted not in trace.sites:
        raise FieldError("site", wanted, among(trace.sites))
    return (wanted,)


def stages(trace: Trace, sites: tuple[str, ...], wanted: str | None) -> tuple[str, ...] | None:
    """The stages named by `--stages`, None for all."""
    if wanted is None:
        return None
    return named_stages(
        tuple(dict.fromkeys(stage for site in sites for stage in trace.site(site).stages)), wanted
    )


def named_stages(stages: tuple[str, ...], wanted: str) -> tuple[str, ...]:
    """The stages in a list with commas. Raises `FieldError` for none, and for one that is not in `stages`."""
    names = tuple(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    for name in names:
        if name not in stages:
            raise FieldError("stage", name, among(stages))
    if not names:
        raise FieldError("stages", wanted, must_be("one or more of {choices}", choices=listed(stages)))
    return names


def head(text: str | None) -> Any:
    """Parse a head: its number, 'all', or None."""
    if text is None or text == "all":
        return text
    if not text.isascii() or not text.isdigit():
        raise FieldError("head", text, must_be("a whole number of at least 0, or 'all'"))
    return int(text)


class Count(Action):
    """An option that takes a whole number of at least `least`."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, least: int = 1, **named: Any) -> None:
        super().__init__(option_strings, dest, **named)
        self.least = least

    def __call__(
        self, parser: ArgumentParser, options: Namespace, value: Any, option: str | None = None
    ) -> None:
        """Keep the number. Raises `Refused` for another text and for a smaller number."""
        number = _whole_number(value)
        if not isinstance(number, int) or number < self.least:
            assert option is not None
            raise Refused(FieldError(option, number, whole_number(self.least)).message.text())
        setattr(options, self.dest, number)


def _whole_number(text: str) -> int | str:
    """The number in a text; the text itself if it has none."""
    try:
        return int(text)
    except ValueError:
        return text


def place_option(text: str) -> int:
    """Parse a place that counts from 0, or from the end if it is negative."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(_("must be a whole number; got {text!r}").format(text=text)) from None


def number_option(text: str) -> float:
    """Parse a number; its range is checked where it is used."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(_("must be a number; got {text!r}").format(text=text)) from None


def place(name: str, text: str) -> int:
    """Parse a place that counts from 0."""
    if not text.isascii() or not text.isdigit():
        raise FieldError(name, text, whole_number(0))
    return int(text)


def recorded(document: Document) -> Record:
    """The record of a document in the file that this command writes."""
    return record_of(document, shlex.join(["attnviz", *sys.argv[1:]]))


def trained(known: Document, options: Namespace) -> Run:
    """The training run beside the document of a file. Raises `ValueError` for a file without one."""
    from attnviz.training.file import load_run

    try:
        return load_run(options.document, known, options.engine, options.device)
    except ValueError as error:
        raise Named(message_of(error)) from None


def written(path: str, write: Callable[[], object]) -> None:
    """Write a file, and prefix every error with its name."""
    try:
        write()
    except OSError as error:
        raise Named(about(path, message_of(error))) from None
    except ValueError as error:
        message = message_of(error)
        is_named = str(message).startswith(Path(path).name)
        raise Named(message if is_named else about(path, message)) from None


def show_share(share: float) -> None:
    """Show the completed share of a job in a terminal, in the same place."""
    if sys.stderr.isatty():
        print(f"\r{share:4.0%}", end="\n" if share == 1.0 else "", file=sys.stderr, flush=True)


def notice(notice: Message) -> None:
    """Print a notice to standard error."""
    print(f"attnviz: {visible(notice.text())}", file=sys.stderr)


def add_target(command: ArgumentParser, *, required: bool = True, is_compared: bool = True) -> None:
    """Add the token whose logit is explained, the one that it is compared with, if any, and the position."""
    command.add_argument(
        "--target", metavar="TOKEN", required=required, help=_("the token whose logit is explained")
    )
    if is_compared:
        command.add_argument(
            "--against", metavar="TOKEN", help=_("another token, whose logit is subtracted (default: none)")
        )
    command.add_argument(
        "--position",
        metavar="N",
        type=place_option,
        default=-1,
        help=_("the position whose logits are read, 0 the first, -1 the last (default: -1)"),
    )


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest text; Chinese characters occupy two places."""
    sizes = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [text + " " * (size - columns(text)) for text, size in zip(row, sizes, strict=True)]
        print("  ".join(cells).rstrip())

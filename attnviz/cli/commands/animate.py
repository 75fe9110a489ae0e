"""`attnviz animate`: save a sequence of pictures."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial

from attnviz.cli.command import OUTPUT, Command, Condition
from attnviz.cli.options import (
    add_document,
    document,
    head,
    notice,
    number_option,
    recorded,
    show_share,
    trained,
    written,
)
from attnviz.cli.picture import (
    OF_THE_PICTURE,
    add_gradient,
    add_picture,
    computed,
    drawn_kind,
    style,
    subject_of,
)
from attnviz.core.progress import Progress, never_cancelled
from attnviz.errors import FieldError, must_be
from attnviz.i18n import N_, _

OF_A_PLACE = {"--head", "--site", "--as"}
"""Options that say which map is drawn."""
OVER_FORMAT = N_(
    "A sweep is FIELD=a:b:n: n values of a number from a to b, in equal steps, or with :log at its end in "
    "equal ratios. FIELD is a path of the document, such as temperature, position.base, masks.window.left, "
    "layers[1].cap, position.slopes[0] or vectors[3][0]; without a layer it belongs to the selected "
    "attention. A suffix .png or .svg writes numbered files into a folder of that name."
)


def add(command: ArgumentParser) -> None:
    """Add the options."""
    from attnviz.figures.sequences.sequence import FPS

    add_document(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", required=True, help=_(".gif, .mp4, .pdf, .png or .svg")
    )
    command.add_argument(
        "--over",
        required=True,
        metavar="decode|layers|sum|training|FIELD=a:b:n",
        help=_("what changes from picture to picture"),
    )
    command.add_argument(
        "--fps",
        type=number_option,
        default=FPS,
        metavar="N",
        help=_("pictures per second (default: {fps})").format(fps=f"{FPS:g}"),
    )
    add_picture(command)
    add_gradient(command)
    command.set_defaults(step=None, follow=False)  # the options of a picture of one step


def run(options: Namespace) -> int:
    """Compute the frames, draw them and write the file."""
    from attnviz.compute.execute import execute_decoding, execute_shown
    from attnviz.figures.sequences import Sequence, frames, save_sequence
    from attnviz.figures.sequences.frames import SUM, USUAL_KIND, Engines
    from attnviz.figures.sequences.outputs import check_fps, output_of

    known, look, where = document(options), style(options), (options.engine, options.device)
    head(options.head)
    check_fps(options.fps)
    written(options.output, lambda: output_of(options.output))
    known, trace = computed(known, options)
    subject = subject_of(known, trace, options)
    if options.over == SUM or not OF_A_PLACE & options.typed:
        options.kind = options.kind or USUAL_KIND.get(options.over)
    if options.over == SUM and options.part is not None:
        raise FieldError("part", options.part, must_be("left out of the sequence of all parts"))
    subject = replace(subject, run=partial(trained, known, options))
    kind = drawn_kind(subject, options, CONDITIONS)
    engines = Engines(
        lambda experiment, check: execute_shown(experiment, known.view, *where, check),
        lambda experiment, check: execute_decoding(experiment, None, *where, check),
    )
    progress = Progress(never_cancelled, show_share)
    drawn_frames = frames(options.over, subject, engines, progress.part(0.0, 0.3), kind)
    sequence, record = Sequence(drawn_frames, kind, look), recorded(subject.document(known))
    sequence.figure(0)  # what cannot be drawn is an error of an option, not of the file
    if sequence.without is not None:
        notice(sequence.without)
    written(
        options.output,
        lambda: save_sequence(
            sequence,
            options.output,
            progress.part(0.3, 1.0),
            fps=options.fps,
            dpi=None if options.dpi is None else look.dpi,
            record=record,
        ),
    )
    show_share(1.0)
    return 0


CONDITIONS = (
    *OF_THE_PICTURE,
    Condition("--fps", OUTPUT, (".gif", ".mp4")),
)

COMMAND = Command("animate", N_("save a sequence of pictures"), add, run, OVER_FORMAT, CONDITIONS)

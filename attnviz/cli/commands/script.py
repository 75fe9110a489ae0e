"""`attnviz script`: a document as a script or a notebook that recomputes it without attnviz."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.cli.command import Command, Condition
from attnviz.cli.commands import train
from attnviz.cli.options import DOC_HELP, add_text, document, named_stages, recorded, written
from attnviz.errors import FieldError, among
from attnviz.i18n import N_, _

if TYPE_CHECKING:
    from attnviz.explain.scripts.script import Program, Wanted
    from attnviz.model.spec.document import Document

LIBRARIES = ("numpy", "torch")


def add(command: ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("document", metavar="DOC", help=_(DOC_HELP))
    command.add_argument("-o", "--output", metavar="FILE", help=_(".py or .ipynb (default: standard output)"))
    command.add_argument(
        "--with",
        dest="library",
        choices=LIBRARIES,
        default="numpy",
        help=_("the array library of the script (default: numpy)"),
    )
    command.add_argument(
        "--notebook", action="store_true", help=_("a Jupyter notebook with a cell for each stage")
    )
    command.add_argument(
        "--stages",
        metavar="A,B",
        help=_("the printed stages, or all (default: the one that the document shows, and the result)"),
    )
    command.add_argument("--site", metavar="NAME", help=_("print only this attention (default: all)"))
    command.add_argument(
        "--train",
        action="store_true",
        help=_("a script that trains the document, as attnviz train does, or takes the steps of its run"),
    )
    train.add_course(command)
    add_text(command)
    command.set_defaults(dtype=None)


def run(options: Namespace) -> int:
    """Write or print the script of a document."""
    from attnviz.explain.scripts.files import NOTEBOOK, SCRIPT, check_suffix, save_program
    from attnviz.explain.scripts.library import LIBRARY_BY_ID
    from attnviz.explain.scripts.notebook import notebook
    from attnviz.explain.scripts.script import program

    known, library = document(options), LIBRARY_BY_ID[options.library]
    if options.train:
        known, code = _training(known, options)
    else:
        code = program(known, library, _wanted(known, options))
    if options.output is None:
        print(notebook(code) if options.notebook else code.text(), end="")
        return 0
    suffixes = (NOTEBOOK,) if options.notebook else (SCRIPT, NOTEBOOK)
    written(options.output, lambda: check_suffix(Path(options.output), suffixes))
    record = recorded(known)
    written(options.output, lambda: save_program(code, options.output, record))
    return 0


def _training(known: Document, options: Namespace) -> tuple[Document, Program]:
    """The document with the words of the task, and the script that trains it.

    A file of a run has both; an option of a run begins another one.
    """
    from attnviz.training.file import load_run, record_in
    from attnviz.training.script import program_of_run, training_program

    if not options.typed & set(train.COURSE) and record_in(options.document, known.experiment) is not None:
        return program_of_run(known, load_run(options.document, known))
    experiment, sampler = train.prepared(known.experiment, options)
    known = replace(known, experiment=experiment)
    return known, training_program(known, sampler, *train.course_of(options))


def _wanted(known: Document, options: Namespace) -> Wanted:
    """The printed stages. Raises `FieldError` for a stage or an attention that the document lacks."""
    from attnviz.explain.scripts.script import Wanted
    from attnviz.model.sites.sites import at, site_names
    from attnviz.model.sites.stages import site_stages

    names = site_names(known.experiment)
    if options.site is not None and options.site not in names:
        raise FieldError("site", options.site, among(names))
    of_sites = names if options.site is None else (options.site,)
    stages = tuple(dict.fromkeys(s for name in of_sites for s in site_stages(at(known.experiment, name))))
    if options.stages is None:
        return Wanted(None, options.site)
    return Wanted(stages if options.stages == "all" else named_stages(stages, options.stages), options.site)


CONDITIONS = (
    *(Condition(option, "--train", is_barred=True) for option in ("--stages", "--site")),
    *train.OF_THE_TASK,
    Condition("--train", "--with", ("torch",)),
    *(Condition(option, "--train") for option in train.COURSE if option != "--lines"),  # by its task
)

COMMAND = Command(
    "script", N_("save a document as a script that recomputes it"), add, run, conditions=CONDITIONS
)

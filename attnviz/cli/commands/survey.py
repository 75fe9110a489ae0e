"""`attnviz survey`: the scores of every head over many texts, into a Parquet file; or the summary of one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from attnviz.cli.command import Command, Condition, Named, Refused
from attnviz.cli.options import Count, print_table, show_share
from attnviz.core.head_scores import SCORES_OF_TEXT
from attnviz.core.phrases import named
from attnviz.core.text import number
from attnviz.errors import FieldError, InputError, about, message_of, missing, must_be, verbatim
from attnviz.i18n import N_, _

SUFFIX = ".parquet"
A_SURVEY = must_be("a file with the suffix {suffix}", suffix=SUFFIX)
TOP = 10


def add(command: ArgumentParser) -> None:
    """Add the options."""
    model = _(
        "a model's folder, .gguf or name of the hub, a document or a preset with a vocabulary; "
        "or a .parquet file, to summarise it"
    )
    command.add_argument("model", metavar="MODEL", help=model)
    command.add_argument(
        "--texts",
        metavar="FILE|FOLDER",
        help=_(".txt (a text in each line), .jsonl, or a folder of .txt files"),
    )
    ids = ", ".join(row.id for row in SCORES_OF_TEXT)
    command.add_argument("--scores", metavar="A,B", help=_("{ids} (default: all)").format(ids=ids))
    command.add_argument(
        "--ablate", metavar="WAY", help=_("zero or mean: also measure the effect of ablating each head")
    )
    command.add_argument(
        "--tokens",
        action=Count,
        least=2,
        default=128,
        metavar="N",
        help=_("the first N tokens of each text (default: 128)"),
    )
    command.add_argument("--dtype", default="float32", help=_("the precision (default: float32)"))
    command.add_argument("--engine", default="numpy", help=_("numpy or torch (default: numpy)"))
    command.add_argument("--device", default="cpu", help=_("auto, cpu, cuda or cuda:N (default: cpu)"))
    command.add_argument("--workers", action=Count, metavar="N", help=_("N local processes"))
    command.add_argument(
        "--scheduler", metavar="ADDRESS", help=_("an existing Dask scheduler, tls://host:8786")
    )
    command.add_argument("--insecure", action="store_true", help=_("accept a remote scheduler without TLS"))
    command.add_argument("-o", "--output", metavar="FILE.parquet", help=_("a row for each text and head"))


def run(options: Namespace) -> int:
    """Run or continue a survey; without texts, sum one up."""
    if options.texts is None:
        return _sum_up(options)
    if options.output is None:
        raise missing("--output", A_SURVEY)
    if Path(options.output).suffix.lower() != SUFFIX:
        raise FieldError("--output", options.output, A_SURVEY)
    from attnviz.core.progress import Progress, never_cancelled
    from attnviz.study.survey.cluster import Where
    from attnviz.study.survey.measure import open_model
    from attnviz.study.survey.plan import Plan
    from attnviz.study.survey.running import check_memory, memory_needed, stated, survey
    from attnviz.study.survey.texts import read_texts

    scores = {} if options.scores is None else {"scores": tuple(options.scores.split(","))}
    model = str(Path(options.model).resolve()) if Path(options.model).exists() else options.model
    plan = Plan(
        model,
        **scores,
        ablate=options.ablate,
        n_tokens=options.tokens,
        dtype=options.dtype,
        engine=options.engine,
        device=options.device,
    )
    try:
        texts = read_texts(options.texts)
    except (OSError, InputError) as error:
        raise Named(about(verbatim(options.texts), message_of(error))) from None
    where = None
    if options.workers or options.scheduler:
        where = Where(options.workers or 1, 0, options.scheduler or "", options.insecure)
    needed = memory_needed(plan, open_model(plan), texts)
    if where is None or not where.scheduler:
        workers = 1 if where is None else where.workers
        check_memory(needed, workers)
        if where is not None:
            where = Where(where.workers, 2 * needed)
        print(stated(needed, workers).text(), file=sys.stderr)
    try:
        survey(plan, texts, options.output, where, Progress(never_cancelled, show_share))
    except OSError as error:
        raise Named(about(verbatim(options.output), message_of(error))) from None
    return 0


def _sum_up(options: Namespace) -> int:
    from attnviz.study.survey.summary import summary

    if Path(options.model).suffix.lower() != SUFFIX:
        raise Refused(_("{option} needs {needed}").format(option=options.model, needed="--texts"))
    try:
        survey = summary(options.model, options.scores or "")
    except OSError as error:
        raise Named(about(verbatim(options.model), message_of(error))) from None
    heads = sorted((one for one in survey.heads if one.n_texts), key=lambda one: -one.mean)[:TOP]
    rows = [
        (
            one.site,
            str(one.head),
            str(one.n_texts),
            number(one.mean, 3),
            *(number(value, 3) for value in one.quantiles),
            ", ".join(str(text) for text, _score in one.highest),
        )
        for one in heads
    ]
    titles = (
        _("attention"),
        _("head"),
        _("texts"),
        named(survey.score, _("mean")),
        "5%",
        "25%",
        "50%",
        "75%",
        "95%",
    )
    print_table([(*titles, _("highest texts")), *rows])
    return 0


OF_TEXTS = (
    *("--ablate", "--tokens", "--dtype", "--engine", "--device"),
    *("--workers", "--scheduler", "--output"),
)

COMMAND = Command(
    "survey",
    N_("measure every head over many texts, also on a cluster"),
    add,
    run,
    conditions=(
        Condition("--workers", "--scheduler", is_barred=True),
        Condition("--insecure", "--scheduler"),
        *(Condition(option, "--texts") for option in OF_TEXTS),
    ),
)

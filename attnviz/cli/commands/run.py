"""`attnviz run`: compute a document; save its stages, or list them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from attnviz.cli.command import Command, Named
from attnviz.cli.options import add_document, document, execute, recorded, sites, stages, written
from attnviz.core.text import number, visible
from attnviz.errors import about, suffix_error
from attnviz.i18n import N_, _
from attnviz.model.gradient import Gradient

if TYPE_CHECKING:
    from attnviz.model.spec.document import Document
    from attnviz.model.trace import Trace

CARRIED = N_("The file carries the document, in an array named attnviz, and opens in attnviz.")


def add(command: ArgumentParser) -> None:
    """Add the options."""
    add_document(command)
    command.add_argument("-o", "--output", metavar="FILE.npz", help=_("arrays named site.stage"))
    command.add_argument("--stages", metavar="A,B", help=_("only these stages (default: all)"))
    command.add_argument("--site", metavar="NAME", help=_("only this attention (default: all)"))
    command.add_argument(
        "--backward",
        metavar="TARGET",
        help=_("the gradient of a cell, such as weights[0,2,1], or of the loss, instead of the stages"),
    )


def run(options: Namespace) -> int:
    """Compute a document; write the arrays, or list the stages."""
    from attnviz.compute.saving import save_arrays
    from attnviz.model.io.carriers.npz import SUFFIX

    output = options.output
    known = document(options)
    if output is not None and Path(output).suffix.lower() != SUFFIX:
        raise Named(about(output, suffix_error(Path(output).suffix, (SUFFIX,)).message))
    known, trace = _computed(known, options)
    of_sites = sites(trace, options.site)
    chosen = stages(trace, of_sites, options.stages)
    parameters = None
    if isinstance(trace, Gradient):
        print(f"{visible(options.backward)} = {number(trace.value, 6)}", file=sys.stderr)
        parameters = trace.parameters if chosen is None and options.site is None else None
    if output is None:
        _print_stages(trace, of_sites, chosen)
        return 0
    record = recorded(known)
    written(
        output, lambda: save_arrays(trace, chosen, output, sites=of_sites, more=parameters, record=record)
    )
    return 0


def _computed(known: Document, options: Namespace) -> tuple[Document, Trace]:
    """The document and its stages, or the document that shows the gradients of the target, and these."""
    if options.backward is None:
        return known, execute(known, options)
    from attnviz.compute.execute import execute_backward

    gradient = execute_backward(known.experiment, options.backward, options.engine, options.device)[1]
    return replace(known, view=replace(known.view, target=options.backward, quantity="gradient")), gradient


def _print_stages(trace: Trace, sites: tuple[str, ...], stages: tuple[str, ...] | None) -> None:
    seconds = number(trace.seconds * 1000)
    dtype = trace.experiment.dtype
    print(
        _("{engine} on {device}, {dtype}, {time} ms").format(
            engine=trace.engine, device=trace.device, dtype=dtype, time=seconds
        )
    )
    shown = [
        (f"{name}.{stage}", " × ".join(map(str, trace.site(name).shape(stage))))
        for name in sites
        for stage in trace.site(name).stages
        if stages is None or stage in stages
    ]
    longest = max(len(array) for array, _shape in shown)
    for array, shape in shown:
        print(f"{array:<{longest}}  {shape}")


COMMAND = Command("run", N_("compute a document; save its stages, or list them"), add, run, CARRIED)

"""A document as a script that recomputes it with one array library, stage by stage."""

from __future__ import annotations

import base64
import io
import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.core.phrases import named
from attnviz.core.text import visible
from attnviz.errors import FieldError, must_be
from attnviz.explain.formulas.stages import stage_axes, stage_formula
from attnviz.explain.scripts.code import Lines, Written, in_a_dictionary, note
from attnviz.explain.scripts.headlines import headlines
from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.stages import stage_code
from attnviz.i18n import N_, _
from attnviz.model.io.titles import as_shown
from attnviz.model.sites.sites import at, places, sites
from attnviz.model.sites.stages import Stages, site_stages, stage_shape
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Place
from attnviz.model.stages import STAGE_BY_ID, result_of
from attnviz.version import __version__

MOST_INSIDE = 2**14
"""Numbers that are written inside the code as text; more need a file beside it."""

AS_TEXT = N_("the arrays of many numbers: an NPZ file as text")
WIDTH = 100


class Storage:
    """The arrays that a script reads from `stored`, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def keep(self, name: str, array: NDArray[Any]) -> str:
        """Store an array; returns the expression that reads it."""
        self.arrays[name] = array
        return in_a_dictionary(name, array)

    @property
    def fits_inside(self) -> bool:
        """True if the arrays can be a text in the code."""
        return sum(array.size for array in self.arrays.values()) <= MOST_INSIDE

    def npz(self) -> bytes:
        """The file beside the script, or inside it; deflated where that takes no time."""
        stream = io.BytesIO()
        save = np.savez_compressed if self.fits_inside else np.savez
        save(stream, allow_pickle=False, **self.arrays)
        return stream.getvalue()

    def lines(self, beside: str) -> tuple[str, ...]:
        """Definition of `stored`, from a text or from the file whose path is the expression `beside`.

        Raises `FieldError` for too many numbers without a file.
        """
        if not self.arrays:
            return ()
        if self.fits_inside:
            text = textwrap.wrap(base64.b64encode(self.npz()).decode("ascii"), WIDTH)
            comment = note(AS_TEXT).strip()
            return (comment, 'text = """', *text, '"""', *_read("io.BytesIO(base64.b64decode(text))"))
        if not beside:
            most = must_be(
                "at most {most:,} explicit numbers without a file beside the script", most=MOST_INSIDE
            )
            raise FieldError("experiment", sum(array.size for array in self.arrays.values()), most)
        return _read(beside)


def _read(source: str) -> tuple[str, ...]:
    return (f"arrays = np.load({source})", "stored = {name: arrays[name].astype(float) for name in arrays}")


PRECISION = N_("Computed in float64; the document's own precision is {dtype}, so the last digits differ.")
MADE = N_("Made by attnviz {version}; it runs without attnviz.")

TOLD = N_("The numbers of the window")
MOST_WHOLE = 1000
"""Numbers of an array up to which both libraries print all of them."""
MOST_TOKENS = 24
"""Tokens in the text about a script; of a longer sequence, the first."""


@dataclass(frozen=True)
class Wanted:
    """The stages that a script prints: of all sites or of one; None: the document's stage and the result.

    Without a choice, it prints the numbers of the window, and those arrays only that are printed whole.
    """

    stages: Stages | None = None
    site: str | None = None


AS_SHOWN = Wanted()


@dataclass(frozen=True)
class Part:
    """A stage of a script: title, formula and shape, its lines, and the line that prints it or nothing.

    `told` are the lines after it that print the numbers of the window.
    """

    site: str
    stage: str
    title: str
    formula: str
    shape: str
    lines: Lines
    printed: str
    told: Lines = ()


@dataclass(frozen=True)
class Program:
    """A script in parts: a text about it, imports and settings, its stages by site, and stored arrays."""

    about: Lines
    opening: Lines
    parts: tuple[Part, ...]
    titles: dict[str, str]
    storage: Storage

    def imports(self, beside: str) -> Lines:
        """Imports, settings and stored arrays.

        `beside` is an expression: the path of the file of arrays that are too many for the script.
        """
        stored = self.storage.lines(beside)
        text = "\n".join((*self.opening, *stored, *(line for part in self.parts for line in part.lines)))
        modules = [name for name in ("base64", "io", "math") if f"{name}." in text]
        standard = [f"import {name}" for name in modules]
        others = ["import numpy as np"] if "np." in text else []
        torch = ["import torch"] if "torch." in text else []
        standard += ["from pathlib import Path"] if "Path(" in text else []
        blank = [""] if standard else []
        return (*standard, *blank, *others, *torch, "", *self.opening, *stored)

    def text(self, beside: str = "") -> str:
        """The whole script."""
        first, *others = (line.replace("\\", "\\\\").replace('"', "'") for line in self.about)
        lines = [f'"""{first}', *others, '"""', "", *self.imports(beside)]
        site = ""
        for part in self.parts:
            if part.site != site:
                site = part.site
                lines += ["", "", f"# --- {self.titles[site]} ".ljust(96, "-")]
            title = named(part.title, part.formula + part.shape) if part.formula else part.title
            lines += ["", f"# {title}", *part.lines]
            lines += [part.printed] if part.printed else []
            lines += ["", f"# {_(TOLD)}", *part.told] if part.told else []
        return "\n".join(lines) + "\n"


def program(document: Document, library: Library, wanted: Wanted = AS_SHOWN) -> Program:
    """The script of a document in a library, which prints the wanted stages."""
    experiment, storage = document.experiment, Storage()
    parts = tuple(_parts(document, library, wanted, storage))
    titles = {place.name: site_title(experiment, place.name) for place in places(experiment)}
    return Program(about(document), opening(library), parts, titles, storage)


def script(document: Document, library: Library, wanted: Wanted = AS_SHOWN, beside: str = "") -> str:
    """The text of `program`. Raises `FieldError` for many explicit numbers without a file `beside` it."""
    return program(document, library, wanted).text(beside)


def about(document: Document) -> Lines:
    """The text about a script: title, tokens, where it comes from."""
    experiment = document.experiment
    title = as_shown(document.title) or _("Attention")
    tokens = visible(" ".join(experiment.tokens[:MOST_TOKENS]))
    lines = [title, "", tokens, "", _(MADE).format(version=__version__)]
    if experiment.dtype != "float64":
        lines.append(_(PRECISION).format(dtype=experiment.dtype))
    return tuple(lines)


def opening(library: Library) -> Lines:
    """The settings of the library."""
    if library.is_numpy:
        return ("np.set_printoptions(precision=4, suppress=True, linewidth=120)",)
    settings = "torch.set_printoptions(precision=4, sci_mode=False, linewidth=120)"
    return ("torch.set_default_dtype(torch.float64)", settings)


def _parts(document: Document, library: Library, wanted: Wanted, storage: Storage) -> Iterator[Part]:
    experiment = document.experiment
    written = Written()
    for place in places(experiment):
        site = at(experiment, place.name)
        stages = site_stages(site)
        printed = _printed(document, wanted, place.name, stages)
        for stage in stages:
            code = stage_code(site, stage, library, keep=storage.keep)
            lines = tuple(written.lines(code))
            if stage == stages[-1]:
                lines = (*lines, *_handed_on(experiment, place, stages))
            yield Part(
                place.name,
                stage,
                _(STAGE_BY_ID[stage].title),
                stage_formula(site, stage),
                f"   {stage_axes(stage)} = {stage_shape(site, stage)}",
                lines,
                _print(experiment, place, stage, library) if stage in printed else "",
                headlines(document, place.name) if stage == stages[-1] and wanted == AS_SHOWN else (),
            )


def _handed_on(experiment: Experiment, place: Place, stages: Stages) -> Lines:
    """The lines after a site by which others read its result."""
    standing = places(experiment)
    if place is standing[-1]:
        return ()
    is_memory = any(site.inputs.memory == place.name for site in sites(experiment).values())
    return (f"{'encoded' if is_memory else 'result'} = {result_of(stages)}",)


def _printed(document: Document, wanted: Wanted, site: str, stages: Stages) -> Stages:
    if wanted.site not in (None, site):
        return ()
    if wanted.stages is not None:
        return tuple(stage for stage in stages if stage in wanted.stages)
    if wanted.site is None and site != document.site:
        return ()
    shown = (stage for stage in stages if stage in (document.view.stage, result_of(stages)))
    if wanted.site is not None:
        return tuple(shown)
    return tuple(
        stage for stage in shown if math.prod(stage_shape(at(document.experiment, site), stage)) <= MOST_WHOLE
    )


def _print(experiment: Experiment, place: Place, stage: str, library: Library) -> str:
    name = stage if len(places(experiment)) == 1 else f"{place.name}.{stage}"
    return f'print("{name}", {library.shape(stage)}, {stage}, sep="\\n")'

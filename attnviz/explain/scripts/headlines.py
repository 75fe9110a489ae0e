"""The lines of a script that print what the window shows: the chosen row, its result, the next tokens."""

from __future__ import annotations

from collections.abc import Iterable

from attnviz.core.text import columns, elide
from attnviz.explain.scripts.code import WIDTH, Lines
from attnviz.i18n import _
from attnviz.model.operands.matrices import classes_of, output_tokens
from attnviz.model.sites.sites import at, places
from attnviz.model.sites.stages import axis_labels, map_of, site_stages, stage_shape
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.text import written_tokens

NEXT = "probabilities"
MOST_KEYS, MOST_NEXT = 8, 5
"""Keys, and next tokens, that are printed."""
MOST_NAMES = 2048
"""Tokens of a vocabulary that are written in the code; those of a larger one are printed by their number."""
LONGEST = 24


def headlines(document: Document, name: str) -> Lines:
    """The lines after the stages of a site; none where the window shows no number of it."""
    site = at(document.experiment, name)
    lines = _row(document, name, site) if name == document.site else ()
    if name == places(document.experiment)[-1].name and NEXT in site_stages(site) and not classes_of(site):
        lines += _next(document, site)
    return lines


def _row(document: Document, name: str, site: Site) -> Lines:
    """The weights of the chosen query, the largest first, and the length of their sum of values."""
    stages, view = site_stages(site), document.view
    stage = map_of(stages)
    count, n_queries = stage_shape(site, stage)[:2]
    head, query = min(view.head, count - 1), min(view.query, n_queries - 1)
    asker = _names(document, axis_labels(site, "query"))[query]
    title = _("{site} · {stage} · head {head} of {count} · query {query}: {token}").format(
        site=site_title(document.experiment, name),
        stage=_(STAGE_BY_ID[stage].title),
        head=head + 1,
        count=count,
        query=query + 1,
        token=repr(asker),
    )
    keys = _listed("shown_names", _names(document, axis_labels(site, "key")))
    lines = (*keys, f"print({title!r})", *_largest(f"{stage}[{head}, {query}]", MOST_KEYS))
    if "mixed" not in stages:
        return lines
    length = "sum(shown**2 for shown in shown_row) ** 0.5"
    said = _("length of the result, |Σ w·v|")
    return (
        *lines,
        f"shown_row = mixed[{head}, {query}].tolist()",
        f'print({said!r}, f"{{{length}:.4f}}", sep=": ")',
    )


def _next(document: Document, site: Site) -> Lines:
    """The most probable tokens after the chosen query, or after the last one where it is of another text."""
    chosen = at(document.experiment, document.site)
    is_own = axis_labels(chosen, "query") == axis_labels(site, "query")
    query = min(document.view.query, site.n_queries - 1) if is_own else site.n_queries - 1
    asker = _names(document, axis_labels(site, "query"))[query]
    title = _("most probable next tokens after {token}").format(token=repr(asker))
    tokens = output_tokens(site)
    if len(tokens) > MOST_NAMES:
        names: Lines = (f"shown_names = range({len(tokens)})",)
    else:
        names = _listed("shown_names", _names(document, tokens))
    return (*names, f"print({title!r})", *_largest(f"{NEXT}[{query}]", MOST_NEXT))


def _largest(row: str, most: int) -> Lines:
    return (
        f"shown_row = zip({row}.tolist(), shown_names)",
        f"for shown in sorted(shown_row, key=lambda shown: -shown[0])[:{most}]:",
        '    print(f"{shown[0]:10.4f}  {shown[1]!r}")',
    )


def _names(document: Document, tokens: tuple[str, ...]) -> tuple[str, ...]:
    written = written_tokens(document.experiment.vocabulary, tokens)
    return tuple(elide(token, LONGEST) for token in written)


def _listed(name: str, texts: Iterable[str]) -> Lines:
    """A list of texts in lines as wide as a page."""
    lines = [""]
    for text in texts:
        item = f"{text!r},"
        if columns(lines[-1]) + columns(item) + 1 > WIDTH:
            lines.append("")
        lines[-1] += f" {item}" if lines[-1] else f"    {item}"
    return (f"{name} = [", *lines, "]")

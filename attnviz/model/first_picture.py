"""The picture with which a document opens that names none: arcs, where its caption speaks of a pair."""

from __future__ import annotations

from attnviz.model.captions import pieces
from attnviz.model.links import LINED
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import score_stages
from attnviz.model.spec.document import Document
from attnviz.model.spec.site import Site
from attnviz.model.spec.view import Picture

MOST_TOKENS = 40
"""Tokens of a sentence that opens with arcs; a longer one opens with its map."""


def first_picture(document: Document) -> Picture:
    """Arcs where the view shows weights of a short text and the caption names a query and a key of it."""
    view = document.view
    if view.stage not in LINED or view.quantity != "value":
        return view.picture
    site = at(document.experiment, document.site)
    is_short = max(site.n_queries, site.n_keys) <= MOST_TOKENS
    if not is_short or view.stage not in score_stages(site) or not _names_pair(document.caption, site):
        return view.picture
    return "arcs"


def _names_pair(caption: str, site: Site) -> bool:
    """True if the words of a caption refer to a query and to a key of an attention."""
    anchors = [piece.anchor for piece in pieces(caption) if piece.anchor is not None]
    of_axis = {"query": site.tokens, "key": site.key_tokens}
    found = {anchor.axis for anchor in anchors if anchor.position_in(of_axis[anchor.axis]) is not None}
    return found == {"query", "key"}

"""Texts of a page, in every language."""

from __future__ import annotations

from attnviz.core.phrases import named, phrased
from attnviz.i18n import N_

WORDS = {
    "cell": N_("One number"),
    "hover": N_("Point at a cell of the map; a click keeps it. Arrow keys move."),
    "blocked": N_("masked"),
    "future": N_("not yet generated"),
    "nan": N_("NaN: {count}"),
    "infinite": N_("infinite: {count}"),
    "row": N_("The row of “{token}” over its keys:"),
    "head": N_("head {n}"),
    "generation": N_("Generation"),
    "theme": N_("Light / dark"),
    "half": N_("Numbers of this stage are in half precision: three digits are exact."),
    "left_out": N_("This page leaves out {n} stages of this attention to stay small; the program has them."),
    "made": N_("Made by attnviz. Open this file in the program to edit the document."),
    "old": N_("This page needs a browser of 2023 or later."),
    "range_row": N_("Range: each row"),
    "range_head": N_("Range: this head"),
    "range_all": N_("Range: all heads"),
    "range_log": N_("Range: logarithmic"),
    "view_map": N_("Map"),
    "view_lines": N_("Lines between tokens"),
    "view_grid": N_("Layers × heads"),
    "from_one": N_("Lines of the selected query"),
    "from_all": N_("Lines of all queries"),
    "of_one": N_("Lines of the selected head"),
    "of_all": N_("Lines of all heads"),
    "queries": N_("queries"),
    "keys": N_("keys"),
    "stages": N_("Stages"),
    "heads": N_("Heads"),
    "attention": N_("Attention"),
    "range": N_("Range"),
    "picture": N_("Picture"),
    "from": N_("Lines of which queries"),
    "of": N_("Lines of which heads"),
    "play": N_("Play"),
    "step": N_("Step of the generation"),
    "colors": N_("Colours"),
    "sources": N_("Sources"),
}
"""Texts by the name that the page's script and markup use."""


JOINS = {
    "named": lambda: named("{first}", "{second}"),
    "phrased": lambda: phrased(("{first}", "{second}")),
}
"""Two texts joined in the active language, with gaps that the page's script fills."""

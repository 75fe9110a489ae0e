"""`WORKSPACES`: arrangements of the same panels over the same document, each for one purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces.arrangement import Node, Split, Stack, placed, with_rest
from attnviz.i18n import N_


@dataclass(frozen=True)
class WorkspaceRow:
    """One workspace: its tab, what it is for, the keys that work in it, and its arrangements.

    `arrangements` are (smallest width of the window, places), the widest first. They name panels
    whose rows name the workspace; those that they leave out are tabs beside the `drawer`, one of the panels.
    All other panels are closed at first; the View menu opens them there.
    `tabs` is the side of a place where its tabs stand. A panel that another workspace lacks is shown in the
    first one that has it and `is_home`; in the others only where none is.
    """

    id: str
    title: str
    hint: str
    keys: str
    drawer: str
    arrangements: tuple[tuple[int, Node], ...]
    tabs: Literal["top", "right"] = "top"
    is_home: bool = True

    def __post_init__(self) -> None:
        own = tuple(row.id for row in PANELS if self.id in row.workspaces)
        for _least, node in self.arrangements:
            for panel in placed(node) - set(own):
                raise ValueError(f"The row of the panel {panel!r} lacks the workspace {self.id!r}.")
        filled = tuple((least, with_rest(node, self.drawer, own)) for least, node in self.arrangements)
        object.__setattr__(self, "arrangements", filled)

    def arrangement(self, width: int) -> Node:
        """The places for a window of `width` pixels."""
        return next(node for least, node in self.arrangements if width >= least)

    @property
    def panels(self) -> frozenset[str]:
        """The panels of its widest arrangement."""
        return placed(self.arrangements[0][1])


_INPUTS = Split("down", (Stack(("tokens",), 272, 0.2), Stack(("vectors",), 440, 0.8)), size=216, grows=0.12)

_EXPLORE = Split(
    "across",
    (
        _INPUTS,
        Split(
            "down",
            (
                Stack(("pipeline",), 68),
                Split(
                    "across",
                    (
                        Stack(("stage",), 552, 0.8),
                        Stack(("inspector",), 240, 0.2),
                    ),
                    size=576,
                    grows=0.8,
                ),
                Stack(("heads",), 76, 0.2),
            ),
            size=800,
            grows=0.76,
        ),
        Stack(("mechanism",), 232, 0.12),
    ),
)

_EXPLORE_FIVE = Split(
    "across",
    (
        Stack(("tokens", "vectors", "mechanism"), 276, 0.15),
        Split(
            "down",
            (
                Stack(("pipeline",), 68),
                Stack(("stage",), 552, 0.8),
                Stack(("heads",), 76, 0.2),
            ),
            size=704,
            grows=0.7,
        ),
        Stack(("inspector",), 268, 0.15),
    ),
)
"""Set at the left, read at the right: the panels of the wide arrangement, five of them in view."""

_EXPLORE_NARROW = Split(
    "across",
    (
        Split(
            "down",
            (
                Stack(("pipeline",), 68),
                Stack(("stage",), 536, 0.8),
                Stack(("heads",), 76, 0.2),
            ),
            size=752,
            grows=0.8,
        ),
        Stack(("inspector", "mechanism", "tokens", "vectors"), 264, 0.2),
    ),
)

_BESIDE_MAP = ("heads", "inspector", "tokens", "plane")

_MAPS = (Stack(("stage",), 544, 0.8), Stack(_BESIDE_MAP, 256, 0.2))
_MAPS_NARROW = (Stack(("stage",), 376, 1.0), Stack(_BESIDE_MAP, 256))

_NEXT_AND_CACHES = Split(
    "down",
    (Stack(("next", "sampling", "draws"), 304, 0.5), Stack(("caches", "cache"), 232, 0.5)),
    size=448,
    grows=0.4,
)

_GENERATE = Split(
    "down",
    (
        Stack(("text",), 136, 0.12),
        Split(
            "across", (Split("across", _MAPS, size=808, grows=0.6), _NEXT_AND_CACHES), size=544, grows=0.88
        ),
        Stack(("counters",), 40),
    ),
)

_GENERATE_NARROW = Split(
    "down",
    (
        Stack(("text",), 136),
        Split(
            "across",
            (
                Split("across", _MAPS_NARROW, size=640, grows=0.6),
                Stack(("next", "caches", "sampling", "draws", "cache"), 360, 0.4),
            ),
            size=384,
            grows=1.0,
        ),
        Stack(("counters",), 40),
    ),
)

_BESIDE_COMPARED = ("mechanism", "tokens", "inspector", "vectors")

_COMPARE = Split("across", (Stack(("compare",), 1000, 0.9), Stack(_BESIDE_COMPARED, 280, 0.1)))
_COMPARE_NARROW = Split("across", (Stack(("compare",), 1000, 1.0), Stack(_BESIDE_COMPARED, 280, folded=True)))

_MODEL_PANELS = Split(
    "across",
    (
        Split(
            "down",
            (
                Stack(("grid",), 424, 0.6),
                Stack(("lens", "circuits", "rollout", "patching", "survey"), 280, 0.4),
            ),
            size=744,
            grows=0.6,
        ),
        Split(
            "down",
            (Stack(("stage",), 520, 0.8), Stack(("head", "heads"), 176, 0.2)),
            size=512,
            grows=0.4,
        ),
    ),
    size=620,
    grows=1.0,
)

_MODEL = Split("down", (Stack(("ablation",), 92), _MODEL_PANELS))
"""The strip over the panels stands while a head is off or a number is set by hand."""

_LEARN = Split(
    "across",
    (
        Stack(("lesson",), 424, 0.2),
        Stack(("stage", "cost"), 584, 0.7),
        Split(
            "down",
            (
                Stack(("inspector", "vectors", "tokens", "mechanism", "heads"), 400, 0.6),
                Stack(("gradients",), 312, 0.4),  # a curve moves while a control beside it is used
            ),
            264,
            0.1,
        ),
    ),
)

WORKSPACES: tuple[WorkspaceRow, ...] = (
    WorkspaceRow(
        "learn",
        N_("Learn"),
        N_("Lessons that set the program step by step"),
        N_("← → go through the steps · Enter reveals"),
        "inspector",
        ((0, _LEARN),),
        is_home=False,
    ),
    WorkspaceRow(
        "explore",
        N_("Explore"),
        N_("One attention, from the token vectors to the output"),
        N_("Space plays · click locks a cell · Esc unlocks"),
        "inspector",
        ((1440, _EXPLORE), (1180, _EXPLORE_FIVE), (0, _EXPLORE_NARROW)),
        tabs="right",
    ),
    WorkspaceRow(
        "generate",
        N_("Generate"),
        N_("Text that the model generates, token by token, with the growing map"),
        N_("Space plays · Ctrl+. steps forward · Ctrl+; steps back"),
        "heads",
        ((1180, _GENERATE), (0, _GENERATE_NARROW)),
    ),
    WorkspaceRow(
        "compare",
        N_("Compare"),
        N_("Two states side by side, and their difference"),
        N_("Ctrl+P pins A · Ctrl+Shift+X swaps · click locks a cell"),
        "mechanism",
        ((1600, _COMPARE), (0, _COMPARE_NARROW)),
        tabs="right",
    ),
    WorkspaceRow(
        "model",
        N_("Model"),
        N_("All layers and heads, and the paths between them"),
        N_("PgUp and PgDown change the layer · Ctrl+] and Ctrl+[ the head"),
        "lens",
        ((0, _MODEL),),
    ),
)
FIRST = "explore"
"""The workspace of a first start."""
WORKSPACE_BY_ID = {row.id: row for row in WORKSPACES}
for _panel in PANELS:
    for _workspace in _panel.workspaces:
        if _workspace not in WORKSPACE_BY_ID:
            raise ValueError(f"The row of the panel {_panel.id!r} names the workspace {_workspace!r}.")

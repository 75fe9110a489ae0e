"""`WORKSPACES`: arrangements of the same panels over the same document, each for one purpose."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.gui.panels.table import PANELS
from attnviz.gui.workspaces.arrangement import Node, Split, Stack, placed, stacks
from attnviz.i18n import N_

MOST_TABS = 6
"""Tabs of a place at most; in that of the drawer, one of them is that of a panel under More."""


@dataclass(frozen=True)
class WorkspaceRow:
    """One workspace: its tab, what it is for, the keys that work in it, and its arrangements.

    `arrangements` are (smallest width of the window, places), the widest first. They name panels with a tab
    of their own, whose rows name the workspace; the others of these wait under More, and open beside the
    `drawer`, one of the panels, as any panel does that the chooser opens here.
    A panel that another workspace lacks is shown in the
    first one that has it and `is_home`; in the others only where none is.
    One that `is_plain` leaves out of its bar what a student does not need.
    `opening` are the places until a person goes on to the others, at every width; None: it has none.
    """

    id: str
    title: str
    hint: str
    keys: str
    drawer: str
    arrangements: tuple[tuple[int, Node], ...]
    is_home: bool = True
    is_plain: bool = False
    opening: Node | None = None

    def __post_init__(self) -> None:
        opening = () if self.opening is None else (self.opening,)
        for node in (*(node for _least, node in self.arrangements), *opening):
            for panel in placed(node) - self.panels:
                raise ValueError(f"The row of the panel {panel!r} lacks the workspace {self.id!r}.")
            for stack in stacks(node):
                if len(stack.panels) + (self.drawer in stack.panels) > MOST_TABS:
                    raise ValueError(f"A place of the workspace {self.id!r} has more than {MOST_TABS} tabs.")

    def arrangement(self, width: int, *, opens: bool = False) -> Node:
        """The places for a window of `width` pixels; those of its opening where it `opens`."""
        if opens and self.opening is not None:
            return self.opening
        return next(node for least, node in self.arrangements if width >= least)

    @property
    def panels(self) -> frozenset[str]:
        """All panels that belong here, also those without a place and those within another one."""
        return frozenset(row.id for row in PANELS if self.id in row.workspaces)


_INPUTS = ("tokens", "vectors", "mechanism")
_NUMBERS = ("inspector", "plane", "matrices", "cost")

_MAP = (Stack(("pipeline",), 68), Stack(("stage",), 552, 0.8), Stack(("heads",), 76, 0.2))

_EXPLORE = Split(
    "across",
    (
        Stack(_INPUTS, 272, 0.08),
        Split("down", _MAP, size=680, grows=0.8),
        Stack(_NUMBERS, 296, 0.12),
    ),
)
"""Set at the left, read at the right: five panels in view."""

_EXPLORE_WIDE = Split(
    "across",
    (
        Split(
            "down",
            (Stack(("tokens",), 272, 0.2), Stack(("mechanism", "vectors"), 440, 0.8)),
            size=272,
            grows=0.08,
        ),
        Split("down", _MAP, size=680, grows=0.8),
        Stack(_NUMBERS, 296, 0.12),
    ),
)
"""The text stays in sight above what is set."""

_EXPLORE_NARROW = Split(
    "across",
    (
        Split("down", _MAP, size=696, grows=1.0),
        Split("down", (Stack(_NUMBERS, 424, 0.6), Stack(_INPUTS, 280, 0.4)), size=296),
    ),
)

_BESIDE_MAP = ("heads", "inspector", "tokens")

_MAPS = (Stack(("stage",), 544, 0.8), Stack(_BESIDE_MAP, 256, 0.2))
_MAPS_NARROW = (Stack(("stage",), 376, 1.0), Stack(_BESIDE_MAP, 256))

_NEXT_AND_CACHES = Split(
    "down",
    (Stack(("next", "sampling", "draws"), 304, 0.5), Stack(("caches", "cache"), 232, 0.5)),
    size=448,
    grows=0.4,
)

_GLANCE = Split(
    "across",
    (
        Stack(("glance",), 960, 1.0),
        Stack(("inspector", "tokens", "heads"), 312, closed=True),
    ),
)
"""One picture, before anything is generated; a click on a number opens the inspector beside it."""

_FOLDED_GLANCE = Stack(("glance",), 36)

_GENERATE = Split(
    "down",
    (
        _FOLDED_GLANCE,
        Stack(("text",), 136, 0.12),
        Split(
            "across", (Split("across", _MAPS, size=808, grows=0.6), _NEXT_AND_CACHES), size=544, grows=0.88
        ),
        Stack(("counters",), 40, closed=True),
    ),
)

_GENERATE_NARROW = Split(
    "down",
    (
        _FOLDED_GLANCE,
        Stack(("text",), 136),
        Split(
            "across",
            (
                Split("across", _MAPS_NARROW, size=640, grows=0.6),
                Stack(("next", "caches", "sampling", "cache"), 360, 0.4),
            ),
            size=384,
            grows=1.0,
        ),
        Stack(("counters",), 40, closed=True),
    ),
)

_BESIDE_COMPARED = ("mechanism", "tokens", "inspector")

_COMPARE = Split("across", (Stack(("compare",), 976, 0.9), Stack(_BESIDE_COMPARED, 288, 0.1)))
_COMPARE_NARROW = Split("across", (Stack(("compare",), 976, 1.0), Stack(_BESIDE_COMPARED, 288)))

_MODEL_PANELS = Split(
    "across",
    (
        Split(
            "down",
            (
                Stack(("grid",), 424, 0.6),
                Stack(("lens", "circuits", "survey", "block", "cost"), 280, 0.4),
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
        Stack(("stage", "cost"), 584, 0.7, widens=True),
        Split(
            "down",
            (
                Stack(("vectors", "tokens", "mechanism", "heads"), 400, 0.6, widens=True),
                # A picture moves while a control above it is used.
                Stack(("inspector", "plane", "matrices", "block", "claims"), 312, 0.4, widens=True),
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
        is_plain=True,
    ),
    WorkspaceRow(
        "explore",
        N_("Explore"),
        N_("One attention, from the token vectors to the output"),
        N_("Space plays · click locks a cell · Esc unlocks"),
        "inspector",
        ((1440, _EXPLORE_WIDE), (1180, _EXPLORE), (0, _EXPLORE_NARROW)),
    ),
    WorkspaceRow(
        "generate",
        N_("Generate"),
        N_("Text that the model generates, token by token, with the growing map"),
        N_("Space plays · Ctrl+. steps forward · Ctrl+; steps back"),
        "heads",
        ((1180, _GENERATE), (0, _GENERATE_NARROW)),
        opening=_GLANCE,
    ),
    WorkspaceRow(
        "compare",
        N_("Compare"),
        N_("Two states side by side, and their difference"),
        N_("Ctrl+P pins A · Ctrl+Shift+X swaps · click locks a cell"),
        "mechanism",
        ((1600, _COMPARE), (0, _COMPARE_NARROW)),
    ),
    WorkspaceRow(
        "model",
        N_("Model"),
        N_("All layers and heads, and the paths between them"),
        N_("PgUp and PgDown change the layer · Ctrl+] and Ctrl+[ the head"),
        "lens",
        ((0, _MODEL),),
    ),
    WorkspaceRow(
        "train",
        N_("Train"),
        N_("Training: heads that form, step by step"),
        N_("Space trains or pauses · ← → another state · . one step · B swaps · right-click: head off"),
        "training",
        ((0, Stack(("training",), 960, 1.0)),),
    ),
)
FIRST = "generate"
"""The workspace of a first start."""
WORKSPACE_BY_ID = {row.id: row for row in WORKSPACES}
for _panel in PANELS:
    for _workspace in _panel.workspaces:
        if _workspace not in WORKSPACE_BY_ID:
            raise ValueError(f"The row of the panel {_panel.id!r} names the workspace {_workspace!r}.")

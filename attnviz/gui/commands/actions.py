"""`ACTIONS`: the command surface as one list; menus, buttons, shortcuts and their dialog read it."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.gui.workspaces.table import WORKSPACES
from attnviz.i18n import N_


@dataclass(frozen=True)
class ActionRow:
    """One command. An empty `menu` keeps it out of the menus.

    The handler `on_<id>` runs it, or `on_<run>` with `argument` as the action's data. A held key runs the
    command again and again where it `repeats`.
    """

    id: str
    text: str
    menu: str
    shortcuts: tuple[str, ...] = ()
    icon: str = ""
    separated: bool = False
    checkable: bool = False
    repeats: bool = True
    run: str = ""
    argument: str = ""


MENUS: tuple[tuple[str, str], ...] = (
    ("file", N_("&File")),
    ("edit", N_("&Edit")),
    ("view", N_("&View")),
    ("presets", N_("&Presets")),
    ("decoding", N_("&Decoding")),
    ("export", N_("E&xport")),
    ("help", N_("&Help")),
)

ACTIONS: tuple[ActionRow, ...] = (
    ActionRow("start", N_("Start page"), "file", ("Ctrl+Home",)),
    ActionRow("new", N_("New"), "file", ("Ctrl+N",), "new"),
    ActionRow("empty", N_("Empty document"), "file"),
    ActionRow("open", N_("Open…"), "file", ("Ctrl+O",), "open"),
    ActionRow("import_model", N_("Import model…"), "file", ("Ctrl+Shift+O",)),
    ActionRow("survey", N_("Survey texts…"), "file"),
    ActionRow("save", N_("Save"), "file", ("Ctrl+S",), "save", separated=True),
    ActionRow("save_as", N_("Save as…"), "file", ("Ctrl+Shift+S",)),
    ActionRow("save_with_weights", N_("Save with weights…"), "file"),
    ActionRow("preferences", N_("Preferences…"), "file", ("Ctrl+,",), "settings", separated=True),
    ActionRow("quit", N_("Quit"), "file", ("Ctrl+Q",), separated=True),
    ActionRow("undo", N_("Undo"), "edit", ("Ctrl+Z",), "undo"),
    ActionRow("redo", N_("Redo"), "edit", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo"),
    ActionRow("title", N_("Title…"), "edit", separated=True),
    ActionRow("randomise", N_("Randomise vectors"), "edit", ("Ctrl+R",), "randomise", separated=True),
    ActionRow("find_setting", N_("Find a setting"), "edit", ("Ctrl+F",)),
    ActionRow("pin", N_("Pin as A"), "edit", ("Ctrl+P",), separated=True),
    ActionRow("swap", N_("Swap A and B"), "edit", ("Ctrl+Shift+X",)),
    ActionRow("palette", N_("Command palette…"), "view", ("Ctrl+K",)),
    ActionRow("panels", N_("Panels…"), "view"),
    ActionRow("transpose", N_("Queries as columns"), "view", ("Ctrl+T",), "transpose", checkable=True),
    *(
        ActionRow(f"picture_{id_}", text, "", (key,), repeats=False, run="picture", argument=id_)
        for key, id_, text in (
            ("1", "arcs", N_("Show arcs")),
            ("2", "map", N_("Show the map")),
            ("3", "mean", N_("Show the mean of the heads")),
            ("4", "lines", N_("Show all rows")),
        )
    ),
    ActionRow("first_token", N_("Colours without the first token"), "", ("F",), repeats=False),
    ActionRow("next_head", N_("Next head"), "view", ("Ctrl+]",), separated=True),
    ActionRow("previous_head", N_("Previous head"), "view", ("Ctrl+[",)),
    ActionRow("next_stage", N_("Next stage"), "view", ("Ctrl+Right",)),
    ActionRow("previous_stage", N_("Previous stage"), "view", ("Ctrl+Left",)),
    ActionRow("next_layer", N_("Next layer"), "view", ("PgDown",)),
    ActionRow("previous_layer", N_("Previous layer"), "view", ("PgUp",)),
    ActionRow("next_preset", N_("Next preset"), "view", ("Ctrl+PgDown",)),
    ActionRow("previous_preset", N_("Previous preset"), "view", ("Ctrl+PgUp",)),
    ActionRow("free", N_("Unlock the cell"), "view", ("Esc",)),
    ActionRow("next_word", N_("Next caption word"), "view", ("Alt+PgDown",)),
    ActionRow("previous_word", N_("Previous caption word"), "view", ("Alt+PgUp",)),
    ActionRow("caption", N_("Caption"), "view", separated=True, checkable=True),
    ActionRow("dark", N_("Dark theme"), "view", ("Ctrl+D",), "theme", checkable=True),
    ActionRow("language", N_("中文"), "view", ("Ctrl+L",), "language"),
    ActionRow("scale_up", N_("Enlarge the interface"), "view", ("Ctrl++", "Ctrl+="), separated=True),
    ActionRow("scale_down", N_("Reduce the interface"), "view", ("Ctrl+-",)),
    ActionRow("scale_reset", N_("Reset the interface scale"), "view", ("Ctrl+0",)),
    ActionRow("enlarge", N_("Enlarge the panel"), "view", ("Ctrl+Return", "Ctrl+Enter"), separated=True),
    ActionRow("tear_off", N_("Tear off the panel"), "view", ("Ctrl+Shift+Return", "Ctrl+Shift+Enter")),
    ActionRow("full_screen", N_("Full screen"), "view", ("F11",), checkable=True),
    *(
        ActionRow(
            f"workspace_{row.id}",
            row.title,
            "view",
            (f"Ctrl+{number}",),
            separated=number == 1,
            run="workspace",
            argument=row.id,
        )
        for number, row in enumerate(WORKSPACES, start=1)
    ),
    ActionRow("reset_layout", N_("Reset the layout"), "view", separated=True),
    ActionRow("play", N_("Play or pause"), "decoding", ("Space", "F5"), "play", repeats=False),
    ActionRow("step_forward", N_("Step forward"), "decoding", ("Ctrl+.",), "step_forward"),
    ActionRow("step_back", N_("Step back"), "decoding", ("Ctrl+;",), "step_back"),
    ActionRow("first_step", N_("First step"), "decoding", ("Alt+Home",), "first"),
    ActionRow("last_step", N_("Last step"), "decoding", ("Alt+End",), "last"),
    ActionRow("follow_player", N_("Follow the player"), "decoding", separated=True, checkable=True),
    ActionRow("details", N_("Counters of the step"), "decoding"),
    ActionRow("export", N_("Export…"), "export", ("Ctrl+E",), "export"),
    ActionRow(
        "export_figure", N_("Export figure…"), "export", separated=True, run="export", argument="figure"
    ),
    ActionRow("export_sequence", N_("Export animation…"), "export", run="export", argument="animation"),
    ActionRow("export_panel", N_("Export panel…"), "export", ("Ctrl+Shift+E",)),
    ActionRow("copy_picture", N_("Copy picture"), "export", ("Ctrl+Shift+C",), "copy", separated=True),
    ActionRow("copy_table", N_("Copy table"), "export", ("Ctrl+Alt+C",)),
    ActionRow("copy_python", N_("Copy as Python"), "export", ("Ctrl+Alt+P",)),
    ActionRow("copy_shell", N_("Copy as shell"), "export"),
    ActionRow("what_is_this", N_("What is this?"), "help", ("?",)),
    ActionRow("shortcuts", N_("Keyboard shortcuts"), "help", ("F1",), "help"),
    ActionRow("about", N_("About attnviz"), "help"),
)

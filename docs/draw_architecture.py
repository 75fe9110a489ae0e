"""Draw `docs/architecture.svg`, and the table of its page, from the imports of the package:
`python docs/draw_architecture.py`.

A box is a layer with its rooms. An arrow points at what a layer imports. Neither has numbers, which every
change would move: picture and table change with a room or an import between layers, and a test holds them.
"""

from __future__ import annotations

import ast
from functools import cache
from html import escape
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "attnviz"
PICTURE = Path(__file__).with_name("architecture.svg")
PAGE = Path(__file__).with_name("architecture.md")

SHELL = "shell and public API"
"""The modules beside the layers: `parts.py`, `i18n.py`, `errors.py` and the like."""
FLOORS = (
    ("cli",),
    ("gui", SHELL),
    ("pages", "figures", "bench"),
    ("study", "training"),
    ("explain", "compute", "checkpoints"),
    ("engines",),
    ("model",),
    ("operations",),
    ("core",),
)
"""Floors of layers, from the top. A layer that is missing here is drawn on the top floor."""
ROOM, GAP, MARGIN, HEAD = (148, 22), 8, 28, 30
PER_ROW = {"gui": 4, "model": 5}
"""Rooms beside each other in a layer; 3 in the others."""
FLOOR_GAP = 74
NARROWEST = 2 * (ROOM[0] + GAP) + GAP
STYLE = """
.layer { fill: #f4f4f1; stroke: #8b8e96 } .room { fill: #fff; stroke: #dcdcd6 }
.name { font-weight: 600; font-size: 14px }
.arrow { stroke: #2562c4; fill: none; opacity: 0.6 }
"""


def files() -> list[Path]:
    """The modules of the package, without the resources that an installed copy has inside it."""
    found = sorted(PACKAGE.rglob("*.py"))
    return [file for file in found if "resources" not in file.relative_to(PACKAGE).parts[:-1]]


def layer(parts: tuple[str, ...]) -> str:
    """The layer of the file or module with the path `parts` inside the package."""
    return parts[0] if len(parts) > 1 and (PACKAGE / parts[0]).is_dir() else SHELL


def room(file: Path) -> tuple[str, str]:
    """Layer and room of `file`: the folder inside the layer, all folders of panels being one room."""
    parts = file.relative_to(PACKAGE).parts
    return layer(parts), parts[1] if len(parts) > 2 else ""


def imported(file: Path) -> set[str]:
    """The layers that `file` imports, also inside functions."""
    return {
        layer((*node.module.split("."), alias.name)[1:])
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "attnviz"
        for alias in node.names
    }


def rooms() -> dict[str, set[str]]:
    """The rooms of each layer; "" if it has files outside of them."""
    result: dict[str, set[str]] = {}
    for file in files():
        of, name = room(file)
        result.setdefault(of, set()).add(name)
    return result


@cache
def arrows() -> set[tuple[str, str]]:
    """(layer, imported layer)."""
    pairs = ((room(file)[0], other) for file in files() for other in imported(file))
    return {(own, other) for own, other in pairs if other not in (own, SHELL)}


class Box:
    """One layer of the picture: where it stands and how large it is."""

    def __init__(self, name: str, inside: set[str]) -> None:
        self.name, self.inside = name, sorted(inside)
        columns = min(PER_ROW.get(name, 3), len(inside))
        self.columns = columns
        rows = -(-len(inside) // columns)
        self.width = max(columns * (ROOM[0] + GAP) + GAP, NARROWEST)
        self.height = HEAD + rows * (ROOM[1] + GAP) + GAP
        self.x = self.y = 0

    def svg(self) -> str:
        """The box with its rooms as SVG."""
        parts = [
            f'<rect class="layer" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"/>',
            f'<text class="name" x="{self.x + 10}" y="{self.y + 20}">{escape(self.name)}</text>',
        ]
        for i, name in enumerate(self.inside):
            x = self.x + GAP + (i % self.columns) * (ROOM[0] + GAP)
            y = self.y + HEAD + (i // self.columns) * (ROOM[1] + GAP)
            parts += [
                f'<rect class="room" x="{x}" y="{y}" width="{ROOM[0]}" height="{ROOM[1]}" rx="4"/>',
                f'<text x="{x + 8}" y="{y + 15}">{escape(name or "files outside rooms")}</text>',
            ]
        return "\n".join(parts)


def picture() -> str:
    """The whole picture as SVG text."""
    inside = rooms()
    known = {name for floor in FLOORS for name in floor}
    floors = [
        [name for name in floor if name in inside]
        + ([name for name in sorted(inside) if name not in known] if i == 0 else [])
        for i, floor in enumerate(FLOORS)
    ]
    boxes = {name: Box(name, inside[name]) for floor in floors for name in floor}
    gap = 3 * GAP
    widths = [sum(boxes[name].width for name in floor) + gap * (len(floor) - 1) for floor in floors]
    width, y = max(widths) + 2 * MARGIN, MARGIN
    for floor, taken in zip(floors, widths, strict=True):
        x = (width - taken) // 2
        for name in floor:
            boxes[name].x, boxes[name].y = x, y
            x += boxes[name].width + gap
        y += max(boxes[name].height for name in floor) + FLOOR_GAP
    height = y - FLOOR_GAP + MARGIN
    lines = [line for pair in sorted(arrows()) for line in arrow(boxes, *pair)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"',
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="#2562c4"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *lines,
            *(boxes[name].svg() for floor in floors for name in floor),
            "</svg>\n",
        ]
    )


def arrow(boxes: dict[str, Box], source: str, target: str) -> list[str]:
    """An arrow between neighbouring floors; longer ones are left to the table of the page."""
    above, below = boxes[source], boxes[target]
    floor = {name: i for i, names in enumerate(FLOORS) for name in names}
    if floor.get(target, 0) - floor.get(source, 0) != 1:
        return []
    x1 = above.x + above.width // 2
    x2 = min(max(x1, below.x + 20), below.x + below.width - 20)
    y1, y2 = above.y + above.height, below.y
    return [f'<path class="arrow" d="M{x1} {y1}L{x2} {y2}" marker-end="url(#tip)"/>']


def table() -> str:
    """The layers that each layer imports, as a Markdown table."""
    found = arrows()
    names = [name for floor in FLOORS for name in floor]
    targets = [name for name in names if any(pair[1] == name for pair in found)]
    rows = [f"| importing ↓ imported → | {' | '.join(targets)} |", "|---" * (len(targets) + 1) + "|"]
    for name in names:
        if any(pair[0] == name for pair in found):
            rows.append(
                f"| {name} | " + " | ".join("•" if (name, t) in found else "" for t in targets) + " |"
            )
    return "\n".join(rows)


def page() -> str:
    """The text of the page, with its table as the imports are now."""
    before, _old = PAGE.read_text(encoding="utf-8").split("| importing ↓", 1)
    return f"{before}{table()}\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")

"""The recipes of `CONTRIBUTING.md`, followed: what they name is there, and a mask added by them works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"### (.+?)\n\n(.*?)(?=\n##|\Z)", PAGE, re.S))

CHECKERBOARD = {
    "attnviz/core/masks.py": (
        "\ndef strided(",
        """
def checkerboard(q_positions: Positions, k_positions: Positions, step: int) -> Blocked:
    \"\"\"Seen are the keys at a distance that `step` divides.\"\"\"
    return (q_positions[:, None] - k_positions[None, :]) % step != 0


""",
    ),
    "attnviz/model/spec/parts.py": (
        "\nclass Strided(",
        """
class Checkerboard(Value, frozen=True, tag_field="kind", tag="checkerboard"):
    \"\"\"A query sees the keys at an even distance.\"\"\"

    where: ClassVar[str] = "masks.checkerboard."

    step: Annotated[Positive, Field("Checkerboard: step", "Distance between two visible keys")] = 2


""",
    ),
    "attnviz/model/explain/mask_reasons.py": (
        "\ndef strided(",
        """
def checkerboard(mask: object, query: int, key: int) -> str:
    return f"checkerboard: key {key} is {abs(query - key)} away from query {query}"


""",
    ),
    "attnviz/model/masks.py": (
        "    MaskFamily(\n        Strided,",
        """    MaskFamily(
        Checkerboard,
        N_("checkerboard"),
        N_("A query attends to keys at an even distance"),
        blocked=lambda mask, q, k: core.checkerboard(q, k, mask.step),
        reason=reasons.checkerboard,
        looks_ahead=_always,
        fresh=lambda experiment: Checkerboard(),
        is_pattern=True,
    ),
""",
    ),
    "attnviz/parts.py": ('    "Strided",\n', '    "Checkerboard",\n'),
}
"""By file: what the new lines stand before, and the lines."""
NAMES = {
    "attnviz/model/spec/parts.py": ("| Strided |", "| Strided | Checkerboard |"),
    "attnviz/model/masks.py": ("    Causal,\n", "    Causal,\n    Checkerboard,\n"),
    "attnviz/parts.py": ("    Causal,\n", "    Causal,\n    Checkerboard,\n"),
}
"""By file: a list of names, and the same with the new one."""

USE = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.document import Document

experiment = attnviz.Experiment(tuple("abcde"), parts.SeededVectors(5, 8), masks=(parts.Checkerboard(),))
weights = attnviz.run(experiment)["weights"][0]
i = np.arange(5)
assert ((weights == 0) == ((i[:, None] - i) % 2 == 1)).all(), weights
assert loads(dumps(Document(experiment))).experiment == experiment
assert attnviz.decode(experiment).steps
from attnviz.model.masks import MASKS
family = next(family for family in MASKS if family.tag == "checkerboard")
assert "away from query 3" in family.reason(parts.Checkerboard(), 3, 2)

from PySide6.QtWidgets import QApplication
app = QApplication([])
from attnviz.gui.panels.table import PANELS
from attnviz.gui.store import Store
store = Store(Document(experiment))
panel = next(row for row in PANELS if row.id == "mechanism").make(store)
assert [w for w in panel.findChildren(object) if "checkerboard" in w.objectName()], "no tile"
assert [w for w in panel.findChildren(object) if w.objectName() == "checkerboard_step_field"], "no number"
from attnviz.model.io.schema import document_schema
assert document_schema()["$defs"]["Checkerboard"]["properties"]["step"]["title"] == "Checkerboard: step"
try:
    parts.Checkerboard(0)
except ValueError as error:
    assert str(error).startswith("masks.checkerboard.step must be a whole number from 1"), error
print("works")
"""


def files_of(recipe: str) -> list[str]:
    return re.findall(r"`((?:attnviz|tests|resources)/[\w./<>]*)`", RECIPES[recipe])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_names_files_that_exist(recipe: str) -> None:
    named = [file for file in files_of(recipe) if "<" not in file]
    assert named and [file for file in named if not (ROOT / file).exists()] == []


def test_a_mask_is_added_by_its_recipe(tmp_path: Path) -> None:
    required = [file for file in files_of("A mask") if file.startswith("attnviz/")][:5]
    assert sorted(required) == sorted(CHECKERBOARD), "the recipe names other files than it takes"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnviz", tmp_path / "attnviz", ignore=ignored)
    (tmp_path / "resources").symlink_to(ROOT / "resources")
    for name, (anchor, lines) in CHECKERBOARD.items():
        file = tmp_path / name
        text = file.read_text(encoding="utf-8")
        assert text.count(anchor) == 1, (name, anchor)
        text = text.replace(anchor, lines + anchor.lstrip("\n"))
        if name in NAMES:
            old, new = NAMES[name]
            text = text.replace(old, new, 1)
        file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        timeout=120,
    )
    assert done.stdout.strip().endswith("works"), done.stderr

"""The recipes of `CONTRIBUTING.md`, followed: their files exist, and what they add works."""

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
class Checkerboard(MaskKind, frozen=True, tag_field="kind", tag="checkerboard"):
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
    "attnviz/scripts/masks.py": (
        "    Strided: _strided,\n",
        '    Checkerboard: lambda mask, asked: f"(i - j) % {mask.step} != 0",\n',
    ),
}
"""By file: what the new lines stand before, and the lines."""
NAMES = {
    "attnviz/model/spec/parts.py": (
        ("| Strided |", "| Strided | Checkerboard |"),
        ('    "Causal",\n', '    "Causal",\n    "Checkerboard",\n'),
    ),
    "attnviz/model/masks.py": (("    Causal,\n", "    Causal,\n    Checkerboard,\n"),),
    "attnviz/scripts/masks.py": (("    Causal,\n", "    Causal,\n    Checkerboard,\n"),),
}
"""By file: lists of names, and the same with the new one."""

USE = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.document import Document

experiment = attnviz.one_layer(tuple("abcde"), parts.SeededVectors(5, 8), masks=(parts.Checkerboard(),))
weights = attnviz.run(experiment)["weights"][0]
i = np.arange(5)
assert ((weights == 0) == ((i[:, None] - i) % 2 == 1)).all(), weights
assert loads(dumps(Document(experiment))).experiment == experiment
assert attnviz.decode(experiment).steps
names = {}
exec(attnviz.script(experiment), names)
np.testing.assert_allclose(names["weights"][0], weights, atol=1e-6)
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


DAMPED = {
    "attnviz/model/spec/positions.py": (
        (
            "class DynamicNtk(",
            '''class Damped(Stretch, frozen=True, tag_field="kind", tag="damped"):
    """Every frequency divided by 1 + `strength`."""

    where: ClassVar[str] = "position.scaling."

    strength: Annotated[float, Field(N_("Strength"), N_("Divides every frequency"), above=0)] = 1.0


''',
        ),
        (" | LongRope\n", " | Damped"),
        ('    "Deberta",\n', '    "Damped",\n'),
    ),
    "attnviz/model/scalings.py": (
        (
            "# --- the table ---",
            """def _damped_lines(pair: PairFrequency) -> tuple[Line, ...]:
    strength = pair.scaling.strength
    numbers = (*pair.times, *pair.powers, Text(" ÷ (1 + "), constant(strength, "strength"), Text(")"))
    return (pair.line(numbers, pair.multiplier * pair.plain / (1.0 + strength)),)


""",
        ),
        (
            "    ScalingRow(\n        LongRope,",
            """    ScalingRow(
        Damped,
        N_("damped"),
        N_("Divides every frequency by 1 + strength"),
        types=("damped",),
        fresh=lambda rotation: Damped(),
        scale=lambda rotation, frequencies: frequencies / (1.0 + rotation.scaling.strength),
        code=lambda rotation, xp: ((f"frequency = frequency / (1 + {rotation.scaling.strength!r})", ""),),
        lines=_damped_lines,
    ),
""",
        ),
        ("    DynamicNtk,\n", "    Damped,\n"),
    ),
}
"""By file: what new lines stand before, and the lines."""

USE_OF_SCALING = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.checkpoints import rotary
from attnviz.model.explain.arithmetic.cell import explain
from attnviz.model.explain.position_curves import candidates
from attnviz.model.io.files import dumps, loads
from attnviz.model.sites.sites import alone, at
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell

tokens, vectors = tuple("abcde"), parts.SeededVectors(5, 8)
def with_rope(rope):
    plain = attnviz.Experiment(tokens, vectors)
    from msgspec.structs import replace
    return alone(replace(at(plain, "layers.0.self"), position=rope, dtype="float64"))
damped = with_rope(parts.Rope(scaling=parts.Damped(1.0)))
halved = with_rope(parts.Rope(scaling=parts.LinearScaling(2.0)))
np.testing.assert_array_equal(attnviz.run(damped)["weights"], attnviz.run(halved)["weights"])
assert loads(dumps(Document(damped))).experiment == damped
assert attnviz.decode(damped).steps
names = {}
exec(attnviz.script(damped), names)
np.testing.assert_allclose(names["weights"], attnviz.run(damped)["weights"], atol=1e-12)
site = attnviz.run(damped).only
for line in explain(site, Cell("q_rotated", 3, 2, 0)).lines:
    np.testing.assert_allclose(line.value, line.recomputed, rtol=1e-9)
assert "rope_damped" in {id_ for id_, _title, _site in candidates(at(damped, "layers.0.self"))}
config = {"max_position_embeddings": 64, "rope_scaling": {"type": "damped", "strength": 0.5}}
assert rotary.rope(config, 2).scaling == parts.Damped(0.5)
try:
    parts.Damped(0.0)
except ValueError as error:
    assert str(error).startswith("position.scaling.strength must be"), error

from attnviz.gui.panels.mechanism.scaling import SCALING_FIELDS
field = next(field for field in SCALING_FIELDS if field.name == "scaling_strength_field")
site = at(damped, "layers.0.self")
assert field.shown(site) and not field.shown(at(halved, "layers.0.self"))
assert field.edit(site, 3.0).position.scaling == parts.Damped(3.0)
print("works")
"""


def files_of(recipe: str) -> list[str]:
    return re.findall(r"`((?:attnviz|tests|resources)/[\w./<>]*)`", RECIPES[recipe])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_names_files_that_exist(recipe: str) -> None:
    named = [file for file in files_of(recipe) if "<" not in file]
    assert named and [file for file in named if not (ROOT / file).exists()] == []


def copied(folder: Path) -> Path:
    """The package in a folder of its own."""
    shutil.copytree(ROOT / "attnviz", folder / "attnviz", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "resources").symlink_to(ROOT / "resources")
    return folder


def rewritten(file: Path, old: str, new: str) -> None:
    """Put `new` where `old` stands first."""
    text = file.read_text(encoding="utf-8")
    assert old in text, (file.name, old)
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def works(folder: Path, program: str) -> None:
    """Run a program with the package of a folder; it must end with `works`."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "QT_QPA_PLATFORM": "offscreen"},
        timeout=120,
    )
    assert done.stdout.strip().endswith("works"), done.stderr


def test_a_mask_is_added_by_its_recipe(tmp_path: Path) -> None:
    required = [file for file in files_of("A mask") if file.startswith("attnviz/")]
    assert sorted(required) == sorted(CHECKERBOARD), "the recipe names other files than it takes"
    copied(tmp_path)
    for name, (anchor, lines) in CHECKERBOARD.items():
        rewritten(tmp_path / name, anchor, lines + anchor.lstrip("\n"))
        for before, after in NAMES.get(name, ()):
            rewritten(tmp_path / name, before, after)
    works(tmp_path, USE)


def test_a_scaling_is_added_by_its_recipe_in_two_files(tmp_path: Path) -> None:
    required = [file for file in files_of("A RoPE scaling") if file.startswith("attnviz/")][:2]
    assert sorted(required) == sorted(DAMPED) and len(DAMPED) == 2
    copied(tmp_path)
    for name, changes in DAMPED.items():
        for anchor, lines in changes:
            rewritten(tmp_path / name, anchor, lines + anchor)
    works(tmp_path, USE_OF_SCALING)

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

MASK = {
    "attnviz/core/masks.py": (
        (
            r"\Z",
            """

def recipe(q_positions: Positions, k_positions: Positions, step: int) -> Blocked:
    \"\"\"Visible are the keys at a distance that `step` divides.\"\"\"
    return (q_positions[:, None] - k_positions[None, :]) % step != 0
""",
        ),
    ),
    "attnviz/model/spec/parts.py": (
        (
            r"^(?=OneMask = )",
            """class RecipeMask(MaskKind, frozen=True, tag_field="kind", tag="recipe_mask"):
    \"\"\"A query sees the keys at an even distance.\"\"\"

    where: ClassVar[str] = "masks.recipe_mask."

    step: Annotated[Positive, Field("Recipe: step", "Distance between two visible keys")] = 2


""",
        ),
        (r"(?<=^OneMask = )(?!\()|(?<=^OneMask = \(\n)", "RecipeMask | "),
        (r"(?<=^__all__ = \[\n)", '    "RecipeMask",\n'),
    ),
    "attnviz/model/masks.py": (
        (
            r"(?=^def why_causal)",
            """def why_recipe(mask: object, query: int, key: int) -> str:
    return f"recipe: key {key} is {abs(query - key)} away from query {query}"


""",
        ),
        (
            r"(?<=^MASKS: tuple\[MaskFamily, \.\.\.\] = \(\n)",
            """    MaskFamily(
        RecipeMask,
        N_("recipe"),
        N_("A query attends to keys at an even distance"),
        blocked=lambda mask, q, k: core.recipe(q, k, mask.step),
        reason=why_recipe,
        looks_ahead=_always,
        fresh=lambda experiment: RecipeMask(),
        is_pattern=True,
    ),
""",
        ),
        (r"(?<=^from attnviz.model.spec.parts import \(\n)", "    RecipeMask,\n"),
    ),
    "attnviz/explain/scripts/masks.py": (
        (
            r"(?<=^MASK_CODE: dict\[type, Callable\[\[Any, Asked\], str\]\] = \{\n)",
            '    RecipeMask: lambda mask, asked: f"(i - j) % {mask.step} != 0",\n',
        ),
        (r"(?<=^from attnviz.model.spec.parts import \(\n)", "    RecipeMask,\n"),
    ),
}
"""By file: places, as patterns that no other new row moves, and the lines to insert there."""

USE = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.model.io.files import dumps, loads
from attnviz.model.spec.document import Document

experiment = attnviz.one_layer(tuple("abcde"), parts.SeededVectors(5, 8), masks=(parts.RecipeMask(),))
weights = attnviz.run(experiment)["weights"][0]
i = np.arange(5)
assert ((weights == 0) == ((i[:, None] - i) % 2 == 1)).all(), weights
assert loads(dumps(Document(experiment))).experiment == experiment
assert attnviz.decode(experiment).steps
names = {}
exec(attnviz.script(experiment), names)
np.testing.assert_allclose(names["weights"][0], weights, atol=1e-6)
from attnviz.model.masks import MASKS
family = next(family for family in MASKS if family.tag == "recipe_mask")
assert "away from query 3" in family.reason(parts.RecipeMask(), 3, 2)

from PySide6.QtWidgets import QApplication
app = QApplication([])
from attnviz.gui.panels.table import PANELS
from attnviz.gui.store import Store
store = Store(Document(experiment))
panel = next(row for row in PANELS if row.id == "mechanism").make(store)
assert [w for w in panel.findChildren(object) if "recipe_mask" in w.objectName()], "no tile"
assert [w for w in panel.findChildren(object) if w.objectName() == "recipe_mask_step_field"], "no number"
from attnviz.model.io.schema import document_schema
assert document_schema()["$defs"]["RecipeMask"]["properties"]["step"]["title"] == "Recipe: step"
try:
    parts.RecipeMask(0)
except ValueError as error:
    assert str(error).startswith("masks.recipe_mask.step must be a whole number from 1"), error
print("works")
"""


SCALING = {
    "attnviz/core/positions.py": (
        (
            r"\Z",
            """

def recipe_scaling(frequencies: Floats, strength: float) -> Floats:
    \"\"\"Every frequency divided by 1 + `strength`.\"\"\"
    return frequencies / (1.0 + strength)
""",
        ),
    ),
    "attnviz/model/spec/scalings.py": (
        (
            r"^(?=Scaling = )",
            """class RecipeScaling(Stretch, frozen=True, tag_field="kind", tag="recipe_scaling"):
    \"\"\"Every frequency divided by 1 + `strength`.\"\"\"

    where: ClassVar[str] = "position.scaling."

    strength: Annotated[float, Field(N_("Strength"), N_("Divides every frequency"), above=0)] = 1.0


""",
        ),
        (r"(?<=^Scaling = )(?!\()|(?<=^Scaling = \(\n)", "RecipeScaling | "),
        (r"(?<=^__all__ = \[\n)", '    "RecipeScaling",\n'),
    ),
    "attnviz/model/scalings.py": (
        (
            r"^(?=SCALINGS: )",
            """def _recipe_lines(pair: PairFrequency) -> tuple[Line, ...]:
    strength = pair.scaling.strength
    numbers = (*pair.times, *pair.powers, Text(" ÷ (1 + "), constant(strength, "strength"), Text(")"))
    return (pair.line(numbers, pair.multiplier * pair.plain / (1.0 + strength)),)


""",
        ),
        (
            r"(?<=^SCALINGS: tuple\[ScalingRow, \.\.\.\] = \(\n)",
            """    ScalingRow(
        RecipeScaling,
        N_("recipe"),
        N_("Divides every frequency by 1 + strength"),
        types=("recipe",),
        dash=(9.0, 1.0),
        fresh=lambda rotation: RecipeScaling(),
        scale=lambda rotation, frequencies: recipe_scaling(frequencies, rotation.scaling.strength),
        code=lambda rotation, xp: ((f"frequency = frequency / (1 + {rotation.scaling.strength!r})", ""),),
        lines=_recipe_lines,
    ),
""",
        ),
        (r"(?<=^from attnviz.core.positions import \(\n)", "    recipe_scaling,\n"),
        (r"(?<=^from attnviz.model.spec.scalings import \(\n)", "    RecipeScaling,\n"),
    ),
}
"""By file, as `MASK`."""

USE_OF_SCALING = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.checkpoints import rotary
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.position_curves import candidates
from attnviz.model.io.files import dumps, loads
from attnviz.model.sites.sites import alone, at
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell

tokens, vectors = tuple("abcde"), parts.SeededVectors(5, 8)
def with_rope(rope):
    plain = attnviz.Experiment(tokens, vectors)
    from msgspec.structs import replace
    return alone(replace(at(plain, "layers.0.self"), position=rope, dtype="float64"))
damped = with_rope(parts.Rope(scaling=parts.RecipeScaling(1.0)))
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
assert "rope_recipe_scaling" in {id_ for id_, _title, _site in candidates(at(damped, "layers.0.self"))}
config = {"max_position_embeddings": 64, "rope_scaling": {"type": "recipe", "strength": 0.5}}
assert rotary.rope(config, 2).scaling == parts.RecipeScaling(0.5)
try:
    parts.RecipeScaling(0.0)
except ValueError as error:
    assert str(error).startswith("position.scaling.strength must be"), error

from attnviz.gui.panels.mechanism.rope import SCALING_FIELDS
field = next(field for field in SCALING_FIELDS if field.name == "scaling_strength_field")
site = at(damped, "layers.0.self")
assert field.shown(site) and not field.shown(at(halved, "layers.0.self"))
assert field.edit(site, 3.0).position.scaling == parts.RecipeScaling(3.0)
print("works")
"""


POSITION = {
    "attnviz/model/spec/positions.py": (
        (
            r"^(?=Position = )",
            """class RecipePosition(Encoding, frozen=True, tag_field="kind", tag="recipe_position"):
    \"\"\"A bias -factor * ln(1 + |i - j|).\"\"\"

    where: ClassVar[str] = "position."
    changes: ClassVar[Changes] = "bias"

    factor: Annotated[float, Field(N_("Recipe: factor"), N_("Multiplies the logarithm"), above=0)] = 1.0


""",
        ),
        (r"(?<=^Position = )(?!\()|(?<=^Position = \(\n)", "RecipePosition | "),
        (r"(?<=^__all__ = \[\n)", '    "RecipePosition",\n'),
    ),
    "attnviz/model/positions.py": (
        (
            r"^(?=POSITIONS: )",
            """def _logarithms(q_positions: Ints, k_positions: Ints) -> Floats:
    return np.log1p(np.abs(q_positions[:, None] - k_positions))


def _recipe(site: Site) -> Bias:
    factor = site.position.factor
    return lambda heads, q, k: -factor * _logarithms(q, k) * np.ones((*heads.shape, 1, 1))


def _pull_recipe(
    position: RecipePosition, g: Floats, q_positions: Ints, k_positions: Ints
) -> tuple[str, Floats]:
    return "factor", -np.sum(g * _logarithms(q_positions, k_positions), keepdims=True).ravel()


""",
        ),
        (
            r"(?<=^POSITIONS: tuple\[PositionRow, \.\.\.\] = \(\n)",
            """    PositionRow(
        RecipePosition,
        N_("recipe"),
        N_("Scores lowered by the logarithm of the distance"),
        hue=5,
        bias=_recipe,
        pull_bias=_pull_recipe,
    ),
""",
        ),
        (r"(?<=^from attnviz.model.spec.positions import \(\n)", "    RecipePosition,\n"),
    ),
    "attnviz/explain/arithmetic/positions.py": (
        (
            r"^(?=BIASES: )",
            """def _recipe(reading: Reading, cell: Cell) -> Addend:
    query = _query(reading, cell)
    factor = constant(reading.experiment.position.factor, "factor")
    pieces = (Text(" − "), *guarded(factor), Text(f" × ln(1 + |{query} − {cell.column}|)"))
    term = -factor.value * float(np.log1p(abs(query - cell.column)))
    return "s − factor · ln(1 + |i − j|)", pieces, term, ()


""",
        ),
        (
            r"(?<=^BIASES: dict\[type, Callable\[\[Reading, Cell\], Addend\]\] = \{)",
            "RecipePosition: _recipe, ",
        ),
        (
            r"(?<=^from attnviz.model.spec.positions import )(?=\w)"
            r"|(?<=^from attnviz.model.spec.positions import \(\n)",
            "RecipePosition, ",
        ),
    ),
    "attnviz/explain/scripts/positions.py": (
        (
            r"^(?=BIAS_CODE: )",
            """def _recipe(position: Any, asked: Asked) -> str:
    grid(asked)
    xp = asked.xp
    return f" - {position.factor!r} * {xp}.log1p(1.0 * {xp}.abs(i - j))"


""",
        ),
        (
            r"(?<=^BIAS_CODE: dict\[type, Callable\[\[Any, Asked\], str\]\] = \{)",
            "RecipePosition: _recipe, ",
        ),
        (r"(?<=^from attnviz.model.spec.positions import \(\n)", "    RecipePosition,\n"),
    ),
    "attnviz/gui/panels/mechanism/position.py": (
        (r"(?<=^FIRST_ROW = \{)", '"recipe_position", '),
        (r"(?<=^FIELDS: tuple\[FormField\[Site\], \.\.\.\] = \(\n)", '    row("position.factor"),\n'),
    ),
}
"""By file, as `MASK`."""

USE_OF_POSITION = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.position_curves import candidates
from attnviz.model.io.files import dumps, loads
from attnviz.model.sites.sites import at
from attnviz.model.spec.document import Document
from attnviz.model.spec.view import Cell
from msgspec.structs import replace

def with_factor(factor):
    position, heads = parts.RecipePosition(factor), parts.Heads(2, 1, 4)
    return attnviz.one_layer(
        tuple("abcde"), parts.SeededVectors(5, 8), heads=heads, position=position, dtype="float64"
    )

experiment = with_factor(0.5)
trace, i = attnviz.run(experiment), np.arange(5)
lowered = 0.5 * np.log(1.0 + np.abs(i[:, None] - i))
np.testing.assert_allclose(trace["biased"], trace["scaled"] - lowered, atol=1e-12)
assert loads(dumps(Document(experiment))).experiment == experiment
for step in attnviz.decode(experiment).steps:
    assert step is not None
for library in ("numpy", "torch"):
    if library == "torch":
        try:
            import torch
        except ImportError:
            continue
    names = {}
    exec(attnviz.script(experiment, library), names)
    np.testing.assert_allclose(np.asarray(names["weights"]), trace["weights"], atol=1e-6)
for line in explain(trace.only, Cell("biased", 3, 1, 1)).lines:
    np.testing.assert_allclose(line.value, line.recomputed, rtol=1e-12)
assert "recipe_position" in {id_ for id_, _title, _site in candidates(at(experiment, "layers.0.self"))}
target, step = "layers.0.self.weights[1, 3, 2]", 1e-6
gradient = attnviz.backward(experiment, target).parameters["layers.0.self.position.factor"]
near = [attnviz.run(with_factor(0.5 + sign * step))["weights"][1, 3, 2] for sign in (1, -1)]
np.testing.assert_allclose(float(np.ravel(gradient)[0]), (near[0] - near[1]) / (2 * step), rtol=1e-6)
try:
    parts.RecipePosition(0.0)
except ValueError as error:
    assert str(error).startswith("position.factor must be"), error

from PySide6.QtWidgets import QApplication
app = QApplication([])
from attnviz.gui.panels.mechanism.position import FIELDS, FIRST_ROW
field = next(field for field in FIELDS if field.path == "position.factor")
site = at(experiment, "layers.0.self")
assert "recipe_position" in FIRST_ROW and field.shown(site)
assert not field.shown(replace(site, position=parts.Alibi()))
assert field.edit(site, 3.0).position == parts.RecipePosition(3.0)
print("works")
"""

PANEL_CODE = """\"\"\"The entropy of the selected query's weights, in bits.\"\"\"

from __future__ import annotations

import numpy as np
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from attnviz.gui.panels.panel import Panel
from attnviz.gui.store import Store
from attnviz.i18n import _
from attnviz.model.trace import Trace


class EntropyPanel(Panel):
    \"\"\"One number for the selected query and head.\"\"\"

    follows = ("site", "head", "query")

    def __init__(self, store: Store, parent: QWidget | None = None) -> None:
        super().__init__(store, parent)
        self._label = QLabel()
        self._label.setObjectName("entropy_label")
        QVBoxLayout(self).addWidget(self._label)

    def on_trace(self, trace: Trace) -> None:
        view = self.store.document.view
        p = np.asarray(trace.shown(view.site)["weights"])[view.head, view.query]
        p = p[p > 0]
        self._label.setText(_("{bits:.4f} bits").format(bits=float(-(p * np.log2(p)).sum())))
"""

PANEL = {
    "attnviz/gui/panels/": (),
    "attnviz/gui/panels/table.py": (
        (
            r"(?=^\)\nPANEL_BY_ID)",
            """    PanelRow(
        "entropy",
        N_("Entropy"),
        "entropy:EntropyPanel",
        group="numbers",
        help=N_("How widely the selected query spreads its attention, in bits."),
        words=N_("uncertainty, perplexity"),
        workspaces=("explore",),
        lesson="hidden",
        asks=(),
        computed=True,
    ),
""",
        ),
    ),
}
"""By file, as `MASK`; the folder takes the new module."""

USE_OF_PANEL = """
import numpy as np
from PySide6.QtCore import QSettings
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from attnviz.checkpoints.presets import load_preset
from attnviz.gui.app import make_application
from attnviz.gui.look import look
from attnviz.gui.settings import Settings
from attnviz.gui.window.window import Window
from attnviz.gui.workspaces.table import WORKSPACE_BY_ID

app = make_application([])
settings = Settings(QSettings("none.ini", QSettings.Format.IniFormat))
look.apply(app, settings)
window = Window(load_preset("toy-attention"), settings, inline=True)
window.resize(1600, 1000)
window.show()
window.start()
QTest.qWait(50)

assert "entropy" in WORKSPACE_BY_ID["explore"].panels
dock = window.docks["entropy"]
assert not dock.isVisible() and dock.windowTitle() == "Entropy"

window.commands["palette"].trigger()
palette = window.findChild(QWidget, "palette")
window.findChild(QLineEdit, "palette_line").setText("perplexity")
while not palette.is_complete:
    QTest.qWait(10)
assert [entry.key for entry in palette.found()][0] == "panel:entropy"
palette.found()[0].run()
palette.vanish()
QTest.qWait(50)
assert dock in window.tabifiedDockWidgets(window.docks["inspector"]), "no tab of the drawer"
assert window.panels["entropy"].isVisible() and window.current.id == "entropy"
view = window.store.document.view
p = window.store.trace.shown(view.site)["weights"][view.head, view.query]
p = p[p > 0]
bits = float(-(p * np.log2(p)).sum())
assert window.findChild(QLabel, "entropy_label").text() == f"{bits:.4f} bits"

window.panels["entropy"].setFocus()
window.commands["what_is_this"].trigger()
card = window.findChild(QWidget, "help_card")
assert any("spreads its attention" in label.text() for label in card.findChildren(QLabel))

from attnviz.study.lessons.reading import read_lesson
from attnviz.gui.panels.table import PANEL_NAMES
assert "entropy" in PANEL_NAMES.hidden and "entropy" not in PANEL_NAMES.beside
window.close()
print("works")
"""


ROW = """    Stage(
        "recipe",
        "scores",
        _HQK,
        N_("recipe"),
        "c · f(s ÷ c)",
        N_("recipe"),
        ("scores",),
        symbols=("s",),
        wraps="{{op}}({{0}})",
        fold=9,
        help=N_("Scores of a recipe."),
        cites="gemma",
        made_by={operation},
        operands="{operands}",
    ),
"""
BEHIND_CAPPED = r'^(?=    Stage\(\n        "biased",)'

STAGE = {
    "attnviz/model/stages.py": ((BEHIND_CAPPED, ROW.format(operation="Cap", operands="half")),),
    "attnviz/model/binding.py": (
        (
            r"(?<=^_COMPUTED: dict\[str, Callable\[\[Site\], tuple\[Any, \.\.\.\]\]\] = \{\n)",
            '    "half": lambda site: (site.heads.d_head / 2,),\n',
        ),
    ),
    "attnviz/model/spec/": (),
}
"""By file, as `MASK`; the stage needs no field of its own."""

OPERATION = {
    "attnviz/operations/": (),
    "attnviz/model/stages.py": (
        (BEHIND_CAPPED, ROW.format(operation="Bend", operands="heads.d_head")),
        (r"^(?=from attnviz\.operations\.difference)", "from attnviz.operations.bend import Bend\n"),
    ),
}
"""By file, as `MASK`; the folder takes the new module, which `tests/operations/` has."""

USE_OF_STAGE = """
import numpy as np
import attnviz
from attnviz import parts
from attnviz.explain.arithmetic.cell import explain
from attnviz.explain.formulas.symbols import site_lines
from attnviz.model.spec.view import Cell

experiment = attnviz.one_layer(
    tuple("abcde"), parts.SeededVectors(5, 8), masks=(parts.Causal(),), cap=4.0, dtype="float64"
)
site = attnviz.run(experiment).only
limit = LIMIT * site.experiment.heads.d_head
np.testing.assert_allclose(site["recipe"], limit * FUNCTION(site["capped"] / limit), rtol=1e-12)
for step in attnviz.decode(experiment).steps:
    assert "recipe" in step.site("layers.0.self").stages
names = {}
exec(attnviz.script(experiment), names)
np.testing.assert_allclose(names["recipe"], site["recipe"], rtol=1e-12)
lines = explain(site, Cell("recipe", 3, 2)).lines
np.testing.assert_allclose(lines[0].value, lines[0].recomputed, rtol=1e-12)
assert "recipe(cap(" in "".join(part.text for part in site_lines(site.experiment, site.stages)[1])
gradient = attnviz.backward(experiment, "layers.0.self.weights[0, 3, 1]").site("layers.0.self")
slope = SLOPE(site["recipe"] / limit)
np.testing.assert_allclose(gradient["capped"], gradient["recipe"] * slope, rtol=1e-9, atol=1e-15)
print("works")
"""


def files_of(text: str) -> list[str]:
    """The paths that a recipe names."""
    return re.findall(r"(?<![\w/])((?:attnviz|tests|resources|docs)/[\w./<>]*[\w/>])", text)


def steps_of(recipe: str) -> set[str]:
    """The files of the package in the numbered steps of a recipe; the rest is for some cases only."""
    steps = re.findall(r"^\d\. .*$", RECIPES[recipe], re.M)
    return {file for file in files_of("\n".join(steps)) if file.startswith("attnviz/")}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_names_files_that_exist(recipe: str) -> None:
    named = [file for file in files_of(RECIPES[recipe]) if "<" not in file]
    assert named and [file for file in named if not (ROOT / file).exists()] == []


def copied(folder: Path) -> Path:
    """The package in a folder of its own."""
    shutil.copytree(ROOT / "attnviz", folder / "attnviz", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "resources").symlink_to(ROOT / "resources")
    return folder


def followed(folder: Path, recipe: dict[str, tuple[tuple[str, str], ...]]) -> None:
    """Insert the lines of a recipe into the package in a folder."""
    copied(folder)
    for name, changes in recipe.items():
        if not changes:
            continue
        file = folder / name
        text = file.read_text(encoding="utf-8")
        for place, lines in changes:
            assert len(re.findall(place, text, re.M)) == 1, (name, place)
            text = re.sub(place, lambda _found, new=lines: new, text, count=1, flags=re.M)
        file.write_text(text, encoding="utf-8")


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


def test_a_mask_is_added_by_its_recipe_in_five_files(tmp_path: Path) -> None:
    assert steps_of("A mask") == set(MASK), "the recipe names other files than it takes"
    assert len(MASK) <= 5
    followed(tmp_path, MASK)
    works(tmp_path, USE)


def test_a_scaling_is_added_by_its_recipe_in_three_files(tmp_path: Path) -> None:
    assert steps_of("A RoPE scaling") == set(SCALING), "the recipe names other files than it takes"
    assert len(SCALING) <= 3
    followed(tmp_path, SCALING)
    works(tmp_path, USE_OF_SCALING)


def test_a_position_is_added_by_its_recipe_in_five_files(tmp_path: Path) -> None:
    assert steps_of("A position encoding") == set(POSITION), "the recipe names other files than it takes"
    assert len(POSITION) <= 5
    followed(tmp_path, POSITION)
    works(tmp_path, USE_OF_POSITION)


def test_a_panel_is_added_by_its_recipe_in_two_files(tmp_path: Path) -> None:
    assert steps_of("A panel") == set(PANEL), "the recipe names other files than it takes"
    assert len(PANEL) <= 2
    followed(tmp_path, PANEL)
    (tmp_path / "attnviz/gui/panels/entropy.py").write_text(PANEL_CODE, encoding="utf-8")
    works(tmp_path, USE_OF_PANEL)


def test_a_stage_is_added_by_its_recipe_in_three_files(tmp_path: Path) -> None:
    assert steps_of("A stage") == set(STAGE), "the recipe names other files than it takes"
    assert len(STAGE) <= 3
    followed(tmp_path, STAGE)
    words = {"LIMIT": "0.5", "FUNCTION": "np.tanh", "SLOPE": "(lambda r: 1 - r**2)"}
    works(tmp_path, with_words(USE_OF_STAGE, words))


def test_an_operation_is_added_by_its_recipe_in_one_file_and_its_row(tmp_path: Path) -> None:
    assert steps_of("An operation") == set(OPERATION), "the recipe names other files than it takes"
    assert len(OPERATION) <= 2
    followed(tmp_path, OPERATION)
    shutil.copy(ROOT / "tests/operations/bend.py", tmp_path / "attnviz/operations/bend.py")
    words = {"LIMIT": "1.0", "FUNCTION": "np.arctan", "SLOPE": "(lambda r: np.cos(r) ** 2)"}
    works(tmp_path, with_words(USE_OF_STAGE, words))


def with_words(program: str, words: dict[str, str]) -> str:
    for word, code in words.items():
        program = program.replace(word, code)
    return program

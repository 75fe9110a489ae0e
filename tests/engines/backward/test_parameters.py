"""Every array of a document has its gradient, under the document's own name, judged by torch's autograd."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from experiments import SPREAD, STACKS
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from autograd_scripts import LETTERS, Autograd  # noqa: E402

import attnviz  # noqa: E402
from attnviz.model.sites.sites import site_names  # noqa: E402
from attnviz.model.spec.parts import ExplicitSinks, SeededSinks  # noqa: E402
from attnviz.model.spec.rows import DrawnRow, WrittenRow  # noqa: E402
from attnviz.model.spec.source import DrawnTable, WrittenTable  # noqa: E402

ARRAYS = (DrawnRow, WrittenRow, DrawnTable, WrittenTable, ExplicitSinks, SeededSinks)
CONSTANT = {"block.feed_forward.experts.correction"}
"""Added for the choice of experts alone: the target does not move with it."""


def arrays(part: Any, path: str = "") -> Iterator[str]:
    """The paths of the arrays below a part of a document."""
    if isinstance(part, ARRAYS):
        yield path
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            yield from arrays(getattr(part, name), f"{path}.{name}" if path else name)
    elif isinstance(part, tuple):
        for inner in part:
            yield from arrays(inner)


def within_site(path: str) -> str:
    """A path of the document as its site names it; the encoder's norms are those of its ends."""
    path = re.sub(r"^cross\.", "", path)
    return path.replace("encoder_embedding_norm", "embedding_norm").replace("encoder_norm", "final_norm")


@pytest.mark.parametrize("name", [*SPREAD, *STACKS])
def test_every_array_of_a_document_has_its_gradient(name: str) -> None:
    experiment = (SPREAD | STACKS)[name]
    last = site_names(experiment)[-1]
    stage = attnviz.run(experiment).site(last).stages[-1]
    found = attnviz.backward(experiment, f"{last}.{stage}[0, 0]").parameters
    having = Counter(re.sub(r"^\w+\.\d+\.\w+\.", "", key) for key in found)
    wanted = Counter(map(within_site, arrays(experiment)))
    for path, count in wanted.items():
        assert having[path] == (0 if path in CONSTANT else count), path
    assert all(array.dtype.kind == "f" and not array.flags.writeable for array in found.values())


def test_autograd_judges_every_parameter() -> None:
    """Of the whole form: a script binds each of them, and `judge` compares it."""
    judged = {
        name.split(".", 3)[-1]
        for experiment in (SPREAD | STACKS).values()
        for name in Autograd(replace(experiment, dtype="float64")).parameters
    }
    assert judged == set(LETTERS.values())

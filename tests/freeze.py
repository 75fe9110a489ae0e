"""Compare every number and every text of a commit with those of the working tree.

    python tests/freeze.py main~3              # all documents, NumPy and Torch
    python tests/freeze.py main~3 yarn deberta # these alone

Each side runs in a process of its own over all presets and the test documents in float64: every stage, every
step of a decoding, every gradient of a parameter, the lines of every tenth cell of a stage, of a gradient and
of a parameter, formulas, position curves, estimates, and both scripts. Arrays are compared by their bits,
texts by their hashes. A line names each array and text that differs, and its first difference; the exit
status is 1 if anything does. A commit without this file runs the present one.

Of an array of many cells, 200 are explained: seven presets share one model. `--whole` explains every tenth.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EVERY = 10
"""Every n-th cell is explained."""
MOST = 200
"""Explained cells of one array, evenly spread, without `--whole`."""

Arrays = dict[str, NDArray[Any]]
Texts = dict[str, str]


# --- one side: what a tree computes ------------------------------------------------------------------


def documents() -> Iterator[tuple[str, Any]]:
    """(name, document in float64) of all presets and test documents."""
    from documents import BY_HAND, FITTING
    from experiments import SPREAD, STACKS
    from msgspec.structs import replace

    from attnviz.checkpoints.presets import load_preset, preset_ids
    from attnviz.model.io.files import loads
    from attnviz.model.spec.document import Document

    found: dict[str, Any] = {name: load_preset(name) for name in preset_ids()}
    found["by hand"] = loads(FITTING if "[[1.0]]" in BY_HAND else BY_HAND)
    found |= {f"spread: {name}": Document(one) for name, one in SPREAD.items()}
    found |= {f"stack: {name}": Document(one) for name, one in STACKS.items()}
    for name, document in found.items():
        yield name, replace(document, experiment=replace(document.experiment, dtype="float64"))


def computed(document: Any, whole: bool) -> tuple[Arrays, Texts]:
    """Everything that is compared of one document."""
    from attnviz import backward, run
    from attnviz.engines.table import ENGINES

    arrays: Arrays = {}
    texts: Texts = {}
    for engine in ENGINES:
        trace = run(document, engine.id)
        assert trace.engine == engine.id, trace.notices
        arrays |= {f"{engine.id} {key}": array for key, array in stages(trace)}
        gradient = backward(document, target(trace), engine.id)
        arrays |= {f"{engine.id} ∂ {key}": array for key, array in stages(gradient)}
        arrays |= {f"{engine.id} ∂ {name}": gradient.parameters[name] for name in gradient.parameters}
        decoded, refused = decoding(document, engine.id)
        arrays |= {f"{engine.id} {key}": array for key, array in decoded.items()}
        texts[f"{engine.id} decoding"] = refused
        texts[f"{engine.id} notices"] = "\n".join(map(str, trace.notices))
        if engine.id == "numpy":
            texts |= explained(trace, gradient, whole) | described(trace)
            arrays |= drawn(trace)
    return arrays, texts | written(document)


def target(trace: Any) -> str:
    """The loss, or the first cell of the last stage if no token follows another one."""
    from attnviz.errors import FieldError

    last = trace.site(trace.sites[-1])
    if "logits" in last.stages:
        try:
            from attnviz import backward

            backward(trace.experiment, "loss")
            return "loss"
        except FieldError:
            pass
    stage = last.stages[-1]
    return f"{last.name}.{stage}[{', '.join('0' for _ in last.shape(stage))}]"


def stages(trace: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    for name in trace.sites:
        for stage in trace.site(name).stages:
            yield f"{name}.{stage}", trace.site(name)[stage]


def decoding(document: Any, engine: str) -> tuple[Arrays, str]:
    """The stages of every site at every step; or why the document cannot be decoded."""
    from attnviz import decode

    try:
        steps = decode(document, engine=engine).steps
    except ValueError as error:
        return {}, str(error)
    return {
        f"step {number} {name}.{stage}": step.site(name)[stage]
        for number, step in enumerate(steps)
        for name in step.sites
        for stage in step.site(name).stages
    }, ""


def explained(trace: Any, gradient: Any, whole: bool) -> Texts:
    """The lines of every tenth cell of each stage, of its gradient, and of each parameter."""
    from attnviz.explain.arithmetic.cell import explain
    from attnviz.explain.gradients.cell import explain_gradient
    from attnviz.explain.parameters import explain_parameter
    from attnviz.model.spec.view import Cell
    from attnviz.model.weights import weights_of

    texts: Texts = {}
    for name in trace.sites:
        site, slopes = trace.site(name), gradient.site(name)
        for stage in site.stages:
            cells = [
                Cell(stage, index[-2], index[-1], index[0] if len(index) == 3 else 0)
                for index in places(site.shape(stage), whole)
            ]
            for says, function, of in (("", explain, site), ("∂ ", explain_gradient, slopes)):
                texts[f"{says}lines of {name}.{stage}"] = lines(function(of, cell) for cell in cells)
        for weight in weights_of(site.experiment):
            texts[f"lines of {name}.{weight.path}"] = lines(
                explain_parameter(slopes, weight, row, column)
                for row, column in places(weight.array(site.experiment).shape, whole)
            )
    return texts


def places(shape: tuple[int, ...], whole: bool) -> Iterator[tuple[int, ...]]:
    """The indices of the explained cells of an array."""
    size = math.prod(shape)
    # An odd step, prime to most widths: the columns change from row to row.
    step = EVERY if whole or size <= EVERY * MOST else size // MOST | 1
    return (tuple(map(int, np.unravel_index(flat, shape))) for flat in range(0, size, step))


def lines(explanations: Iterator[Any]) -> str:
    from attnviz.operations.terms import plain

    return "\n".join(
        " = ".join([plain(line.name), *map(plain, line.steps)])
        + "".join(f"; {plain(note)}" for note in line.notes)
        + f" [{line.value!r}, {line.recomputed!r}]"
        for explanation in explanations
        for line in explanation.lines
    )


def described(trace: Any) -> Texts:
    """Formulas of the stages and of the sites, what reads what, failures, and estimates."""
    from attnviz.compute.estimate import estimate, estimate_decoding
    from attnviz.explain.formulas.stages import stage_axes, stage_formula, stage_operation
    from attnviz.explain.formulas.symbols import site_lines, stage_parts
    from attnviz.model.stages import inputs
    from attnviz.study.failures.checks import CHECKS

    texts: Texts = {"estimate": str(estimate(trace.experiment, 8))}
    try:
        texts["estimate of decoding"] = str(estimate_decoding(trace.experiment, 7, 8))
    except ValueError as error:
        texts["estimate of decoding"] = str(error)
    for name in trace.sites:
        site = trace.site(name)
        of = site.experiment
        texts[f"formulas of {name}"] = "\n".join(
            f"{stage}: {stage_formula(of, stage)} | {stage_operation(of, stage)} | {stage_axes(stage)} | "
            f"{inputs(stage, site.stages)} | {stage_parts(of, stage, site.stages)}"
            for stage in site.stages
        )
        texts[f"lines of {name}"] = "\n".join(map(str, site_lines(of, site.stages)))
        texts[f"failures of {name}"] = "\n".join(
            f"{check.id}: {finding.stage} {finding.says}"
            for check in CHECKS
            for finding in check.find(trace, site)
        )
    return texts


def drawn(trace: Any) -> Arrays:
    """The position curves of the last query and the first key of each site."""
    from attnviz.explain.position_curves import curves
    from attnviz.explain.score_pair import Pair

    return {
        f"curve {name} {curve.id}": curve.values
        for name in trace.sites
        for curve in curves(trace.site(name), Pair(0, trace.site(name).experiment.n_queries - 1, 0))
    }


def written(document: Any) -> Texts:
    """Both scripts; their stored arrays by their bytes."""
    from attnviz.explain.scripts.library import LIBRARY_BY_ID
    from attnviz.explain.scripts.script import Wanted, program
    from attnviz.model.stages import STAGE_BY_ID

    texts = {}
    for library in LIBRARY_BY_ID.values():
        made = program(document, library, Wanted(tuple(STAGE_BY_ID)))
        texts[f"script of {library.id}"] = made.text("beside")
    return texts


def write(folder: Path, whole: bool, wanted: list[str]) -> None:
    """One side: an .npz and a .json of each document."""
    from attnviz.i18n import set_language

    set_language("en")
    for name, document in documents():
        if wanted and name.partition(": ")[2] not in wanted and name not in wanted:
            continue
        arrays, texts = computed(document, whole)
        file = folder / hashlib.sha256(name.encode()).hexdigest()[:16]
        np.savez(file.with_suffix(".npz"), **arrays)
        file.with_suffix(".json").write_text(json.dumps({"name": name, "texts": texts}), encoding="utf-8")


# --- both sides --------------------------------------------------------------------------------------


def compare(before: Path, after: Path) -> Iterator[str]:
    """A line for each array and text that differs, the first one in full."""
    files = sorted({file.name for folder in (before, after) for file in folder.glob("*.json")})
    for file in files:
        if not (before / file).exists() or not (after / file).exists():
            yield f"{file}: only on one side"
            continue
        old, new = (json.loads((folder / file).read_text(encoding="utf-8")) for folder in (before, after))
        npz = Path(file).with_suffix(".npz")
        with np.load(before / npz) as one, np.load(after / npz) as other:
            for key in (*one, *(key for key in other if key not in one)):
                said = (
                    "only on one side"
                    if key not in one or key not in other
                    else _arrays(one[key], other[key])
                )
                if said:
                    yield f"{old['name']} · {key}: {said}"
        for key in old["texts"] | new["texts"]:
            pair = old["texts"].get(key), new["texts"].get(key)
            if _hash(pair[0]) != _hash(pair[1]):
                yield f"{old['name']} · {key}: {_lines(*pair)}"


def _hash(text: str | None) -> str:
    return hashlib.sha256(repr(text).encode()).hexdigest()


def _arrays(one: NDArray[Any], other: NDArray[Any]) -> str:
    """The first cell whose bits differ, and the largest difference as a part of the largest number."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype} {one.shape}, {other.dtype} {other.shape}"
    bits = np.ascontiguousarray(one).view(np.uint8) != np.ascontiguousarray(other).view(np.uint8)
    if not bits.any():
        return ""
    differ = bits.reshape(*one.shape, -1).any(-1)
    at = tuple(int(number) for number in np.argwhere(differ)[0])
    with np.errstate(all="ignore"):
        finite = np.isfinite(one) & np.isfinite(other)
        largest = float(np.max(np.abs(one), where=finite, initial=0.0))
        away = float(np.max(np.abs(one - other), where=finite, initial=0.0))
    share = away / largest if largest else away
    return (
        f"{int(differ.sum())} of {one.size} cells, first {list(at)}: {one[at]!r}, {other[at]!r}; {share:.1e}"
    )


def _lines(old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return "only on one side"
    pairs = zip(old.splitlines() + [""], new.splitlines() + [""], strict=False)
    return next((f"\n  − {a}\n  + {b}" for a, b in pairs if a != b), "longer")


def side(tree: Path, script: Path, folder: Path, given: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start the process of one tree."""
    folder.mkdir()
    whole = ["--whole"] * given.whole
    paths = os.pathsep.join(map(str, (tree, tree / "tests")))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        [sys.executable, str(script), given.revision, *given.documents, "--write", str(folder), *whole],
        cwd=tree,
        env=os.environ | threads | {"PYTHONPATH": paths},
    )


def main() -> int:
    """Both sides, and what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("revision", help="the commit that the working tree is compared with")
    parser.add_argument("documents", nargs="*", help="names of presets and test documents (default: all)")
    parser.add_argument("--whole", action="store_true", help="explain every tenth cell of large arrays too")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="compute this side alone, into a folder")
    given = parser.parse_args()
    if given.write:
        write(given.write, given.whole, given.documents)
        return 0
    with tempfile.TemporaryDirectory(prefix="attnviz-freeze-") as scratch:
        return both(Path(scratch), given)


def both(scratch: Path, given: argparse.Namespace) -> int:
    """Compute both sides at the same time, and print what differs."""
    root, tree = Path(__file__).resolve().parent.parent, scratch / "tree"
    tree.mkdir()
    archive = subprocess.run(["git", "archive", given.revision], cwd=root, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    script = tree / "tests" / "freeze.py"
    if not script.exists():
        shutil.copy(__file__, script)
    before, after = scratch / "before", scratch / "after"
    sides = side(tree, script, before, given), side(root, Path(__file__), after, given)
    if any([one.wait() for one in sides]):  # noqa: C419, as both are awaited
        return 2
    differences = list(compare(before, after))
    count = len(list(after.glob("*.json")))
    for line in differences:
        print(line)
    print(f"{count} documents, {len(differences)} differences")
    return 1 if differences or not count else 0


if __name__ == "__main__":
    sys.exit(main())

"""A run of all tests uses every core and draws a quarter of the many parameter sets of a test.

    pytest            # by the tree of the commit: the same in every clone
    SEED=7 pytest     # another quarter
    pytest --whole    # all

A run of some files or some tests takes all their sets, on one core. `python tests/draw.py` prints the seed.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from attnviz.compute.threads import available_cores

MANY = 40
"""A test function of at most as many sets runs whole."""
SHARE = 4
"""One set of four is drawn."""
MOST_WORKERS = 8
SLOWEST = 20
"""Modules that a run of all tests lists by their processor time."""
WITHOUT_GIT = 20260
"""The seed where no commit gives one."""

LIBRARIES = "transformers|transformer_lens|onnx|tokenizers|sentencepiece|gguf|safetensors|nbformat"
ADAPTERS = "reference_models|decoder_cases|onnx_cases|autograd_scripts"
"""Modules beside the tests that import such a library, or have the derivatives of PyTorch."""
REFERENCES = re.compile(
    rf"^\s*(?:from|import) (?:{LIBRARIES}|{ADAPTERS})\b|importorskip\(\"(?:{LIBRARIES})\b", re.MULTILINE
)
"""An import in a file of tests whose numbers other people computed, as are all in the folder `references`."""

Rows = list[tuple[Any, ...]]
Drawn = Callable[..., Rows]
"""Draws from rows; one in `share` of them, if that is not a quarter."""


def seed(folder: Path) -> int:
    """`SEED`, else a number of the tree of the commit in `folder`."""
    if given := os.environ.get("SEED"):
        return int(given)
    ask = ["git", "rev-parse", "--verify", "--quiet", "HEAD^{tree}"]
    try:
        tree = subprocess.run(ask, cwd=folder, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return WITHOUT_GIT
    return int(tree[:7], 16)


def draw(
    sets: Sequence[Mapping[str, object]], seed: int | str, together: int = 1, share: int = SHARE
) -> list[int]:
    """Places of one in `share` of `sets`, in order; of more where that misses a value of a parameter.

    `sets` give the values of the parameters by their names. Each combination of `together` values that occurs
    in `sets` occurs among those drawn: 1 covers every value, 2 every pair of values.
    """
    order = random.Random(seed).sample(range(len(sets)), len(sets))
    combinations = [
        set(itertools.combinations([(name, _key(value)) for name, value in one.items()], together))
        for one in sets
    ]
    missing = set().union(*combinations)
    taken: list[int] = []
    # Those that add most come first. What a set adds only shrinks: one way through finds all that add n_new.
    for n_new in range(max(map(len, combinations), default=0), 0, -1):
        for place in order:
            if len(combinations[place] & missing) == n_new:
                missing -= combinations[place]
                taken.append(place)
    n_taken = max(len(taken), math.ceil(len(sets) / share))
    return sorted(list(dict.fromkeys(taken + order))[:n_taken])


def _key(value: object) -> Hashable:
    """Equal for equal values of one type. Values that can change are equal only to themselves."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def runs_all(config: pytest.Config) -> bool:
    """True if the command line names every test, by no path or by those of `testpaths`."""
    option = config.option
    if option.keyword or option.markexpr or getattr(option, "lf", False):
        return False
    named = [config.invocation_params.dir / arg for arg in config.args]
    tests = [config.rootpath / path for path in config.getini("testpaths")]
    return all(any(test.is_relative_to(path.resolve()) for path in named) for test in tests)


class Draw:
    """The draw of one run. A worker has the seed of the process that started it."""

    def __init__(self, config: pytest.Config) -> None:
        self.tests = config.rootpath / "tests"
        self.worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        self.is_whole_suite = self.worker is None and runs_all(config)
        self.seed: int | None = None
        """None draws all."""
        if self.worker is not None:
            self.seed = self.worker["draw"]
        elif self.is_whole_suite and not config.option.whole:
            self.seed = seed(config.rootpath)
        self.counts: Counter[tuple[str, str]] = Counter()
        """Numbers of sets, by room and by what became of them."""
        self.seconds: Counter[str] = Counter()
        """Processor time of the tests of a module, with that of the processes which they waited for."""

    def room(self, path: Path) -> str:
        """The folder below `tests` of a module, or `tests` itself, also for one outside."""
        below = path.relative_to(self.tests).parts if path.is_relative_to(self.tests) else ()
        return below[0] if len(below) > 1 else self.tests.name

    def places(
        self,
        kind: str,
        path: Path,
        name: str,
        sets: Sequence[Mapping[str, object]],
        together: int = 1,
        share: int = SHARE,
    ) -> list[int]:
        """Places of those sets that this run takes, counted as `kind` in the room of `path`."""
        if self.seed is None:
            return list(range(len(sets)))
        places = draw(sets, f"{self.seed} {name}", together, share)
        room = self.room(path)
        self.counts[room, f"{kind} drawn"] += len(places)
        self.counts[room, f"{kind} left out"] += len(sets) - len(places)
        return places

    def turn(self, path: Path) -> int:
        """Modules of the window and of the shell come first: one of a minute must not be the last."""
        room, *below = path.relative_to(self.tests).parts
        return 0 if room == "gui" else 1 if not below else 2

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Draw from each function with many sets, in whatever order they come."""
        for path, of_file in itertools.groupby(items, key=lambda item: item.path):
            is_in_folder = path.is_relative_to(self.tests / "references")
            if is_in_folder or REFERENCES.search(path.read_text(encoding="utf-8")):
                for item in of_file:
                    item.add_marker("references")
        functions: dict[str, list[pytest.Function]] = {}
        for item in items:
            if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
                functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
        left: set[pytest.Item] = set()
        for name, sets in functions.items():
            first = sets[0]
            if len(sets) > MANY and not first.get_closest_marker("references"):
                sets.sort(key=lambda item: item.nodeid)
                together = 2 if first.get_closest_marker("pairwise") else 1
                places = self.places(
                    "tests", first.path, name, [one.callspec.params for one in sets], together
                )
                left |= set(sets) - {sets[place] for place in places}
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item in left])
            items[:] = [item for item in items if item not in left]
        if self.worker is not None:
            items.sort(key=lambda item: self.turn(item.path))
            if self.worker["workerid"] != "gw0":
                self.counts.clear()  # each worker draws the same tests: one of them counts

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        before = sum(os.times()[:4])
        done = yield
        self.seconds[item.path.relative_to(item.config.rootpath).as_posix()] += sum(os.times()[:4]) - before
        return done

    def pytest_report_header(self) -> str | None:
        return None if self.seed is None else f"draw: SEED={self.seed}; --whole runs all"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["draw"] = self.seed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.worker is not None:
            output = {"counts": dict(self.counts), "seconds": dict(self.seconds)}
            session.config.workeroutput["draw"] = output  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {}).get("draw", {})  # none of one that crashed
        self.counts.update(output.get("counts", {}))
        self.seconds.update(output.get("seconds", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seed is not None:
            terminalreporter.section(f"drawn by SEED={self.seed}; --whole runs all")
            for room, counts in itertools.groupby(sorted(self.counts.items()), key=lambda item: item[0][0]):
                said = ", ".join(f"{number} {kind}" for (_room, kind), number in counts)
                terminalreporter.line(f"{room}: {said}")
        if self.is_whole_suite:
            rooms: Counter[str] = Counter()
            for module, seconds in self.seconds.items():
                rooms[self.room(self.tests.parent / module)] += seconds
            terminalreporter.section(f"processor time of the tests: {sum(rooms.values()):.0f} s")
            terminalreporter.line(", ".join(f"{room} {taken:.0f}" for room, taken in rooms.most_common()))
            for module, taken in self.seconds.most_common(SLOWEST):
                terminalreporter.line(f"{taken:6.1f} s {module}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run all parameter sets of all tests")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give a run of all tests a worker for each core, and each worker whole modules."""
    config.pluginmanager.register(Draw(config), "draw")
    option = config.option
    if not config.pluginmanager.has_plugin("xdist") or hasattr(config, "workerinput"):
        return
    reads_terminal = option.usepdb or option.trace or option.capture == "no"
    if option.numprocesses is None and runs_all(config) and not reads_terminal:
        option.numprocesses = min(available_cores(), MOST_WORKERS)
    if option.numprocesses and option.dist == "no":
        option.dist = "loadfile"
        option.loadscopereorder = False


@pytest.fixture(scope="module")
def drawn(request: pytest.FixtureRequest) -> Drawn:
    """Draws from the rows of values that a test goes through, as from the parameter sets of a function."""
    plugin: Draw = request.config.pluginmanager.get_plugin("draw")

    def choose(rows: Rows, share: int = SHARE) -> Rows:
        sets = [{f"{place}": value for place, value in enumerate(row)} for row in rows]
        places = plugin.places("rows", request.path, request.node.nodeid, sets, share=share)
        return [rows[place] for place in places]

    return choose


if __name__ == "__main__":
    print(seed(Path(__file__).parent))

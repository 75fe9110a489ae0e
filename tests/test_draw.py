"""A run of all tests draws a quarter of the many sets of a function, everywhere the same, on every core."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from draw import WITHOUT_GIT, draw, seed

# --- the draw --------------------------------------------------------------------------------------

PRODUCT = [
    {"mask": mask, "position": position, "heads": heads}
    for mask, position, heads in itertools.product(range(15), "abcdefghijklmnopq", ([4], [2], [1]))
]
"""As many as masks, positions and heads; those of heads are lists, which have no hash."""


def values(sets: list[dict[str, object]], together: int) -> set[str]:
    return {repr(pair) for one in sets for pair in itertools.combinations(sorted(one.items()), together)}


@pytest.mark.parametrize("number", range(5))
def test_a_quarter_has_each_value_of_each_parameter(number: int) -> None:
    taken = [PRODUCT[place] for place in draw(PRODUCT, number)]
    assert len(taken) == 192  # of 765
    assert values(taken, 1) == values(PRODUCT, 1)
    assert values(taken, 2) < values(PRODUCT, 2)


@pytest.mark.parametrize("number", range(5))
def test_a_pairwise_cover_has_each_pair_and_is_near_the_smallest(number: int) -> None:
    """No cover has fewer sets than the two longest parameters have pairs: 15 × 17."""
    places = draw(PRODUCT, number, together=2)
    assert values([PRODUCT[place] for place in places], 2) == values(PRODUCT, 2)
    assert 255 <= len(places) <= 280


def test_the_pairs_are_those_that_occur() -> None:
    sets = [{"a": a, "b": b, "c": c} for a, b, c in itertools.product(range(4), repeat=3) if a != b]
    taken = [sets[place] for place in draw(sets, 0, together=2)]
    assert values(taken, 2) == values(sets, 2) and len(taken) < len(sets)


def test_one_seed_draws_the_same_and_another_draws_others() -> None:
    assert draw(PRODUCT, 1) == draw(PRODUCT, 1) != draw(PRODUCT, 2)
    assert draw(PRODUCT, 1) == sorted(set(draw(PRODUCT, 1)))


def test_a_parameter_of_its_own_value_in_each_set_keeps_all_sets() -> None:
    sets = [{"name": f"{number}", "even": number % 2} for number in range(60)]
    assert draw(sets, 0) == list(range(60))
    mixed = [{"value": value} for value in (1, True, 1.0, [1], [1])]
    assert draw(mixed, 0) == [0, 1, 2, 3, 4]


def test_the_seed_is_the_tree_of_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEED", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert seed(tmp_path) == WITHOUT_GIT

    def git(*arguments: str) -> str:
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        return subprocess.check_output([*named, *arguments], cwd=tmp_path, text=True)

    git("init", "--quiet")
    assert seed(tmp_path) == WITHOUT_GIT
    (tmp_path / "file").write_text("text", encoding="utf-8")
    git("add", "file")
    git("commit", "--quiet", "-m", "one")
    first = seed(tmp_path)
    assert f"{first:07x}" == git("rev-parse", "HEAD^{tree}")[:7]
    git("commit", "--quiet", "--allow-empty", "-m", "the same tree")
    assert seed(tmp_path) == first
    monkeypatch.setenv("SEED", "7")
    assert seed(tmp_path) == 7


# --- the hook, on a suite of its own ---------------------------------------------------------------

MANY = """
import pytest

@pytest.mark.parametrize("c", range(4))
@pytest.mark.parametrize("b", range(5))
@pytest.mark.parametrize("a", range(5))
def test_many(a, b, c):
    pass

@pytest.mark.parametrize("a", range(40))
def test_few(a):
    pass

@pytest.mark.pairwise
@pytest.mark.parametrize("c", range(3))
@pytest.mark.parametrize("b", range(4))
@pytest.mark.parametrize("a", range(5))
def test_pairs(a, b, c):
    pass

def test_inside(drawn):
    print("inside", len(drawn([(a, b) for a in range(10) for b in range(10)])))
"""
REFERENCE = """
import pytest

def numbers():
    import transformers

@pytest.mark.parametrize("b", range(5))
@pytest.mark.parametrize("a", range(10))
def test_reference(a, b):
    pass
"""
CONFTEST = """
import draw
from draw import drawn, pytest_addoption, pytest_cmdline_main

draw.available_cores = lambda: 2
"""
PROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = ["--strict-markers"]
markers = ["references: …", "pairwise: …"]
"""

Run = Callable[..., tuple[list[str], str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs pytest in a folder with a small suite: the tests that passed, sorted, and all that was printed."""
    for name, text in {
        "pyproject.toml": PROJECT,
        "tests/conftest.py": CONFTEST,
        "tests/room/test_many.py": MANY,
        "tests/test_reference.py": REFERENCE,
        "tests/references/test_there.py": REFERENCE.replace("import transformers", "pass"),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    tests = Path(__file__).parent
    surroundings = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SEED"))
    }
    surroundings |= {
        "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)]),
        "GIT_CEILING_DIRECTORIES": str(tmp_path.parent),
        # Neither Qt nor hypothesis is needed, and each takes a second.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    def run(*arguments: str, code: int = 0, **more: str) -> tuple[list[str], str]:
        command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments]
        ended = subprocess.run(command, cwd=tmp_path, env=surroundings | more, capture_output=True, text=True)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return sorted(re.findall(r"^PASSED (\S+)", ended.stdout, re.MULTILINE)), ended.stdout

    return run


def of(tests: list[str], name: str) -> list[tuple[int, ...]]:
    """The parameters of the tests of a function."""
    found = (re.fullmatch(rf".*::{name}\[(.*)\]", test) for test in tests)
    return [tuple(map(int, test[1].split("-"))) for test in found if test]


def took(said: str) -> set[str]:
    """The modules that are listed with their processor time."""
    return set(re.findall(r"^ +[\d.]+ s (\S+)$", said, re.MULTILINE))


def test_all_tests_draw_alike_in_workers_and_in_any_order(run: Run) -> None:
    alone, said = run()  # as without xdist
    assert len(of(alone, "test_many")) == 25
    assert [set(column) for column in zip(*of(alone, "test_many"), strict=True)] == [
        {0, 1, 2, 3, 4},
        {0, 1, 2, 3, 4},
        {0, 1, 2, 3},
    ]
    pairs = of(alone, "test_pairs")
    assert 20 <= len(pairs) < 30
    assert [len({(one[i], one[j]) for one in pairs}) for i, j in ((0, 1), (0, 2), (1, 2))] == [20, 15, 12]
    assert len(of(alone, "test_few")) == 40 and len(of(alone, "test_reference")) == 2 * 50
    assert "inside 25" in said
    summary = [
        f"drawn by SEED={WITHOUT_GIT}",
        "room: 25 rows drawn, 75 rows left out, "
        f"{25 + len(pairs)} tests drawn, {135 - len(pairs)} tests left out",
    ]
    assert all(line in said for line in [f"draw: SEED={WITHOUT_GIT}; --whole runs all", *summary])
    assert took(said) == {
        "tests/room/test_many.py",
        "tests/test_reference.py",
        "tests/references/test_there.py",
    }

    together, said = run("-p", "xdist", "-p", "pytest_randomly", "--randomly-seed=3")
    assert "2 workers" in said and together == alone
    assert all(line in said for line in summary)
    assert len(took(said)) == 3


def test_a_seed_draws_others_and_a_failure_says_which(run: Run) -> None:
    first, _said = run("tests", SEED="1")
    second, said = run("tests", "-x", SEED="2")
    assert first != second and len(of(second, "test_many")) == 25
    assert "draw: SEED=2;" in said and "drawn by SEED=2;" in said


@pytest.mark.parametrize("arguments", [["--whole"], ["tests/room/test_many.py"], ["-k", "many or pairs"]])
def test_what_is_not_drawn_from(run: Run, arguments: list[str]) -> None:
    tests, said = run(*arguments, "-p", "xdist")
    assert len(of(tests, "test_many")) == 100 and len(of(tests, "test_pairs")) == 60
    assert "SEED" not in said
    assert bool(took(said)) == ("processor time of the tests: " in said) == (arguments == ["--whole"])
    assert ("2 workers" in said) == (arguments == ["--whole"])

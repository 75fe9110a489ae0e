"""The type checker finds it where one attention stands for a whole experiment, or the other way round."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MIXED = """
from attnviz.model.edit.layers import set_n_layers
from attnviz.model.masks import visible_pairs
from attnviz.model.sites.sites import main_site
from attnviz.model.spec.experiment import Experiment

def right(experiment: Experiment) -> int:
    return visible_pairs(main_site(set_n_layers(experiment, 2)))

def whole_for_one(experiment: Experiment) -> int:
    return visible_pairs(experiment)

def one_for_whole(experiment: Experiment) -> Experiment:
    return set_n_layers(main_site(experiment), 2)
"""


def test_a_site_and_an_experiment_cannot_be_mixed_up(tmp_path: Path) -> None:
    pytest.importorskip("mypy.api")
    source = tmp_path / "mixed.py"
    source.write_text(MIXED, encoding="utf-8")
    # Not in this process: mypy thaws the objects that `conftest` has frozen, and every later test with a
    # window would take two seconds more.
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and not done.stderr
    found = [line.split(": error: ")[1] for line in done.stdout.splitlines() if ": error: " in line]
    assert found == [
        'Argument 1 to "visible_pairs" has incompatible type "Experiment"; expected "Site"  [arg-type]',
        'Argument 1 to "set_n_layers" has incompatible type "Site"; expected "Experiment"  [arg-type]',
    ]

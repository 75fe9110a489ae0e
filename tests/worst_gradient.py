"""The greatest difference between gradients and torch's autograd over random documents, in float64.

`python tests/worst_gradient.py 500` prints how many documents and gradients were compared, and the worst of
them. A difference is relative to the greatest number of its gradient, or to 1 where that is smaller.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import torch
from autograd_scripts import Autograd
from experiments import experiments
from hypothesis import HealthCheck, Phase, given, settings, strategies
from msgspec.structs import replace
from stacks import stacks

import attnviz
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import result_of


def differences(experiment: Experiment) -> dict[str, float]:
    """The difference of the gradient of a cell of the last result by every stage and parameter."""
    graph, last = Autograd(experiment), site_names(experiment)[-1]
    stages = [name.rpartition(".")[2] for name in graph.stages if name.startswith(f"{last}.")]
    cell = f"{last}.{result_of(tuple(stages))}"
    target = graph.stages[cell][0, 0]
    if not (target.requires_grad and bool(torch.isfinite(target))):
        return {}
    found, worst = attnviz.backward(experiment, f"{cell}[0, 0]"), {}
    for name, expected in graph.gradients(target).items():
        site, _dot, stage = name.rpartition(".")
        got = found.parameters[name] if name in found.parameters else found.site(site)[stage]
        expected = np.nan_to_num(expected, nan=0.0)  # of a row of −∞ alone, whose weights are constant
        size = max(1.0, float(np.abs(expected).max(initial=0)))
        worst[name] = float(np.abs(got - expected).max(initial=0)) / size
    return worst


def main(count: int) -> None:
    """Draw documents until `count` of them had gradients, and print the figures."""
    found: list[tuple[float, str]] = []
    documents = 0

    @settings(
        max_examples=2 * count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.one_of(experiments(), stacks()))
    def draw(experiment: Experiment) -> None:
        nonlocal documents
        if documents < count:
            made = differences(replace(experiment, dtype="float64"))
            documents += bool(made)
            found.extend((value, name) for name, value in made.items())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        draw()
    worst, where = max(found)
    print(f"{documents} documents, {len(found)} gradients; the worst difference is {worst:.1e}, by {where}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

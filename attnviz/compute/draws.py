"""Several samples: the texts that one document generates with different seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.compute.execute import execute_decoding
from attnviz.core.progress import progress_of
from attnviz.engines.decode.run import Decoding
from attnviz.engines.program import Check
from attnviz.model.edit.generation import set_seed
from attnviz.model.spec.experiment import Experiment


@dataclass(frozen=True)
class Draw:
    """The generated tokens of one seed, and the model's probability of each of them then."""

    seed: int
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def draws(
    experiment: Experiment,
    seeds: Sequence[int],
    engine: str,
    device: str,
    check: Check,
    reserve: int,
    earlier: Decoding | None = None,
) -> tuple[Draw, ...]:
    """One draw for each seed; what `earlier` has in common with a draw, its prompt first, is reused.

    Raises as `execute_decoding` does.
    """
    progress, drawn = progress_of(check), list[Draw]()
    for index, seed in enumerate(seeds):
        part = progress.part(index / len(seeds), (index + 1) / len(seeds))
        decoding = execute_decoding(
            set_seed(experiment, seed), None, engine, device, check=part, reserve=reserve, earlier=earlier
        )
        drawn.append(_draw(seed, decoding))
    return tuple(drawn)


def _draw(seed: int, decoding: Decoding) -> Draw:
    ids = {token: id_ for id_, token in enumerate(decoding.vocabulary)}
    steps = decoding.steps
    chosen = [
        (step.next_token, float(step.probabilities[ids[step.next_token]]))
        for step, following in zip(steps, (*steps[1:], None), strict=True)
        if step.next_token is not None and (following is None or following.generated)
    ]
    return Draw(seed, tuple(token for token, _p in chosen), tuple(p for _token, p in chosen))

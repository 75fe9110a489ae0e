"""`attnviz bench decode`: generation token by token, with and without a cache, beside `transformers`.

All contenders have the same weights, generate the same tokens (the most probable ones) and use as many
threads. With a cache is the public `execute_decoding`; without one is the public `execute` over all tokens so
far, once for every token. `transformers` uses its `generate`. Times are from one run, in turns.
"""

from __future__ import annotations

import json as json_
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.bench.decoding.case import language_model
from attnviz.bench.decoding.transformers_llama import TransformersLlama, missing
from attnviz.bench.machine import machine
from attnviz.bench.timing import WARM_UP, interleaved, paired_ratio
from attnviz.compute.estimate import estimate_decoding
from attnviz.compute.execute import execute, execute_decoding
from attnviz.compute.threads import available_cores, limited_threads, threads_for
from attnviz.engines.decode.run import Decoding
from attnviz.engines.engine import ITEMSIZE
from attnviz.engines.table import ENGINES
from attnviz.model.edit.edits import set_ids
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature

CONTEXTS = (32, 64, 128, 256)
QUICK_CONTEXTS = (8, 16)
"""Context lengths at which the time of one step is reported."""
N_PROMPT, N_NEW = 16, 48
QUICK_PROMPT, QUICK_NEW = 4, 6
SECONDS, ROUNDS = 30.0, (5, 40)
QUICK_SECONDS, QUICK_ROUNDS = 0.1, (2, 2)
AROUND = 8
"""Number of steps before a context whose times count for it: a single one is too noisy."""

THEIRS = "transformers"


@dataclass(frozen=True)
class _Case:
    """The model with its prompt, the number of tokens to generate, and the contexts at which
    steps are timed.
    """

    given: Experiment
    n_new: int
    contexts: tuple[int, ...]
    threads: int

    def writing(self, n_new: int) -> Experiment:
        """Generates the `n_new` most probable tokens, whatever they are."""
        stop = StopConditions(end_token=False, length=n_new)
        return replace(self.given, writing=Writing(Sampling((Temperature(0.0),), stop=stop)))


def main(json: bool = False, quick: bool = False) -> int:
    """Measure decoding; print a table, or JSON with every single time. Returns the exit code.

    `quick` generates few tokens in few rounds, for tests.
    """
    from attnviz.bench.decoding.report import print_decode_report

    report = {
        "format": "attnviz-bench-decode",
        "version": 1,
        "machine": machine(),
        "decode": measure_decoding(quick),
    }
    if json:
        print(json_.dumps(report, allow_nan=False))
    else:
        print_decode_report(report)
    return 0


def measure_decoding(quick: bool) -> dict[str, Any]:
    """Tokens per second, times of a step by context, and whether all generate the same tokens."""
    title, given = language_model(QUICK_PROMPT if quick else N_PROMPT)
    contexts = QUICK_CONTEXTS if quick else CONTEXTS
    n_new = QUICK_NEW if quick else N_NEW
    n_steps = contexts[-1]
    flops = estimate_decoding(given, n_steps, ITEMSIZE[given.dtype]).flops // n_steps
    case = _Case(given, n_new, contexts, threads_for(flops, available_cores()))
    reason = missing()
    theirs = None if reason else TransformersLlama(given, contexts[-1])
    written = _ids(execute_decoding(case.writing(contexts[-1] - given.n_queries)))
    how_long = (QUICK_SECONDS, QUICK_ROUNDS) if quick else (SECONDS, ROUNDS)
    return {
        "model": title,
        "layers": len(given.layers),
        "d_model": given.d_model,
        "vocabulary": len(_vocabulary(given)),
        "dtype": given.dtype,
        "threads": case.threads,
        "prompt": given.n_queries,
        "written": n_new,
        "transformers_missing": reason,
        "torch_missing": _engines_missing(),
        "same": _same(case, theirs, written),
        "speed": _speed(case, theirs, written, how_long),
        "steps": _steps(case, theirs, written, how_long),
    }


def _engines_missing() -> dict[str, str]:
    """Reason why an engine cannot be measured, by its id."""
    return {kind.id: kind.unavailable() for kind in ENGINES if kind.unavailable()}


def _engines() -> list[str]:
    return [kind.id for kind in ENGINES if not kind.unavailable()]


# --- the generated tokens --------------------------------------------------------------------------


def _vocabulary(given: Experiment) -> tuple[str, ...]:
    assert given.vocabulary is not None
    return given.vocabulary.tokens


def _ids(decoding: Decoding) -> list[int]:
    """The ids of all computed tokens, and of the last generated one."""
    known = {token: id_ for id_, token in enumerate(decoding.vocabulary)}
    last = decoding.steps[-1].next_token
    return [known[step.token] for step in decoding.steps] + ([] if last is None else [known[last]])


def _same(case: _Case, theirs: TransformersLlama | None, written: list[int]) -> dict[str, Any]:
    """Compare the generated tokens of all, and report the largest difference of their logits to
    NumPy's full pass.
    """
    n, text = case.given.n_queries, written[: case.given.n_queries + case.n_new]
    whole = _logits(set_ids(case.given, text), "numpy")
    same = {}
    for engine in _engines():
        decoding = execute_decoding(case.writing(case.n_new), engine=engine, device="cpu")
        steps = np.stack([step.logits for step in decoding.steps])
        same[engine] = {
            "tokens": _ids(decoding) == text,
            "difference": float(np.abs(steps - whole[: len(steps)]).max()),
        }
    if theirs is not None:
        same[THEIRS] = {
            "tokens": theirs.write(text[:n], case.n_new, True)[0] == text[n:],
            "difference": float(np.abs(theirs.logits(text) - whole).max()),
        }
    return same


def _logits(given: Experiment, engine: str) -> NDArray[Any]:
    trace = execute(given, engine, "cpu")
    return trace.site(trace.sites[-1])["logits"]


# --- speed -----------------------------------------------------------------------------------------


def _speed(
    case: _Case, theirs: TransformersLlama | None, written: list[int], how_long: tuple[float, tuple[int, int]]
) -> dict[str, Any]:
    """Seconds to generate `n_new` tokens after the prompt, with a cache and without."""
    n, prompt = case.given.n_queries, written[: case.given.n_queries]
    cached = case.writing(case.n_new)
    texts = [set_ids(case.given, written[:length]) for length in range(n, n + case.n_new)]
    contenders: dict[str, Callable[[], Any]] = {}
    for engine in _engines():
        contenders[f"{engine}, cache"] = partial(execute_decoding, cached, None, engine, "cpu")
        contenders[f"{engine}, no cache"] = partial(_passes, texts, engine)
    if theirs is not None:
        for name, use_cache in (("cache", True), ("no cache", False)):
            work = partial(theirs.write, prompt, case.n_new, use_cache)
            contenders[f"{THEIRS}, {name}"] = partial(_limited, case, theirs, work)
    times = interleaved(contenders, *how_long)
    return {
        "tokens_per_second": {name: case.n_new / statistics.median(values) for name, values in times.items()},
        "ratios": _ratios(times),
        "seconds": times,
    }


def _passes(texts: Sequence[Experiment], engine: str) -> list[int]:
    """The most probable token after each text, each from a full pass."""
    return [int(_logits(text, engine)[-1].argmax()) for text in texts]


def _ratios(times: dict[str, list[float]]) -> dict[str, float]:
    """Speed relative to `transformers` at the same task; medians over rounds."""
    ratios = {}
    for name, ours in times.items():
        engine, _comma, how = name.partition(", ")
        yardstick = times.get(f"{THEIRS}, {how}")
        if engine != THEIRS and yardstick is not None:
            ratios[name] = paired_ratio(yardstick, ours)
    return ratios


def _limited(case: _Case, theirs: TransformersLlama, work: Callable[[], Any]) -> Any:
    with limited_threads(case.threads, (theirs.thread_setter,)):
        return work()


def _steps(
    case: _Case, theirs: TransformersLlama | None, written: list[int], how_long: tuple[float, tuple[int, int]]
) -> dict[str, Any]:
    """Seconds of one step by context, with a cache and without; a round runs each once."""
    names = [*_engines(), *([] if theirs is None else [THEIRS])]
    rounds: dict[str, dict[str, list[list[float]]]] = {name: {"cache": [], "no cache": []} for name in names}

    def one(name: str) -> None:
        rounds[name]["cache"].append(_with_cache(case, theirs, written, name))
        rounds[name]["no cache"].append(_without_cache(case, theirs, written, name))

    interleaved({name: partial(one, name) for name in names}, *how_long)
    for kinds in rounds.values():
        for seconds in kinds.values():
            del seconds[:WARM_UP]
    table = {
        name: {
            how: [statistics.median(values) for values in zip(*seconds, strict=True)]
            for how, seconds in kinds.items()
        }
        for name, kinds in rounds.items()
    }
    last = {
        name: paired_ratio([r[-1] for r in kinds["cache"]], [r[-1] for r in kinds["no cache"]])
        for name, kinds in rounds.items()
    }
    return {"contexts": list(case.contexts), "median": table, "cache_over_none": last, "seconds": rounds}


def _with_cache(case: _Case, theirs: TransformersLlama | None, written: list[int], name: str) -> list[float]:
    """Seconds of a step at each context: the median of the last steps before it."""
    n_new = case.contexts[-1] - case.given.n_queries + 1
    if name == THEIRS:
        assert theirs is not None
        prompt = written[: case.given.n_queries]
        moments = _limited(case, theirs, partial(theirs.write, prompt, n_new, True))[1]
        steps = np.diff(moments)  # moment i: the end of the pass over prompt + i tokens
    else:
        decoding = execute_decoding(case.writing(n_new), None, name, "cpu")
        steps = np.array([step.seconds for step in decoding.steps if step.prefill is None])
    medians = []
    for context in case.contexts:
        end = context - case.given.n_queries
        medians.append(float(np.median(steps[max(end - AROUND, 0) : end])))
    return medians


def _without_cache(
    case: _Case, theirs: TransformersLlama | None, written: list[int], name: str
) -> list[float]:
    """Seconds of one pass over each context."""
    seconds = []
    for context in case.contexts:
        text = written[:context]
        given = set_ids(case.given, text)
        started = time.perf_counter()
        if name == THEIRS:
            assert theirs is not None
            _limited(case, theirs, partial(theirs.pass_over, text))
        else:
            execute(given, name, "cpu")
        seconds.append(time.perf_counter() - started)
    return seconds

"""Budget before work, threads by size, and NumPy where Torch or CUDA fails: never a wrong number."""

from __future__ import annotations

import dataclasses
import math
import threading
from typing import Any

import numpy as np
import pytest
from cases import ENGINE_IDS, MEMORY, experiment
from experiments import SITES, SPREAD, STACKS, sited
from first_layer import stacked, with_fields
from msgspec.structs import replace
from threadpoolctl import threadpool_info

from attnviz.compute import estimate as estimates
from attnviz.compute import execute as module
from attnviz.compute.budget import BudgetError
from attnviz.compute.estimate import estimate, estimate_decoding, what_fits
from attnviz.compute.execute import execute, execute_decoding, forget_lost_devices
from attnviz.engines import run as run_module
from attnviz.engines.decode.run import decode
from attnviz.engines.engine import DeviceLost, EngineError, Workers
from attnviz.engines.numpy_engine import NumpyEngine
from attnviz.engines.run import run
from attnviz.engines.table import ENGINE_BY_ID
from attnviz.model import positions
from attnviz.model.positions import n_rotated
from attnviz.model.sites.sites import at, site_names
from attnviz.model.sites.stages import site_stages, stage_shape
from attnviz.model.spec import parts as p
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.block import Block, FeedForward
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.rows import DrawnRow
from attnviz.model.spec.vocabulary import Transform, Vocabulary
from attnviz.model.stages import STAGE_BY_ID

BIG = stacked(("a",) * 512, p.SeededVectors(512, 64), heads=p.Heads(8, 8, 64), masks=(p.Causal(),))


class FailingEngine(NumpyEngine):
    """Stands for a CUDA device that fails at some point of a run."""

    name = "torch"
    device = "cuda:0"

    def __init__(self, fails_in: str) -> None:
        super().__init__("float32")
        self.fails_in = fails_in

    def softmax_(self, scores: Any, is_bounded: bool = False) -> None:
        if self.fails_in == "softmax_":
            raise EngineError("out of memory on cuda:0")
        super().softmax_(scores, is_bounded)

    def synchronise(self) -> None:
        raise EngineError("cuda:0 failed: device lost")


def fake_torch(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    kind = dataclasses.replace(ENGINE_BY_ID["torch"], make=lambda dtype, device, for_each: make())
    monkeypatch.setitem(ENGINE_BY_ID, "torch", kind)


def missing() -> Any:
    raise EngineError("PyTorch is not installed")


# --- fallback --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:1"])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (missing, "PyTorch is not installed"),
        (lambda: FailingEngine("softmax_"), "out of memory on cuda:0"),
        (lambda: FailingEngine("synchronise"), "cuda:0 failed: device lost"),
    ],
)
def test_numpy_takes_over_and_says_so(
    monkeypatch: pytest.MonkeyPatch, make: Any, reason: str, device: str
) -> None:
    fake_torch(monkeypatch, make)
    given = experiment("all", dtype="float32")
    trace = execute(given, "torch", device)
    assert (trace.engine, trace.device) == ("numpy", "cpu")
    wanted = "Torch" if device == "auto" else f"Torch on {device}"
    assert tuple(map(str, trace.notices)) == (f"{wanted} is unavailable ({reason}); computed with NumPy.",)
    expected = run(NumpyEngine("float32"), given)
    for stage in expected.only.stages:
        np.testing.assert_array_equal(trace[stage], expected[stage])
    decoding = execute_decoding(given, 9, "torch", device)
    assert (decoding.engine, decoding.notices) == ("numpy", trace.notices)


def test_a_lost_device_is_not_tried_again_until_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def lost() -> Any:
        tries.append(1)
        raise DeviceLost("cuda:0 failed: device lost")

    fake_torch(monkeypatch, lost)
    monkeypatch.setattr(module, "_LOST", {})
    given = experiment("all", dtype="float32")
    said = {tuple(map(str, execute(given, "torch", "cuda").notices)) for _edit in range(5)}
    assert len(tries) == 1 and said == {
        ("Torch on cuda is unavailable (cuda:0 failed: device lost); computed with NumPy.",)
    }
    forget_lost_devices()
    execute(given, "torch", "cuda")
    assert len(tries) == 2


def test_a_device_that_was_out_of_memory_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def full() -> Any:
        tries.append(1)
        raise EngineError("out of memory on cuda:0")

    fake_torch(monkeypatch, full)
    for _edit in range(3):
        execute(experiment("all", dtype="float32"), "torch", "cuda")
    assert len(tries) == 3


@pytest.mark.parametrize(
    ("dtype", "used", "said"),
    [
        ("float16", np.float16, "computed with NumPy."),
        ("bfloat16", np.float32, "computed with NumPy in float32 instead of bfloat16."),
    ],
)
def test_half_precision_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, dtype: str, used: type, said: str
) -> None:
    fake_torch(monkeypatch, missing)
    trace = execute(experiment(dtype=dtype), "torch")
    assert trace["weights"].dtype == used
    assert trace.experiment.dtype == dtype
    assert str(trace.notices[0]).endswith(said)


def test_nothing_takes_over_where_the_cpu_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, missing)
    with pytest.raises(EngineError, match="PyTorch is not installed"):
        execute(experiment(), "torch", "cpu")


def test_other_errors_are_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buggy(FailingEngine):
        def synchronise(self) -> None:
            raise RuntimeError("a bug")

    fake_torch(monkeypatch, lambda: Buggy("synchronise"))
    with pytest.raises(RuntimeError, match="a bug"):
        execute(experiment(dtype="float32"), "torch")


def test_torch_without_trouble_has_no_notice() -> None:
    pytest.importorskip("torch")
    trace = execute(experiment(dtype="bfloat16"), "torch", "cpu")
    assert (trace.engine, trace.device, trace.notices) == ("torch", "cpu", ())


# --- invalid choices -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "dtype", "message"),
    [
        (("jax",), "float32", r"engine must be one of 'numpy', 'torch'; got 'jax'\."),
        (("numpy", "cuda"), "float32", r"device must be one of 'auto', 'cpu' on NumPy; got 'cuda'\."),
        (("torch", "gpu"), "float32", r"device must be one of 'auto', 'cpu', 'cuda' on Torch; got 'gpu'\."),
        (
            ("numpy",),
            "bfloat16",
            r"dtype must be one of 'float16', 'float32', 'float64' on NumPy; got 'bfloat16'\.",
        ),
    ],
)
def test_illegal_choices(arguments: tuple[str, ...], dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        execute(experiment(dtype=dtype), *arguments)


# --- budget ----------------------------------------------------------------------------------------


def kept_arrays(given: Experiment, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes of the arrays that a run really keeps; views of one array count once."""
    made: list[Any] = []
    plain = run_module.forward

    def forward(*args: Any) -> Any:
        made.append(plain(*args))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "forward", forward)
        run(NumpyEngine("float64"), given)
    arrays = {}
    for one in made:
        features, attended = one.features, one.attended
        for array in (*features.tf.values(), *features.heads.values(), attended.weights, attended.mixed):
            owner = array if array.base is None else array.base
            arrays[id(owner)] = owner
    return sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("case", {**SPREAD, **STACKS})
def test_the_estimate_covers_what_a_run_keeps(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**SPREAD, **STACKS}[case]
    size = estimate(given, 8)
    mask = sum(line.value for line in size.lines if line.label.endswith("mask"))
    kept = kept_arrays(given, monkeypatch)
    # Nothing is left out; identities and joined heads may share an array with what they are made from.
    assert (
        kept <= size.bytes - mask <= (3.0 if given.layers[0].projections == p.Projections() else 1.6) * kept
    )
    assert size.bytes == sum(line.value for line in size.lines)


@pytest.mark.parametrize("case", ["plain", "mla with query latent", "pre-norm", "vocabulary", "cross"])
def test_the_estimate_counts_the_matrices_that_are_converted(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = replace(SPREAD[case])  # with no tables remembered from runs of longer texts
    converted: list[int] = []
    plain = NumpyEngine._converted

    def convert(self: NumpyEngine, values: Any) -> Any:
        if values.ndim == 2 and not values.flags.writeable:
            converted.append(values.size)
        return plain(self, values)

    monkeypatch.setattr(NumpyEngine, "_converted", convert)
    positions._turning_of.cache_clear()
    run(NumpyEngine("float32"), given)
    sequences = 5 * 6 + (0 if given.memory is None else 3 * 5)
    sequences += 2 * 5 * n_rotated(sited(given))  # the cosines and sines by which positions turn
    (line,) = [line for line in estimate(given, 4).lines if line.label == "converted weights"]
    assert line.value == 4 * (sum(converted) - sequences)
    assert not [line for line in estimate(given, 8).lines if line.label == "converted weights"]


@pytest.mark.parametrize(("case", "name"), SITES, ids="/".join)
def test_the_estimate_is_the_sum_of_the_stored_stages(case: str, name: str) -> None:
    """Beside a latent, partners and biased experts it is more: working memory, and wider forms of v."""
    site = at({**SPREAD, **STACKS}[case], name)
    further = ("mask", "converted weights", "stages before their edits")
    lines = [line.value for line in estimates._full_pass(site, 8).lines if line.label not in further]
    rows = [STAGE_BY_ID[stage] for stage in site_stages(site)]
    stored = [row.id for row in rows if not row.score_shaped or row.made_by.statistics]
    ffn = site.layer.feed_forward
    is_biased = ffn is not None and ffn.experts is not None and ffn.experts.biased
    expected = 8 * sum(math.prod(stage_shape(site, stage)) for stage in stored)
    if site.latent or site.differential or is_biased:
        assert expected < sum(lines)
    else:
        assert sum(lines) == expected


def test_every_formula_multiplies_out_to_its_value() -> None:
    lines = [line for given in (*SPREAD.values(), *STACKS.values()) for line in estimate(given, 8).lines]
    assert {line.label.rpartition(" ")[2] for line in lines} >= {
        "feed-forward",
        "logits",
        "residuals",
        "mask",
    }
    for line in lines:
        product = 1
        for factor in line.formula.split("×"):
            product *= int(factor.split()[0])
        assert product == line.value, line


def test_a_stack_is_the_sum_of_its_sites_by_name() -> None:
    given = STACKS["encoder and decoder"]
    size = estimate(given, 4)
    parts = [estimates._full_pass(at(given, name), 4) for name in site_names(given)]
    assert (size.bytes, size.flops) == (sum(one.bytes for one in parts), sum(one.flops for one in parts))
    assert size.lines[0].label == "encoder.0.self scores"
    assert {line.label.split()[0] for line in size.lines} == set(site_names(given))


def test_a_decoding_has_the_flops_of_its_steps() -> None:
    for name in ("two layers, pre", "two layers, post", "encoder and decoder", "cross over raw memory"):
        given = STACKS[name]
        cached, _uncached = decode(NumpyEngine("float64"), given, 6).total(5)
        assert estimate_decoding(given, 6, 8).flops == cached.flops, name


def test_too_many_layers_are_refused_before_anything_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("computed without a budget")

    one = STACKS["two layers, pre"]
    deep = replace(one, layers=(*one.layers, *one.layers[1:] * 39))
    available = 2 * estimate(one, 8).bytes
    assert execute(one, budget=available).sites == site_names(one)
    monkeypatch.setattr(NumpyEngine, "empty", never)
    monkeypatch.setattr(NumpyEngine, "asarray", never)
    with pytest.raises(
        BudgetError,
        match=r"A run must fit in 8\.4 KiB, half of the 16\.9 KiB available; got 177\.5 KiB, "
        r"with layers\.40\.self norms, dropout, residuals: 6 × 5 queries × 6 features × 8 bytes = 1\.4 KiB\.",
    ):
        execute(deep, budget=available)
    with pytest.raises(BudgetError, match=r"layers\.\d+\.self"):
        execute_decoding(deep, 5, budget=available)


def test_identities_cost_nothing_and_feed_forward_layers_do() -> None:
    plain = stacked(("a",) * 3, p.SeededVectors(3, 4), heads=p.Heads(1, 1, 4))
    assert estimate(plain, 4).flops == 9 * (4 * 4 + 5)
    block = Block(norm_1=None, feed_forward=FeedForward(10, "relu"))
    # Two matrices of 4x10, ten activations, two residual connections of four features, for each token.
    with_block = estimate(with_fields(plain, block=block), 4)
    assert with_block.flops == 9 * (4 * 4 + 5) + 3 * (2 * 2 * 4 * 10 + 10 + 2 * 4)


def test_what_stands_before_a_vocabulary_is_counted() -> None:
    known = Vocabulary(("a", "b"), Matrix([[1.0] * 4] * 2))
    plain = stacked(
        ("a",) * 3, p.SeededVectors(3, 4), heads=p.Heads(1, 1, 4), vocabulary=known, readout="vocabulary"
    )
    more = replace(plain, vocabulary=replace(known, transform=Transform(bias=DrawnRow())))
    # A matrix of 4x4, four biases, four activations, and five operations for each feature of the norm.
    assert estimate(more, 4).flops - estimate(plain, 4).flops == 3 * (2 * 4 * 4 + 4 + 4 + 5 * 4)
    # Three rows of four numbers for each token, and the matrix in the engine's type.
    assert estimate(more, 4).bytes - estimate(plain, 4).bytes == (3 * 3 * 4 + 4 * 4) * 4


def test_what_fits_is_said_in_the_singular_and_in_the_plural() -> None:
    rooms = range(0, estimate(experiment(), 8).bytes, 16)
    found = {str(message): message for message in (what_fits(experiment(), 8, room) for room in rooms)}
    lengths = ["1 token", *(f"{n} tokens" for n in range(2, 7))]
    assert list(found) == ["", *(f"; a text of {length} would fit" for length in lengths)]
    assert all(message.text() == said for said, message in found.items())


def test_nothing_is_allocated_past_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("computed without a budget")

    size = estimate(experiment(), 8)
    assert execute(experiment(), budget=2 * size.bytes)["weights"].shape == (4, 7, 7)
    monkeypatch.setattr(NumpyEngine, "empty", never)
    monkeypatch.setattr(NumpyEngine, "asarray", never)
    with pytest.raises(
        BudgetError,
        match=r"A run must fit in 8\.0 KiB, half of the 15\.9 KiB available; got 8\.0 KiB, "
        r"with q and mixed: 2 × 4 heads × 7 queries × 4 features × 8 bytes = 1\.8 KiB; a text of 6 tokens",
    ):
        execute(experiment(), budget=2 * size.bytes - 1)
    steps = estimate_decoding(experiment(), 50, 8)
    with pytest.raises(BudgetError, match="4 heads × 50 queries × 50 keys × 8 bytes"):
        execute_decoding(experiment(), 50, budget=2 * steps.bytes - 1)


def test_a_huge_map_is_refused_with_the_arithmetic() -> None:
    given = Experiment(("a",) * 300_000, p.SeededVectors(300_000, 2))
    with pytest.raises(BudgetError, match="1 heads × 300000 queries × 300000 keys × 4 bytes = 335.3 GiB"):
        execute(given, budget=2**35)


def test_numpy_takes_over_within_the_budget_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, lambda: FailingEngine("synchronise"))
    with pytest.raises(BudgetError):
        execute(experiment(dtype="float32"), "torch", "cuda", budget=100)


def test_decoding_a_memory_counts_its_keys() -> None:
    size = estimate_decoding(experiment("none", memory=MEMORY), 50, 8)
    assert size.lines[0].value == 4 * 50 * 5 * 8


# --- threads ---------------------------------------------------------------------------------------


def threads_of(given: Experiment, monkeypatch: pytest.MonkeyPatch, cores: int) -> tuple[set[int], Any]:
    """The threads that did blocks of a run, and the trace."""
    monkeypatch.setattr(module, "available_cores", lambda: cores)
    seen: set[int] = set()
    plain = NumpyEngine.softmax_

    def softmax_(self: NumpyEngine, scores: Any, is_bounded: bool = False) -> None:
        seen.add(threading.get_ident())
        plain(self, scores, is_bounded)

    with monkeypatch.context() as patch:
        patch.setattr(NumpyEngine, "softmax_", softmax_)
        trace = execute(given)
    return seen, trace


def test_small_jobs_stay_on_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    assert threads_of(experiment(), monkeypatch, cores=8)[0] == {threading.get_ident()}


def test_big_jobs_are_spread_and_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, expected = threads_of(BIG, monkeypatch, cores=1)
    assert alone == {threading.get_ident()}
    spread, trace = threads_of(BIG, monkeypatch, cores=4)
    assert len(spread) > 1
    np.testing.assert_array_equal(trace["weights"], expected["weights"])
    np.testing.assert_array_equal(trace["attention_output"], expected["attention_output"])


def test_a_check_that_stops_a_spread_run() -> None:
    calls = []

    def stop_in_the_blocks() -> None:
        calls.append(1)
        if len(calls) > 4:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        execute(BIG, check=stop_in_the_blocks)
    assert len(calls) < 30


def test_a_decoding_of_many_small_steps_stays_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("spread over threads")

    monkeypatch.setattr(module, "available_cores", lambda: 8)
    monkeypatch.setattr(module, "parallel_map", never)
    seeded = p.Projections(*(p.Seeded(seed) for seed in range(4)))
    vectors = p.SeededVectors(64, 512)
    long = stacked(tuple(map(str, range(64))), vectors, heads=p.Heads(8, 8, 64), projections=seeded)
    assert estimate_decoding(long, 64, 4).flops > 10**8
    execute_decoding(long)


def library_threads() -> list[int]:
    torch = pytest.importorskip("torch")
    blas = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    return [*blas, torch.get_num_threads()]


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_libraries_stay_on_one_thread_in_runs_and_windows(
    monkeypatch: pytest.MonkeyPatch, engine: str, cores: int
) -> None:
    monkeypatch.setattr(module, "available_cores", lambda: cores)
    made = type(ENGINE_BY_ID[engine].make("float32", "cpu", Workers()))
    seen: list[list[int]] = []
    plain = made.matmul_into

    def matmul_into(self: Any, out: Any, a: Any, b: Any) -> None:
        found = library_threads()
        seen.append(found[:-1] if engine == "numpy" else found)
        plain(self, out, a, b)

    monkeypatch.setattr(made, "matmul_into", matmul_into)
    before = library_threads()
    trace = execute(BIG, engine, "cpu")
    n_of_run = len(seen)
    trace.window("scores", 0, slice(3, 4), slice(5, 6))
    assert n_of_run > 4 and len(seen) == n_of_run + 1
    assert {count for counts in seen for count in counts} == {1}
    assert library_threads() == before


@pytest.mark.parametrize("engine", ENGINE_IDS)
def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    seeded = p.Projections(*(p.Seeded(seed) for seed in range(4)))
    given = with_fields(BIG, projections=seeded, block=Block(feed_forward=FeedForward(200, "gelu_tanh")))
    traces = []
    for cores in (1, 4):
        monkeypatch.setattr(module, "available_cores", lambda cores=cores: cores)
        traces.append(execute(given, engine, "cpu"))
    for stage in traces[0].only.stages:
        np.testing.assert_array_equal(traces[0][stage], traces[1][stage], err_msg=stage)

"""Budget: the arithmetic is right, in the message, and done before anything is allocated."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.compute import budget
from attnviz.compute.budget import BudgetError, check, estimate_attention, human_bytes, linux_memory

GIB = 1024**3


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),  # not "1024.0 KiB"
        (70_272, "68.6 KiB"),
        (320_000_000_000, "298.0 GiB"),
        (23 * GIB // 2, "11.5 GiB"),
        (1024**6, "1.0 EiB"),
        (1024**7, "1024.0 EiB"),
        (-2048, "−2.0 KiB"),
    ],
)
def test_human_bytes(count: int, text: str) -> None:
    assert human_bytes(count) == text


@given(st.integers(min_value=1024, max_value=1024**7))
def test_human_bytes_is_within_half_of_the_last_digit(count: int) -> None:
    number, unit = human_bytes(count).split()
    size = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].index(unit)
    assert abs(float(number) * size - count) <= 0.05 * size * (1 + 1e-9)
    assert 1 <= float(number) < 1024 or unit == "EiB"


def test_human_bytes_of_numbers_past_a_float() -> None:
    assert human_bytes(10**400).endswith(" EiB")


def test_the_estimate_is_the_size_of_the_arrays() -> None:
    heads, kv_heads, queries, keys, d_model, d_head = 6, 2, 11, 17, 24, 5
    arrays = {
        "scores": [np.empty((heads, queries, keys), np.float32)] * 3,
        "q and mixed": [np.empty((heads, queries, d_head), np.float32)] * 2,
        "k and v": [np.empty((kv_heads, keys, d_head), np.float32)] * 2,
        "input and output": [np.empty((queries, d_model), np.float32)] * 2,
    }
    estimate = estimate_attention(heads, kv_heads, queries, keys, d_model, d_head, 4, stored_maps=3)
    assert {line.label: line.value for line in estimate.lines} == {
        label: sum(array.nbytes for array in group) for label, group in arrays.items()
    }
    assert estimate.bytes == sum(array.nbytes for group in arrays.values() for array in group)


def test_every_formula_multiplies_out_to_its_value() -> None:
    estimate = estimate_attention(6, 2, 11, 17, 24, 5, 4, stored_maps=3)
    for line in estimate.lines:
        product = 1
        for factor in line.formula.split("×"):
            product *= int(factor.split()[0])
        assert product == line.value, line


def test_flops_counted_by_hand() -> None:
    # 2 heads, 1 KV head, 3 queries, 5 keys, d_model 7, d_head 4.
    projections = 2 * 3 * 7 * 8 * 2 + 2 * (2 * 5 * 7 * 4)  # q and output; k and v
    products = 2 * (2 * 2 * 3 * 5 * 4)  # QKᵀ and the weighted sums
    softmax = 5 * 2 * 3 * 5
    assert estimate_attention(2, 1, 3, 5, 7, 4, 4).flops == projections + products + softmax


def test_stored_maps_multiply_the_scores_only() -> None:
    one = estimate_attention(8, 8, 100, 100, 64, 8, 4)
    none = estimate_attention(8, 8, 100, 100, 64, 8, 4, stored_maps=0)
    assert one.bytes - none.bytes == 8 * 100 * 100 * 4
    assert one.flops == none.flops


def test_counts_do_not_overflow() -> None:
    estimate = estimate_attention(128, 128, 10**12, 10**12, 2**14, 128, 8)
    assert estimate.lines[0].value == 128 * 10**24 * 8


def test_a_negative_number_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"keys must be a whole number of at least 0; got -1\."):
        estimate_attention(1, 1, 1, -1, 1, 1, 4)


def test_the_refusal_is_one_sentence_of_arithmetic() -> None:
    estimate = estimate_attention(8, 8, 100_000, 100_000, 512, 64, 4)
    with pytest.raises(BudgetError) as caught:
        check(estimate, available=23 * GIB)
    assert str(caught.value) == (
        "A run must fit in 11.5 GiB, half of the 23.0 GiB available; "
        "got scores: 8 heads × 100000 queries × 100000 keys × 4 bytes = 298.0 GiB."
    )
    assert isinstance(caught.value, ValueError)
    assert (caught.value.estimate, caught.value.available) == (estimate, 23 * GIB)


def test_a_sum_that_is_too_large_is_not_blamed_on_one_array() -> None:
    estimate = estimate_attention(8, 8, 100, 100, 512, 64, 4, stored_maps=3)
    assert estimate.lines[0].value < 1024**2 < estimate.bytes
    with pytest.raises(BudgetError) as caught:
        check(estimate, available=2 * 1024**2)
    assert str(caught.value) == (
        "A run must fit in 1.0 MiB, half of the 2.0 MiB available; "
        "got 2.1 MiB, with scores: 8 heads × 100 queries × 100 keys × 4 bytes × 3 arrays = 937.5 KiB."
    )


def test_exactly_half_is_allowed_and_a_byte_more_is_not() -> None:
    estimate = estimate_attention(1, 1, 64, 64, 8, 8, 4)
    check(estimate, available=2 * estimate.bytes)
    with pytest.raises(BudgetError):
        check(estimate, available=2 * estimate.bytes - 1)


def test_the_real_machine_refuses_what_no_machine_has() -> None:
    check(estimate_attention(4, 4, 16, 16, 64, 16, 4))
    with pytest.raises(BudgetError, match="heads × 100000000 queries"):
        check(estimate_attention(8, 8, 10**8, 10**8, 512, 64, 4))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_available_memory_lies_between_nothing_and_the_machine() -> None:
    total = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    assert 0 < budget.available_memory() <= total


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


MEMINFO = "MemTotal:       24684084 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\n"


def test_linux_without_control_groups(tmp_path: Path) -> None:
    write(tmp_path, {"proc/meminfo": MEMINFO})
    assert linux_memory(tmp_path / "proc", tmp_path / "cgroup") == 20_000_000 * 1024


def test_linux_control_groups_v2_take_the_tightest_ancestor(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/box/app\n",
            "cgroup/box/app/memory.max": "max\n",
            "cgroup/box/app/memory.current": "500\n",
            "cgroup/box/memory.max": f"{4 * GIB}\n",
            "cgroup/box/memory.current": f"{3 * GIB}\n",
            "cgroup/box/memory.stat": "anon 1\ninactive_file 1000\n",
        },
    )
    assert linux_memory(tmp_path / "proc", tmp_path / "cgroup") == GIB + 1000


def test_linux_control_groups_v1_inside_a_container(tmp_path: Path) -> None:
    # The group's own path does not exist inside: the tree is mounted from it on.
    write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n",
            "cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n",
            "cgroup/memory/memory.usage_in_bytes": f"{GIB // 2}\n",
            "cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 11\n",
        },
    )
    assert linux_memory(tmp_path / "proc", tmp_path / "cgroup") == 2 * GIB - GIB // 2 + 11


def test_linux_control_group_v1_without_a_limit(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/memory.usage_in_bytes": "1\n",
        },
    )
    assert linux_memory(tmp_path / "proc", tmp_path / "cgroup") is None


def test_a_group_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "cgroup/memory.max": "1000\n",
            "cgroup/memory.current": "1500\n",
        },
    )
    assert linux_memory(tmp_path / "proc", tmp_path / "cgroup") == 0


def test_a_system_that_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(budget, "linux_memory", lambda _proc, _cgroups: None)
    monkeypatch.setattr(sys, "platform", "linux")
    assert linux_memory(tmp_path, tmp_path) is None
    assert budget.available_memory() == budget.UNKNOWN_MEMORY

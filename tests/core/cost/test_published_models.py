"""Published models: their parameters to the digit, and what the table must say of each."""

from __future__ import annotations

import math

import pytest

from attnviz.core.cost.lines import parameter_count
from attnviz.core.cost.published_models import PUBLISHED, PUBLISHED_BY_ID, Published

EXACT = {
    "gpt2": 124_439_808,
    "llama-2-7b": 6_738_415_616,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "mistral-7b": 7_241_732_096,
    "gemma-2-9b": 9_241_705_984,
    "gemma-3-27b": 27_432_406_640 - 416_866_032 - 6_194_304,  # all, image encoder, its projection
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "deepseek-v3": 671_026_419_200,
    "smollm2-135m": 134_515_008,
}
"""Numbers in the tensors that the authors distribute, as counted by others from the files."""


@pytest.mark.parametrize("id_", EXACT)
def test_parameters_to_the_digit(id_: str) -> None:
    assert parameter_count(PUBLISHED_BY_ID[id_].architecture) == EXACT[id_]
    assert PUBLISHED_BY_ID[id_].parameters == EXACT[id_]


def test_gpt3_comes_to_its_175_billion_rounded() -> None:
    """Nobody outside has its tensors; others who count the same shapes find 174,604,259,328."""
    assert PUBLISHED_BY_ID["gpt3"].parameters is None
    assert parameter_count(PUBLISHED_BY_ID["gpt3"].architecture) == 174_604_259_328


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda m: m.id)
def test_what_the_authors_state_is_the_count_rounded_or_cut(model: Published) -> None:
    count = parameter_count(model.architecture) / 1e9
    decimals = len(model.stated.partition(".")[2])
    slack = 0.5 if model.id == "gpt3" else 0.5 * 10**-decimals  # 175.0 in the paper, whose embeddings differ
    is_cut = math.floor(count * 10**decimals) == float(model.stated) * 10**decimals
    assert abs(count - float(model.stated)) <= slack or is_cut


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda m: m.id)
def test_every_model_names_its_source(model: Published) -> None:
    assert "config.json, " in model.source or "arXiv" in model.source
    assert any(year in model.source for year in ("2019", "2020", "2023", "2024", "2025"))


def test_ids_are_unique_and_all_are_there() -> None:
    assert len(PUBLISHED_BY_ID) == len(PUBLISHED) == 20
    assert set(EXACT) | {"gpt3"} == set(PUBLISHED_BY_ID)

"""Mutated configurations, headers and tokenizers end in a sentence; the whole run is a script."""

from __future__ import annotations

from collections import Counter

import pytest
from checkpoints.mutations import ODD, outcomes

from attnviz.checkpoints.blueprint import read_config
from attnviz.checkpoints.families.family import REQUIRED, Family
from attnviz.checkpoints.families.table import FAMILIES
from attnviz.errors import message_of


def test_what_is_wrong_ends_in_a_sentence() -> None:
    found = Counter(outcomes(150))
    assert found.keys() == {"opened", "refused"}
    assert found["refused"] > 60


MOST = 100
"""More layers than the tensors of the file of a test."""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_an_odd_value_of_any_key_ends_in_a_sentence(family: Family) -> None:
    """Every key of every family, with a value of each type, and the layers that it would make."""
    needed = {key.name: 2 if "head" in key.name or "layer" in key.name else 8 for key in family.keys}
    config = {key.name: needed[key.name] for key in family.keys if key.default is REQUIRED}
    for key in family.keys:
        for value in ODD:
            try:
                read = read_config(family, {**config, key.name: value})
                if family.sizes(read)["layers"] > MOST:
                    continue  # refused, as no file has their tensors
                family.layer(read, 0)
                family.around(read)
            except ValueError as error:
                assert "\n" not in str(message_of(error)), (key.name, value)

"""An operation has a record of operands, and never the site that they come from."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from experiments import SITES, SPREAD, STACKS
from msgspec.structs import replace

from attnviz.model.binding import bind
from attnviz.model.sites.sites import at
from attnviz.model.sites.stages import site_stages


@pytest.mark.parametrize(("experiment", "name"), SITES, ids="/".join)
def test_operations_outlive_a_temporary_site(experiment: str, name: str) -> None:
    site = replace(at((SPREAD | STACKS)[experiment], name))
    operations = [bind(site, stage) for stage in site_stages(site)]
    held = ref(site)
    del site
    gc.collect()
    assert held() is None
    assert all(row.numbers().ndim == 1 for operation in operations for row in operation.rows)

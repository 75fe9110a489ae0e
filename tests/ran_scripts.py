"""Scripts of documents executed in this process: what they print, by the name of the site and the stage."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.explain.scripts.library import Library
from attnviz.explain.scripts.script import Wanted, program
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID
from attnviz.model.trace import Trace

ALL = Wanted(tuple(STAGE_BY_ID))


def printed(experiment: Experiment, library: Library) -> dict[str, NDArray[Any]]:
    """The arrays that the script of an experiment prints."""
    found: dict[str, NDArray[Any]] = {}

    def keep(name: str, shape: tuple[int, ...], array: Any, sep: str) -> None:
        found[name] = np.asarray(array).copy()
        assert found[name].shape == shape, name

    made = program(Document(experiment), library, ALL)
    source = made.text("beside")
    exec(compile(source, "script", "exec"), {"print": keep, "beside": io.BytesIO(made.storage.npz())})
    return found


def judge(experiment: Experiment, trace: Trace, library: Library) -> None:
    """Raise unless the script prints every stage of the trace, equal at 1e-12."""
    found = printed(experiment, library)
    several = len(site_names(experiment)) > 1
    names = {(site, stage) for site in trace.sites for stage in trace.site(site).stages}
    assert {f"{site}.{stage}" if several else stage for site, stage in names} == set(found)
    for site, stage in names:
        array = found[f"{site}.{stage}" if several else stage]
        expected = trace.site(site)[stage]
        if not np.allclose(array, expected, 1e-12, 1e-12, equal_nan=True):  # a tenth of the time
            np.testing.assert_allclose(array, expected, 1e-12, 1e-12, err_msg=f"{site}.{stage}")

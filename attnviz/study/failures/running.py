"""The first stage of a document that goes wrong: in its run, or in its decoding with an inexact cache."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from attnviz.compute.decoding import decode_and_compare
from attnviz.compute.execute import execute
from attnviz.core.progress import Check, never_cancelled
from attnviz.core.text import number
from attnviz.errors import Message, verbatim
from attnviz.model.caches import CACHES
from attnviz.model.spec.experiment import Experiment
from attnviz.model.trace import Trace
from attnviz.study.failures.checks import Finding, first_finding, moved
from attnviz.study.failures.table import MOVED, Failure


def first_failure(
    trace: Trace,
    failure: Failure | None = None,
    before: Experiment | None = None,
    reserve: int = 0,
    check: Check = never_cancelled,
) -> Finding | None:
    """The first finding in a run; without one, the first stage whose decoding differs from the full pass.

    With a `failure`, what that one breaks: a trained model may have saturated heads all along. `before` is
    the experiment before it, whose weights are compared with those of the run where a sink was removed. A
    document with an exact cache, or without one, is not decoded. `reserve` cores are left to others.
    """
    lost = "" if failure is None else failure.check
    if lost == MOVED and before is not None:
        return moved(execute(before, trace.engine, trace.device, check=check, reserve=reserve), trace)
    is_decoded = failure is not None and not lost
    finding = None if is_decoded else first_finding(trace, check, lost)
    writing = trace.experiment.writing
    if finding is not None or writing is None or _is_exact(type(writing.cache)):
        return finding
    decoded = decode_and_compare(trace.experiment, trace.engine, trace.device, check, reserve)
    name = decoded.first_beyond
    if name is None:
        return None
    site, _dot, stage = name.rpartition(".")
    says = Message(
        "With the cache, these numbers differ by up to {difference} from those of the full pass.",
        difference=verbatim(number(decoded.differences[name], 2)),
    )
    return Finding(site or trace.sites[0], stage, says)


def _is_exact(kind: type) -> bool:
    return next(row.is_exact for row in CACHES if row.kind is kind)


def mended(present: Experiment, before: Experiment, broken: Experiment) -> Experiment:
    """`present`, in which everything that differs between `before` and `broken` is as it was before.

    Where undo has led to a state that has no place for it, such as one with other stacks, `present` itself.
    """
    try:
        whole = _mended(present, before, broken)
    except ValueError:
        return present
    assert isinstance(whole, Experiment)
    return whole


def _mended(present: Any, before: Any, broken: Any) -> Any:
    if before == broken:
        return present
    if isinstance(before, Struct) and type(present) is type(before) is type(broken):
        fields = {
            name: _mended(getattr(present, name), getattr(before, name), getattr(broken, name))
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(broken, name)
        }
        return replace(present, **fields)
    if isinstance(before, tuple) and isinstance(broken, tuple) and isinstance(present, tuple):
        if len(before) == len(broken) == len(present):
            return tuple(_mended(*parts) for parts in zip(present, before, broken, strict=True))
    return before

"""`Job`: one kind of work that the window has a worker do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """One kind of job: the key under which it is submitted, and its description."""

    key: str
    title: str

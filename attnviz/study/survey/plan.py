"""The plan of a survey: the model, the scores, the ablation, and the longest text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attnviz.checkpoints.hub import located
from attnviz.checkpoints.opening import names_model
from attnviz.core.head_scores import SCORES_OF_TEXT
from attnviz.errors import FieldError, among, whole_number
from attnviz.model.io.files import matrices
from attnviz.model.io.json_text import write
from attnviz.model.io.regular_file import opened
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.study.ablation import REPLACEMENT_BY_ID, REPLACEMENTS
from attnviz.version import __version__

MOST_TOKENS = 128
"""Tokens of a text by default; the rest of a longer one is left out."""
ABLATIONS = tuple(row.id for row in REPLACEMENTS if not row.needs_other)
SURVEYED = tuple(row.id for row in SCORES_OF_TEXT)
"""Scores of a survey, whose texts have no labels."""
ROWS = 1024
"""Rows of a matrix that are read at a time."""
EFFECT = "effect"
"""The column of the ablation's effect."""


@dataclass(frozen=True)
class Plan:
    """`model` is a document file, the name of a preset, or a model's folder; for an experiment, its title.

    `scores` are ids of `SURVEYED`. With `ablate` ("zero" or "mean") the effect of each head on the logit of
    the token that the model finds most probable next is computed too: one more pass for each head.
    """

    model: str
    scores: tuple[str, ...] = SURVEYED
    ablate: str | None = None
    n_tokens: int = MOST_TOKENS
    dtype: str = "float32"
    engine: str = "numpy"
    device: str = "cpu"

    def __post_init__(self) -> None:
        unknown = [id_ for id_ in self.scores if id_ not in SURVEYED]
        if unknown or not self.scores:
            raise FieldError("scores", unknown[0] if unknown else [], among(SURVEYED))
        if self.ablate is not None and self.ablate not in ABLATIONS:
            raise FieldError("ablate", self.ablate, among(ABLATIONS))
        if not 2 <= self.n_tokens <= 2048:
            raise FieldError("n_tokens", self.n_tokens, whole_number(2, 2048))
        assert set(ABLATIONS) <= set(REPLACEMENT_BY_ID)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return (*self.scores, *([EFFECT] if self.ablate else []))

    def record(self, model: Experiment | None = None) -> str:
        """The plan, the program's version and the model's files as JSON: equal records have equal numbers.

        Reads the files whole, for their SHA-256; in their place, `model` has one of all its numbers.
        Raises `OSError`.
        """
        files = _files(self.model) if model is None else [[self.model, _of_numbers(model)]]
        return json.dumps({"attnviz": __version__, **asdict(self), "files": files})


def _files(model: str) -> list[list[Any]]:
    """Name, size and SHA-256 of a model's files; empty for a preset."""
    place = located(model) if names_model(model) else Path(model)
    files: Sequence[Path] = sorted(place.iterdir()) if place.is_dir() else [place] if place.is_file() else []
    return [[file.name, file.stat().st_size, _digest(file)] for file in files if file.is_file()]


def _of_numbers(model: Experiment) -> str:
    """The SHA-256 of a model: its settings and its matrices."""
    own = list(matrices(model))
    digest = hashlib.sha256(write(Document(model), {matrix: name for name, matrix in own}).encode())
    for _name, matrix in own:
        for begin in range(0, matrix.shape[0], ROWS):
            digest.update(matrix.rows(slice(begin, begin + ROWS)).tobytes())
    return digest.hexdigest()


def _digest(file: Path) -> str:
    with opened(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

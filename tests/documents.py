"""Documents that several tests read and save."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ExplicitVectors
from attnviz.model.spec.view import View

BY_HAND = """
{"format": "attnviz", "version": 3,
 "experiment": {
   "tokens": ["a", "fluffy", "blue", "creature"],
   "vectors": {"kind": "explicit", "values": [[0.2, 0.8], [0.3, 0.7], [0.1, 0.9], [0.8, 0.2]]},
   "memory": null,
   "layers": [{
   "heads": {"n_heads": 2, "n_kv_heads": 1, "d_head": 4},
   "projections": {"query": {"kind": "seeded", "seed": 0}, "key": {"kind": "identity"},
     "value": {"kind": "explicit", "values": [[1.0]]}, "output": {"kind": "tied", "to": "query"}},
   "position": {"kind": "rope", "base": 10000.0, "pairing": "interleaved", "start": 0},
   "scale": {"kind": "sqrt_d_head"}, "temperature": 1.0,
   "masks": [{"kind": "causal"}, {"kind": "padding", "tokens": [3]},
     {"kind": "window", "left": 2, "right": 0}],
   "mask_placement": "before_softmax", "fully_masked_row": "zeros",
   "dropout": {"p": 0.0, "seed": 0, "rescale": true}}],
   "dtype": "float32"},
 "view": {}}
"""
FITTING = BY_HAND.replace("[[1.0]]", "[[1, 0, 0, 0], [0, 1, 0, 0]]")

BEFORE_LAYERS = (
    FITTING.replace('"version": 3', '"version": 2').replace('"layers": [{', "").replace("}}],", "},")
)
"""The same document in version 2, where the fields of the first layer stood in the experiment."""


def explicit(rows: int, columns: int, seed: int = 0) -> Document:
    """A document whose vectors are (rows, columns) random numbers."""
    values = np.random.default_rng(seed).standard_normal((rows, columns))
    return Document(Experiment(("t",) * rows, ExplicitVectors(values)), View(stage="scores"), "large")


def as_map(document: Document) -> Document:
    """The document opened with its map: most tests of a panel or a window point at cells."""
    return replace(document, view=replace(document.view, picture="map"))

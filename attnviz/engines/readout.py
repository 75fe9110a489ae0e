"""From the output of the last site to the distribution of the next token, on any engine."""

from __future__ import annotations

import numpy as np

from attnviz.engines.block import add_transform
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.operands import Operands
from attnviz.engines.product import times
from attnviz.model.stages import result_of


def read_out(engine: Engine, operands: Operands, features: Features) -> None:
    """Add logits and probabilities, (token, vocabulary or class), where the site has a read-out."""
    readout = operands.readout
    if readout is None:
        return
    read = result_of(tuple(features.order))
    if readout.transform is not None:
        add_transform(engine, operands, features, readout.transform)
        read = features.order[-1]
    logits = times(engine, features.tf[read], readout.logits)
    logits = logits if readout.bias is None else logits + readout.bias
    if readout.scale != 1.0:
        logits = logits * readout.scale
    if readout.cap is not None:
        logits = readout.cap * engine.xp.tanh(logits / readout.cap)
    logits = features.add("logits", logits)
    if readout.distribution is not None:
        rows = np.arange(logits.shape[0])
        features.add("probabilities", readout.distribution.of(engine, logits, rows))

"""From what the last site makes to the distribution of the next token, on any engine."""

from __future__ import annotations

from attnviz.core.dims import Array
from attnviz.engines.block import add_row, add_transform
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.engines.product import product
from attnviz.model.operands.matrices import unembedding_array, vectors_array, vocabulary
from attnviz.model.spec.site import Site
from attnviz.model.stages import result_of


def read_out(engine: Engine, site: Site, features: Features) -> None:
    """Add logits and probabilities, (token, vocabulary), where the experiment has a read-out.

    By similarity a logit is the dot product with a distinct token's vector; a vocabulary has its own matrix,
    and perhaps a transform before it.
    """
    if site.readout == "none":
        return
    vocabulary, read = site.vocabulary, result_of(tuple(features.order))
    if site.readout == "vocabulary" and vocabulary is not None and vocabulary.transform is not None:
        add_transform(engine, features, vocabulary.transform, read)
        read = features.order[-1]
    made = features.tf[read]
    if site.readout == "similarity" or vocabulary is None:
        logits = product(engine, made, engine.xp.matrix_transpose(token_embeddings(engine, site)))
    else:
        logits = product(engine, made, engine.asarray(unembedding_array(vocabulary)))
        logits = add_row(engine, logits, vocabulary.bias)
        if vocabulary.logit_scale != 1.0:
            logits = logits * vocabulary.logit_scale
        if vocabulary.cap is not None:
            logits = vocabulary.cap * engine.xp.tanh(logits / vocabulary.cap)
    probabilities = engine.xp.asarray(logits, copy=True)
    engine.softmax_(probabilities)
    features.add("logits", logits)
    features.add("probabilities", probabilities)


def token_embeddings(engine: Engine, site: Site) -> Array:
    """Vectors of the distinct tokens, (vocabulary, d_model)."""
    rows = vocabulary(site)[1]
    return engine.asarray(vectors_array(site.vectors)[list(rows)])

"""Memory and operations of a run or a decoding, counted site by site before anything is allocated."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from attnviz.compute.budget import Estimate, EstimateLine, estimate_attention
from attnviz.engines.decode.decodable import causal_experiment, encoder_of
from attnviz.engines.flops import site_flops
from attnviz.errors import Message, token_count, verbatim
from attnviz.i18n import _
from attnviz.model.operands.matrices import is_identity, output_tokens, transform_shape
from attnviz.model.sites.by_hand import edited_shapes
from attnviz.model.sites.sites import at, site_names
from attnviz.model.sites.stages import score_stages, site_stages
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ROLES
from attnviz.model.spec.site import Site
from attnviz.model.stages import D_MODEL, STAGE_BY_ID, Stage, of_phase

DOCUMENT_ITEMSIZE = 8
"""Bytes of a number in a document: engines of another precision hold converted copies of its matrices."""


def estimate(experiment: Experiment, itemsize: int) -> Estimate:
    """Bytes that a full pass stores for all sites, with a mask of two bytes per cell, and its FLOPs.

    FLOPs are those of `engines/flops.py`, of every pair, masked or not. With several sites, lines carry their
    names.
    """
    return _together([(name, _full_pass(at(experiment, name), itemsize)) for name in site_names(experiment)])


def what_fits(experiment: Experiment, itemsize: int, room: int) -> Message:
    """The longest text and the most layers of a run that fit into `room` bytes, as the end of a sentence."""
    sites = [at(experiment, name) for name in site_names(experiment)]
    n = experiment.n_queries

    def of_length(length: int) -> int:
        return sum(_full_pass(site, itemsize, length).bytes for site in sites)

    tokens = bisect_right(range(1, n), room, key=of_length)
    layers = bisect_right(list(accumulate(_full_pass(site, itemsize).bytes for site in sites)), room)
    if tokens and layers:
        return Message(
            "; a text of {tokens} would fit, or {layers} of {all} attentions",
            tokens=token_count(tokens),
            layers=layers,
            all=len(sites),
        )
    if tokens:
        return Message("; a text of {tokens} would fit", tokens=token_count(tokens))
    return verbatim("")


def estimate_decoding(experiment: Experiment, steps: int, itemsize: int) -> Estimate:
    """Bytes that `steps` steps store, including their caches, and their FLOPs; an encoder runs once before.

    The stored rows of weights are counted at their final length.
    """
    causal, encoder = causal_experiment(experiment, steps), encoder_of(experiment)
    parts = []
    if encoder is not None:
        for name in site_names(encoder):
            site = _full_pass(at(encoder, name), itemsize)
            parts.append((name.replace("layers", "encoder"), site))
    for name in site_names(causal):
        if not name.startswith("encoder"):
            parts.append((name, _steps(at(causal, name), steps, itemsize)))
    return _together(parts)


def _together(parts: list[tuple[str, Estimate]]) -> Estimate:
    """Sum of all sites, with their names on the lines if several exist."""
    if len(parts) == 1:
        return parts[0][1]
    lines = tuple(line._replace(label=f"{name} {line.label}") for name, size in parts for line in size.lines)
    return Estimate(sum(line.value for line in lines), sum(size.flops for _name, size in parts), lines)


def _full_pass(site: Site, itemsize: int, length: int | None = None) -> Estimate:
    """One site, with a text of its own or of another length."""
    n = site.n_queries if length is None else length
    m = site.n_keys if length is None or site.memory is not None else length
    size = _kept(site, n, m, itemsize)
    if site.masks:
        formula = _("{queries} queries × {keys} keys × 2 bytes").format(queries=n, keys=m)
        line = EstimateLine(_("mask"), formula, 2 * n * m)
        size = Estimate(size.bytes + line.value, size.flops, (*size.lines, line))
    return replace(size, flops=site_flops(site).of(n, m, m, n * m, n))


def _steps(site: Site, steps: int, itemsize: int) -> Estimate:
    if site.memory is None:
        pairs = steps * (steps + 1) // 2
        flops = site_flops(site).of(steps, steps, pairs, pairs, steps)
        return replace(_kept(site, steps, steps, itemsize), flops=flops)
    m = site.n_keys
    flops = site_flops(site).of(steps, m, steps * m, steps * m, steps)
    return replace(_kept(site, steps, m, itemsize), flops=flops)


def stored_maps(site: Site) -> int:
    """Number of (head, query, key) arrays that a run stores: those that a window does not follow from."""
    return sum(bool(STAGE_BY_ID[stage].made_by.statistics) for stage in score_stages(site))


def _kept(site: Site, n: int, m: int, itemsize: int) -> Estimate:
    """The stored arrays of one site with n queries and m keys; its FLOPs do not cover the site."""
    heads, maps = site.heads, stored_maps(site)
    size = estimate_attention(heads.n_heads, heads.n_kv_heads, n, m, site.d_model, site.d_qk, itemsize, maps)
    lines = (*size.lines, *_further(site, n, m, itemsize))
    return Estimate(sum(line.value for line in lines), 0, lines)


def _further(site: Site, n: int, m: int, itemsize: int) -> Iterator[EstimateLine]:
    """The lines beside scores, q, k, v, input and output: their other forms, the block, the read-out."""
    heads, ffn = site.heads, site.layer.feed_forward
    per_head = [STAGE_BY_ID[stage].axes[0] for stage in site_stages(site) if stage in of_phase("heads")]
    numbers = {
        "itemsize": itemsize,
        "queries": n,
        "keys": m,
        "heads": heads.n_heads,
        "kv_heads": heads.n_kv_heads,
        "d_head": site.d_qk,
        "features": site.d_model,
    }
    forms = per_head.count("head")  # those after q, and concatenated
    formula = _("{count} × {heads} heads × {queries} queries × {d_head} features × {itemsize} bytes")
    value = forms * heads.n_heads * n * site.d_qk * itemsize
    yield EstimateLine(_("further stages of q and mixed"), formula.format(count=forms, **numbers), value)
    if site.differential is not None:
        formula = _("2 × {heads} heads × {queries} queries × {keys} keys × {itemsize} bytes")
        value = 2 * heads.n_heads * n * m * itemsize
        yield EstimateLine(_("combined weights"), formula.format(**numbers), value)
        text = _("{queries} queries × {columns} features × {itemsize} bytes")
        columns = heads.n_heads * heads.d_head
        value = n * columns * itemsize
        yield EstimateLine(_("normalised heads"), text.format(columns=columns, **numbers), value)
    if site.gate is not None:
        columns = heads.n_heads * (site.gate.width(heads) + heads.d_head)
        text = _("{queries} queries × {columns} features × {itemsize} bytes")
        text, value = text.format(columns=columns, **numbers), n * columns * itemsize
        yield EstimateLine(_("gates"), text, value)
    forms = per_head.count("kv_head") - 2  # those after k and v
    if forms:
        formula = _("{count} × {kv_heads} KV heads × {keys} keys × {d_head} features × {itemsize} bytes")
        value = forms * heads.n_kv_heads * m * site.d_qk * itemsize
        yield EstimateLine(_("further stages of k and v"), formula.format(count=forms, **numbers), value)
    weights = 0 if _lies_in_file(site) else _weights(site)
    if weights and itemsize < DOCUMENT_ITEMSIZE:
        formula = _("{count} numbers × {itemsize} bytes")
        text = formula.format(count=weights, itemsize=itemsize)
        yield EstimateLine(_("converted weights"), text, weights * itemsize)
    edited = sum(math.prod(shape) for shape in edited_shapes(site, n, m).values())
    if edited:
        formula = _("{count} numbers × {itemsize} bytes")
        text = formula.format(count=edited, itemsize=itemsize)
        yield EstimateLine(_("stages before their edits"), text, edited * itemsize)
    if site.memory is not None:
        formula = _("{keys} keys × {d_keys} features × {itemsize} bytes")
        text = formula.format(d_keys=site.d_keys, **numbers)
        yield EstimateLine(_("memory"), text, m * site.d_keys * itemsize)
    if site.latent is not None:
        d_latent = 2 * site.latent.d_c + site.latent.d_rope
        formula = _("{keys} keys × {d_latent} features × {itemsize} bytes")
        value = m * d_latent * itemsize
        yield EstimateLine(_("latents"), formula.format(d_latent=d_latent, **numbers), value)
    embedded = _rows_of_embedding(site)
    if embedded:
        formula = _("{count} × {queries} queries × {features} features × {itemsize} bytes")
        text = formula.format(count=embedded, **numbers | {"features": site.d_embedding})
        yield EstimateLine(_("token vectors"), text, embedded * n * site.d_embedding * itemsize)
    rows = _rows_of_block(site)
    if rows:
        formula = _("{count} × {queries} queries × {features} features × {itemsize} bytes")
        value = rows * n * site.d_model * itemsize
        yield EstimateLine(_("norms, dropout, residuals"), formula.format(count=rows, **numbers), value)
    if ffn is not None:
        count = sum(row.phase == "block" and row.width is not D_MODEL for row in _rows(site))
        formula = _("{count} × {queries} queries × {d_hidden} hidden features × {itemsize} bytes")
        value = count * n * ffn.width * itemsize
        text = formula.format(count=count, d_hidden=ffn.width, **numbers)
        yield EstimateLine(_("feed-forward"), text, value)
    if ffn is not None and ffn.experts is not None:
        columns = ffn.experts.n_columns + (ffn.routed_width - ffn.width + 1) // 2
        formula = _("2 × {queries} queries × {columns} experts × {itemsize} bytes")
        value = 2 * n * columns * itemsize
        yield EstimateLine(_("routers"), formula.format(columns=columns, **numbers), value)
    if site.layer.readout != "none":
        tokens = len(output_tokens(site))
        count = sum(STAGE_BY_ID[stage].axes[-1] == "vocabulary" for stage in site_stages(site))
        formula = _("{count} × {queries} queries × {tokens} tokens × {itemsize} bytes")
        text = formula.format(count=count, tokens=tokens, **numbers)
        yield EstimateLine(_("logits"), text, count * n * tokens * itemsize)
    rows = _rows_of_transform(site)
    if rows:
        formula = _("{count} × {queries} queries × {features} features × {itemsize} bytes")
        features = transform_shape(site)[1]
        text = formula.format(count=rows, **numbers | {"features": features})
        yield EstimateLine(_("transform"), text, rows * n * features * itemsize)


def _lies_in_file(site: Site) -> bool:
    """True if the weights are converted as they are used, in memory that is bounded for all of them."""
    return any(getattr(site.projections, role).lies_in_file for role in ROLES)


def _weights(site: Site) -> int:
    """Count of the numbers in the matrices of a site, without identities."""
    shapes = [site.projection_shape(role) for role in ROLES if not is_identity(site, role)]
    if site.latent is not None:
        d_keys = site.d_keys
        shapes = [site.projection_shape(role) for role in ROLES if role in ("query", "output")]
        shapes += [site.latent.shape(role, site.d_model, d_keys, site.heads) for role in site.latent.roles()]
    if site.gate is not None and not site.gate.weights.is_identity:
        shapes.append(site.gate.shape(site.d_model, site.heads))
    ffn = site.layer.feed_forward
    if ffn is not None:
        shapes += [ffn.shape(role, site.d_model) for role in ffn.roles]
    if site.layer.readout != "none":
        shapes.append((site.logit_features, len(output_tokens(site))))
    if _rows_of_transform(site):
        shapes.append(transform_shape(site))
    if site.inputs.begins and site.layer.embedding_projection is not None:
        shapes.append((site.d_embedding, site.d_model))
    return sum(rows * columns for rows, columns in shapes)


def _rows_of_transform(site: Site) -> int:
    """Number of (query, d_model) arrays between the output and the logits."""
    return sum(row.phase == "read-out" and row.width is not D_MODEL for row in _rows(site))


def _rows_of_embedding(site: Site) -> int:
    """Number of arrays of token vectors before they are projected to the features of the layers."""
    if site.layer.embedding_projection is None or not site.inputs.begins:
        return 0
    return sum(row.phase == "input" for row in _rows(site)) - 1


def _rows_of_block(site: Site) -> int:
    """Number of (query, d_model) arrays that a site stores besides its input and the attention's output."""
    rows = [row for row in _rows(site) if row.phase == "input" or row.width is D_MODEL]
    return len(rows) - 2 - _rows_of_embedding(site)


def _rows(site: Site) -> list[Stage]:
    """The stages of a site with features of its own tokens, heads apart."""
    rows = [STAGE_BY_ID[stage] for stage in site_stages(site)]
    return [row for row in rows if row.axes in (("token", "feature"), ("query", "feature"))]

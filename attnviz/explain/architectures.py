"""An experiment as architectures, one for each kind of attention in it: see `core/cost/stack.py`."""

from __future__ import annotations

from dataclasses import replace as core_replace
from functools import reduce
from typing import Any

from attnviz.core.cost.architecture import Architecture, Latent, Learned
from attnviz.errors import Message, verbatim
from attnviz.i18n import N_
from attnviz.model.masks import cut_in_all_heads, mask_of
from attnviz.model.operands.matrices import is_identity, output_tokens
from attnviz.model.sites.sites import at, places, site_names
from attnviz.model.sites.titles import KINDS
from attnviz.model.spec import latent as parts
from attnviz.model.spec.block import NORMS, FeedForward, Norm
from attnviz.model.spec.differential import LAMBDA_ROWS
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import ROLES, Causal, Window, vectors_shape
from attnviz.model.spec.site import Place, Site
from attnviz.model.spec.source import Source

FFN_ROLES = {"up": "ffn_up", "gate": "ffn_gate", "down": "ffn_down"}
"""Names of the feed-forward layer's matrices in an architecture: `down` is one of the latent's there."""


def stack_of(experiment: Experiment) -> tuple[Architecture, ...]:
    """The architectures of all attentions, equal ones together, in data-flow order.

    Shared parts (position tables, the norms before and after the layers, the vocabulary) belong to the first
    one outside the encoder.
    """
    found: dict[Architecture, list[Place]] = {}
    for place in places(experiment):
        read = at(experiment, place.name)
        site = _of_site(read)
        if place.stack == "encoder":
            site = core_replace(site, n_tokens=read.n_queries)
        found.setdefault(site, []).append(place)
    stack = [
        core_replace(
            site, layers=len(alike), windowed_layers=site.windowed_layers * len(alike), name=_named(alike)
        )
        for site, alike in found.items()
    ]
    main = next(index for index, site in enumerate(stack) if not site.n_tokens)
    stack[main] = core_replace(stack[main], **_once(experiment))
    return tuple(stack)


def architecture_of(experiment: Experiment) -> Architecture:
    """The first architecture of `stack_of` outside the encoder: the only one of a plain stack."""
    return next(site for site in stack_of(experiment) if not site.n_tokens)


_NUMBERED = {
    "layers": (N_("layer {numbers}"), N_("layers {numbers}")),
    "encoder": (N_("encoder layer {numbers}"), N_("encoder layers {numbers}")),
    "decoder": (N_("decoder layer {numbers}"), N_("decoder layers {numbers}")),
}
"""Names of one layer and of several, by their stack."""

_MOST_RUNS = 4
"""Runs of consecutive layers that a name has; of more, those in the middle are left out."""


def _named(found: list[Place]) -> Message:
    """The layers of some attentions, counted from 1: "layers 1, 3 to 5", "decoder layer 1 · cross"."""
    numbers = [place.layer + 1 for place in found]
    runs = list[list[int]]()
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [_run(run) for run in runs]
    if len(parts) > _MOST_RUNS:
        parts[2:-1] = [verbatim("…")]
    said = reduce(lambda text, part: Message("{text}, {part}", text=text, part=part), parts)
    layers = Message(_NUMBERED[found[0].stack][len(numbers) > 1], numbers=said)
    if not found[0].is_second:
        return layers
    return Message("{stack} · {kind}", stack=layers, kind=Message(KINDS[found[0].kind]))


def _run(numbers: list[int]) -> Message:
    if len(numbers) == 1:
        return verbatim(str(numbers[0]))
    return Message("{first} to {last}", first=numbers[0], last=numbers[-1])


def _of_site(site: Site) -> Architecture:
    """One attention with its block.

    An identity has no parameters and, if it is square, costs nothing; a tied one has none of its own.
    Causality and a window are kept, as in a kernel that skips the blocked cells; cells that any other mask
    blocks count as open (`counts_every_mask`).
    """
    window: Window | None = mask_of(site, Window)
    is_causal = mask_of(site, Causal) is not None
    ahead = 0 if is_causal else None if window is None else window.right
    sources: dict[str, Source] = {role: getattr(site.projections, role) for role in ROLES}
    if site.latent is not None:
        sources |= {role: getattr(site.latent, role) for role in site.latent.roles()}
    ffn = site.layer.feed_forward
    if ffn is not None:
        sources |= {called: getattr(ffn, role) for role, called in FFN_ROLES.items()}
    is_cross = site.memory is not None
    return Architecture(
        layers=1,
        d_model=site.d_model,
        n_heads=site.heads.n_heads,
        n_kv_heads=site.heads.n_kv_heads,
        d_head=site.heads.d_head,
        d_ff=0 if ffn is None else ffn.width,
        gated=ffn is not None and ffn.gated,
        window=0 if window is None or is_cross else window.left + 1,
        windowed_layers=0 if window is None or is_cross else 1,
        ahead=ahead,
        latent=None if site.latent is None else _latent(site.latent, site.heads.d_head),
        n_memory=site.n_keys if is_cross else 0,
        d_memory=site.d_keys if is_cross else 0,
        identities=(
            *(role for role in ROLES if is_identity(site, role)),
            *_free(site),
            *_free_ffn(ffn, site),
        ),
        unlearned=tuple(role for role, source in sources.items() if source.is_identity or source.tied_to),
        gates=_gates(site),
        of_layer=_learned(
            (N_("biases"), _biases(site)),
            (N_("norms"), _norms(site)),
            (N_("sinks"), () if site.sinks is None else (site.heads.n_heads,)),
            (N_("vectors of λ"), _vectors(site)),
            (N_("routers"), _routers(ffn, site.d_model)),
        ),
    )


def _once(experiment: Experiment) -> dict[str, Any]:
    """Parts shared by all layers, as fields of an architecture."""
    d_model, vocabulary = experiment.d_model, experiment.vocabulary
    d_memory = 0 if experiment.memory is None else vectors_shape(experiment.memory.vectors)[1]
    around = (
        *_of_norm(experiment.embedding_norm, experiment.d_embedding),
        *_of_norm(experiment.final_norm, d_model),
        *_of_norm(experiment.encoder_norm, d_memory),
        *_of_norm(experiment.encoder_embedding_norm, d_memory),
    )
    tables = tuple(count for name in site_names(experiment) for count in _tables(at(experiment, name)))
    learned = [(N_("tables of positions"), tables), (N_("norms before and after the layers"), around)]
    widened, fields = experiment.embedding_projection, dict[str, Any](logits=0)
    if widened is not None:
        fields["d_embedding"] = experiment.d_embedding
        bias = () if widened.bias is None else (d_model,)
        matrix = () if widened.weights.is_identity else (experiment.d_embedding * d_model,)
        learned.append((N_("projection of the embedding"), (*matrix, *bias)))
    if experiment.readout != "none":
        fields["logits"] = len(output_tokens(experiment))
    if vocabulary is not None:
        n, transform = len(vocabulary.tokens), vocabulary.transform
        classes, n_logits = vocabulary.classes, vocabulary.n_logits
        fields |= {"vocabulary": n, "tied": vocabulary.unembedding is None or classes is not None}
        head: tuple[int, ...] = (n_logits,) if vocabulary.bias is not None else ()
        head += () if classes is None else (d_model * n_logits,)
        if transform is not None:
            fields["transform"] = not transform.weights.is_identity
            features = vocabulary.logit_features(d_model)
            head += (features,) if transform.bias is not None else ()
            head += _of_norm(transform.norm, features)
        learned.append((N_("biases and norm of the output head"), head))
    return {**fields, "of_stack": _learned(*learned)}


def _learned(*rows: tuple[str, tuple[int, ...]]) -> tuple[Learned, ...]:
    return tuple(Learned(label, counts) for label, counts in rows if counts)


def _biases(site: Site) -> tuple[int, ...]:
    """Numbers of each bias of the projections and of the feed-forward layer."""
    counts = [
        site.projection_shape(role)[1]
        for role in ROLES
        if getattr(site.projections, f"{role}_bias") is not None
    ]
    if site.gate is not None and site.gate.bias is not None:
        counts.append(site.gate.shape(site.d_model, site.heads)[1])
    ffn = site.layer.feed_forward
    if ffn is not None:
        rows = [role for role in ffn.roles if getattr(ffn, f"{role}_bias") is not None]
        counts += [ffn.shape(role, site.d_model)[1] for role in rows]
    return tuple(counts)


def _vectors(site: Site) -> tuple[int, ...]:
    """Numbers of each vector of λ."""
    return () if site.differential is None else (site.heads.d_head,) * len(LAMBDA_ROWS)


def _gates(site: Site) -> int:
    """Gates of all heads, if a matrix computes them."""
    gate = site.gate
    return 0 if gate is None or gate.weights.is_identity else gate.shape(site.d_model, site.heads)[1]


def _routers(ffn: FeedForward | None, d_model: int) -> tuple[int, ...]:
    """Numbers of the router's matrix, of the experts' own biases, and of the correction of the choice."""
    if ffn is None or ffn.experts is None:
        return ()
    rows, columns = ffn.shape("router", d_model)
    matrix = () if ffn.router.is_identity else (rows * columns,)
    if ffn.experts.biased and not ffn.down.is_identity:
        matrix = (*matrix, ffn.experts.n * d_model)
    return (*matrix, *(() if ffn.experts.correction is None else (ffn.experts.n,)))


def _norms(site: Site) -> tuple[int, ...]:
    """Numbers of each gain and bias of the block's norms, and of those of queries and keys."""
    counts: tuple[int, ...] = ()
    if site.layer.block is not None:
        for name in NORMS:
            counts += _of_norm(getattr(site.layer.block, name), site.d_model)
    if site.qk_norm is not None:
        widths = site.qk_norm.gain_widths(site.heads)
        counts += tuple(widths[name] for name in widths if getattr(site.qk_norm, name) is not None)
    return counts


def _of_norm(norm: Norm | None, features: int) -> tuple[int, ...]:
    return (features,) * _rows_of(norm)


def _rows_of(norm: Norm | None) -> int:
    """Number of parameters of a norm for each feature."""
    return 0 if norm is None else (norm.gain is not None) + (norm.bias is not None)


def _tables(site: Site) -> tuple[int, ...]:
    """Numbers of each learned table of a site's positions."""
    shapes = site.position.table_shapes(site.d_for(site.position), site.heads.n_heads, site.heads.d_head)
    return tuple(rows * columns for rows, columns in shapes.values())


def _latent(latent: parts.Latent, d_head: int) -> Latent:
    """The widths of a latent, and how many numbers its norms have learned for each feature."""
    return Latent(
        d_c=latent.d_c,
        d_rope=latent.d_rope,
        d_nope=d_head,
        d_v=d_head,
        d_q_c=latent.d_q or 0,
        norm=_rows_of(latent.norm),
        q_norm=_rows_of(latent.query_norm),
    )


def _free(site: Site) -> tuple[str, ...]:
    """The latent's matrices that return their input unchanged."""
    latent = site.latent
    if latent is None:
        return ()
    shapes = {role: latent.shape(role, site.d_model, site.d_keys, site.heads) for role in latent.roles()}
    return tuple(
        role
        for role, (rows, columns) in shapes.items()
        if rows == columns and getattr(latent, role).is_identity
    )


def _free_ffn(ffn: FeedForward | None, site: Site) -> tuple[str, ...]:
    """The feed-forward layer's matrices that return their input unchanged."""
    if ffn is None or ffn.width != site.d_model:
        return ()
    return tuple(called for role, called in FFN_ROLES.items() if getattr(ffn, role).is_identity)


def counts_every_mask(experiment: Experiment) -> bool:
    """True if the pairs of `stack_of` are exactly the cells that the masks leave visible."""
    sites = [at(experiment, name) for name in site_names(experiment)]
    if any(cut_in_all_heads(site).any() for site in sites):
        return False
    return all(isinstance(mask, Causal | Window) for site in sites for mask in site.masks)

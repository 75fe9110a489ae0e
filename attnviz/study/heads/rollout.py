"""Attention rollout and attention flow: how much of each input token reaches a token of a layer.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", sections 3.1 and 3.2. With the mean A of
the heads and a residual connection counted as half, M_l = A_l / 2 + I / 2, rows normalised. Rollout:
R_l = M_l R_(l−1). Flow: the maximum flow from the token to the input token, with M as capacities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.core.matrix import by_rows
from attnviz.core.max_flow import Network
from attnviz.core.progress import Check, never_cancelled, progress_of
from attnviz.model.sites.sites import at, path_to
from attnviz.model.trace import Trace

Floats = NDArray[np.float64]


def rollout(trace: Trace) -> dict[str, Floats]:
    """R of every self-attention, (token, input token), by site; each stack begins anew.

    A row that attends to nothing keeps its own token alone.
    """
    mixed = _mixed(trace)
    by_site: dict[str, Floats] = {}
    for name, path in _paths(trace, tuple(mixed)).items():
        by_site[name] = mixed[name] if len(path) == 1 else mixed[name] @ by_site[path[-2]]
    return by_site


def attention_flow(
    trace: Trace, token: int, stack: str = "", check: Check = never_cancelled
) -> dict[str, Floats]:
    """The flow from one token of every self-attention to each input token, (input token,), by site.

    A flow that a weight of NaN decides is NaN. `stack` is the only one that counts, such as "encoder"; empty:
    all. `check` is called between flows, and may raise.
    """
    by_site: dict[str, Floats] = {}
    progress = progress_of(check)
    mixed = _mixed(trace)
    paths = _paths(trace, tuple(mixed))
    chosen = [path for name, path in paths.items() if stack in ("", at(trace.experiment, name).place.stack)]
    ends = [
        path for path in chosen if not any(path == other[: len(path)] for other in chosen if path != other)
    ]
    for path in ends:
        layers = [mixed[name] for name in path]
        n_tokens = len(layers[0])
        networks = _networks(layers)
        for depth, name in enumerate(path, 1):
            flows = np.zeros(n_tokens)
            for sink in range(n_tokens):
                # A flow through a layer costs as much as the layers below it.
                progress.at((depth * (depth - 1) + 2 * depth * sink / n_tokens) / (len(layers) ** 2 + depth))
                least, *most = (network.flow(depth, token, sink) for network in networks)
                flows[sink] = least if all(one == least for one in most) else np.nan
            by_site[name] = flows
    return by_site


def _networks(layers: list[Floats]) -> tuple[Network, ...]:
    """The network; with NaN as capacities, the one without them and the one in which they carry most."""
    if not any(np.isnan(one).any() for one in layers):
        return (Network(layers),)
    return tuple(Network([np.where(np.isnan(one), room, one) for one in layers]) for room in (0.0, 1.0))


def layer_map(
    trace: Trace, site: str, token: int, *, by_flow: bool = False, check: Check = never_cancelled
) -> tuple[tuple[str, ...], Floats]:
    """The sites of the stack of `site` with self-attention, and their rows (layer, input token) for a token.

    Without such a site, no rows.
    """
    stack = at(trace.experiment, site).place.stack
    if by_flow:
        rows = attention_flow(trace, token, stack, check)
    else:
        own = {name for name in trace.sites if at(trace.experiment, name).place.stack == stack}
        rows = {name: rolled[token] for name, rolled in rollout(trace).items() if name in own}
    return tuple(rows), np.array(list(rows.values())).reshape(len(rows), -1)


def _paths(trace: Trace, sites: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Those of some sites that a token passes up to each of them, itself the last."""
    return {name: tuple(one for one in path_to(trace.experiment, name) if one in sites) for name in sites}


def _mixed(trace: Trace) -> dict[str, Floats]:
    """M of every self-attention, by site."""
    by_site: dict[str, Floats] = {}
    for name in trace.sites:
        if at(trace.experiment, name).memory is not None:
            continue
        own = trace.site(name)
        mean = by_rows(np.asarray, own.mean(own.raw_map, keep=False))
        mixed = mean / 2 + np.eye(len(mean)) / 2
        mixed /= mixed.sum(axis=1, keepdims=True)
        by_site[name] = mixed
    return by_site

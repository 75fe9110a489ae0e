"""Code of a mixture of experts: the weights of the router, and the hidden features times these."""

from __future__ import annotations

from attnviz.explain.scripts.code import Asked, Code
from attnviz.explain.scripts.functions import sigmoid, softmax
from attnviz.explain.scripts.sources import with_row
from attnviz.model.spec.site import experts_of, ffn_of

MEASURES = {
    "softmax": "{xp}.amax(groups, {axis}=-1)",
    "sigmoid": "{sorted}[..., -2:].sum({axis}=-1)",
}
"""By kind of the shares: the expression that measures groups of experts."""


def routing(asked: Asked) -> Code:
    """The shares of the chosen experts; behind them the weight of the shared one."""
    experts, axis = experts_of(asked.site), asked.library.axis
    logits = f"router[:, :{experts.n}]" if experts.shared_gate else "router"
    made = softmax(asked, logits) if experts.shares == "softmax" else f"{sigmoid(asked)}({logits})"
    is_plain = experts.correction is None and experts.n_active_groups == experts.n_groups
    measured = with_row(asked, "shares", "+", "correction", experts.correction, experts.n)
    measured = logits if is_plain else measured
    lines = [f"shares = {made}"]
    if experts.n_active_groups < experts.n_groups:
        lines += _best_groups(asked, measured)
        measured = "measured"
    chosen = f"{_top(asked)}({measured}, {experts.n_active})"
    lines.append(f"routing = shares * {chosen}")
    if experts.normalised:
        lines.append(f"routing = routing / routing.sum({asked.library.last()})")
    if experts.scale != 1.0:
        lines.append(f"routing = {experts.scale!r} * routing")
    if experts.shared_gate:
        own = f"{sigmoid(asked)}(router[:, {experts.n}:])"
        lines.append(f"routing = {asked.library.join}((routing, {own}), {axis}=-1)")
    return asked.done(*lines)


def routed(asked: Asked) -> Code:
    """The hidden features, the gate or up, each times the weight of its expert."""
    ffn, experts, axis = ffn_of(asked.site), experts_of(asked.site), asked.library.axis
    width = experts.n * ffn.d_hidden
    whole = not experts.d_shared
    read = asked.reads[0]
    hidden = read if whole else f"{read}[:, :{width}]"
    weights = f"routing[:, :{experts.n}]" if experts.shared_gate else "routing"
    product = f"{hidden} * {_repeated(asked, weights, ffn.d_hidden)}"
    parts = [product] if whole else ["routed"]
    lines = [] if whole else [f"routed = {product}"]
    behind = f"{read}[:, {width}:]"
    behind = f"{behind} * routing[:, {experts.n}:]" if experts.shared_gate else behind
    parts += [] if whole else [behind]
    parts += [f"routing[:, :{experts.n}]"] if experts.biased else []
    made = parts[0] if len(parts) == 1 else f"{asked.library.join}(({', '.join(parts)}), {axis}=-1)"
    return asked.done(*lines, f"{asked.stage} = {made}")


def _repeated(asked: Asked, array: str, times: int) -> str:
    """Each column several times."""
    if asked.library.is_numpy:
        return f"np.repeat({array}, {times}, axis=1)"
    return f"torch.repeat_interleave({array}, {times}, dim=1)"


def _best_groups(asked: Asked, measured: str) -> list[str]:
    """Lines that leave the experts of the best groups to be chosen."""
    experts, axis = experts_of(asked.site), asked.library.axis
    end = "" if asked.library.is_numpy else ".values"
    ordered = f"{asked.xp}.sort(groups, {axis}=-1){end}"
    best = MEASURES[experts.shares].format(xp=asked.xp, axis=axis, sorted=ordered)
    return [
        f"groups = ({measured}).reshape({asked.shape[0]}, {experts.n_groups}, -1)",
        f"best = {_top(asked)}({best}, {experts.n_active_groups})[:, :, None]",
        f"measured = {asked.xp}.where(best, groups, -{asked.xp}.inf).reshape({asked.shape[0]}, -1)",
    ]


def _top(asked: Asked) -> str:
    """Define the choice of the largest of each row; of equal ones the first."""
    if asked.library.is_numpy:
        order = 'np.argsort(-values, axis=-1, kind="stable")'
        rank = f"np.argsort({order}, axis=-1)"
    else:
        rank = "torch.argsort(torch.argsort(-values, dim=-1, stable=True), dim=-1)"
    return asked.define("top", "def top(values, count):", f"    return {rank} < count", "")

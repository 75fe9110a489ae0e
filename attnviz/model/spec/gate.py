"""A gate on the output of each head: y ⊙ σ(x W_G + b_G), before the heads are joined.

Qiu et al. 2025, "Gated Attention for Large Language Models", arXiv 2505.06708: after the mixture, elementwise
or with one number for a head. x is the input of the queries. Qwen3-Next has the elementwise form.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from attnviz.errors import must_be, size
from attnviz.i18n import N_
from attnviz.model.spec.block import Weights
from attnviz.model.spec.field import Field
from attnviz.model.spec.parts import BIAS, Heads, Seeded
from attnviz.model.spec.rows import Row, check_row
from attnviz.model.spec.value import Value, check_drawn

GatePer = Literal["feature", "head"]


class Gate(Value, frozen=True):
    """W_G (d_model, n_heads · d_head), or (d_model, n_heads) of one number for a head, and its bias."""

    where: ClassVar[str] = "gate."

    per: Annotated[
        GatePer,
        Field(
            N_("Gate for each"),
            N_("A head's output has a gate for each feature, or one for all of them"),
            options=(
                ("feature", N_("feature"), N_("Each feature of a head has a gate of its own")),
                ("head", N_("head"), N_("All features of a head have the same gate")),
            ),
        ),
    ] = "feature"
    weights: Annotated[Weights, Field(N_("Gate"), N_("Source of W_G, which computes the gates"))] = Seeded(15)
    bias: Annotated[Row | None, BIAS] = None

    def width(self, heads: Heads) -> int:
        """Gates of one head."""
        return heads.d_head if self.per == "feature" else 1

    def shape(self, d_model: int, heads: Heads) -> tuple[int, int]:
        """(in, out) of W_G, heads side by side."""
        return d_model, heads.n_heads * self.width(heads)

    def check_size(self, d_model: int, heads: Heads) -> None:
        """Refuse a matrix and a bias that do not fit these vectors and heads."""
        shape = self.shape(d_model, heads)
        check_drawn("gate.weights", shape)
        fitting = must_be("{shape} (in x out) for these vectors and heads", shape=size(shape))
        self.weights.check_shape("gate.weights", shape, fitting)
        check_row("gate.bias", self.bias, shape[1])

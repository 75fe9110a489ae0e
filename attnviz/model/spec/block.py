"""The parts of a block: norms, the feed-forward layer, and their placement around an attention."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from attnviz.errors import FieldError, Message, must_be, size
from attnviz.i18n import N_
from attnviz.model.spec.experts import Experts
from attnviz.model.spec.field import Field, Positive
from attnviz.model.spec.parts import BIAS, EPS, Dropout, Explicit, Identity, Seeded
from attnviz.model.spec.rows import Row, check_row
from attnviz.model.spec.value import Refusal, Value, check_drawn, refuse, require

__all__ = [
    "Block",
    "FeedForward",
    "Norm",
]

NormKind = Literal["layer", "rms"]
NormPlacement = Literal["pre", "post", "sandwich", "parallel"]
ActivationKind = Literal[
    "relu",
    "gelu",
    "gelu_tanh",
    "silu",
    "sigmoid",
    "identity",
    "clamped_swish",
    "quick_gelu",
    "tanh",
    "relu_squared",
]
FeedForwardRole = Literal["gate", "up", "down", "router"]
Weights = Identity | Seeded | Explicit


class Norm(Value, frozen=True):
    """Each row normalised over its features, then times a gain, plus a bias; see `core/block.py`.

    `gain` null is 1 everywhere, `bias` null is 0; rms has no bias.
    """

    where: ClassVar[str] = "norm."

    kind: Annotated[NormKind, Field(N_("Norm"), N_("How each row is normalised"))] = "layer"
    eps: Annotated[float, EPS] = 1e-5
    gain: Annotated[
        Row | None,
        Field(N_("gain"), N_("Multiplies every feature by a number, initialised near 1; off: ones")),
    ] = None
    bias: Annotated[
        Row | None, Field(N_("bias"), N_("Adds a number to every feature, initialised near 0; off: zeros"))
    ] = None

    def check(self) -> None:
        if self.bias is not None:
            refuse(bias_beside_kind(self.kind, self.bias))

    def check_size(self, field: str, features: int) -> None:
        """Refuse a gain or a bias of another length than `features`."""
        check_row(f"{field}.gain", self.gain, features)
        check_row(f"{field}.bias", self.bias, features)


def bias_beside_kind(kind: NormKind, bias: Row) -> Refusal:
    """The refusal of a bias that a norm of this kind does not have."""
    return FieldError("norm.bias", bias, must_be("null in a norm of kind 'rms'")) if kind == "rms" else None


class FeedForward(Value, frozen=True):
    """Two linear maps with an activation between them, for each token alone (Vaswani et al. 2017).

    h = act(x W_up + b_up), or, gated, h = act(x W_gate + b_gate) * (x W_up + b_up) (Shazeer 2020); then
    y = h W_down + b_down. W_up and W_gate are (d_model, d_hidden), W_down (d_hidden, d_model).

    With `experts` the hidden features of all stand side by side, `width` of them, and each expert's are
    multiplied by the weight that the router x W_router + b_router gives it, 0 for most; see `Experts`. With
    weighted inputs the weight multiplies x W_gate + b_gate and x W_up + b_up instead.
    """

    where: ClassVar[str] = "feed_forward."

    d_hidden: Annotated[
        Positive,
        Field(
            N_("Hidden features, d_ff"),
            N_("Width between the two linear maps"),
            usual=(1, 256),
            typed=(1, 65_536),
            digits=0,
            logarithmic=True,
            normal=16,
        ),
    ]
    activation: Annotated[
        ActivationKind, Field(N_("Activation"), N_("Function between the two linear maps"))
    ] = "gelu"
    gated: Annotated[
        bool, Field(N_("Gated"), N_("A third matrix whose activations multiply the hidden features"))
    ] = False
    up: Annotated[
        Weights, Field(N_("Up projection"), N_("Source of W_up, which computes the hidden features"))
    ] = Seeded()
    gate: Annotated[
        Weights, Field(N_("Gate projection"), N_("Source of W_gate, which computes the gates"))
    ] = Seeded(1)
    down: Annotated[
        Weights, Field(N_("Down projection"), N_("Source of W_down, which computes the output"))
    ] = Seeded(2)
    up_bias: Annotated[Row | None, BIAS] = None
    gate_bias: Annotated[Row | None, BIAS] = None
    down_bias: Annotated[Row | None, BIAS] = None
    experts: Annotated[
        Experts | None,
        Field(
            N_("Experts"), N_("Several feed-forward layers, of which a router chooses some for each token")
        ),
    ] = None
    router: Annotated[
        Weights, Field(N_("Router"), N_("Source of W_router, which computes a logit for each expert"))
    ] = Seeded(3)
    router_bias: Annotated[Row | None, BIAS] = None

    def check(self) -> None:
        refuse(gate_beside_activation(self.activation, self.gated))

    def shape(self, role: FeedForwardRole, d_model: int) -> tuple[int, int]:
        """(in, out) of one of its matrices."""
        if role == "router":
            return (d_model, 1 if self.experts is None else self.experts.n_columns)
        return (self.routed_width, d_model) if role == "down" else (d_model, self.width)

    @property
    def width(self) -> int:
        """Hidden features, those of all experts side by side."""
        experts = self.experts
        return self.d_hidden if experts is None else experts.n * self.d_hidden + experts.d_shared

    @property
    def routed_width(self) -> int:
        """Hidden features with the ones of the experts' biases, which W_down reads."""
        experts = self.experts
        return self.width + (experts.n if experts is not None and experts.biased else 0)

    @property
    def scales_inputs(self) -> bool:
        """True if the weights of experts multiply gate and up."""
        return self.experts is not None and self.experts.weighted == "input"

    @property
    def scales_outputs(self) -> bool:
        """True if the weights of experts multiply the hidden features."""
        return self.experts is not None and self.experts.weighted == "output"

    @property
    def roles(self) -> tuple[FeedForwardRole, ...]:
        """The matrices that it uses."""
        is_used = {"gate": self.gated, "router": self.experts is not None}
        return tuple(role for role in FEED_FORWARD_ROLES if is_used.get(role, True))

    def check_size(self, field: str, d_model: int) -> None:
        """Refuse matrices and biases that do not fit `d_model` features."""
        for role in FEED_FORWARD_ROLES:
            shape, source = self.shape(role, d_model), getattr(self, role)
            check_drawn(f"{field}.{role}", shape)
            if source.written is not None:
                fitting = must_be("{shape} (in x out) for these vectors and this d_hidden", shape=size(shape))
                source.check_shape(f"{field}.{role}", shape, fitting)
            check_row(f"{field}.{role}_bias", getattr(self, f"{role}_bias"), shape[1])
        if self.experts is not None:
            self.experts.check_size(f"{field}.experts")


FEED_FORWARD_ROLES: tuple[FeedForwardRole, ...] = ("gate", "up", "down", "router")


def gate_beside_activation(activation: ActivationKind, gated: bool) -> Refusal:
    """The refusal of an activation that needs a gate, without one."""
    if gated or activation != "clamped_swish":
        return None
    return FieldError("feed_forward.gated", gated, must_be("true with the activation 'clamped_swish'"))


class Block(Value, frozen=True):
    """Parts around an attention: norms, residual connections, the feed-forward layer.

    With x the input, A the attention and F the feed-forward layer, either norm omitted if it is null:

        pre:       y = x + A(norm_1(x))             z = y + F(norm_2(y))          (Xiong et al. 2020)
        post:      y = norm_1(x + A(x))             z = norm_2(y + F(y))          (Vaswani et al. 2017)
        sandwich:  y = x + after_1(A(norm_1(x)))    z = y + after_2(F(norm_2(y))) (Ding et al. 2021, Gemma 2)
        parallel:  z = x + A(norm_1(x)) + F(norm_2(x)), F of norm_1(x) where norm_2 is null (GPT-J, GPT-NeoX)

    Without `residual`: y = A(…), z = F(…). What is added to the input of each half is multiplied by
    `residual_scale` before (Granite). `dropout` acts on both outputs, A(…) and F(…), before all else (the
    P_drop of Vaswani et al. 2017, the resid_pdrop of GPT-2).
    """

    where: ClassVar[str] = "block."

    placement: Annotated[
        NormPlacement,
        Field(
            N_("Norm placement"),
            N_("Placement of the norms relative to attention and feed-forward layer"),
            options=(
                (
                    "pre",
                    N_("pre"),
                    N_("x + A(norm(x)): a norm before the attention and before the feed-forward layer"),
                ),
                (
                    "post",
                    N_("post"),
                    N_("norm(x + A(x)): a norm after each residual sum, as in the original transformer"),
                ),
                ("sandwich", N_("sandwich"), N_("x + norm(A(norm(x))): a norm on both sides")),
                ("parallel", N_("parallel"), N_("x + A(norm(x)) + F(norm(x)): both read the same input")),
            ),
        ),
    ] = "pre"
    residual: Annotated[
        bool,
        Field(
            N_("Residual connections"),
            N_("Adds the input to the output of the attention and of the feed-forward layer"),
        ),
    ] = True
    norm_1: Annotated[Norm | None, Field(N_("norm 1"), N_("The norm of the attention"))] = Norm()
    feed_forward: Annotated[
        FeedForward | None,
        Field(
            N_("Feed-forward layer"),
            N_("Two linear maps with an activation between them, applied to each token separately"),
        ),
    ] = None
    norm_2: Annotated[Norm | None, Field(N_("norm 2"), N_("The norm of the feed-forward layer"))] = None
    after_1: Annotated[
        Norm | None,
        Field(N_("post-norm 1"), N_("The norm of the attention's output, before the residual sum")),
    ] = None
    after_2: Annotated[
        Norm | None,
        Field(N_("post-norm 2"), N_("The norm of the feed-forward layer's output, before the residual sum")),
    ] = None
    residual_scale: Annotated[
        float,
        Field(
            N_("Residual factor"),
            N_("Multiplies the outputs of attention and feed-forward layer before they are added"),
            usual=(0, 2),
            typed=(-100, 100),
            digits=3,
            step=0.01,
            normal=1,
        ),
    ] = 1.0
    dropout: Annotated[
        Dropout,
        Field(
            N_("Residual dropout"),
            N_("Sets outputs of attention and feed-forward layer to 0 at random, as in training"),
        ),
    ] = Dropout()

    def check(self) -> None:
        if self.feed_forward is None:
            for name in ("norm_2", "after_2"):
                needs = Message("needs a feed-forward layer")
                require(getattr(self, name) is None, f"block.{name}", self.feed_forward, needs)
        refuse(residual_beside_placement(self.placement, self.residual))
        if self.placement != "sandwich":
            for name in ("after_1", "after_2"):
                needs = Message("needs the placement 'sandwich'")
                require(getattr(self, name) is None, f"block.{name}", self.placement, needs)

    def check_size(self, field: str, d_model: int) -> None:
        """Refuse gains, biases and matrices that do not fit `d_model` features."""
        for name in NORMS:
            norm = getattr(self, name)
            if norm is not None:
                norm.check_size(f"{field}.{name}", d_model)
        if self.feed_forward is not None:
            self.feed_forward.check_size(f"{field}.feed_forward", d_model)


def residual_beside_placement(placement: NormPlacement, residual: bool) -> Refusal:
    """The refusal of a placement that is a sum, without residual connections."""
    if residual or placement != "parallel":
        return None
    return FieldError("block.residual", residual, must_be("true with the placement 'parallel'"))


NORMS = ("norm_1", "after_1", "norm_2", "after_2")
"""The norms of a block by name."""

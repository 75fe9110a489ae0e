"""Experts of a feed-forward layer: their number, the choice of some for a token, and one for all tokens."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from attnviz.core.routing import Choice
from attnviz.errors import FieldError, must_be, whole_number
from attnviz.i18n import N_
from attnviz.model.spec.field import Count, Field, Positive
from attnviz.model.spec.rows import Row, check_row
from attnviz.model.spec.value import Refusal, Value, refuse, require

SharesKind = Literal["softmax", "sigmoid"]
Weighted = Literal["output", "input"]
MOST_EXPERTS = 512


def _count(title: str, hint: str, most: int, normal: int) -> Field:
    """A number of experts or groups; `most` is the end of its slider."""
    return Field(title, hint, usual=(1, most), typed=(1, MOST_EXPERTS), digits=0, normal=normal)


class Experts(Value, frozen=True):
    """A mixture of experts: each token uses the output of some, times the weights of its router.

    The hidden features of the n experts stand side by side, d_hidden each, and behind them those of the
    shared expert, `d_shared`, which every token uses. See `core/routing.py` for the weights.

    Attributes:
        n, n_active: The experts, and how many a token uses.
        shares: From the router's logits to shares.
        normalised: Whether the chosen shares are divided by their sum.
        scale: Multiplies the weights of the routed experts.
        weighted: Whether the weights multiply the experts' outputs, as hidden features, or their inputs
            (Llama 4), as gate and up: G (x W) = (G x) W.
        n_groups, n_active_groups: Groups of equal size from which the experts are chosen; the best of them.
        correction: Added to the shares for the choice alone, one number for each expert.
        d_shared: Hidden features of the expert that all tokens use; 0 without one.
        shared_gate: Whether that one's weight is the sigmoid of a further logit of the router; else it is 1.
        biased: Whether each routed expert's output has a bias: a hidden feature that is 1, times its weight,
            meets a row of W_down behind all others. Only with weighted outputs.
    """

    where: ClassVar[str] = "experts."

    n: Annotated[
        Positive,
        _count(N_("Experts"), N_("Number of feed-forward layers among which the router chooses"), 16, 4),
    ] = 4
    n_active: Annotated[
        Positive, _count(N_("Active experts"), N_("Number of experts that each token uses"), 8, 2)
    ] = 2
    shares: Annotated[
        SharesKind,
        Field(
            N_("Shares"),
            N_("Function from the router's logits to shares of the experts"),
            options=(
                ("softmax", "softmax", N_("Shares that sum to one: Mixtral, Qwen")),
                ("sigmoid", N_("sigmoid"), N_("Each expert by itself: DeepSeek-V3")),
            ),
        ),
    ] = "softmax"
    normalised: Annotated[
        bool, Field(N_("Normalised"), N_("Divides the shares of the chosen experts by their sum"))
    ] = True
    scale: Annotated[
        float,
        Field(
            N_("Routed factor"),
            N_("Multiplies the weights of the routed experts"),
            usual=(0, 4),
            typed=(-100, 100),
            digits=3,
            step=0.01,
            normal=1,
        ),
    ] = 1.0
    n_groups: Annotated[
        Positive,
        _count(N_("Expert groups"), N_("Number of groups into which the experts are divided"), 8, 1),
    ] = 1
    n_active_groups: Annotated[
        Positive,
        _count(N_("Active groups"), N_("Number of groups from which the experts are chosen"), 8, 1),
    ] = 1
    correction: Annotated[
        Row | None,
        Field(N_("Correction"), N_("Added to the shares when experts are chosen, but not to their weights")),
    ] = None
    d_shared: Annotated[
        Count,
        Field(
            N_("Shared hidden features"),
            N_("Width of the expert that every token uses; 0: none"),
            usual=(0, 256),
            typed=(0, 65_536),
            digits=0,
            normal=0,
        ),
    ] = 0
    shared_gate: Annotated[
        bool,
        Field(
            N_("Shared gate"),
            N_("Multiplies the output of the shared expert by the sigmoid of a separate logit"),
        ),
    ] = False
    biased: Annotated[
        bool,
        Field(
            N_("Output biases"), N_("Adds a bias to each expert's output, stored as the last row of W_down")
        ),
    ] = False
    weighted: Annotated[
        Weighted,
        Field(
            N_("Weights multiply"),
            N_("The weights of experts multiply their outputs or their inputs"),
            options=(
                ("output", N_("output"), N_("Each expert's output: Mixtral, Qwen, DeepSeek")),
                ("input", N_("input"), N_("Each expert's input, before the activation: Llama 4")),
            ),
        ),
    ] = "output"

    def check(self) -> None:
        require(self.n <= MOST_EXPERTS, "experts.n", self.n, whole_number(1, MOST_EXPERTS))
        divides = self.n % self.n_groups == 0
        require(divides, "experts.n_groups", self.n_groups, must_be("a divisor of n ({n})", n=self.n))
        groups = whole_number(1, self.n_groups)
        require(
            self.n_active_groups <= self.n_groups, "experts.n_active_groups", self.n_active_groups, groups
        )
        most = self.n_active_groups * (self.n // self.n_groups)
        require(self.n_active <= most, "experts.n_active", self.n_active, whole_number(1, most))
        of_outputs = self.weighted == "output" or not self.biased
        require(of_outputs, "experts.biased", self.biased, must_be("false with weighted inputs"))
        refuse(gate_beside_shared(self.d_shared, self.shared_gate))

    def check_size(self, field: str) -> None:
        """Refuse a correction that is not one number for each expert."""
        check_row(f"{field}.correction", self.correction, self.n)

    @property
    def choice(self) -> Choice:
        """The rule by which a token's experts are chosen."""
        return Choice(self.n_active, self.n_groups, self.n_active_groups)

    @property
    def n_columns(self) -> int:
        """Logits and weights of a token: one for each expert, and for the shared one with a gate."""
        return self.n + self.shared_gate

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: the numbers of the experts from 1, and a plus for the shared one."""
        return (*(str(index + 1) for index in range(self.n)), "+")[: self.n_columns]


def gate_beside_shared(d_shared: int, shared_gate: bool) -> Refusal:
    """The refusal of a gate of the shared expert, without that expert."""
    if d_shared > 0 or not shared_gate:
        return None
    return FieldError("experts.shared_gate", shared_gate, must_be("false without a shared expert"))

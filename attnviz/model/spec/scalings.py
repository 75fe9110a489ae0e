"""The scalings of RoPE: the ways in which its frequencies are changed for longer texts.

Each is a frozen struct that cannot hold an invalid value; its arithmetic is a row of `model/scalings.py`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec.structs import replace

from attnviz.errors import FieldError, Message, must_be, of_length, whole_number
from attnviz.i18n import N_
from attnviz.model.spec.bounds import Positive
from attnviz.model.spec.field import Field
from attnviz.model.spec.value import Refusal, Value, require

__all__ = [
    "DynamicNtk",
    "LinearScaling",
    "Llama3Scaling",
    "LongRope",
    "NoScaling",
    "Yarn",
]

_FACTOR = Field(
    N_("Factor"),
    N_("Ratio of the extended to the trained length"),
    least=1,
    usual=(1, 64),
    typed=(1, 1e4),
    logarithmic=True,
    normal=2,
)
_ORIGINAL = Field(
    N_("Original length"), N_("Sequence length that the model was trained on"), typed=(2, 2**31 - 1)
)
_MADE_FOR = Field(N_("Length"), N_("Sequence length that the frequencies are computed for"))
_MAGNITUDE = Field(
    N_("Attention factor"),
    N_("Multiplier of cosines and sines"),
    above=0,
    typed=(0.01, 100),
    digits=3,
    step=0.005,
)


class Stretch(Value, frozen=True):
    """Interface of every scaling; most fit any base and any number of pairs."""

    @classmethod
    def beside_base(cls, base: float) -> Refusal:
        """The refusal of a base that no scaling of this kind can have."""
        return None

    def check_pairs(self, count: int) -> None:
        """Refuse a scaling with numbers for more than `count` pairs."""

    def cut_to(self, count: int) -> Stretch:
        """The scaling of a rotation of `count` pairs."""
        return self


class NoScaling(Stretch, frozen=True, tag_field="kind", tag="none"):
    """Frequencies of the unchanged base."""


class LinearScaling(Stretch, frozen=True, tag_field="kind", tag="linear"):
    """Position interpolation: every frequency divided by `factor`."""

    where: ClassVar[str] = "position.scaling."

    factor: Annotated[float, _FACTOR] = 2.0


class DynamicNtk(Stretch, frozen=True, tag_field="kind", tag="dynamic_ntk"):
    """A base that grows once the sequence is longer than `original_length`.

    `length` is the sequence length of the frequencies; None: the last position of this experiment, plus one.
    All tokens are rotated with the same frequencies. A cache holds rotated keys, so decoding past the
    document's tokens fixes `length` at its end, and equals the full pass; a program that recomputes
    frequencies while its cache grows leaves old keys with the old ones.
    """

    where: ClassVar[str] = "position.scaling."

    factor: Annotated[float, _FACTOR] = 2.0
    original_length: Annotated[Positive, _ORIGINAL] = 2048
    length: Annotated[Positive | None, _MADE_FOR] = None


class Yarn(Stretch, frozen=True, tag_field="kind", tag="yarn"):
    """Fast pairs unchanged, slow ones divided by `factor`, a ramp between; cosines and sines scaled up.

    Pairs with more than `beta_fast` rotations over `original_length` are fast, below `beta_slow` slow.
    Cosines and sines are multiplied by `attention_factor`, so q and k grow by it and scores by its square;
    None: 0.1 ln(factor) + 1. The ramp's ends are rounded outwards to whole pairs, unless `truncate` is false,
    as in GPT-OSS.
    """

    where: ClassVar[str] = "position.scaling."

    factor: Annotated[float, _FACTOR] = 4.0
    original_length: Annotated[Positive, _ORIGINAL] = 2048
    beta_fast: Annotated[
        float,
        Field(
            N_("β fast, turns"),
            N_("Pairs that rotate more often over the original length keep their frequency"),
            step=0.5,
        ),
    ] = 32.0
    beta_slow: Annotated[
        float,
        Field(
            N_("β slow, turns"),
            N_("The factor divides the frequency of pairs that rotate less often over the original length"),
            least=1e-6,
            below=1e6,
            step=0.05,
        ),
    ] = 1.0
    attention_factor: Annotated[float | None, _MAGNITUDE] = None
    truncate: Annotated[
        bool,
        Field(
            N_("whole-pair ramp"),
            N_("Rounds the ends of the ramp outwards to whole pairs; off, as in GPT-OSS: exact ends"),
        ),
    ] = True

    def check(self) -> None:
        slow, fast = self.beta_slow, self.beta_fast
        above = must_be(
            "a number above {least} and of at most {most}", least=f"beta_slow ({slow:g})", most="1e6"
        )
        require(slow < fast <= 1e6, f"{self.where}beta_fast", fast, above)

    @classmethod
    def beside_base(cls, base: float) -> Refusal:
        return None if base > 1 else FieldError("position.base", base, must_be("a number above 1 with YaRN"))


class Llama3Scaling(Stretch, frozen=True, tag_field="kind", tag="llama3"):
    """Llama 3.1: pairs of few rotations over `original_length` divided by `factor`, those of many unchanged.

    Few is less than `low_freq_factor` rotations, many is more than `high_freq_factor`; between, a mixture.
    """

    where: ClassVar[str] = "position.scaling."

    factor: Annotated[float, _FACTOR] = 8.0
    low_freq_factor: Annotated[
        float,
        Field(
            N_("Low-frequency turns"),
            N_("The factor divides the frequency of pairs that rotate less often over the original length"),
            above=0,
            step=0.05,
        ),
    ] = 1.0
    high_freq_factor: Annotated[
        float,
        Field(
            N_("High-frequency turns"),
            N_("Pairs that rotate more often over the original length keep their frequency"),
            step=0.05,
        ),
    ] = 4.0
    original_length: Annotated[Positive, _ORIGINAL] = 8192

    def check(self) -> None:
        low, high = self.low_freq_factor, self.high_freq_factor
        above = must_be("a finite number above {least}", least=f"low_freq_factor ({low:g})")
        require(high > low, f"{self.where}high_freq_factor", high, above)


def _divisor(title: str) -> Field:
    return Field(
        title,
        N_("Divisor of the slowest pair; the faster pairs follow in equal ratios, from 1 on"),
        above=0,
        usual=(1, 64),
        typed=(1e-3, 1e4),
        logarithmic=True,
        normal=1,
    )


class LongRope(Stretch, frozen=True, tag_field="kind", tag="longrope"):
    """A divisor for each pair: of `long_factor` past the original length, of `short_factor` up to it.

    Missing divisors are 1. Cosines and sines are multiplied by `attention_factor`; None:
    sqrt(1 + ln(factor) / ln(original_length)), where `factor` is the ratio of the extended to the original
    length. `length` is the sequence length that chooses the list; see `DynamicNtk`. Ding et al. 2024 (arXiv
    2402.13753), as Phi-3 has it (`su`).
    """

    where: ClassVar[str] = "position.scaling."

    factor: Annotated[float, _FACTOR] = 4.0
    short_factor: Annotated[tuple[float, ...], _divisor(N_("Short divisor"))] = ()
    long_factor: Annotated[tuple[float, ...], _divisor(N_("Long divisor"))] = ()
    original_length: Annotated[Positive, _ORIGINAL] = 2048
    attention_factor: Annotated[float | None, _MAGNITUDE] = None
    length: Annotated[Positive | None, _MADE_FOR] = None

    def check(self) -> None:
        length = self.original_length
        require(length >= 2, f"{self.where}original_length", length, whole_number(2))

    def check_pairs(self, count: int) -> None:
        at_most = Message("must have length {n} or less, one number for each rotated pair", n=count)
        for name in ("short_factor", "long_factor"):
            count_given = len(getattr(self, name))
            require(count_given <= count, f"{self.where}{name}", of_length(count_given), at_most)

    def cut_to(self, count: int) -> LongRope:
        short, long = self.short_factor[:count], self.long_factor[:count]
        return replace(self, short_factor=short, long_factor=long)


Scaling = NoScaling | LinearScaling | DynamicNtk | Yarn | Llama3Scaling | LongRope

"""`REFUSED`: model types that are known and cannot be computed, with the part that is missing."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.errors import FieldError, Message, must_be, quoted
from attnviz.i18n import N_


@dataclass(frozen=True)
class Refused:
    """Model types; `part` (a message) is what an experiment lacks for them, `kin` a type that it has."""

    model_types: tuple[str, ...]
    part: str
    kin: str


_EXPERTS = N_("another routing rule for experts")
_PIXELS = N_("image patches as tokens")
_SOUND = N_("convolutions over sound")
_STATE = N_("a recurrent state in place of attention")

REFUSED: tuple[Refused, ...] = (
    Refused(("phimoe", "granitemoe"), _EXPERTS, "mixtral"),
    Refused(("mamba", "mamba2", "rwkv", "jamba"), _STATE, "llama"),
    Refused(("gemma3",), _PIXELS, "gemma3_text"),
    Refused(("llama4",), _PIXELS, "llama4_text"),
    Refused(("wav2vec2",), _SOUND, "whisper"),
)


def check_known(model_type: object) -> None:
    """Raise `FieldError` for a type of the table: the part that is missing, and the nearest type."""
    for row in REFUSED:
        if model_type in row.model_types:
            without = must_be(
                "a type without {part}, such as {kin}", part=Message(row.part), kin=quoted(row.kin)
            )
            raise FieldError("model_type", model_type, without)

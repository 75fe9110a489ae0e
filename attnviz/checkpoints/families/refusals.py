"""`REFUSED`: model types that cannot be computed, with the part that is missing.

`SIGNS` tell the part of a type that the table lacks, by the configuration's keys and the tensors' names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.errors import NOTHING, FieldError, Message, must_be, quoted
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
_STATES = N_("a recurrent state in place of attention in some layers")
_SHORT = N_("short convolutions in place of attention in some layers")
_SELECTED = N_("a learned selection of the keys")
_BLOCKS = N_("attention to blocks of keys and to global tokens")
_BEFORE = N_("norms before each half of a block")
_SHARED = N_("keys and values that several layers share")
_CONVOLUTIONS = N_("convolutions in place of attention")
_STAGES = N_("stages of several resolutions")
_WINDOWS = N_("windows of patches")
_PLANE = N_("rotary positions in two directions")
_PATCHES = N_("relative positions of patches")
_PAGE = N_("positions on a page")

REFUSED: tuple[Refused, ...] = (
    Refused(("phimoe", "granitemoe", "granitemoeshared"), _EXPERTS, "mixtral"),
    Refused(("mamba", "mamba2", "rwkv", "falcon_mamba", "xlstm"), _STATE, "llama"),
    Refused(
        tuple(
            "jamba bamba zamba zamba2 nemotron_h falcon_h1 granitemoehybrid olmo_hybrid minimax kimi_linear "
            "recurrent_gemma qwen3_5_text qwen3_5_moe_text".split()
        ),
        _STATES,
        "llama",
    ),
    Refused(("lfm2", "lfm2_moe"), _SHORT, "llama"),
    Refused(("deepseek_v32", "glm_moe_dsa"), _SELECTED, "deepseek_v3"),
    Refused(("gemma3n_text", "gemma4_text"), _SHARED, "gemma3_text"),
    Refused(("olmo",), N_("norms that lack gains"), "llama"),
    Refused(("apertus",), N_("the activation xIELU"), "llama"),
    Refused(("bitnet",), N_("weights of three values"), "llama"),
    Refused(("gemma3",), _PIXELS, "gemma3_text"),
    Refused(("llama4",), _PIXELS, "llama4_text"),
    Refused(("mllama",), N_("cross-attention to an image in some layers"), "llama"),
    Refused(("longformer", "big_bird"), _BLOCKS, "roberta"),
    Refused(("led", "bigbird_pegasus", "pegasus_x"), _BLOCKS, "bart"),
    Refused(("longt5",), _BLOCKS, "t5"),
    Refused(("reformer", "yoso"), N_("attention to the keys of a hash bucket"), "bert"),
    Refused(("nystromformer", "mra"), N_("an approximation of softmax"), "bert"),
    Refused(("fnet",), N_("Fourier transforms in place of attention"), "bert"),
    Refused(("funnel",), N_("queries that are pooled between layers"), "bert"),
    Refused(("convbert",), N_("convolutions beside the heads"), "bert"),
    Refused(("squeezebert",), N_("convolutions in place of projections"), "bert"),
    Refused(("mobilebert",), N_("bottlenecks around each layer"), "bert"),
    Refused(("megatron-bert",), _BEFORE, "bert"),
    Refused(("roberta-prelayernorm", "xlm-roberta-xl"), _BEFORE, "roberta"),
    Refused(("layoutlm",), _PAGE, "bert"),
    Refused(("layoutlmv3",), _PAGE, "roberta"),
    Refused(("tapas",), N_("positions in a table"), "bert"),
    Refused(("luke",), N_("entities beside words"), "roberta"),
    Refused(("xmod",), N_("adapters for each language"), "roberta"),
    Refused(("ibert",), N_("whole numbers in place of floats"), "roberta"),
    Refused(("mbart", "m2m_100", "pegasus", "blenderbot"), _BEFORE, "bart"),
    Refused(("prophetnet",), N_("several streams of predicted tokens"), "bart"),
    Refused(("umt5",), N_("relative positions of its own in each layer"), "t5"),
    Refused(("switch_transformers",), _EXPERTS, "t5"),
    Refused(
        ("wav2vec2", "hubert", "wavlm", "speech_to_text", "seamless_m4t", "seamless_m4t_v2"),
        _SOUND,
        "whisper",
    ),
    Refused(
        tuple("convnext convnextv2 resnet regnet mobilenet_v1 mobilenet_v2 bit textnet efficientnet".split()),
        _CONVOLUTIONS,
        "vit",
    ),
    Refused(("poolformer",), N_("pooling in place of attention"), "vit"),
    Refused(("focalnet",), N_("focal modulation in place of attention"), "vit"),
    Refused(
        tuple(
            "swin swinv2 hiera segformer pvt pvt_v2 cvt levit mobilevit mobilevitv2 swiftformer "
            "sam2_vision_model".split()
        ),
        _STAGES,
        "vit",
    ),
    Refused(("sam_vision_model", "sam_hq_vision_model"), _WINDOWS, "vit"),
    Refused(("dinov2_with_registers",), N_("register tokens"), "dinov2"),
    Refused(("dinov3_vit",), _PLANE, "dinov2"),
    Refused(("pixtral", "qwen2_5_vl_vision", "qwen3_vl_vision", "qwen3_vl_moe_vision"), _PLANE, "vit"),
    Refused(
        ("siglip2", "siglip2_vision_model"), N_("images of any number of patches"), "siglip_vision_model"
    ),
    Refused(("deit",), N_("a second learned token"), "vit"),
    Refused(("beit", "data2vec-vision"), _PATCHES, "vit"),
    Refused(("videomae",), N_("patches over time"), "vit"),
    Refused(("yolos",), N_("learned tokens for objects"), "vit"),
)

Names = Collection[str]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Sign:
    """A part that an experiment lacks; `is_there(config, names)` is true of models that show it."""

    part: str
    is_there: Callable[[Config, Names], bool]
    kin: str = ""


def _has_key(pattern: str) -> Callable[[Config, Names], bool]:
    return lambda config, names: any(re.match(pattern, key) for key in config)


def _has_name(pattern: str, names: Names) -> bool:
    return any(re.search(pattern, name) for name in names)


_ATTENTION = r"attn|attention|q_proj|query|qkv|\.SelfAttention\."
_RECURRENT = r"\.(A_log|dt_bias|dt_proj|mamba\w*|ssm\w*|linear_attn|rg_lru|time_mix\w*)\b"


def _has_states(config: Config, names: Names) -> bool:
    return _has_name(_RECURRENT, names) or _has_key(r"(mamba|ssm|rwkv|lru|linear_num)_")(config, names)


def _is_recurrent(config: Config, names: Names) -> bool:
    return bool(names) and not _has_name(_ATTENTION, names) and _has_states(config, names)


def _is_convolution(config: Config, names: Names) -> bool:
    return bool(names) and not _has_name(_ATTENTION, names) and _has_name(r"conv", names)


SIGNS: tuple[Sign, ...] = (
    Sign(_PIXELS, _has_key(r"(vision|visual|vit|image)_(config|model|encoder)$")),
    Sign(_SOUND, _has_key(r"(audio|speech|sound)_(config|encoder)$"), "whisper"),
    Sign(_STATE, _is_recurrent),
    Sign(_STATES, _has_states),
    Sign(_SHORT, _has_key(r"conv_L_cache$")),
    Sign(_CONVOLUTIONS, _is_convolution, "vit"),
)
"""In the order in which they are tried, before the names of the tensors alone decide."""


@dataclass(frozen=True)
class Kin:
    """The type nearest to a model by its tensors.

    `fits` if all names and shapes are its own; otherwise `other` is a name that it lacks, or empty.
    """

    model_type: str
    fits: bool = False
    other: str = ""


def refusal(config: Config, names: Names, nearest: Callable[[], Kin]) -> FieldError:
    """The error of a type without a family: the part that is missing, and the nearest type.

    `names` are those of the tensors; `nearest` computes the type that fits them best, if nothing else tells.
    """
    wanted = config.get("model_type")
    value = NOTHING if wanted is None else wanted
    for row in REFUSED:
        if wanted in row.model_types:
            return _lacking(value, row.part, row.kin)
    part = next((sign for sign in SIGNS if sign.is_there(config, names)), None)
    if part is not None:
        return _lacking(value, part.part, part.kin or nearest().model_type)
    kin = nearest()
    named = quoted(kin.model_type)
    if kin.fits:
        needed = must_be(
            "a type whose computation is known: names and shapes of the tensors are those of {kin}, "
            "but its computation may differ",
            kin=named,
        )
    elif _has_name(r"\bexperts\b", names):
        return _lacking(value, N_("experts of another kind"), kin.model_type)
    elif kin.other:
        needed = must_be(
            "a type whose computation is known, such as {kin}, the nearest one, which has no tensor {name}",
            kin=named,
            name=quoted(kin.other),
        )
    elif names:
        needed = must_be(
            "a type whose computation is known, such as {kin}, the nearest one by the names of its tensors, "
            "but not by their shapes or the keys",
            kin=named,
        )
    else:
        needed = must_be("a type whose computation is known, such as {kin}", kin=named)
    return FieldError("model_type", value, needed)


def _lacking(value: object, part: str, kin: str) -> FieldError:
    without = must_be("a type without {part}, such as {kin}", part=Message(part), kin=quoted(kin))
    return FieldError("model_type", value, without)

"""`PUBLISHED`: shapes of published models, each with its source and a published figure to check it.

Values are those of the configuration distributed with the weights, or of the paper's table if no weights were
published. `parameters` is the exact count of the distributed tensors, None if it cannot be verified; `stated`
is the authors' figure, in billions, as they round it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.core.cost.architecture import Architecture, Experts, Latent, Learned
from attnviz.i18n import N_


@dataclass(frozen=True)
class Published:
    """One published model. `source` names configuration and paper; `note` (a message) the omitted parts.

    `known_best`: one of the few that stand in sight, beside the list of all.
    """

    id: str
    name: str
    architecture: Architecture
    source: str
    parameters: int | None
    stated: str
    note: str = ""
    known_best: bool = False


_LLAMA_3_8B = Architecture(
    layers=32,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_head=128,
    d_ff=14_336,
    gated=True,
    vocabulary=128_256,
    norms_per_layer=2,
    context=8192,
)
_LLAMA_3_70B = replace(_LLAMA_3_8B, layers=80, d_model=8192, n_heads=64, d_ff=28_672)
_LLAMA_3_405B = replace(_LLAMA_3_8B, layers=126, d_model=16_384, n_heads=128, d_ff=53_248)
_LLAMA_3 = "Grattafiori et al. 2024, arXiv 2407.21783"

_QWEN_3_8B = Architecture(
    layers=36,
    d_model=4096,
    n_heads=32,
    n_kv_heads=8,
    d_head=128,
    d_ff=12_288,
    gated=True,
    vocabulary=151_936,
    norms_per_layer=2,
    context=40_960,
    of_layer=(Learned(N_("norms of queries and keys"), (128, 128)),),
)
_QWEN_3 = "Yang et al. 2025, arXiv 2505.09388"


def _gpt_oss(layers: int, n_experts: int) -> Architecture:
    """The shape of both models: windows in every second layer, a sink for each head, biases everywhere."""
    d_model, n_heads, n_kv_heads, d_head = 2880, 64, 8, 64
    of_attention = (n_heads + 2 * n_kv_heads) * d_head + d_model
    return Architecture(
        layers=layers,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        gated=True,
        vocabulary=201_088,
        norms_per_layer=2,
        context=131_072,
        window=128,
        windowed_layers=layers // 2,
        experts=Experts(n_routed=n_experts, n_active=4, n_shared=0, d_expert=2880, router_bias=True),
        of_layer=(
            Learned(N_("biases"), (of_attention, n_experts * 3 * 2880)),
            Learned(N_("sinks"), (n_heads,)),
        ),
    )


_GPT_OSS = "OpenAI 2025, arXiv 2508.10925, table 1"
_IN_FOUR_BITS = N_("The experts are distributed in 4 bits (MXFP4); here they have the chosen format.")

PUBLISHED: tuple[Published, ...] = (
    Published(
        "gpt2",
        "GPT-2 small",
        Architecture(
            layers=12,
            d_model=768,
            n_heads=12,
            n_kv_heads=12,
            d_head=64,
            d_ff=3072,
            vocabulary=50_257,
            tied=True,
            biases=True,
            norm="layer",
            norms_per_layer=2,
            n_positions=1024,
            context=1024,
        ),
        "config.json, openai-community/gpt2; Radford et al. 2019",
        124_439_808,
        "0.124",
        N_("The paper says 117M; the distributed tensors have 124M."),
        known_best=True,
    ),
    Published(
        "gpt3",
        "GPT-3 175B",
        Architecture(
            layers=96,
            d_model=12_288,
            n_heads=96,
            n_kv_heads=96,
            d_head=128,
            d_ff=49_152,
            vocabulary=50_257,
            tied=True,
            biases=True,
            norm="layer",
            norms_per_layer=2,
            n_positions=2048,
            context=2048,
        ),
        "Brown et al. 2020, arXiv 2005.14165, table 2.1",
        None,
        "175.0",
        N_(
            "Every second layer is locally banded; the paper gives no bandwidth, so all are counted dense. "
            "Vocabulary, biases and tying as in GPT-2, which the paper says it follows."
        ),
    ),
    Published(
        "llama-2-7b",
        "Llama-2-7B",
        Architecture(
            layers=32,
            d_model=4096,
            n_heads=32,
            n_kv_heads=32,
            d_head=128,
            d_ff=11_008,
            gated=True,
            vocabulary=32_000,
            norms_per_layer=2,
            context=4096,
        ),
        "config.json, meta-llama/Llama-2-7b-hf; Touvron et al. 2023, arXiv 2307.09288",
        6_738_415_616,
        "6.7",
    ),
    Published(
        "llama-2-70b",
        "Llama-2-70B",
        Architecture(
            layers=80,
            d_model=8192,
            n_heads=64,
            n_kv_heads=8,
            d_head=128,
            d_ff=28_672,
            gated=True,
            vocabulary=32_000,
            norms_per_layer=2,
            context=4096,
        ),
        "config.json, meta-llama/Llama-2-70b-hf; Touvron et al. 2023, arXiv 2307.09288",
        68_976_648_192,
        "69",
        N_("Files that hold 5,120 more store the frequencies of RoPE, which are not learned."),
    ),
    Published(
        "llama-3-8b",
        "Llama-3-8B",
        _LLAMA_3_8B,
        f"config.json, meta-llama/Meta-Llama-3-8B; {_LLAMA_3}",
        8_030_261_248,
        "8.0",
        known_best=True,
    ),
    Published(
        "llama-3-70b",
        "Llama-3-70B",
        _LLAMA_3_70B,
        f"config.json, meta-llama/Meta-Llama-3-70B; {_LLAMA_3}",
        70_553_706_496,
        "70",
        known_best=True,
    ),
    Published(
        "llama-3.1-8b",
        "Llama-3.1-8B",
        replace(_LLAMA_3_8B, context=131_072),
        f"config.json, meta-llama/Llama-3.1-8B; {_LLAMA_3}",
        8_030_261_248,
        "8.0",
    ),
    Published(
        "llama-3.1-70b",
        "Llama-3.1-70B",
        replace(_LLAMA_3_70B, context=131_072),
        f"config.json, meta-llama/Llama-3.1-70B; {_LLAMA_3}",
        70_553_706_496,
        "70",
    ),
    Published(
        "llama-3.1-405b",
        "Llama-3.1-405B",
        replace(_LLAMA_3_405B, context=131_072),
        f"config.json, meta-llama/Llama-3.1-405B; {_LLAMA_3}",
        405_853_388_800,
        "405",
    ),
    Published(
        "qwen3-8b",
        "Qwen3-8B",
        _QWEN_3_8B,
        f"config.json, Qwen/Qwen3-8B; {_QWEN_3}",
        8_190_735_360,
        "8.2",
    ),
    Published(
        "qwen3-32b",
        "Qwen3-32B",
        replace(_QWEN_3_8B, layers=64, d_model=5120, n_heads=64, d_ff=25_600),
        f"config.json, Qwen/Qwen3-32B; {_QWEN_3}",
        32_762_123_264,
        "32.8",
    ),
    Published(
        "qwen3-30b-a3b",
        "Qwen3-30B-A3B",
        replace(
            _QWEN_3_8B,
            layers=48,
            d_model=2048,
            n_kv_heads=4,
            d_ff=6144,
            experts=Experts(n_routed=128, n_active=8, n_shared=0, d_expert=768),
        ),
        f"config.json, Qwen/Qwen3-30B-A3B; {_QWEN_3}",
        30_532_122_624,
        "30.5",
    ),
    Published(
        "qwen3-235b-a22b",
        "Qwen3-235B-A22B",
        replace(
            _QWEN_3_8B,
            layers=94,
            n_heads=64,
            n_kv_heads=4,
            experts=Experts(n_routed=128, n_active=8, n_shared=0, d_expert=1536),
        ),
        f"config.json, Qwen/Qwen3-235B-A22B; {_QWEN_3}",
        235_093_634_560,
        "235",
    ),
    Published(
        "mistral-7b",
        "Mistral-7B",
        Architecture(
            layers=32,
            d_model=4096,
            n_heads=32,
            n_kv_heads=8,
            d_head=128,
            d_ff=14_336,
            gated=True,
            vocabulary=32_000,
            norms_per_layer=2,
            context=32_768,
            window=4096,
            windowed_layers=32,
        ),
        "config.json, mistralai/Mistral-7B-v0.1; Jiang et al. 2023, arXiv 2310.06825",
        7_241_732_096,
        "7.2",
    ),
    Published(
        "gemma-2-9b",
        "Gemma-2-9B",
        Architecture(
            layers=42,
            d_model=3584,
            n_heads=16,
            n_kv_heads=8,
            d_head=256,
            d_ff=14_336,
            gated=True,
            vocabulary=256_000,
            tied=True,
            norms_per_layer=4,
            context=8192,
            window=4096,
            windowed_layers=21,
        ),
        "config.json, google/gemma-2-9b; Gemma Team 2024, arXiv 2408.00118, table 1",
        9_241_705_984,
        "9.2",
        N_("Layers with and without a window of 4,096 alternate; four norms in each layer."),
    ),
    Published(
        "gemma-3-27b",
        "Gemma-3-27B",
        Architecture(
            layers=62,
            d_model=5376,
            n_heads=32,
            n_kv_heads=16,
            d_head=128,
            d_ff=21_504,
            gated=True,
            vocabulary=262_208,
            tied=True,
            norms_per_layer=4,
            context=131_072,
            window=1024,
            windowed_layers=52,
            of_layer=(Learned(N_("norms of queries and keys"), (128, 128)),),
        ),
        "config.json, google/gemma-3-27b-pt; Gemma Team 2025, arXiv 2503.19786",
        27_009_346_304,
        "27",
        N_(
            "Every sixth layer has no window. Without the image encoder and its projection (423,060,336 "
            "parameters more)."
        ),
    ),
    Published(
        "gpt-oss-20b",
        "gpt-oss-20b",
        _gpt_oss(24, 32),
        f"config.json, openai/gpt-oss-20b; {_GPT_OSS}",
        20_914_757_184,
        "20.91",
        _IN_FOUR_BITS,
    ),
    Published(
        "gpt-oss-120b",
        "gpt-oss-120b",
        _gpt_oss(36, 128),
        f"config.json, openai/gpt-oss-120b; {_GPT_OSS}",
        116_829_156_672,
        "116.83",
        _IN_FOUR_BITS,
    ),
    Published(
        "deepseek-v3",
        "DeepSeek-V3",
        Architecture(
            layers=61,
            d_model=7168,
            n_heads=128,
            n_kv_heads=128,
            d_head=128,
            d_ff=18_432,
            gated=True,
            vocabulary=129_280,
            norms_per_layer=2,
            context=131_072,
            latent=Latent(d_c=512, d_rope=64, d_nope=128, d_v=128, d_q_c=1536),
            experts=Experts(
                n_routed=256, n_active=8, n_shared=1, d_expert=2048, dense_layers=3, router_bias=True
            ),
        ),
        "config.json, deepseek-ai/DeepSeek-V3; DeepSeek-AI 2024, arXiv 2412.19437",
        671_026_419_200,
        "671",
        N_(
            "Without the module that predicts a second token (11.5 billion more) and the scales of the "
            "8-bit weights."
        ),
        known_best=True,
    ),
    Published(
        "smollm2-135m",
        "SmolLM2-135M",
        Architecture(
            layers=30,
            d_model=576,
            n_heads=9,
            n_kv_heads=3,
            d_head=64,
            d_ff=1536,
            gated=True,
            vocabulary=49_152,
            tied=True,
            norms_per_layer=2,
            context=8192,
        ),
        "config.json, HuggingFaceTB/SmolLM2-135M; Allal et al. 2025, arXiv 2502.02737",
        134_515_008,
        "0.135",
    ),
)

PUBLISHED_BY_ID = {model.id: model for model in PUBLISHED}

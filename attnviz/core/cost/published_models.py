"""`PUBLISHED`: shapes of published models, each with its source and a published figure to check it.

Values are those of the configuration distributed with the weights, or of the paper's table if no weights were
published. `parameters` is the exact count of the distributed tensors, None if it cannot be verified; `stated`
is the authors' figure, in billions, as they round it.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.core.cost.architecture import Architecture, Experts, Latent
from attnviz.i18n import N_


@dataclass(frozen=True)
class Published:
    """One published model. `source` names configuration and paper; `note` (a message) the omitted parts."""

    id: str
    name: str
    architecture: Architecture
    source: str
    parameters: int | None
    stated: str
    note: str = ""


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
        Architecture(
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
        ),
        "config.json, meta-llama/Meta-Llama-3-8B; Grattafiori et al. 2024, arXiv 2407.21783",
        8_030_261_248,
        "8.0",
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

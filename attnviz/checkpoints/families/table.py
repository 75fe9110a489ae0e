"""`FAMILIES`: the kinds of checkpoints that can be imported, one table each, in a module of its own."""

from __future__ import annotations

from attnviz.checkpoints.families.albert import ALBERT
from attnviz.checkpoints.families.bart import BART, MARIAN
from attnviz.checkpoints.families.bert import BERT, ELECTRA, ROBERTA
from attnviz.checkpoints.families.bloom import BLOOM
from attnviz.checkpoints.families.clip import CLIP_TEXT, CLIP_VISION, SIGLIP_TEXT, SIGLIP_VISION
from attnviz.checkpoints.families.cohere import COHERE, COHERE2
from attnviz.checkpoints.families.deberta_v2 import DEBERTA_V2
from attnviz.checkpoints.families.deepseek import DEEPSEEK_V2, DEEPSEEK_V3
from attnviz.checkpoints.families.distilbert import DISTILBERT
from attnviz.checkpoints.families.experts import MIXTRAL, OLMOE, QWEN2_MOE, QWEN3_MOE, QWEN3_NEXT
from attnviz.checkpoints.families.falcon import FALCON
from attnviz.checkpoints.families.family import Family
from attnviz.checkpoints.families.gemma import GEMMA, GEMMA2, GEMMA3
from attnviz.checkpoints.families.glm import GLM, GLM4
from attnviz.checkpoints.families.gpt2 import GPT2, GPT_BIGCODE
from attnviz.checkpoints.families.gpt_neo import GPT_NEO
from attnviz.checkpoints.families.gpt_neox import GPT_NEOX
from attnviz.checkpoints.families.gpt_oss import GPT_OSS
from attnviz.checkpoints.families.gptj import GPTJ
from attnviz.checkpoints.families.llama import DIFFLLAMA, GRANITE, LLAMA, MISTRAL, OLMO2, SMOLLM3
from attnviz.checkpoints.families.llama4 import LLAMA4
from attnviz.checkpoints.families.modernbert import MODERNBERT
from attnviz.checkpoints.families.mpt import MPT
from attnviz.checkpoints.families.nemotron import ARCEE, NEMOTRON
from attnviz.checkpoints.families.opt import OPT
from attnviz.checkpoints.families.phi import PHI, PHI3
from attnviz.checkpoints.families.qwen import QWEN2, QWEN3
from attnviz.checkpoints.families.stablelm import STABLELM
from attnviz.checkpoints.families.starcoder2 import STARCODER2
from attnviz.checkpoints.families.t5 import T5, T5_ENCODER
from attnviz.checkpoints.families.vit import DINOV2, VIT
from attnviz.checkpoints.families.whisper import WHISPER
from attnviz.checkpoints.families.xlnet import XLNET

FAMILIES: tuple[Family, ...] = (
    GPT2,
    LLAMA,
    LLAMA4,
    DIFFLLAMA,
    MISTRAL,
    QWEN2,
    QWEN3,
    MIXTRAL,
    QWEN2_MOE,
    QWEN3_MOE,
    QWEN3_NEXT,
    OLMOE,
    GEMMA,
    GEMMA2,
    GEMMA3,
    PHI,
    PHI3,
    STABLELM,
    STARCODER2,
    SMOLLM3,
    GRANITE,
    OLMO2,
    NEMOTRON,
    ARCEE,
    COHERE,
    COHERE2,
    GLM,
    GLM4,
    FALCON,
    MPT,
    GPT_BIGCODE,
    GPT_NEO,
    OPT,
    GPT_NEOX,
    GPTJ,
    GPT_OSS,
    BLOOM,
    DEEPSEEK_V2,
    DEEPSEEK_V3,
    BERT,
    ROBERTA,
    DISTILBERT,
    ELECTRA,
    ALBERT,
    MODERNBERT,
    CLIP_TEXT,
    CLIP_VISION,
    VIT,
    DINOV2,
    SIGLIP_TEXT,
    SIGLIP_VISION,
    WHISPER,
    DEBERTA_V2,
    XLNET,
    T5_ENCODER,
    T5,
    BART,
    MARIAN,
)

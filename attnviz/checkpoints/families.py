"""`FAMILIES`: the kinds of checkpoints that can be imported, one table each, in a module of its own."""

from __future__ import annotations

from attnviz.checkpoints.family import Family
from attnviz.checkpoints.family_bert import BERT
from attnviz.checkpoints.family_bloom import BLOOM
from attnviz.checkpoints.family_deberta_v2 import DEBERTA_V2
from attnviz.checkpoints.family_deepseek import DEEPSEEK_V2, DEEPSEEK_V3
from attnviz.checkpoints.family_gemma2 import GEMMA2
from attnviz.checkpoints.family_gpt2 import GPT2
from attnviz.checkpoints.family_gpt_neox import GPT_NEOX
from attnviz.checkpoints.family_gpt_oss import GPT_OSS
from attnviz.checkpoints.family_gptj import GPTJ
from attnviz.checkpoints.family_llama import LLAMA, MISTRAL
from attnviz.checkpoints.family_t5 import T5

FAMILIES: tuple[Family, ...] = (
    GPT2,
    LLAMA,
    MISTRAL,
    GEMMA2,
    GPT_NEOX,
    GPTJ,
    GPT_OSS,
    BLOOM,
    DEEPSEEK_V2,
    DEEPSEEK_V3,
    BERT,
    DEBERTA_V2,
    T5,
)

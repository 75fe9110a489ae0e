"""`FAMILIES`: the kinds of checkpoints that can be imported, one table each, in a module of its own."""

from __future__ import annotations

from attnviz.checkpoints.families.bert import BERT
from attnviz.checkpoints.families.bloom import BLOOM
from attnviz.checkpoints.families.deberta_v2 import DEBERTA_V2
from attnviz.checkpoints.families.deepseek import DEEPSEEK_V2, DEEPSEEK_V3
from attnviz.checkpoints.families.family import Family
from attnviz.checkpoints.families.gemma2 import GEMMA2
from attnviz.checkpoints.families.gpt2 import GPT2
from attnviz.checkpoints.families.gpt_neox import GPT_NEOX
from attnviz.checkpoints.families.gpt_oss import GPT_OSS
from attnviz.checkpoints.families.gptj import GPTJ
from attnviz.checkpoints.families.llama import LLAMA, MISTRAL
from attnviz.checkpoints.families.t5 import T5

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

"""`FAMILIES`: the kinds of checkpoints that can be imported, one table each, in a module of its own."""

from __future__ import annotations

from attnviz.checkpoints.family import Family
from attnviz.checkpoints.family_gpt2 import GPT2
from attnviz.checkpoints.family_llama import LLAMA, MISTRAL

FAMILIES: tuple[Family, ...] = (GPT2, LLAMA, MISTRAL)

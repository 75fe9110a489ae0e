"""`SOURCES`: the publications that the help cites."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One publication: authors, year and title as they are cited, and its address."""

    citation: str
    url: str


def _arxiv(number: str, citation: str) -> Source:
    return Source(f"{citation}, arXiv {number}", f"https://arxiv.org/abs/{number}")


SOURCES: dict[str, Source] = {
    "attention": _arxiv("1706.03762", "Vaswani et al. 2017, Attention Is All You Need"),
    "rope": _arxiv("2104.09864", "Su et al. 2021, RoFormer"),
    "mqa": _arxiv("1911.02150", "Shazeer 2019, Fast Transformer Decoding"),
    "gqa": _arxiv("2305.13245", "Ainslie et al. 2023, GQA"),
    "mla": _arxiv("2405.04434", "DeepSeek-AI 2024, DeepSeek-V2"),
    "transformer_xl": _arxiv("1901.02860", "Dai et al. 2019, Transformer-XL"),
    "alibi": _arxiv("2108.12409", "Press et al. 2021, Train Short, Test Long"),
    "gemma": _arxiv("2408.00118", "Gemma Team 2024, Gemma 2"),
    "qk_norm": _arxiv("2010.04245", "Henry et al. 2020, Query-Key Normalization"),
    "differential": _arxiv("2410.05258", "Ye et al. 2024, Differential Transformer"),
    "output_gate": _arxiv("2505.06708", "Qiu et al. 2025, Gated Attention for Large Language Models"),
    "scalable": _arxiv("2501.19399", "Nakanishi 2025, Scalable-Softmax"),
    "layer_norm": _arxiv("1607.06450", "Ba et al. 2016, Layer Normalization"),
    "experts": _arxiv("1701.06538", "Shazeer et al. 2017, Sparsely-Gated Mixture-of-Experts"),
    "glu": _arxiv("2002.05202", "Shazeer 2020, GLU Variants Improve Transformer"),
    "residual": _arxiv("1512.03385", "He et al. 2015, Deep Residual Learning"),
    "nucleus": _arxiv("1904.09751", "Holtzman et al. 2019, Neural Text Degeneration"),
    "sinks": _arxiv("2309.17453", "Xiao et al. 2023, Attention Sinks"),
    "circuits": Source(
        "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits",
        "https://transformer-circuits.pub/2021/framework/index.html",
    ),
    "rollout": _arxiv("2005.00928", "Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers"),
    "dropout": Source(
        "Srivastava et al. 2014, Dropout, JMLR 15", "https://jmlr.org/papers/v15/srivastava14a.html"
    ),
}
"""Key of a text of the help: its source."""

"""What the window calls the fields of a document, and how it says an error: in the words at its controls."""

from __future__ import annotations

import re

from attnviz.errors import Message, message_of
from attnviz.i18n import N_, _, current_language

FIELD_TITLES = {
    "tokens": N_("Tokens"),
    "vectors.n": N_("Number of tokens"),
    "vectors.d_model": N_("Features of a token vector"),
    "memory": N_("Second sequence"),
    "memory.tokens": N_("Text of the second sequence"),
    "layers": N_("Layers"),
    "encoder": N_("Encoder layers"),
    "cross": N_("Self and cross attention"),
    "readout": N_("Similarity readout"),
    "vocabulary": N_("vocabulary"),
    "dtype": N_("Precision"),
    "heads.n_heads": N_("Query heads"),
    "heads.n_kv_heads": N_("Key/value heads"),
    "heads.d_head": N_("Features per head, d_head"),
    "position.kind": N_("Position"),
    "position.base": N_("Base θ"),
    "position.start": N_("First position"),
    "position.n_rotated": N_("Rotated features"),
    "position.pairing": N_("Pairs"),
    "position.on_values": N_("also on v"),
    "position.multipliers": N_("multiplier of the pair"),
    "position.slopes": N_("Slopes of the heads"),
    "position.length": N_("Table length"),
    "position.n_buckets": N_("Buckets"),
    "position.span": N_("Buckets per side"),
    "position.max_distance": N_("Maximum distance"),
    "position.bidirectional": N_("both directions"),
    "position.table.std": N_("Standard deviation"),
    "position.table.values": N_("Values"),
    "position.scaling.factor": N_("Factor"),
    "position.scaling.original_length": N_("Original length"),
    "position.scaling.length": N_("Length"),
    "position.scaling.beta_fast": N_("β fast, turns"),
    "position.scaling.beta_slow": N_("β slow, turns"),
    "position.scaling.attention_factor": N_("Attention factor"),
    "position.scaling.low_freq_factor": N_("Low-frequency turns"),
    "position.scaling.high_freq_factor": N_("High-frequency turns"),
    "qk_norm": N_("QK-norm"),
    "qk_norm.eps": N_("ε under the root"),
    "scale.value": N_("Scale factor"),
    "temperature": N_("Temperature"),
    "cap": N_("Soft cap"),
    "normaliser": N_("Weights"),
    "sinks": N_("Attention sinks"),
    "sinks.values": N_("Attention sinks"),
    "masks": N_("Mask"),
    "mask_placement": N_("Mask placement"),
    "mask_bias": N_("Mask bias"),
    "fully_masked_row": N_("Fully masked rows"),
    "masks.prefix.n": N_("Prefix length"),
    "masks.padding.tokens": N_("Padding tokens"),
    "masks.window.left": N_("Window: earlier keys"),
    "masks.window.right": N_("Window: later keys"),
    "masks.dilated.left": N_("Dilated: earlier keys"),
    "masks.dilated.right": N_("Dilated: later keys"),
    "masks.dilated.dilation": N_("Dilated: step"),
    "masks.strided.stride": N_("Strided: step"),
    "masks.blocks.size": N_("Block size"),
    "masks.blocks.previous": N_("Earlier blocks"),
    "masks.global.tokens": N_("Global tokens"),
    "masks.documents.starts": N_("Document starts"),
    "dropout.p": N_("Dropout"),
    "latent": N_("latent"),
    "block": N_("Block around the attention"),
    "block.placement": N_("Norm placement"),
    "block.residual": N_("Residual connections"),
    "block.feed_forward": N_("Feed-forward layer"),
    "feed_forward.d_hidden": N_("Hidden features, d_ff"),
    "feed_forward.activation": N_("Activation"),
    "feed_forward.gated": N_("Gated"),
    "norm.eps": N_("ε under the root"),
    "sampling.repetition_penalty.penalty": N_("repetition penalty"),
    "sampling.temperature.value": N_("temperature"),
    "sampling.top_k.k": N_("top-k"),
    "sampling.top_p.p": N_("top-p (nucleus)"),
    "sampling.min_p.p": N_("min-p"),
    "sampling.stop.length": N_("New tokens"),
    "sampling.stop.strings": N_("Stop strings"),
    "cache.n_sinks": N_("sinks"),
    "cache.window": N_("last positions"),
    "cache.block": N_("positions per block"),
    "cache.bits": N_("bits"),
}
"""Messages by the paths that errors name."""

_LAYER = re.compile(r"^(?:layers|encoder)\[\d+\]\.(?:cross\.)?|^cross\.")
_INDEX = re.compile(r"\[\d+\]")


def place_in_attention(path: str) -> str:
    """A path without the layer that it is in and without indices: what the field is in every attention."""
    return _INDEX.sub("", _LAYER.sub("", path))


def field_title(path: str) -> str:
    """What the field at a path is called in the present language, in any layer; else empty."""
    return _(FIELD_TITLES.get(place_in_attention(path), ""))


def in_words(error: BaseException | Message) -> str:
    """An error as the window says it: not in English, a field is called what stands at its control."""
    message = error if isinstance(error, Message) else message_of(error)
    return message.text(_title_or_path)


def _title_or_path(path: str) -> str:
    title = "" if current_language() == "en" else field_title(path)
    return f"“{title}”" if title else path

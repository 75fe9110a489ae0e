"""Tokenisation rules of a tokenizer.json, if this program implements them.

The file has the format of the `tokenizers` library. Its patterns are compared with known ones and never
compiled: a file is data. Other rules need that library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnviz.core.bpe import LONGEST_ADDED, LeadingSpace, fault_in
from attnviz.core.piece_kinds import SPACE, WORDS
from attnviz.model.spec.pieces import MOST_MERGES, AddedToken, PieceName, Pieces
from attnviz.model.spec.tokenizer_file import FORM_FAULTS as FORM_FAULTS
from attnviz.model.spec.tokenizer_file import SCHEMES

Json = Mapping[str, Any]

_TO_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_PREPEND = {"type": "Prepend", "prepend": SPACE}


def read_pieces(data: Json, tokens: tuple[str, ...]) -> Pieces | None:
    """The pieces of a tokenizer.json whose tokens by id are `tokens`; None if it uses other rules.

    Raises one of the `FORM_FAULTS` for a file of another form.
    """
    model = data["model"]
    way = _way(data)
    if way is None or not _is_plain(model) or _puts_after(data):
        return None
    kind, leading = way
    merges = tuple(_pair(merge) for merge in model["merges"])
    if len(merges) > MOST_MERGES or fault_in(tokens, merges, kind):
        return None
    listed = [added for added in data.get("added_tokens") or () if added["content"]]
    if any(len(added["content"]) > LONGEST_ADDED for added in listed) or _seeks_spaces(data, listed):
        return None
    known = set(tokens)
    special = tuple(one["content"] for one in listed if one.get("special") and one["content"] in known)
    rules = tuple(AddedToken(one["content"], *(bool(one.get(flag)) for flag in FLAGS)) for one in listed)
    needed = tuple(one for one in rules if one != AddedToken(one.token) or one.token not in special)
    return Pieces(kind, merges, bool(model.get("ignore_merges")), leading, special, needed)


FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
"""Of an added token in a tokenizer.json, in the order of the struct's fields."""


def _seeks_spaces(data: Json, added: list[Json]) -> bool:
    """True if added tokens are found with spaces that the tokenizer replaces later than `Pieces` do."""
    cut = _steps(data.get("pre_tokenizer"), "pretokenizers")
    if not cut or cut[0].get("type") != "Metaspace" or cut[0].get("prepend_scheme") != "never":
        return False
    seeks = (
        one.get("lstrip") or one.get("rstrip") or {" ", SPACE} & set(one["content"])
        for one in added
        if one.get("normalized")
    )
    return any(seeks)


def read_begin(data: Json) -> str | None:
    """The token that a tokenizer.json prepends to every text. Raises one of the `FORM_FAULTS`."""
    after = data.get("post_processor") or {}
    steps = after["processors"] if after.get("type") == "Sequence" else [after]
    for step in steps:
        if step.get("type") == "TemplateProcessing" and "SpecialToken" in step["single"][0]:
            return str(step["single"][0]["SpecialToken"]["id"])
    return None


def _puts_after(data: Json) -> bool:
    """True if a tokenizer.json puts tokens behind a text, which `Pieces` do not."""
    after = data.get("post_processor") or {}
    steps = after["processors"] if after.get("type") == "Sequence" else [after]
    templates = [step["single"] for step in steps if step.get("type") == "TemplateProcessing"]
    is_fixed = any(step.get("type") in ("RobertaProcessing", "BertProcessing") for step in steps)
    return is_fixed or any("SpecialToken" in single[-1] for single in templates)


def _way(data: Json) -> tuple[PieceName, LeadingSpace] | None:
    """The kind of pieces, and whether a space is prepended to a text."""
    normal, cut = (
        _steps(data.get("normalizer"), "normalizers"),
        _steps(data.get("pre_tokenizer"), "pretokenizers"),
    )
    words = {"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": False}
    if cut == [words] and not normal:
        return "words", "never"
    if normal in ([_PREPEND, _TO_SPACE], [_TO_SPACE]) and (not cut or _changes_nothing(cut)):
        return "metaspace", "always" if _PREPEND in normal else "never"
    if len(cut) != 1 or normal:
        return None
    only = cut[0]
    if only.get("type") == "ByteLevel" and only.get("use_regex", True):
        return "byte_level", "unless_there" if only["add_prefix_space"] else "never"
    is_space = (
        only.get("type") == "Metaspace" and only["replacement"] == SPACE and not only.get("split", True)
    )
    scheme = SCHEMES.get(only.get("prepend_scheme", "always"))
    return ("metaspace", scheme) if is_space and scheme is not None else None


def _changes_nothing(cut: list[Json]) -> bool:
    """True if a text is split at spaces after all of them were replaced."""
    return len(cut) == 1 and cut[0].get("type") == "Split" and cut[0].get("pattern") == {"String": " "}


def _steps(part: Json | None, members: str) -> list[Json]:
    """The steps of a normalizer or a pre-tokenizer, one or a sequence of them."""
    if part is None:
        return []
    return list(part[members]) if part.get("type") == "Sequence" else [part]


def _is_plain(model: Json) -> bool:
    """True for byte-pair encoding without marks for the insides or ends of words, and without randomness."""
    marks = (model.get("continuing_subword_prefix"), model.get("end_of_word_suffix"), model.get("dropout"))
    return model.get("type", "BPE") == "BPE" and "merges" in model and not any(marks)


def _pair(merge: Any) -> tuple[str, str]:
    """A merge, written as two strings or, in older files, as one with a space between."""
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return str(left), str(right)

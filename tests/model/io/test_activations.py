"""Arrays of another program: the document computes what PyTorch computes from them, or says what it needs."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.cli import main
from attnviz.cli.commands.gui import ARRAYS
from attnviz.model.io.activations import NAMES
from attnviz.model.io.files import DocumentError, load

RNG = np.random.default_rng(0)
Q, K, V = (RNG.standard_normal((4, 5, 6)) for _ in range(3))
SHORT = {"k": K[:2, :3], "v": V[:2, :3]}
LOWER = np.tri(5, dtype=bool)
KEPT = np.array([True, False, True])
"""The keys of `SHORT` that count."""
PADDED = np.random.default_rng(1).random((4, 5, 3)) < 0.6
PADDED[..., 0] = True
TOKENS = ["the", "Ġcat", "sat", "on", "it"]
WEIGHTS = RNG.dirichlet(np.ones(5), (2, 3, 5))
"""(layer, head, query, key)."""


def opened(folder: Path, **arrays: Any) -> attnviz.Document:
    """The document of arrays; of vectors, in PyTorch's layout unless `layout` is given, None for none."""
    if {"q", "query"} & set(arrays):
        arrays = {"layout": "head token feature", **arrays}
    np.savez(folder / "made.npz", **{name: one for name, one in arrays.items() if one is not None})
    return load(folder / "made.npz")


CASES: dict[str, dict[str, Any]] = {
    "plain": {"q": Q, "k": K, "v": V},
    "a batch": {"query": Q[None], "key": K[None], "value": V[None]},
    "truth values": {"q": Q, "k": K, "v": V, "mask": LOWER},
    "numbers of heads": {
        "q": Q,
        "k": K,
        "v": V,
        "attn_mask": np.where(LOWER, RNG.random((4, 5, 5)), -np.inf),
    },
    "a scale": {"q": Q, "k": K, "v": V, "scale": 0.2},
    "groups and other keys": {"q": Q, **SHORT},
    "named keys": {"q": Q, "k": K, "v": V, "memory_tokens": TOKENS},
    "wider values": {"q": Q, "k": K, "v": np.concatenate([V, V[..., :3]], axis=-1)},
    **{
        f"truth values of {'x'.join(map(str, one.shape))}": {"q": Q, **SHORT, "mask": one}
        for one in (KEPT, KEPT[None], KEPT[None, None, None], PADDED[:1], PADDED[:, :1], PADDED, PADDED[None])
    },
    "causal": {"q": Q, "k": K, "v": V, "is_causal": True},
    "causal and other keys": {"q": Q, **SHORT, "is_causal": np.array([1])},
    "causal with a mask": {"q": Q, **SHORT, "is_causal": True, "mask": np.where(PADDED, 0.5, -np.inf)},
    "not causal": {"q": Q, "k": K, "v": V, "is_causal": False, "dropout_p": 0.0, "window_size": [-1, -1]},
    "single precision": {name: one.astype(np.float32) for name, one in (("q", Q), ("k", K), ("v", V))},
}


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_queries_keys_and_values_compute_as_in_torch(tmp_path: Path, given: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    document = opened(tmp_path, **given)
    trace = attnviz.run(document).only
    q, k, v = (
        torch.tensor(given.get(one, given.get(name)))
        for one, name in zip("qkv", ("query", "key", "value"), strict=True)
    )
    q, k, v = (one.reshape(-1, *one.shape[-2:]).double() for one in (q, k, v))
    k, v = (one.repeat_interleave(len(q) // len(one), dim=0) for one in (k, v))
    mask = given.get("mask", given.get("attn_mask"))
    scores = q @ k.mT * given.get("scale", 6**-0.5)
    if mask is not None:
        added = torch.where(torch.tensor(mask), 0.0, -torch.inf) if mask.dtype == bool else torch.tensor(mask)
        scores = scores + (added[0] if added.ndim == 4 else added)
    if given.get("is_causal", False):  # as scaled_dot_product_attention describes it
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril().logical_not(), -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    close = 1e-12 if document.experiment.dtype == "float64" else 1e-6
    np.testing.assert_allclose(trace["weights"], weights, rtol=0, atol=close)
    np.testing.assert_allclose(trace["mixed"][..., : v.shape[-1]], weights @ v, rtol=0, atol=close)
    np.testing.assert_allclose(trace["q"][..., :6], q, rtol=0, atol=close)
    assert document.view.stage == "weights" and document.title == "made"
    assert (document.experiment.memory is not None) == (len(trace["k"][0]) == 3 or "memory_tokens" in given)


def test_every_number_of_given_vectors_is_live(tmp_path: Path) -> None:
    experiment = opened(tmp_path, q=Q, k=K, v=V).experiment
    changed, column = Q.copy(), 2 * 6 + 4  # head 2, feature 4
    changed[2, 3, 4] = 9.0
    from msgspec.structs import replace

    values = experiment.vectors.values.replaced(3, column, 9.0)
    edited = replace(experiment, vectors=replace(experiment.vectors, values=values))
    wanted = opened(tmp_path, q=changed, k=K, v=V).experiment
    np.testing.assert_array_equal(attnviz.run(edited)["mixed"], attnviz.run(wanted)["mixed"])


@pytest.mark.parametrize("name", ["attentions", "weights"])
@pytest.mark.parametrize(
    "take", [lambda w: w, lambda w: w[:, None], lambda w: w[1], lambda w: w[1, 2], lambda w: w[..., :4, :]]
)
def test_weights_alone_are_those_of_the_document(tmp_path: Path, take: Any, name: str) -> None:
    given = take(np.where(WEIGHTS < 0.02, 0, WEIGHTS))
    given = given / given.sum(axis=-1, keepdims=True)
    trace = attnviz.run(opened(tmp_path, **{name: given}))
    layers = (
        given.reshape(-1, *given.shape[-3:])
        if given.ndim == 4
        else given.reshape(-1, *((1,) * (3 - given.ndim)), *given.shape[-3:])
    )
    layers = given[:, 0] if given.ndim == 5 else layers
    assert len(trace.sites) == len(layers)
    for site, wanted in zip(trace.sites, layers, strict=True):
        np.testing.assert_allclose(trace.site(site)["weights"], wanted, rtol=0, atol=1e-14)


def test_the_caption_says_what_is_given_and_what_is_not_read(tmp_path: Path) -> None:
    document = opened(tmp_path, attentions=WEIGHTS, hidden=Q, tokens=TOKENS)
    assert document.experiment.tokens == ("the", " cat", "sat", "on", "it")
    assert "softmax of their logarithms" in document.caption and "Not read: hidden." in document.caption
    assert "Values are not in the file" in opened(tmp_path, q=Q, k=K, attentions=WEIGHTS).caption
    assert "Not read: attentions." in opened(tmp_path, q=Q, k=K, v=V, attentions=WEIGHTS).caption
    assert load(tmp_path / "made.npz").caption.startswith("The queries and keys are given")


def test_the_sizes_as_they_were_read_and_the_corner_of_a_causal_mask_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caption = opened(tmp_path, q=Q, **SHORT, is_causal=True, hidden=Q).caption
    assert "Heads: 4, queries: 5, keys: 3. is_causal begins at the first key, as PyTorch's does" in caption
    assert "begins at" not in opened(tmp_path, q=Q, k=K, is_causal=True, hidden=Q).caption
    assert main(["--language", "en", "run", str(tmp_path / "made.npz")]) == 0
    assert capsys.readouterr().err.rstrip().endswith("Heads: 4, queries: 5, keys: 5. Not read: hidden.")


TURNED = {"q": Q.transpose(1, 0, 2), "k": K.transpose(1, 0, 2), "v": V.transpose(1, 0, 2), "layout": None}
"""FlashAttention's layout, (token, head, feature)."""


@pytest.mark.parametrize(
    "given",
    [
        {"layout": "token head feature"},
        {"tokens": TOKENS},
        {"mask": LOWER},
        {"attentions": WEIGHTS[:1]},
        {"q": TURNED["q"][None], "k": TURNED["k"][None], "v": TURNED["v"][None], "tokens": TOKENS},
        {"k": K[:, [0, 1, 2]][:2].transpose(1, 0, 2), "v": V[:, [0, 1, 2]][:2].transpose(1, 0, 2)},
    ],
    ids=["said", "tokens", "a mask", "weights", "a batch", "heads that divide"],
)
def test_the_layout_is_told_by_the_sizes_or_said(tmp_path: Path, given: dict[str, Any]) -> None:
    turned = {**TURNED, **given}
    plain = {
        name: np.swapaxes(one, -3, -2) if name in ("q", "k", "v") and one is not None else one
        for name, one in turned.items()
    }
    wanted = attnviz.run(opened(tmp_path, **{**plain, "layout": "head token feature"}))["mixed"]
    np.testing.assert_array_equal(attnviz.run(opened(tmp_path, **turned))["mixed"], wanted)
    if "layout" not in given:
        np.testing.assert_array_equal(
            attnviz.run(opened(tmp_path, **{**plain, "layout": None}))["mixed"], wanted
        )


@pytest.mark.parametrize("shape", [(1, 5, 6), (5, 1, 6)])
def test_one_head_is_told_from_one_token(tmp_path: Path, shape: tuple[int, ...]) -> None:
    document = opened(tmp_path, q=Q[0].reshape(shape), k=K[0].reshape(shape), layout=None)
    assert attnviz.run(document)["weights"].shape == (1, 5, 5)


def test_bfloat16_and_whole_numbers_as_tokens_are_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    narrow = {name: torch.tensor(one).bfloat16() for name, one in (("q", Q), ("k", K))}
    stored = {name: one.view(torch.int16).numpy().view("V2") for name, one in narrow.items()}
    document = opened(tmp_path, **stored, tokens=np.array([5, 0, 17, 2, 2]))
    assert document.experiment.tokens == ("5", "0", "17", "2", "2")
    np.testing.assert_array_equal(attnviz.run(document)["q"], narrow["q"].float())


def past_unicode() -> np.ndarray:
    texts = np.array(["a"] * 5)
    texts.view(np.uint32)[3] = 0x110000
    return texts


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"values": Q},
        r"must contain a document, or as arrays q and k, or attentions; got 'values'.",
    ),
    ({"q": Q}, "must contain a document, or as arrays q and k"),
    (
        {"q": Q[None].repeat(2, 0), "k": K},
        r"q must be floats of \(head, token, feature\), of one layer and one text; got 2x4x5x6 of float64",
    ),
    ({"q": Q.astype(int), "k": K}, r"q must be floats .*got 4x5x6 of int64"),
    ({"q": Q, "query": Q, "k": K}, "q must be one array; got 'q', 'query'"),
    ({"q": Q, "k": K[..., :3]}, "k must be vectors of 6 features, as q; got 4x5x3"),
    ({"q": Q, "k": K[:3]}, "k must be a number of heads that divides 4; got 3x5x6"),
    ({"q": Q, "k": K, "v": V[:, :2]}, "v must be one vector for each of the 4x5 keys; got 4x2x6"),
    (
        {"q": Q, "k": K, "mask": LOWER[:3]},
        "mask must be truth values or floats of 5x5, perhaps for each head",
    ),
    ({"q": Q, "k": K, "mask": LOWER.astype(int)}, "mask must be truth values or floats"),
    *(
        (
            {"q": Q, "k": K, "mask": one},
            "mask must be truth values, true where a query attends, or numbers that are added; got 0 and 1 "
            "alone",
        )
        for one in (LOWER.astype(float), LOWER[3].astype(np.float32), LOWER[None].repeat(4, 0).astype(float))
    ),
    ({"q": Q, "k": K, "mask": LOWER[:, :4]}, "mask must be truth values or floats of 5x5"),
    ({"q": Q, "k": K, "is_causal": LOWER}, "is_causal must be true or false; got 5x5 of bool"),
    ({"q": Q, "k": K, "is_causal": "yes"}, "is_causal must be true or false; got  of <U3"),
    (
        {"q": Q, "k": K, "dropout_p": 0.1},
        "dropout_p must be left out: it changes the weights and is not",
    ),
    (
        {"q": Q, "k": K, "attention_mask": LOWER},
        "attention_mask must be given as mask: true where a query attends, or numbers that are added",
    ),
    (
        {"q": Q, "k": K, "layout": None},
        "layout must be one of 'head token feature', 'token head feature', since the sizes 4x5x6 fit both; "
        "got nothing",
    ),
    ({"q": Q, "k": K, "layout": "bshd"}, "layout must be one of 'head token feature', .*; got 'bshd'"),
    ({"q": Q, "k": K, "tokens": past_unicode()}, r"tokens must be texts of characters up to U\+10FFFF"),
    ({"q": Q, "k": K, "scale": Q}, "scale must be one number"),
    ({"q": Q, "k": K, "tokens": TOKENS[:2]}, "tokens must be 5 texts; got 2 of <U"),
    (
        {"q": Q, "k": K, "tokens": np.array(TOKENS, dtype=object)},
        r"tokens must be an array of texts, np\.array\(tokens, dtype=str\), without objects; got another one",
    ),
    ({"q": np.full((1, 1, 1), np.nan), "k": K[:1, :1, :1]}, r"must be a finite number; got nan"),
    (
        {"attentions": 0.5 * WEIGHTS},
        r"attentions must be weights whose rows sum to 1.*attnviz.show shows others as they are; got 0.5",
    ),
    (
        {"attentions": WEIGHTS[0, 0, 0]},
        r"attentions must be floats of \(query, key\), \(head, query, key\) or",
    ),
)


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_other_arrays_are_refused_in_a_sentence(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError, match=f"^made.npz: .*{sentence}"):
        opened(tmp_path, **given)


def test_nothing_is_unpickled_and_a_large_claim_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "run",))

    with pytest.raises(DocumentError, match="without pickled objects"):
        opened(tmp_path, q=Q, k=np.array([Trap()], dtype=object))
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr("attnviz.model.io.activations.MOST_BYTES", 1000)
    with pytest.raises(DocumentError, match="arrays must be at most 1,000 bytes; got 2,"):
        opened(tmp_path, q=Q, k=K)


def test_cut_and_changed_files_end_in_one_sentence(tmp_path: Path) -> None:
    file, rng = tmp_path / "made.npz", np.random.default_rng(1)
    opened(tmp_path, q=Q[:1, :2], k=K[:1, :2], tokens=TOKENS[:2])
    whole = file.read_bytes()
    for _one in range(200):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 5)):
            data[at] = rng.integers(0, 256)
        file.write_bytes(bytes(data[: rng.integers(1, len(data)) if rng.random() < 0.3 else len(data)]))
        try:
            load(file)
        except DocumentError as error:
            assert str(error).startswith("made.npz: ") and str(error).endswith(".") and "\n" not in str(error)


def test_the_help_of_the_command_has_every_name() -> None:
    assert [name for names in NAMES.values() for name in names if name not in ARRAYS] == []


def test_a_model_is_asked_for_by_its_own_entry(tmp_path: Path) -> None:
    opened(tmp_path, q=Q, k=K)
    with pytest.raises(attnviz.CheckpointError, match="are a document and not a model: open the file as one"):
        attnviz.import_checkpoint(tmp_path / "made.npz", text="a")
    assert zipfile.is_zipfile(tmp_path / "made.npz")

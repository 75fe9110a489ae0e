"""Notebook output: our own traces, and the weights of other programs, in one line."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from page_file import PageFile, shown_page

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.errors import FieldError

RNG = np.random.default_rng(0)
WEIGHTS = RNG.dirichlet(np.ones(5), (2, 3, 5)).astype(np.float32)
"""(layer, head, query, key)."""
TOKENS = ["the", "<cat>", "sat", "on", "it"]


def read(shown: Any) -> PageFile:
    """The page that the frame of a cell holds."""
    return PageFile(shown_page(shown._repr_html_()))


def weights_in(shown: Any, layer: int) -> np.ndarray:
    return read(shown).stage("weights", layer)


def as_torch(weights: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return tuple(torch.from_numpy(layer[None].copy()).requires_grad_() for layer in weights)


@pytest.mark.parametrize(
    "given",
    [
        lambda: list(WEIGHTS),
        lambda: tuple(layer[None] for layer in WEIGHTS),
        lambda: as_torch(WEIGHTS),
        lambda: SimpleNamespace(attentions=as_torch(WEIGHTS), cross_attentions=()),
    ],
    ids=["arrays", "with a batch axis", "tensors", "an output of transformers"],
)
def test_the_weights_of_other_programs_are_shown_as_they_are(given: Any) -> None:
    shown = attnviz.show(given(), TOKENS, head=2)
    for layer in range(2):
        np.testing.assert_array_equal(weights_in(shown, layer), WEIGHTS[layer])
    data = read(shown).data
    assert data["sites"][1]["queries"] == TOKENS and data["head"] == 2 and data["stage"] == "weights"


def test_one_head_and_one_layer() -> None:
    np.testing.assert_array_equal(weights_in(attnviz.show(WEIGHTS[0, 1]), 0), WEIGHTS[0, 1:2])
    np.testing.assert_array_equal(weights_in(attnviz.show(WEIGHTS[0], TOKENS), 0), WEIGHTS[0])


def test_documents_experiments_and_traces() -> None:
    document = load_preset("grouped-query")
    wanted = attnviz.run(document)["weights"]
    for given in (document, document.experiment, attnviz.run(document)):
        np.testing.assert_array_equal(weights_in(attnviz.show(given, stage="weights"), 0), wanted)


CROSS = RNG.dirichlet(np.ones(4), (2, 3, 5)).astype(np.float32)
ENCODER = RNG.dirichlet(np.ones(4), (1, 2, 4)).astype(np.float32)
SOURCE = ["le", "chat", "y", "est"]


@pytest.mark.parametrize(
    ("given", "named", "sites"),
    [
        (list(CROSS), {"memory_tokens": SOURCE}, {"layers.0.cross": CROSS[0], "layers.1.cross": CROSS[1]}),
        (WEIGHTS[0], {"memory_tokens": TOKENS[::-1]}, {"layers.0.cross": WEIGHTS[0]}),
        (
            SimpleNamespace(
                encoder_attentions=[ENCODER], decoder_attentions=list(WEIGHTS), cross_attentions=list(CROSS)
            ),
            {"memory_tokens": SOURCE},
            {
                "encoder.0.self": ENCODER[0],
                "decoder.0.self": WEIGHTS[0],
                "decoder.0.cross": CROSS[0],
                "decoder.1.self": WEIGHTS[1],
                "decoder.1.cross": CROSS[1],
            },
        ),
    ],
    ids=["a rectangle", "a square with other keys", "an encoder and a decoder"],
)
def test_cross_attention_has_the_texts_of_its_keys(
    given: Any, named: Any, sites: dict[str, np.ndarray]
) -> None:
    several = list(given) if isinstance(given, np.ndarray) and given.ndim == 4 else given
    page = read(attnviz.show(several, TOKENS, **named))
    for at, (name, weights) in enumerate(sites.items()):
        np.testing.assert_array_equal(page.stage("weights", at), weights)
        is_memory = name.endswith("cross")
        assert page.data["sites"][at]["keys"] == (
            named["memory_tokens"] if "encoder" in name or is_memory else TOKENS
        )
    assert len(page.data["sites"]) == len(sites)


def test_the_arguments_of_bertviz_mean_the_same() -> None:
    apart = {
        "encoder_attention": [ENCODER[0]],
        "decoder_attention": list(WEIGHTS),
        "cross_attention": list(CROSS),
        "encoder_tokens": SOURCE,
        "decoder_tokens": TOKENS,
    }
    one = SimpleNamespace(
        encoder_attentions=[ENCODER[0]], decoder_attentions=list(WEIGHTS), cross_attentions=list(CROSS)
    )
    assert attnviz.show(**apart, layer=1, heads=[2]).html == (
        attnviz.show(one, TOKENS, SOURCE, layer=1, head=2).html
    )
    page = read(attnviz.show(**apart, layer=1, heads=[2]))
    assert (page.data["site"], page.data["head"]) == (3, 2)  # behind one encoder layer and two attentions
    crossing = read(attnviz.show(cross_attention=list(CROSS), encoder_tokens=SOURCE, decoder_tokens=TOKENS))
    np.testing.assert_array_equal(crossing.stage("weights", 1), CROSS[1])
    assert crossing.data["sites"][1]["keys"] == SOURCE
    encoding = read(attnviz.show(encoder_attention=[ENCODER[0]], encoder_tokens=SOURCE))
    assert encoding.data["sites"][0]["queries"] == SOURCE
    assert (
        attnviz.show(attention=list(WEIGHTS), tokens=TOKENS).html == attnviz.show(list(WEIGHTS), TOKENS).html
    )


def generated(**settings: Any) -> Any:
    """The output of a small model of `transformers` that continues five tokens by four, and its full pass."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=17, hidden_size=16, intermediate_size=8, num_hidden_layers=2, num_attention_heads=4
    )
    model = transformers.LlamaForCausalLM._from_config(config, attn_implementation="eager").eval()
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    made = model.generate(
        ids,
        max_new_tokens=4,
        min_new_tokens=4,
        do_sample=False,
        output_attentions=True,
        return_dict_in_generate=True,
        pad_token_id=0,
        **settings,
    )
    return made, model(made.sequences[:, :-1], output_attentions=True).attentions


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_the_steps_of_a_generation_are_one_triangle(cache: str) -> None:
    made, whole = generated(cache_implementation=cache)
    texts = [f"t{id_}" for id_ in made.sequences[0].tolist()]
    assert len(texts) == 9
    for given, tokens in ((made, texts), (made.attentions, texts[:-1]), (made.attentions, None)):
        shown = attnviz.show(given, tokens)
        for layer, wanted in enumerate(whole):
            np.testing.assert_allclose(weights_in(shown, layer), wanted[0].detach(), rtol=0, atol=1e-6)
    assert read(attnviz.show(made, texts)).data["sites"][0]["queries"] == texts[:-1]


def test_the_steps_of_a_decoder_are_joined_and_a_cache_that_lost_keys_is_refused() -> None:
    steps = [
        [np.where(np.arange(5) <= row, layer[:, row : row + 1], 0)[None, ..., : row + 1] for layer in WEIGHTS]
        for row in range(5)
    ]
    cross = [[layer[None, :, row : row + 1] for layer in CROSS] for row in range(5)]
    one = SimpleNamespace(encoder_attentions=[ENCODER[0]], decoder_attentions=steps, cross_attentions=cross)
    page = read(attnviz.show(one, TOKENS, SOURCE))
    np.testing.assert_array_equal(page.stage("weights", 1), np.tril(WEIGHTS[0]))
    np.testing.assert_array_equal(page.stage("weights", 4), CROSS[1])
    lost = [*steps[:3], [layer[..., 1:] for layer in steps[3]]]
    with pytest.raises(FieldError, match=r"weights must be weights of 3x1x4 in step 3; got 3x1x3"):
        attnviz.show(lost)


@pytest.mark.parametrize(
    ("tokens", "texts"),
    [
        (["The", "Ġcat", "Ġä½ł", "å¥½", "ä"], ["The", "␣cat", "␣你", "好", "ä"]),
        (["▁The", "▁cat", "s", "<s>", "▁"], ["␣The", "␣cat", "s", "<s>", "␣"]),
        (["[CLS]", "the", "cat", "##s", "[SEP]"], ["[CLS]", "the", "cat", "##s", "[SEP]"]),
    ],
    ids=["bytes", "sentencepiece", "WordPiece"],
)
def test_the_tokens_of_a_tokenizer_are_read_as_text(tokens: list[str], texts: list[str]) -> None:
    assert read(attnviz.show(WEIGHTS[0], tokens)).data["sites"][0]["queries"] == texts


@pytest.mark.parametrize(
    ("given", "named", "sentence"),
    [
        (WEIGHTS[0], {"tokens": ["a"]}, "tokens must be 5 texts; got 1."),
        (WEIGHTS[0][0, 0], {}, "weights must be floats of (query, key)"),
        ([WEIGHTS[0], WEIGHTS[0][:, :3]], {}, "weights must be 5x5 in every layer; got 3x3x5."),
        (WEIGHTS[0], {"memory_tokens": ["a"]}, "memory_tokens must be 5 texts; got 1."),
        (np.ones((2, 2), dtype=int), {}, "weights must be floats"),
        ([], {}, "weights must be one array for each layer"),
        (
            SimpleNamespace(attentions=()),
            {},
            "attentions must be computed by the model: pass output_attentions",
        ),
        (SimpleNamespace(attentions=(None,)), {}, "attentions must be computed by the model"),
        (
            (None, None),
            {"tokens": TOKENS},
            "attentions must be computed by the model: pass output_attentions",
        ),
        (((None, None), (None, None)), {}, "attentions must be computed by the model"),
        (None, {}, "attentions must be computed by the model"),
        ([WEIGHTS[0], None], {}, "attentions must be computed by the model"),
        (
            WEIGHTS[0],
            {"tokens": "the cat sat on it"},
            "tokens must be a list of texts; got 'the cat sat on it'.",
        ),
        (WEIGHTS[0], {"memory_tokens": 1}, "memory_tokens must be a list of texts; got 1."),
        (
            ["the", "cat"],
            {},
            "weights must be floats of (query, key), (head, query, key) or (1, head, query, ",
        ),
        (0.5, {}, "(1, head, query, key); got 0.5."),
        ([[[0.5], [0.5, 0.5]]], {}, "weights must be floats"),
        (
            WEIGHTS[0],
            {"sentence_b_start": 2},
            "sentence_b_start is no argument of attnviz.show, which has given, tokens, memory_tokens, ",
        ),
        (WEIGHTS[0], {"include_layers": [0]}, "include_layers is no argument of attnviz.show"),
        (WEIGHTS[0], {"attention": WEIGHTS[0]}, "attentions must be given once; got several."),
        (WEIGHTS[0], {"cross_attention": [CROSS[0]]}, "attentions must be given once; got several."),
        (WEIGHTS[0], {"layer": 1}, "layer must be 0; got 1."),
        (WEIGHTS[0], {"heads": [3]}, "head must be one of 0, 1, 2; got 3."),
        (WEIGHTS[0], {"heads": 2}, "heads must be a list of heads; got 2."),
        (WEIGHTS[0], {"head": "all"}, "head must be one of 0, 1, 2; got 'all'."),
        (WEIGHTS[0], {"head": 3}, "head must be one of 0, 1, 2; got 3."),
        (WEIGHTS[0], {"stage": "q"}, "stage must be 'weights'; got 'q'."),
    ],
)
def test_other_shapes_get_one_sentence(given: Any, named: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FieldError, match=re.escape(sentence)):
        attnviz.show(given, **named)


def test_a_frame_holds_the_numbers_of_its_first_picture_only() -> None:
    shown = attnviz.show(list(WEIGHTS), TOKENS, head=2)
    page, framed = read(shown), PageFile(shown.html)
    first = page.data["sites"][page.data["site"]]["stages"][0]["blocks"][2]
    assert list(framed.blocks) == [first] and sorted(page.blocks) == list(range(6))
    assert f'data-block="{first}"' not in shown.rest


@pytest.mark.parametrize("kind", ["Document", "Experiment", "Trace"])
def test_documents_and_traces_are_pages_in_a_notebook(kind: str) -> None:
    document = load_preset("toy-attention")
    given = {"Document": document, "Experiment": document.experiment, "Trace": attnviz.run(document)}[kind]
    assert read(given).stage("weights")[0, 0] == pytest.approx(
        [0.439654, 0.332075, 0.091669, 0.136602], abs=1e-6
    )

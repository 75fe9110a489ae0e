"""The claims of textbooks: every verdict against one found by hand, and every cure."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.presets import load_preset
from attnviz.compute.execute import execute
from attnviz.errors import InputError
from attnviz.i18n import LANGUAGES
from attnviz.model.io.json_text import document_from, parse, write
from attnviz.model.spec.document import MOST_CLAIMS, Document
from attnviz.model.spec.view import View
from attnviz.study.claims.own import answers
from attnviz.study.claims.scope import Scope, holds, value_of
from attnviz.study.claims.verdict import VERDICTS
from attnviz.study.lessons.checking import problems, scope_of
from attnviz.study.lessons.judging import Judged, judged
from attnviz.study.lessons.lesson import Step
from attnviz.study.lessons.reading import read_lesson
from attnviz.study.lessons.table import CLAIMS, shipped_claims

STEPS: dict[str, Step] = {step.id: step for id_ in CLAIMS for step in shipped_claims(id_).steps}

WORDS = np.array([[0.2, 0.8, 0.3], [0.3, 0.7, 0.4], [0.1, 0.9, 0.2], [0.8, 0.2, 0.7]])
UNIT = WORDS / np.linalg.norm(WORDS, axis=1, keepdims=True)
PRINTED = np.array([3.5, -2.1, 8.7, 0.3])
TOY = np.random.RandomState(0).randn(4, 3)
EIGHT = [2, 4, 4, 4, 5, 5, 7, 9]
GPT3_HEAD, GPT3_ALL = 4 * 12288 * 128, 96 * 96 * 4 * 12288 * 128


def soft(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def toy_weights(mask: np.ndarray | None = None) -> np.ndarray:
    scores = TOY @ TOY.T / math.sqrt(3)
    return soft(scores if mask is None else np.where(mask, scores, -np.inf))


CAUSAL = np.tril(np.ones((4, 4), dtype=bool))
NORMED = UNIT @ UNIT.T


def loss_of_one_place_ahead() -> float:
    """The loss of a head whose bias of 12 looks one place ahead, over vectors of length 3 at right angles."""
    words = "the cat sat on the mat".split()
    names = list(dict.fromkeys(words))
    vectors = 3 * np.eye(5)[[names.index(word) for word in words]]
    scores = vectors @ vectors.T / np.sqrt(5) + 12 * np.eye(6, k=1)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    logits = weights @ vectors @ (3 * np.eye(5))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return float(-np.mean([np.log(probabilities[i, names.index(words[i + 1])]) for i in range(5)]))


def one_after_the_other_and_at_once() -> tuple[np.ndarray, np.ndarray]:
    """Three averages of the same vectors, and their product."""
    chance = np.random.default_rng(0)
    first, second, third = chance.dirichlet(np.ones(6), (3, 6))
    vectors = chance.standard_normal((6, 4))
    return third @ (second @ (first @ vectors)), (third @ second @ first) @ vectors


BY_HAND: dict[str, Callable[[], tuple[bool, bool | None]]] = {
    "one-map": lambda: (np.allclose(*one_after_the_other_and_at_once()), None),
    "sees-the-answer": lambda: (loss_of_one_place_ahead() < 0.001, None),
    "needed-in-decoding": lambda: (np.tri(11)[-1].sum() < 11, None),
    "nearest-word": lambda: (np.allclose(WORDS[:3] @ WORDS[3], [0.53, 0.66, 0.40]), None),
    "diagonal": lambda: (
        list((WORDS @ WORDS.T).argmax(1)) == [0, 1, 2, 3],
        list(NORMED.argmax(1)) == [0, 1, 2, 3],
    ),
    "one-length": lambda: (
        math.isclose(WORDS[0] @ WORDS[3], UNIT[0] @ UNIT[3] * np.linalg.norm(WORDS[0])),
        math.isclose(WORDS[0] @ UNIT[3], UNIT[0] @ UNIT[3] * np.linalg.norm(WORDS[0])),
    ),
    "larger-is-closer": lambda: (
        bool(WORDS[0] @ WORDS[2] > WORDS[0] @ WORDS[0]) == bool(NORMED[0, 2] > NORMED[0, 0]),
        bool(NORMED[0, 2] > NORMED[0, 0]) == bool(NORMED[0, 2] > NORMED[0, 0]),
    ),
    "opposite": lambda: (
        soft(np.array([1, -1]) / math.sqrt(3))[1] < 0.01,
        soft(np.array([9, -9]) / math.sqrt(3))[1] < 0.01,
    ),
    "concert-tokens": lambda: (
        len("小沈阳江西演唱会邀请了，") == 16,
        len("小沈阳江西演唱会邀请了，" + "沈演唱邀") == 16,  # each of four characters is two pieces
    ),
    "percentages": lambda: (False, None),
    "printed-line": lambda: (
        np.allclose(soft(PRINTED), [0.05, 0, 0.94, 0.01], atol=0.005),
        np.allclose(soft(PRINTED / math.sqrt(3)), [0.05, 0, 0.94, 0.01], atol=0.005),
    ),
    "sum-of-one": lambda: (math.isclose(soft(PRINTED).sum(), 1), None),
    "between": lambda: (0 < soft(PRINTED).min() and soft(PRINTED).max() < 1, None),
    # Two equal weights of one row are at most one half each; a sigmoid of 5/√3 or more is above 0.9.
    "both-near-one": lambda: (0.5 > 0.9, 0.9499 > 0.9),
    "columns": lambda: (np.allclose(toy_weights().sum(0), 1, atol=1e-3), None),
    "softmax-of-all": lambda: (np.allclose(soft(TOY @ TOY.T @ TOY), toy_weights() @ TOY, atol=0.01), None),
    "weighted-sum": lambda: (True, None),
    "toy-output": lambda: (np.allclose((toy_weights() @ TOY)[0], [1.662899, 0.801902, 0.294972]), None),
    # Standard deviation √512 = 22.6, so that 100 would be 4.4 of them; 4096 features have 64.
    "hundreds": lambda: (bool(4.4 * math.sqrt(512) < 64 * 0.5), 2 * math.sqrt(4096) > 100),
    "deviation": lambda: (True, None),
    "root": lambda: (abs(math.sqrt(512) - 22.6) < 0.05, None),
    "winner": lambda: (True, None),
    "flatter": lambda: (True, None),
    "gradient": lambda: (True, None),
    "scaled-gradient": lambda: (True, None),
    "exactly-zero": lambda: (bool(np.max(toy_weights(CAUSAL)[~CAUSAL]) == 0), None),
    "softmax-then-mask": lambda: (
        np.allclose((toy_weights() * CAUSAL).sum(1), 1, atol=1e-3),
        np.allclose(toy_weights(CAUSAL).sum(1), 1, atol=1e-3),
    ),
    "large-negative": lambda: (bool(soft(np.array([1.0, 2.0]) - 10000).max() == 0), True),
    "pairs": lambda: (int(CAUSAL.sum()) == 4 * 5 // 2, None),
    "padding": lambda: (True, None),
    "newest-row": lambda: (bool(CAUSAL[3].min() == 0), True),
    "first-row": lambda: (bool(toy_weights(CAUSAL)[0, 0] == 1), None),
    "split-key": lambda: (4 == 4 / 4, 4 == 4 / 1),
    "one-head": lambda: (abs(GPT3_HEAD - 6.3e6) < 5e4, None),
    "all-heads": lambda: (abs(96 * GPT3_HEAD - 5.95e9) < 1e8, abs(10 * 96 * GPT3_HEAD - 5.95e9) < 1e8),
    "size-of-gpt3": lambda: (abs(175e9 - 17.5e9) < 1e9, None),
    "a-third": lambda: (abs(GPT3_ALL / 174.6e9 - 1 / 3) < 0.01, None),
    "narrow-heads": lambda: (64 * 4 * 4 < 64 * 16, 64 * 2 * 4 < 64 * 16),
    "mqa-linear": lambda: (8 * 9 / 2 <= 8, 8 <= 8),
    "gqa-cache": lambda: (2 * 80 * 8 * 128 * 2 == 320 * 1024, None),
    "mla-cache": lambda: (61 * 576 * 2 == 70272, None),
    "mla-width": lambda: (576 < 192, None),
    "same-qkv": lambda: (False, True),
    "tied": lambda: (True, None),
    "adjectives": lambda: (True, None),
    "same-word": lambda: (True, None),
    "who-hits-whom": lambda: (False, True),
    "invariant": lambda: (False, None),
    "causal-order": lambda: (False, True),
    "sinusoidal": lambda: (
        np.allclose(
            [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
            [0.841471, 0.540302, 0.01, 0.99995],
            atol=1e-6,
        ),
        None,
    ),
    "rope-length": lambda: (True, None),
    "rope-added": lambda: (False, None),
    "alibi": lambda: (-(2.0 ** (-8 / 8)) == -1 / 2, None),
    "layer-norm": lambda: (bool(np.mean(EIGHT) == 5 and np.std(EIGHT) == 2), None),
    "residual": lambda: (True, None),
    "dropout-sum": lambda: (False, None),
    "forgetting": lambda: (True, None),
    "temperature": lambda: (
        np.allclose(soft(np.array([4, 2, 1, 0.0])), [0.831, 0.112, 0.041, 0.015], atol=1e-3),
        None,
    ),
    "flat": lambda: (np.ptp(soft(PRINTED / 2)) < 0.05, np.ptp(soft(PRINTED / 100)) < 0.05),
    "path-length": lambda: (True, None),
    "doubled": lambda: (256**2 == 4 * 128**2, None),
    "four-to-256": lambda: (256**2 == 4096 * 4**2, None),
    "window": lambda: (128 * 16 - 120 <= 128 * 7, 128 * 7 - 21 <= 128 * 7),
    "long-window": lambda: (abs(5_000_050_000 / 51_069_184 - 97.9) < 0.05, None),
    "cross-pairs": lambda: (6 * 4 == 24, None),
    "projections": lambda: (sum(range(1, 101)) == 5050, None),
    "llama-cache": lambda: (2 * 32 * 32 * 128 * 2 == 512 * 1024, None),
    "gpt3-cache": lambda: (2 * 96 * 12288 * 2 == 4.5 * 1024**2, None),
    # Olsson et al. 2022: an induction head needs a head of an earlier layer on the previous token.
    "induction-is-born": lambda: (True, None),
    "one-layer": lambda: (False, None),
    "narrow-heads-learn": lambda: (False, True),
    "mask-for-positions": lambda: (False, True),
    "no-scale-learns": lambda: (False, True),
    "memorised-sums": lambda: (False, None),  # Power et al. 2022, Grokking
    "small-card": lambda: (2 * 6_738_415_616 > 8e9 > 6_738_415_616 * 18 / 32, None),
}
"""Whether each claim holds in its scene and with its cure, worked out without the program."""


@cache
def verdicts() -> dict[str, Judged]:
    found = [judged(shipped_claims(id_), load_preset, execute) for id_ in CLAIMS]
    return {one.step.id: one for group in found for one in group}


def test_there_are_more_than_forty_and_each_is_worked_out_by_hand() -> None:
    assert len(STEPS) >= 40
    assert set(BY_HAND) == set(STEPS) == set(verdicts())


@pytest.mark.parametrize("id_", STEPS)
def test_the_verdict_is_that_of_the_hand(id_: str) -> None:
    right, cured = BY_HAND[id_]()
    wanted = "right" if right else "setting" if cured else "wrong"
    assert verdicts()[id_].verdict == wanted
    assert bool(STEPS[id_].cures) == (cured is not None)


@pytest.mark.parametrize("id_", CLAIMS)
def test_every_text_number_and_cure_is_sound(id_: str) -> None:
    assert list(problems(shipped_claims(id_), load_preset, execute)) == []


@pytest.mark.parametrize("language", [language.code for language in LANGUAGES])
def test_every_card_is_whole(language: str) -> None:
    for one in verdicts().values():
        card = one.card(language)
        assert card.sentence and all(card.says) and bool(card.cure) == bool(one.step.cures)
        assert "…" not in "".join(card.says).replace("1 + 2 + … + 100", "").replace(", …)", "").replace(
            "，…）", ""
        )


def test_every_verdict_occurs() -> None:
    assert {one.verdict for one in verdicts().values()} == {row.id for row in VERDICTS}


def test_the_loss_of_the_answer_in_sight_is_that_of_the_hand() -> None:
    scope = scope_of(STEPS["sees-the-answer"].scene, load_preset, execute)
    assert value_of("loss", scope) == pytest.approx(loss_of_one_place_ahead(), abs=1e-12)


def test_numbers_of_a_random_preset_are_those_of_numpy() -> None:
    scope = scope_of(STEPS["deviation"].scene, load_preset, execute)
    q, k = (scope.site[stage][0] for stage in ("q", "k"))
    scores = np.asarray(q) @ np.asarray(k).T
    weights = soft(scores)
    jacobians = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in weights]
    assert abs(scores.std() - math.sqrt(512)) < 2 and weights.max(1).mean() > 0.9
    assert np.mean(jacobians) < 0.1 and soft(scores / math.sqrt(512)).max(1).mean() < 0.5


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("claim: n == 4\n\n## en: A\nText.", "must have a text = with a claim"),
        ("\n## en: A\n= Text.", "must have a text = with a claim"),
        ("claim: n == 4\n\n## en: A\n= Text.\n+ More.", "must have a text + with a claim and its cure"),
        ("cure: temperature = 2\n\n## en: A\n+ More.", "must have a text + with a claim and its cure"),
    ],
)
def test_a_claim_needs_its_sentence_and_a_cure_its_text(lines: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("+", r"\+")):
        read_lesson(f"---\nlesson: 1\ntitle: T\npreset: toy-attention\n---\n\n# a\n{lines}\n")


def test_a_cure_that_does_not_cure_is_a_problem() -> None:
    text = (
        "---\nlesson: 1\ntitle: T\npreset: toy-attention\n---\n\n"
        "# a\nclaim: n == 5\ncure: temperature = 2\n\n"
        "## en: A\n= Five tokens.\n\n+ Never.\n"
    )
    (problem,) = problems(read_lesson(text), load_preset, execute)
    assert problem.message.text() == "The claim 'n == 5' must hold with its cure, and only then."


# --- of a document ---------------------------------------------------------------------------------


def claimed(*claims: str) -> Document:
    return replace(load_preset("toy-attention"), claims=claims)


def test_claims_are_saved_with_their_document() -> None:
    document = claimed("weights[2].sum() == 1", "max(scores) < 20")
    text = write(document, {})
    assert document_from(parse(text), {}) == document
    assert '"claims"' not in write(load_preset("toy-attention"), {})


@pytest.mark.parametrize("claim", ["weights[", "1 +", "__import__('os')", "a" * 500, "weights; 1"])
def test_a_claim_that_is_no_expression_is_refused_with_its_place(claim: str) -> None:
    with pytest.raises(InputError, match=r"claims\[1\]"):
        claimed("n == 4", claim)
    with pytest.raises(ValueError, match="must be at most 32 claims; got 33"):
        claimed(*["n == 4"] * (MOST_CLAIMS + 1))


def test_answers_say_what_holds_what_does_not_and_why_not() -> None:
    document = claimed("weights[2].sum() == 1", "max(scores) < 1", "fool > 2", "weights")
    found = answers(document.claims, Scope(execute(document.experiment), document.view))
    assert [one.is_true for one in found] == [True, False, None, None]
    assert [one.verdict for one in found] == ["right", "wrong", None, None]
    assert found[2].problem_text().startswith("The name 'fool' must be one of ")
    assert not found[0].problem_text()


def test_equal_allows_for_rounding_and_nothing_else() -> None:
    scope = Scope(execute(load_preset("toy-attention").experiment), View())
    for claim, wanted in {
        "1 == 1.0000005": True,
        "1 == 1.000002": False,
        "0 == 0.0000000001": False,
        "0 == 0": True,
        "inf == inf": True,
        "1 != 1.0000005": False,
        "1 != 2": True,
        "-1 == 1": False,
    }.items():
        assert holds(claim, scope) is wanted, claim


def test_python_asks_for_a_claim() -> None:
    document = load_preset("toy-attention")
    assert attnviz.holds("weights[2].sum() == 1", document)
    assert not attnviz.holds("max(scores) < 1", attnviz.run(document))
    assert attnviz.holds("n == 4 and n_layers == 1", document.experiment, engine="torch")
    with pytest.raises(ValueError, match="must be a condition"):
        attnviz.holds("weights[2].sum()", document)

"""Measurement of the bundled model, head by head: `python -m make.measure FOLDER`.

Everything is measured on held-out texts with the weights as shipped (float16, computed in float32), and
written to `measures.json` and into the model card. A head's score for a function is the mean, over the
relevant rows, of its weight on the relevant positions; a head that attends to all earlier tokens equally is
measured for comparison.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

import torch
from torch import Tensor
from torch.nn import functional as F

from make import corpus
from make.card import write_card
from make.decoder import Decoder
from make.decoder import load as load_decoder
from make.grammar import Language, Question, questions
from make.tokenizer import Tokenizer
from make.tokenizer import load as load_tokenizer

LOSS_DOCUMENTS = 150
"""Held-out texts per language that the loss is taken from."""

HEAD_DOCUMENTS = 60
"""Held-out texts per language for the measurement of the heads."""

QUESTIONS = 400
"""Held-out questions of each kind and language."""

RANDOM_SEQUENCES, RANDOM_LENGTH = 40, 50
"""Sequences of different random tokens, each said twice."""

PROMPTS = {
    "en": ("Once upon a time, there was a girl named Lily.", "Tom and Anna", "On Sunday, the old fox"),
    "zh": ("从前，有一个女孩，名字叫小红。", "小明和小丽", "星期日，"),
}
"""Prompts of the card's samples, and of the recorded continuations."""

SAMPLE_TOKENS = 120
TEMPERATURE = 0.8


@dataclass(frozen=True)
class Job:
    """Something that a head may do: for a row, where it would look."""

    id: str
    title: str
    places: Callable[[Tensor], Tensor]
    """ids (token,) -> (query, key), true where a head that does the job would look."""
    random: bool = False
    """Asked of repeated random tokens, not of texts."""


def previous_places(ids: Tensor) -> Tensor:
    """The token before, where that is not the begin token."""
    places = torch.eye(len(ids), dtype=torch.bool).roll(-1, 1)
    places[:2] = False
    return places


def duplicate_places(ids: Tensor) -> Tensor:
    """Every earlier place of the same token."""
    return (ids[:, None] == ids[None, :]).tril(-1)


def induction_places(ids: Tensor) -> Tensor:
    """The token after each earlier place of the same token, where the next token is that token again."""
    same = duplicate_places(ids)
    places = torch.zeros_like(same)
    followed = ids[1:, None] == ids[None, 1:]  # (query, key): is what follows the two the same?
    places[:-1, 1:] = same[:-1, :-1] & followed
    return places.tril(-1)


JOBS = (
    Job("previous_token", "looks at the token before", previous_places),
    Job("duplicate", "looks at the same token before", duplicate_places),
    Job("induction", "looks at what followed the same token before", induction_places),
    Job("induction_random", "the same, on random tokens said twice", induction_places, random=True),
)


def main() -> None:
    """Read the command line, measure the folder, and write what was found into it."""
    parser = argparse.ArgumentParser(description="Measure what the heads of the small model learnt.")
    parser.add_argument("folder", type=Path)
    torch.set_num_threads(1)
    measure(parser.parse_args().folder)


def measure(folder: Path) -> None:
    """Measure the model in `folder`; write `measures.json` and `MODEL_CARD.md` there."""
    model, tokenizer = load_decoder(folder), load_tokenizer(folder / "tokenizer.json")
    length = model.config.max_position_embeddings
    with torch.no_grad():
        found = {
            "loss": {language.id: loss(model, tokenizer, language) for language in corpus.LANGUAGES},
            "accuracy": accuracies(model, tokenizer),
            "heads": heads(model, tokenizer, length),
            "continuations": continuations(model, tokenizer),
        }
    (folder / "measures.json").write_text(
        json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    write_card(folder)


def loss(model: Decoder, tokenizer: Tokenizer, language: Language) -> dict[str, float]:
    """Of the held-out texts, each read alone: nats per token, and bits per byte of text."""
    length = model.config.max_position_embeddings
    sequences = corpus.test_documents(tokenizer, language, LOSS_DOCUMENTS, length)
    total, tokens, size = 0.0, 0, 0
    for sequence in sequences:
        ids = torch.tensor(sequence)
        total += float(F.cross_entropy(model(ids[None, :-1])[0], ids[1:], reduction="sum"))
        tokens += len(sequence) - 1
        size += sum(len(tokenizer.token_bytes(one)) for one in sequence)
    return {"nats_per_token": total / tokens, "bits_per_byte": total / size / math.log(2), "tokens": tokens}


def accuracies(model: Decoder, tokenizer: Tokenizer) -> dict[str, dict[str, float]]:
    """The share of right answers, by kind of question and language; chance is one half but for copies."""
    found: dict[str, dict[str, float]] = {}
    for language in corpus.LANGUAGES:
        for kind, _ in language.questions:
            asked = questions(language, kind, "held_out", corpus.TEST_SEED, QUESTIONS)
            answer = copied if kind == "repetition" else preferred
            right = [answer(model, tokenizer, question) for question in asked]
            hits, count = sum(hit for hit, _ in right), sum(count for _, count in right)
            found.setdefault(kind, {})[language.id] = hits / count
    ids = random_twice(tokenizer, model.config.max_position_embeddings)
    guesses = model(ids)[:, RANDOM_LENGTH + 1 : -1].argmax(-1)
    found["random_repetition"] = {"any": float((guesses == ids[:, RANDOM_LENGTH + 2 :]).float().mean())}
    return found


@torch.no_grad()
def copying(model: Decoder, tokenizer: Tokenizer, number: int) -> float:
    """The share of tokens that are right in the exact copies of `number` held-out lines per language."""
    asked = [
        question
        for language in corpus.LANGUAGES
        for question in questions(language, "repetition", "held_out", corpus.TEST_SEED, number)
    ]
    right = [copied(model, tokenizer, question) for question in asked]
    return sum(hits for hits, _ in right) / sum(tokens for _, tokens in right)


def preferred(model: Decoder, tokenizer: Tokenizer, question: Question) -> tuple[int, int]:
    """Is the first token of the right answer likelier than that of the wrong one? (hits, questions)."""
    prompt = [tokenizer.begin, *tokenizer.encode(question.prompt)]
    logits = model(torch.tensor([prompt]))[0, -1]
    answers = (question.right, question.wrong)
    right, wrong = (tokenizer.encode(question.prompt + answer)[len(prompt) - 1] for answer in answers)
    return int(logits[right] > logits[wrong]), 1


def copied(model: Decoder, tokenizer: Tokenizer, question: Question) -> tuple[int, int]:
    """Number of tokens of an exact copy that rank first in the distribution before them: (hits, tokens)."""
    whole = [tokenizer.begin, *tokenizer.encode(question.prompt + question.right)]
    begin = len(question.prompt.encode())
    first = int(_inside(tokenizer, whole, begin, begin + len(question.right.encode()))[0])
    guesses = model(torch.tensor([whole]))[0, first - 1 : -1].argmax(-1)
    return int((guesses == torch.tensor(whole[first:])).sum()), len(whole) - first


def heads(model: Decoder, tokenizer: Tokenizer, length: int) -> list[dict[str, object]]:
    """One record per head, and one (layer and head `None`) for a head that looks everywhere equally."""
    texts = [
        torch.tensor(sequence)
        for language in corpus.LANGUAGES
        for sequence in corpus.test_documents(tokenizer, language, HEAD_DOCUMENTS, length)
    ]
    twice = list(random_twice(tokenizer, length))
    scores = {job.id: job_scores(model, twice if job.random else texts, job.places) for job in JOBS}
    for language in corpus.LANGUAGES:
        for kind, ask in ASKED:
            scores |= mean_over(model, tokenizer, language, kind, ask)
    config = model.config
    where = product(range(config.num_hidden_layers), range(config.num_attention_heads))
    return [
        {"layer": layer, "head": head, **{name: float(values[i]) for name, values in scores.items()}}
        for i, (layer, head) in enumerate([*where, (None, None)])
    ]


def job_scores(model: Decoder, sequences: Iterable[Tensor], places: Callable[[Tensor], Tensor]) -> Tensor:
    """(head + 1,): mean weight on a job's places, over the rows that have any; the last is the equal head."""
    total, rows = torch.zeros(()), 0
    for ids in sequences:
        wanted = places(ids)
        total = total + (maps(model, ids) * wanted).sum((1, 2))
        rows += int(wanted.any(1).sum())
    return total / rows


Found = dict[str, Tensor]
"""Scores by their names, each (head + 1,): one of every head, the last of a head that looks everywhere."""


def mean_over(
    model: Decoder,
    tokenizer: Tokenizer,
    language: Language,
    kind: str,
    ask: Callable[[Tokenizer, list[int], Question, Tensor], Found],
) -> Found:
    """The mean of the results of `ask`, over the held-out questions of one kind.

    `ask` takes the ids of a prompt, the question, and the maps (head + 1, query, key).
    """
    found: dict[str, list[Tensor]] = {}
    for question in questions(language, kind, "held_out", corpus.TEST_SEED, QUESTIONS):
        ids = [tokenizer.begin, *tokenizer.encode(question.prompt)]
        for name, values in ask(tokenizer, ids, question, maps(model, torch.tensor(ids))).items():
            found.setdefault(f"{name}_{language.id}", []).append(values.float())
    return {name: torch.stack(values).mean(0) for name, values in found.items()}


def coreference(tokenizer: Tokenizer, ids: list[int], question: Question, weights: Tensor) -> Found:
    """Weights of a pronoun's row on two names, one of which the pronoun refers to.

    Whether the right name has more weight than the wrong one (`name_preferred`, chance one half), whether no
    position has more than one of the right name (`name_most`), and the weight on each of the two
    (`name_right`, `name_wrong`). Then the row of the last word, after which the thing of the right person
    must come: whether the right thing has more weight than the wrong one (`thing_preferred`), and the most
    of all positions (`thing_most`).
    """
    last = weights[:, -1]
    # A thing is looked for at its last place: the Chinese word for big is also a part of names.
    thing, other = (
        _last_place(tokenizer, ids, question.prompt, word.strip())
        for word in (question.right, question.wrong)
    )
    row = weights[:, _last_place(tokenizer, ids, question.prompt, question.pronoun)[-1]]
    return {
        **_names(tokenizer, ids, question, row, "name"),
        "thing_preferred": last[:, thing].sum(-1) > last[:, other].sum(-1),
        "thing_most": torch.isin(last.argmax(-1), thing),
    }


def naming(tokenizer: Tokenizer, ids: list[int], question: Question, weights: Tensor) -> Found:
    """The same of a pronoun right behind which its name must be said: `named_preferred` and so on."""
    return _names(tokenizer, ids, question, weights[:, -1], "named")


def _names(tokenizer: Tokenizer, ids: list[int], question: Question, row: Tensor, job: str) -> Found:
    """Weight of a row (head + 1, key) on the right name of a question, and on the wrong one."""
    right, wrong = (_places(tokenizer, ids, question.prompt, name) for name in question.names)
    on_right, on_wrong = row[:, right].sum(-1), row[:, wrong].sum(-1)
    return {
        f"{job}_preferred": on_right > on_wrong,
        f"{job}_most": torch.isin(row.argmax(-1), right),
        f"{job}_right": on_right,
        f"{job}_wrong": on_wrong,
    }


def counting(tokenizer: Tokenizer, ids: list[int], question: Question, weights: Tensor) -> Found:
    """Weight of a word's row, before its count, on all occurrences of the word."""
    same = duplicate_places(torch.tensor(ids))[-1]
    return {"counted": weights[:, -1][:, same].sum(-1)}


ASKED = (("coreference", coreference), ("naming", naming), ("counting", counting))
"""(kind of question, measurement of the heads there)."""


def maps(model: Decoder, ids: Tensor) -> Tensor:
    """(layer * head + 1, query, key): all attention weights for ids (token,), the last map all equal."""
    found: list[Tensor] = []
    model(ids[None], found)
    equal = torch.ones(len(ids), len(ids)).tril()
    return torch.cat((*(layer[0] for layer in found), (equal / equal.sum(-1, keepdim=True))[None]))


def random_twice(tokenizer: Tokenizer, length: int) -> Tensor:
    """(sequence, token): begin, then different random tokens of at least one whole character, said twice."""
    whole = corpus.whole_tokens(tokenizer)
    rng = Random(corpus.TEST_SEED)
    drawn = (rng.sample(whole, RANDOM_LENGTH) for _ in range(RANDOM_SEQUENCES))
    return torch.tensor([[tokenizer.begin, *once, *once] for once in drawn])[:, :length]


def continuations(model: Decoder, tokenizer: Tokenizer) -> list[dict[str, object]]:
    """The model's continuations of each of `PROMPTS`: the most probable tokens, and sampled ones."""
    found: list[dict[str, object]] = []
    for language, prompts in PROMPTS.items():
        for seed, prompt in enumerate(prompts):
            for temperature in (0.0, TEMPERATURE):
                ids = continued(model, tokenizer, prompt, temperature, seed)
                how = {"language": language, "prompt": prompt, "temperature": temperature, "seed": seed}
                found.append({**how, "ids": ids})
    return found


def continued(model: Decoder, tokenizer: Tokenizer, prompt: str, temperature: float, seed: int) -> list[int]:
    """The ids that follow `prompt`, to the end or `SAMPLE_TOKENS`; at temperature 0 the likeliest."""
    generator = torch.Generator().manual_seed(seed)
    ids = [tokenizer.begin, *tokenizer.encode(prompt)]
    start = len(ids)
    while len(ids) < start + SAMPLE_TOKENS and ids[-1] != tokenizer.end:
        logits = model(torch.tensor([ids]))[0, -1]
        if temperature == 0.0:
            ids.append(int(logits.argmax()))
        else:
            ids.append(int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)))
    return ids[start:]


def _inside(tokenizer: Tokenizer, ids: list[int], first: int, last: int) -> Tensor:
    """The places of the tokens that hold any of the bytes from `first` up to `last` of the text of `ids`."""
    ends = torch.tensor([len(tokenizer.token_bytes(one)) for one in ids]).cumsum(0)
    begins = torch.cat((torch.zeros(1, dtype=ends.dtype), ends[:-1]))
    return torch.nonzero((begins < last) & (ends > first)).flatten()


def _last_place(tokenizer: Tokenizer, ids: list[int], text: str, word: str) -> Tensor:
    """The places of the tokens of a word, at its last occurrence in `text`."""
    first = len(text[: text.rindex(word)].encode())
    return _inside(tokenizer, ids, first, first + len(word.encode()))


def _places(tokenizer: Tokenizer, ids: list[int], text: str, word: str) -> Tensor:
    """The places of the tokens of a word, at all its occurrences in `text`."""
    found, at = [], text.find(word)
    while at >= 0:
        first = len(text[:at].encode())
        found.append(_inside(tokenizer, ids, first, first + len(word.encode())))
        at = text.find(word, at + 1)
    return torch.cat(found)


if __name__ == "__main__":
    main()

"""The model card: the contents of a trained model's folder, written from its records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from make import corpus
from make.tokenizer import Tokenizer
from make.tokenizer import load as load_tokenizer

Json = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A function that a head is said to have if its score reaches `least`."""

    title: str
    scores: tuple[str, ...]
    """Names in the records of `measures.json`; a head's score is the least of them."""
    least: float


CLAIMS = (
    Claim("previous token", ("previous_token",), 0.5),
    Claim("same token before, in texts", ("duplicate",), 0.3),
    Claim("same token before, where it is counted, English", ("counted_en",), 0.5),
    Claim("same token before, where it is counted, Chinese", ("counted_zh",), 0.5),
    Claim("same token before, where it is counted, both", ("counted_en", "counted_zh"), 0.5),
    Claim("induction, in texts", ("induction",), 0.3),
    Claim("induction, random tokens", ("induction_random",), 0.3),
    Claim("pronoun to name, where the name must follow, English", ("named_most_en",), 0.5),
    Claim("pronoun to name, where the name must follow, Chinese", ("named_most_zh",), 0.5),
    Claim("pronoun to name, where the name must follow, both", ("named_most_en", "named_most_zh"), 0.5),
    Claim("pronoun to name, elsewhere, English", ("name_most_en",), 0.5),
    Claim("pronoun to name, elsewhere, Chinese", ("name_most_zh",), 0.5),
    Claim("pronoun to name, elsewhere, both", ("name_most_en", "name_most_zh"), 0.5),
    Claim("last word to the right thing, English", ("thing_most_en",), 0.5),
    Claim("last word to the right thing, Chinese", ("thing_most_zh",), 0.5),
)

_ACCURACIES = (
    ("pronoun", "the right pronoun is likelier than the other one", "50 %"),
    ("coreference", "after a pronoun, the thing of the right person is likelier than the other's", "50 %"),
    ("naming", "after a pronoun, the name for which it stands is likelier than the other one", "50 %"),
    ("agreement", "the verb agrees (English), the measure word fits (Chinese)", "50 %"),
    ("repetition", "next token right, in exact copies of a line", "0 %"),
    ("counting", "how often a word was there is likelier than once more or less", "50 %"),
    ("random_repetition", "next token right, in random tokens said again", "0 %"),
)
"""(kind, the right answer, the chance level)."""


def write_card(folder: Path) -> None:
    """Write `MODEL_CARD.md` into `folder`, from its JSON files and its tokenizer."""
    training, measures, config = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("training", "measures", "config")
    )
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    sections = (
        _what(config, training),
        _data(),
        _training(training),
        _results(measures),
        _heads(measures),
        _samples(measures, tokenizer),
        _LIMITS,
    )
    (folder / "MODEL_CARD.md").write_text("\n".join(sections), encoding="utf-8")


def best(measures: Json, claim: Claim) -> tuple[Json, float]:
    """The head that does a job best, and its score."""
    real = [head for head in measures["heads"] if head["layer"] is not None]
    return max(((head, _score(head, claim)) for head in real), key=lambda found: found[1])


def _score(head: Json, claim: Claim) -> float:
    return min(head[name] for name in claim.scores)


def _what(config: Json, training: Json) -> str:
    heads = "{num_attention_heads} / {num_key_value_heads} / {head_dim}".format_map(config)
    positions = "RoPE, base {rope_theta:g}, half-split pairs, context {max_position_embeddings}"
    return f"""# Stories: a small language model in English and Chinese

A decoder-only transformer with {training["parameters"]:,} parameters that writes short stories. It was
trained from nothing by `make/train.py`, on texts from the grammar in the same folder, and is
here so that its attention can be watched at work. Licence: that of the program (MIT).

| | |
|---|---|
| layers | {config["num_hidden_layers"]} |
| d_model | {config["hidden_size"]} |
| query heads / key-value heads / d_head | {heads} |
| feed-forward | SiLU-gated, {config["intermediate_size"]} |
| norm | RMSNorm before each half of a block, eps {config["rms_norm_eps"]} |
| positions | {positions.format_map(config)} |
| vocabulary | {config["vocab_size"]}; the embedding is also the output matrix |
| files | float16 safetensors with the names of a Llama checkpoint, `config.json`, `tokenizer.json` |

The tokenizer knows the common words of the texts whole, cuts other words into pieces, has a token for each
Chinese character of the texts, and spells everything else in UTF-8 bytes. `tokenizer.json` has the form of
the `tokenizers` library. A text starts with `<|begin|>`.
"""


def _data() -> str:
    shares = {kind: f"{share:.0%}" for kind, share, _ in corpus.LANGUAGES[0].kinds}
    return _DATA.format_map(shares)


_DATA = """## Data

Stories ({story} of the texts), sentences about who has what ({owners}), sentences with a pronoun
({pronouns}), sentences after which each pronoun is said with its name right behind it, as in "Names: she
Lily, he Tom" ({naming}), sentences on agreement or measure words ({agreement}), lines said twice
({repetition}), and rows of words with how often each is there ({counting}); half of the texts in English and
half in Chinese, all drawn from templates by a seeded generator; no text was written by anybody else. The
generator never starts again, so nothing is read twice but by chance. Some texts are random tokens instead,
said twice or counted.
A fifth of all pairs of a girl's and a boy's name never meet in the sentences of training, and a fifth of the
pairs of nouns never meet in the exercises on agreement: the held-out texts use those pairs only. (Lists of
random words may join any two names, and so may texts of several parts.)
"""


def _training(training: Json) -> str:
    recipe = training["recipe"]
    starts = [0.0, *(stage["until"] for stage in recipe["stages"][:-1])]
    betas = " and ".join(map(str, recipe["betas"]))
    stages = "\n".join(_stage(stage, before) for stage, before in zip(recipe["stages"], starts, strict=True))
    curve = "\n".join(
        "| {step} | {minutes} | {train:.3f} | {en:.3f} | {zh:.3f} | {copied:.1%} |".format_map(point)
        for point in training["curve"]
    )
    return f"""## Training

AdamW (betas {betas}; weight decay {recipe["weight_decay"]} on the matrices of the blocks); learning rate
{recipe["rate"]:g} after {recipe["warm_up"]} steps of warm-up, falling like half a cosine to
{recipe["last_rate"]:.0%} of it; gradients clipped at norm {recipe["clip"]:g}.
The matrices were multiplied in bfloat16, the loss and the weights kept in float32. The run had these parts:

| of the run | read | lines of random tokens | rows and tokens per step |
|---|---|---:|---:|
{stages}

Together {training["steps"]:,} steps and {training["tokens"]:,} tokens.
Seed {recipe["seed"]}, torch {training["torch"]}, one CPU thread, {training["seconds"] / 60:.1f} minutes.
The learning rate and the change of texts followed the clock; `--steps {training["steps"]}` gives a run of
the same length that does not.

Loss in nats per token: `train` is the mean since the row above, `English` and `Chinese` are on 40 held-out
texts each. `copied` is the share of tokens that are right in the copies of held-out lines.

| step | minutes | train | English | Chinese | copied |
|---:|---:|---:|---:|---:|---:|
{curve}
"""


def _stage(stage: Json, start: float) -> str:
    """A row of the table of a run's parts."""
    rows, length = stage["rows"]
    kinds = ", ".join(stage["kinds"]) or "everything"
    part = f"{start:.0%} to {stage['until']:.0%}"
    return f"| {part} | {kinds} | {stage['random']:.0%} | {rows} × {length} |"


def _results(measures: Json) -> str:
    losses = "\n".join(
        f"| {language} | {found['nats_per_token']:.4f} | {found['bits_per_byte']:.3f} | {found['tokens']:,} |"
        for language, found in measures["loss"].items()
    )
    answers = "\n".join(
        f"| {what} | {_shares(measures['accuracy'][kind])} | {chance} |" for kind, what, chance in _ACCURACIES
    )
    return f"""## Results on held-out texts

| language | loss, nats per token | bits per byte | tokens |
|---|---:|---:|---:|
{losses}

| asked | right | by chance |
|---|---|---:|
{answers}
"""


def _shares(shares: Json) -> str:
    return ", ".join(f"{language} {share:.1%}" for language, share in shares.items())


def _heads(measures: Json) -> str:
    equal = measures["heads"][-1]
    claims = []
    for claim in CLAIMS:
        head, score = best(measures, claim)
        name = f"layer {head['layer']}, head {head['head']}" if score >= claim.least else "no head"
        claims.append(f"| {claim.title} | {name} | {score:.3f} | {_score(equal, claim):.3f} |")
    columns = (
        "previous_token", "duplicate", "induction", "induction_random",
        "counted_en", "counted_zh", "named_most_en", "named_most_zh",
        "name_most_en", "name_most_zh", "name_preferred_en", "name_preferred_zh",
        "thing_most_en", "thing_most_zh",
    )  # fmt: skip
    rows = "\n".join(
        "| "
        + ("equal weights" if head["layer"] is None else f"{head['layer']}.{head['head']}")
        + " | "
        + " | ".join(f"{head[name]:.3f}" for name in columns)
        + " |"
        for head in measures["heads"]
    )
    return f"""## What the heads do

The first four scores are mean weights: on the token before; on all earlier places of the same token; on what
followed that token before, where it follows again; and the same in random tokens said twice. `counted` is the
mean weight, in held-out questions, that the row of a word, after which must be said how often it was there,
has on all those earlier places. `named most` is the share of held-out questions in which the row of a
pronoun, right behind which its name must be said ("Names: she"), has its greatest weight on the right name,
of all positions; `name most` asks the same of the row of a pronoun in a sentence that goes on with something
else; `name preferred`, whether the right name has more weight there than the wrong one (chance: one half).
`thing most` asks of the row after which the thing of the right person must come whether its greatest weight
is on the word for that thing. A head is named where its score reaches what the last column of `CLAIMS` in
`make/card.py` asks for.

| job | head | score | with equal weights |
|---|---|---:|---:|
{chr(10).join(claims)}

| layer.head | previous | same | induction | induction, random | counted, en | counted, zh \
| named most, en | named most, zh | name most, en | name most, zh \
| name preferred, en | name preferred, zh | thing most, en | thing most, zh |
|---{"|---:" * len(columns)}|
{rows}
"""


def _samples(measures: Json, tokenizer: Tokenizer) -> str:
    parts = ["## Samples\n"]
    for found in measures["continuations"]:
        how = (
            "the likeliest tokens"
            if found["temperature"] == 0
            else f"temperature {found['temperature']}, seed {found['seed']}"
        )
        text = tokenizer.decode(found["ids"]).replace("\n", "\n> ")
        ended = "" if found["ids"][-1] == tokenizer.end else " …"
        parts.append(f"> **{found['prompt']}**{text}{ended}\n>\n> ({how})\n")
    return "\n".join(parts)


_LIMITS = """## Limits

The tables above say what it did not learn, too: where they say "no head", no head does that job, and an
answer that is right as often as by chance is a guess.

It knows the words and the templates of its grammar and nothing of the world. A prompt of other words is
continued with those of the grammar. Past 256 tokens it has not been trained.
"""

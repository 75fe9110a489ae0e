"""`PRESETS`: the documents that ship with the program, each opening at the point that it demonstrates."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from attnviz import resources
from attnviz.errors import FieldError, among
from attnviz.i18n import N_, current_language
from attnviz.model.io.files import DocumentError, load
from attnviz.model.spec.document import Document


@dataclass(frozen=True)
class Preset:
    """One row of the presets menu; the document is `resources/presets/<id>.json`.

    `title` and `description` (one sentence) are messages: translate them with `_` where they are shown. The
    description is the caption of the document; its words may refer to tokens (see `model/captions.py`).
    Presets of one `group` stand together. `words` are the tokens in other languages than English, where the
    meaning of the words is the point: the vectors are the same, and so is every number.
    """

    id: str
    group: str
    title: str
    description: str
    words: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), kw_only=True)


_FIRST = N_("First steps")
_HEADS = N_("Heads and sequences")
_MASKS = N_("Masks and dropout")
_POSITIONS = N_("Positions")
_SIZE = N_("Scale and size")
_ARCHITECTURES = N_("Architectures")

PRESETS: tuple[Preset, ...] = (
    Preset(
        "toy-attention",
        _FIRST,
        N_("Four tokens, three numbers each"),
        N_("The smallest whole attention: q, k and v are the token vectors themselves."),
    ),
    Preset(
        "word-similarity",
        _FIRST,
        N_("Which word is most like “invite”?"),
        N_(
            "Dot products of four words; a word is not always most similar to itself: [little] is most "
            "similar to [tiny](key)."
        ),
        words=(("zh_CN", ("小", "沈", "阳", "邀请")),),
    ),
    Preset(
        "softmax-scores",
        _FIRST,
        N_("Softmax of four scores"),
        N_(
            "Four scores typed in directly; raise the [temperature](set temperature 1.0) and "
            "watch the weights flatten."
        ),
    ),
    Preset(
        "fluffy-blue-creature",
        _FIRST,
        N_("A fluffy blue creature"),
        N_(
            "Four query heads on two key/value heads: at [creature], [one head](head 1) attends to "
            "[fluffy](key), [another](head 2) to [blue](key)."
        ),
    ),
    Preset(
        "half-each",
        _FIRST,
        N_("Two adjectives, one half each"),
        N_(
            "At [creature], two equally high scores share the weight: [fluffy](key) and [blue](key) "
            "cannot both come near 1."
        ),
    ),
    Preset(
        "sigmoid",
        _FIRST,
        N_("Two adjectives, both near 1"),
        N_(
            "Sigmoid weighs every key separately: at [creature], [fluffy](key) and [blue](key) both "
            "come near 1, and the row sums to more."
        ),
    ),
    Preset(
        "softmax-of-all",
        _FIRST,
        N_("One softmax around all three"),
        N_(
            "Weights mix tokens; a softmax around QKᵀV would mix features: see Compare for both side by side."
        ),
    ),
    Preset(
        "xiaoshenyang",
        _FIRST,
        N_("Little Shen from the far north"),
        N_("A heat map of twelve tokens: raw scores first, then weights that sum to one."),
        words=(("zh_CN", tuple("小沈阳江西演唱会邀请了，")),),
    ),
    Preset(
        "causal-decode",
        _HEADS,
        N_("Decoding with a cache"),
        N_("A sentence with repeated words, one token at a time: what the cache reads and what it appends."),
    ),
    Preset(
        "cross-attention",
        _HEADS,
        N_("Two sequences"),
        N_("Six English words attend to four Chinese ones, [cat] to [猫](key): 24 pairs, a rectangular map."),
    ),
    Preset(
        "grouped-query",
        _HEADS,
        N_("Eight heads, two caches"),
        N_("Four query heads share each key/value head, so the cache is a quarter as large."),
    ),
    Preset(
        "differential",
        _HEADS,
        N_("The difference of two heads"),
        N_(
            "Head 1 of [mat] attends to [the](key) and [cat](key), head 2 mainly to [the](key): "
            "their difference keeps [cat](key)."
        ),
    ),
    Preset(
        "multi-head-latent",
        _HEADS,
        N_("One latent for all heads"),
        N_(
            "Keys and values of eight heads are computed from 16 numbers; with RoPE's 4, they are "
            "all that the cache holds."
        ),
    ),
    Preset(
        "tied-query-key",
        _HEADS,
        N_("Tied W_Q and W_K"),
        N_("With one matrix for queries and keys, the score matrix is symmetric."),
    ),
    Preset(
        "induction-birth",
        _HEADS,
        N_("An induction head is born"),
        N_(
            "Two layers of random weights. Train them: in some seconds, layer 1 attends to the word before, "
            "and layer 2 finds the word that followed last time. Or train with "
            '[no positions](set layers.position {"kind": "none"}), '
            '[no ÷√d](set layers.scale {"kind": "none"}) or fewer [layers](set n_layers 2).'
        ),
    ),
    Preset(
        "modular-addition",
        _HEADS,
        N_("Sums modulo 59"),
        N_(
            "One layer and random weights, for the task Add modulo p. With batch 512, decay 1 and rate 0.005 "
            "it soon knows all training sums by heart; some hundred steps later it is right on the others, "
            "too."
        ),
    ),
    Preset(
        "mask-after-softmax",
        _MASKS,
        N_("A mask that comes too late"),
        N_(
            "Masked [after](set mask_placement after_softmax) the softmax, the rows no longer sum "
            "to one; switch it to [before](set mask_placement before_softmax)."
        ),
    ),
    Preset(
        "answer-in-sight",
        _MASKS,
        N_("The answer in sight"),
        N_(
            "Without a mask this head reads the answer: each token copies the next one, and the "
            "loss is almost 0. With the [causal](mask causal) mask there is nothing to copy at "
            "[cat]."
        ),
    ),
    Preset(
        "fully-masked-row",
        _MASKS,
        N_("A fully masked row"),
        N_(
            "Padding at the start leaves the [first](query 0) [queries](query 1) no key: defined "
            "zeros, or NaN."
        ),
    ),
    Preset(
        "added-mask",
        _MASKS,
        N_("−10000 is not −∞"),
        N_(
            "A [mask bias](set mask_bias -10000) lowers all scores of a [fully masked row](query "
            "0) alike, so it attends to every key."
        ),
    ),
    Preset(
        "prefix-lm",
        _MASKS,
        N_("A prefix that attends both ways"),
        N_(
            "A [prefix](mask prefix) language model: the [question](query 4) attends both ways, "
            "the [answer](query 6) one word after the other."
        ),
    ),
    Preset(
        "sparse-attention",
        _MASKS,
        N_("A window and a global token"),
        N_(
            "Each [word] attends to three neighbours on each side, the [first token](query 0) to all: "
            "124 of 256 pairs."
        ),
    ),
    Preset(
        "dropout",
        _MASKS,
        N_("Dropout on the weights"),
        N_("Dropped weights are zero, survivors grow by 1/(1 − p), and rows no longer sum to one."),
    ),
    Preset(
        "attention-sinks",
        _MASKS,
        N_("A sink that takes weight"),
        N_(
            "One more score per head, without a value: the sink takes most of the weight of [head 1](head 1)."
        ),
    ),
    Preset(
        "dog-bites-man",
        _POSITIONS,
        N_("Dog bites man"),
        N_("Without positions, changing the order of the words only changes the order of the rows."),
    ),
    Preset(
        "causal-order",
        _POSITIONS,
        N_("Dog bites man, with a causal mask"),
        N_(
            "A [causal](mask causal) mask alone reveals the order: with other words before it, a "
            "word has another output."
        ),
    ),
    Preset(
        "sinusoidal",
        _POSITIONS,
        N_("Eight times the same word"),
        N_("All token vectors are zero, so only the sinusoidal positions remain."),
    ),
    Preset(
        "learned-table",
        _POSITIONS,
        N_("A table of eight positions"),
        N_(
            "All token vectors are zero, so only the table's rows remain, up to the [eighth](query "
            "7); a ninth token would have none."
        ),
    ),
    Preset(
        "rope-pair",
        _POSITIONS,
        N_("One query, one key, five distances"),
        N_(
            "RoPE rotates the same [q] and [k](key) by their positions: the score depends only on the "
            "distance."
        ),
    ),
    Preset(
        "yarn",
        _POSITIONS,
        N_("YaRN: four times as long"),
        N_("One vector at 24 distances: fast pairs rotate as before, slow pairs four times more slowly."),
    ),
    Preset(
        "alibi-window",
        _POSITIONS,
        N_("ALiBi in a sliding window"),
        N_(
            "Eight slopes from 1/2 to 1/256: steep heads attend nearby, flat heads far away, none "
            "past the [window](mask window)."
        ),
    ),
    Preset(
        "t5-buckets",
        _POSITIONS,
        N_("T5: near exactly, far roughly"),
        N_("All scores are zero, so only T5's learned bias of each distance bucket remains."),
    ),
    Preset(
        "transformer-xl",
        _POSITIONS,
        N_("Transformer-XL: distance meets content"),
        N_(
            "Scores gain the query's product with the distance, plus one bias for the distance and "
            "one for the key."
        ),
    ),
    Preset(
        "deberta",
        _POSITIONS,
        N_("DeBERTa: three products for one score"),
        N_("Content with content, content with position, position with content: a score is their sum."),
    ),
    Preset(
        "position-temperature",
        _SIZE,
        N_("Sharper with every position"),
        N_(
            "Queries grow with their position, as in Llama 4: the last of 16 tokens still gives "
            "[gold](key) 0.94, and [without](set position_temperature null) the temperature by "
            "position 0.57."
        ),
    ),
    Preset(
        "no-scale-512",
        _SIZE,
        N_("512 features without ÷√d"),
        N_(
            "Unscaled scores have standard deviation √512 = 22.6, and one key takes all the "
            'weight; switch the scale to [÷√d](set scale {"kind": "sqrt_d_head"}).'
        ),
    ),
    Preset(
        "three-averages",
        _SIZE,
        N_("Three layers, one average"),
        N_(
            "Residual connections and feed-forward layers are missing: every layer only averages, the three "
            "maps multiply to one, and all tokens drift to the same vector."
        ),
    ),
    Preset(
        "gradient-of-loss",
        _SIZE,
        N_("The gradient of the loss"),
        N_(
            "Each cell says how the loss would change with that weight: blue lowers it; the last token "
            "[mat](query 5) has no next one, so its row is 0."
        ),
    ),
    Preset(
        "twelve-layers",
        _SIZE,
        N_("Gradients through twelve layers"),
        N_(
            "The gradient that reaches the attention output of each layer: in the panel Gradients, choose "
            "Layers. With pre-norm all are alike; choose post for all layers and it shrinks towards the "
            "first one."
        ),
    ),
    Preset(
        "long-sentence",
        _SIZE,
        N_("A sentence of 128 tokens"),
        N_("Eight heads over 128 tokens, causal, with RoPE: still live under the mouse."),
    ),
    Preset(
        "encoder-only",
        _ARCHITECTURES,
        N_("Encoder-only, as BERT"),
        N_(
            "Words attend to both sides, none to the padding: [[MASK]] attends to [cat](key) and "
            "[milk](key), and is drinks."
        ),
    ),
    Preset(
        "decoder-only",
        _ARCHITECTURES,
        N_("Decoder-only, as GPT"),
        N_(
            "Words attend to what came before: cat follows the [first the](query 0), mat the "
            "[second](query 4)."
        ),
    ),
    Preset(
        "encoder-decoder",
        _ARCHITECTURES,
        N_("Encoder and decoder"),
        N_(
            "English is encoded in 36 pairs; Chinese attends back in 16 and across in 24 for its next "
            "word: [猫] to [sat](key)."
        ),
    ),
    Preset(
        "experts",
        _ARCHITECTURES,
        N_("Two of four experts"),
        N_(
            "For each token the router chooses two of four feed-forward layers: at [she], the weights "
            "of the others are 0."
        ),
    ),
    Preset(
        "output-gate",
        _ARCHITECTURES,
        N_("A gate for each head"),
        N_(
            "A sigmoid of the querying token multiplies each head's output: at [cat], [head "
            "2](head 2) adds almost nothing, whatever it attends to."
        ),
    ),
)


def preset_ids() -> tuple[str, ...]:
    """The ids of all presets, in the order of the menu."""
    return tuple(preset.id for preset in PRESETS)


def has_words(preset_id: str) -> bool:
    """True if the tokens of a preset are words of the active language."""
    return any(preset.id == preset_id and preset.words for preset in PRESETS)


def load_preset(preset_id: str) -> Document:
    """The document of a preset, with the words of the active language.

    Its title and caption are messages; `model/io/titles.py` translates them.

    Raises:
        DocumentError: the preset does not exist; the message names the existing ones.
    """
    for preset in PRESETS:
        if preset.id == preset_id:
            document = load(resources.path("presets", f"{preset_id}.json"))
            experiment = document.experiment
            tokens = dict(preset.words).get(current_language(), experiment.tokens)
            return msgspec.structs.replace(
                document,
                experiment=msgspec.structs.replace(experiment, tokens=tokens),
                title=preset.title,
                caption=preset.description,
            )
    raise DocumentError(FieldError("preset", preset_id, among(preset_ids())).message)

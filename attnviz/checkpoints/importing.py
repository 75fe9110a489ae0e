"""From a checkpoint and a sequence of tokens to the experiment that computes them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz import resources
from attnviz.checkpoints.blueprint import Blueprint, blueprint, checked_family, unknown_keys
from attnviz.checkpoints.classes import class_fields, class_head, classes_of, unread
from attnviz.checkpoints.families.family import Around
from attnviz.checkpoints.filling import Numbers, filled, filled_fields, in_memory, matrix_of
from attnviz.checkpoints.halves import Part, half_of, part_read, parts_of
from attnviz.checkpoints.hub import located
from attnviz.checkpoints.link import link_of
from attnviz.checkpoints.opening import open_checkpoint
from attnviz.checkpoints.plan import Planned, has_head, ignored_words
from attnviz.checkpoints.reader import CheckpointError
from attnviz.checkpoints.signals.reading import read_signal
from attnviz.checkpoints.signals.signal import PLACE, SignalKind
from attnviz.checkpoints.texts import Tokens, id_list, read_tokens, token_ids
from attnviz.checkpoints.tokenizers.chat import Talk, reads_chat, render
from attnviz.core.heap import trimmed
from attnviz.core.phrases import enumerated
from attnviz.errors import FieldError, about, message_of, must_be, token_count, verbatim
from attnviz.i18n import N_, _
from attnviz.model.io.files import matrices
from attnviz.model.io.tensors import Progress, no_progress
from attnviz.model.spec.arrays import Matrix, in_float64
from attnviz.model.spec.attention import Layer
from attnviz.model.spec.conversions import CONVERSIONS
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.memory_map import Computed
from attnviz.model.spec.origin import Link, Origin
from attnviz.model.spec.parts import Causal, DType, ExplicitVectors, Memory
from attnviz.model.spec.view import View
from attnviz.model.spec.vocabulary import Classes, Vocabulary


@trimmed
def import_checkpoint(
    path: str | os.PathLike[str],
    text: str | None = None,
    ids: Sequence[int] | None = None,
    *,
    memory_text: str | None = None,
    memory_ids: Sequence[int] | None = None,
    image: str | os.PathLike[str] | None = None,
    features: Any = None,
    chat: Talk | None = None,
    dtype: DType = "float32",
    attention_only: bool = False,
    ignore_keys: Sequence[str] = (),
    progress: Progress = no_progress,
) -> Document:
    """Import a model with a text: one experiment with all its layers, and its vocabulary.

    `path` is a folder as `transformers` saves it (config.json, model.safetensors, tokenizer.json), or a file
    in it. The text is a string, which needs the package `tokenizers` and a tokenizer.json, or token ids;
    a `chat` is a list of messages {"role", "content"}, which the model's own template renders as a text.
    `memory_text` or `memory_ids` are the input of the encoder, for encoder-decoder models. A model of images
    reads the file `image` instead, prepared as its preprocessor_config.json says, or `features`, an array
    (channel, row, column); a model of sound reads `features`, (band, frame), in the encoder.
    A model of two encoders, of texts and of images, is imported as the one whose input is given.
    With `attention_only` the document has the first layer's norm and attention alone. `ignore_keys` are keys
    of the configuration that are passed over although this program does not know what they change.

    Weights keep the precision of the files; `dtype` is the precision of the engines. `progress` receives the
    read share of the weights, 0 to 1; an exception from it ends the import.

    Raises `CheckpointError`, a `ValueError`: one sentence that names the file, the key or tensor, and the
    requirement. A missing tensor, an unexpected one, one of another shape, and a configuration key that
    requires an unsupported computation all raise it.
    """
    part = part_read(image, features)
    checkpoint = half_of(open_checkpoint(path), part)
    if chat is None:
        given = _Text(text, id_list(ids, "ids"))
    elif text is None and ids is None:
        given = _Text(render(checkpoint, chat), is_whole=True)
    else:
        alone = must_be("null with a text or ids")
        raise CheckpointError(FieldError("chat", verbatim("a conversation"), alone).message)
    memory = _Text(memory_text, id_list(memory_ids, "memory_ids"))
    model = blueprint(checkpoint, ignore_keys)
    try:
        signal = read_signal(model.family.signal, model.config, checkpoint, image, features)
        seen = None if signal is None else signal.features
        experiment = _experiment(model, (given, memory, seen), attention_only, progress)
        if resources.root() not in located(path).resolve().parents:  # every program has what it ships
            _mark(experiment, link_of(checkpoint, located(path), attention_only, ignore_keys, part), model)
        lay_out(experiment)
        shown = None if signal is None else signal.image
        view = _first_view(experiment) if shown is None else View(picture="patches", projection="pair")
        whole, length = replace(experiment, dtype=dtype), _trained_length(model)
        return Document(whole, view, _title(model), image=shown, trained_length=length)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(about(checkpoint.name, message_of(error))) from error


LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")
"""Keys of the length of the texts of the training, in the words of the families."""


def _trained_length(model: Blueprint) -> int | None:
    """The most tokens of a text of the training, as the configuration says; None if it does not."""
    config = model.checkpoint.config
    return next((config[key] for key in LENGTHS if type(config.get(key)) is int and config[key] > 0), None)


def _first_view(experiment: Experiment) -> View:
    """The last token of a causal model: it may attend to all, and the first one to itself alone.

    The plane is that of a query and a key, which keeps both whole: two of many features keep almost nothing.
    """
    is_causal = any(isinstance(mask, Causal) for mask in experiment.layers[0].masks)
    return View(query=experiment.n_queries - 1 if is_causal else 0, projection="pair")


@trimmed
def weights(link: Link) -> Mapping[str, Matrix] | None:
    """The matrices of a linked checkpoint by name; None if the path of the link has another one.

    Raises `CheckpointError` if it cannot be read.
    """
    checkpoint = half_of(open_checkpoint(link.path), link.part)
    path = Path(link.path)
    if link_of(checkpoint, path, link.attention_only, link.ignored_keys).digest != link.digest:
        return None
    model = blueprint(checkpoint, link.ignored_keys)
    signal = model.family.signal
    blank = None if signal is None else np.zeros(signal.shape(model.config))
    stacks = {"layers"} | ({"encoder"} if model.encoder and not link.attention_only else set())
    read = stacks - (set() if signal is None else {signal.stack})
    text, memory = (_Text(None, [0]) if stack in read else _Text() for stack in ("layers", "encoder"))
    experiment = _experiment(model, (text, memory, blank), link.attention_only, no_progress)
    _mark(experiment, link, model)
    lay_out(experiment)
    of_model = (matrix for _name, matrix in matrices(experiment) if matrix.origin is not None)
    return {matrix.origin.name: matrix for matrix in of_model if matrix.origin is not None}


def _mark(experiment: Experiment, link: Link, model: Blueprint) -> None:
    """Set the origin of every matrix of a new experiment that is one of the checkpoint."""
    signal = model.family.signal
    of_input = OF_THE_TEXT if signal is None or signal.stack != "layers" else (*OF_THE_TEXT, *OF_THE_IMAGE)
    for name, matrix in matrices(experiment):
        if name not in of_input:
            matrix.origin = Origin(link, name)


OF_THE_TEXT, OF_THE_IMAGE = ("vectors", "memory.vectors"), ("vocabulary.embedding",)
"""Matrices of an imported experiment that depend on its input; the tokens of an image are its own."""


def lay_out(experiment: Experiment) -> None:
    """Have the longer side of each W lie together, if the conversions of the whole model can be kept.

    A product x W with one row is as fast as W comes from memory: long runs take half the time of short ones.
    A model that does not fit is converted at every pass, fastest in the order of its file.
    """
    read = [matrix for _name, matrix in matrices(experiment) if matrix.lies_in_file]
    if sum(matrix.converted_bytes for matrix in read) > CONVERSIONS.limit:
        return
    for matrix in read:
        rows, columns = matrix.shape
        matrix.order = "C" if columns >= rows else "F"


@dataclass(frozen=True)
class Described:
    """Description of a checkpoint: its family's name, its layers, its weights, and whether it can read a
    text.

    `n_encoder_layers` is 0 without an encoder beside a decoder. `left_out` are tensors that are not read: of
    a head for classes; `classes` are those of a head that is read. `ignored` are messages about other parts
    that are not read. `signal` is the kind of input that is no text. `unknown` are keys of the configuration,
    with their values, that must be ignored by name before the checkpoint can be imported. With `reads_chat`
    the checkpoint has a chat template. `parts` are those of which one is imported, if any.
    """

    family: str
    n_layers: int
    n_encoder_layers: int
    n_weights: int
    reads_text: bool
    left_out: tuple[str, ...] = ()
    signal: SignalKind | None = None
    unknown: tuple[tuple[str, Any], ...] = ()
    reads_chat: bool = False
    parts: tuple[Part, ...] = ()
    classes: Classes | None = None
    ignored: tuple[str, ...] = ()


READINGS = {
    "first": N_(
        "The logits are those of the classes {names}; the classifier reports those of the first token."
    ),
    "last": N_(
        "The logits are those of the classes {names}; the classifier reports those of the last token."
    ),
    "each": N_("The logits are those of the classes {names}, at each token."),
}
"""The sentence about a head for classes that is read, by the position that it reports."""


def head_words(described: Described) -> tuple[str, ...]:
    """The sentences about a head for classes and other parts, as far as they are read or not, in the present
    language.
    """
    says = tuple(map(_, described.ignored))
    if described.classes is not None:
        says = (_classes_words(described.classes), *says)
    names = ", ".join(described.left_out)
    return (*says, _("The head for classes is not read: {names}.").format(names=names)) if names else says


def _classes_words(classes: Classes) -> str:
    shown = classes.labels[:MOST_LABELS]
    more = ("…",) if len(classes.labels) > len(shown) else ()
    return _(READINGS[classes.reads]).format(names=enumerated((*shown, *more)))


MOST_LABELS = 6
"""Classes that a sentence names."""


def describe(
    path: str | os.PathLike[str],
    attention_only: bool = False,
    ignore_keys: Sequence[str] = (),
    part: Part = "text",
) -> Described:
    """Describe what `import_checkpoint` would read, from the configuration and the files' headers alone.

    Raises the same `CheckpointError`, except for the numbers, the tokens, and unknown keys, which it lists.
    """
    whole = open_checkpoint(path)
    checkpoint = half_of(whole, part)
    unknown = unknown_keys(checked_family(checkpoint), checkpoint.config, ignore_keys)
    model = blueprint(checkpoint, (*ignore_keys, *unknown))
    tensors = model.checkpoint.tensors.values()
    head = None if attention_only else class_head(checkpoint)
    return Described(
        model.family.title,
        len(model.layers),
        len(model.encoder),
        sum(math.prod(tensor.shape) for tensor in tensors),
        _tokens(model).reads_text,
        unread(whole, head),
        None if model.family.signal is None else model.family.signal.kind,
        tuple(unknown.items()),
        reads_chat(checkpoint) and _tokens(model).reads_text,
        parts_of(whole),
        None if head is None else classes_of(checkpoint, head),
        () if attention_only else ignored_words(model.family, checkpoint),
    )


AROUND = ("embedding_norm", "embedding_projection", "final_norm", "encoder_norm", "encoder_embedding_norm")
"""Parts before and after the layers that an experiment and an `Around` both have."""

OF_A_LAYER = frozenset(Layer.__struct_fields__)


class _Text(NamedTuple):
    """Input of a stack: a text, to which nothing is added if it `is_whole`, or ids, or neither."""

    text: str | None = None
    ids: Sequence[int] | None = None
    is_whole: bool = False


Features = NDArray[np.float64]


def _experiment(
    model: Blueprint, reads: tuple[_Text, _Text, Features | None], attention_only: bool, progress: Progress
) -> Experiment:
    """The whole experiment, in the default dtype; `reads` are the text, the memory's text, and a signal."""
    (text, memory, features), around = reads, model.around
    known = _tokens(model)
    by_place = _arrays(model, attention_only, progress)
    common = by_place.pop(("layers", None), {})
    given = common.pop("vocabulary.embedding", None)
    embedding = None if given is None else matrix_of(given)
    added = in_memory(common.pop("vectors", np.zeros(())))
    head = _taken(common, "vocabulary.")
    weights = {name.removeprefix(PLACE): in_memory(of) for name, of in _taken(common, PLACE).items()}
    entry = {name: common.pop(name) for name in tuple(common) if name.partition(".")[0] in OF_A_LAYER}

    def with_weights(stack: str, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
        return tuple(filled(layer, by_place.get((stack, i), {})) for i, layer in enumerate(layers))

    def main_layers(first: Layer, *behind: Layer) -> tuple[Layer, ...]:
        """The layers that read the tokens; the first one has the position added to the token vectors."""
        return with_weights("layers", (filled(first, entry), *behind))

    def sequence(stack: str, given: _Text, name: str) -> tuple[tuple[str, ...], ExplicitVectors]:
        """The tokens that a stack reads, and their vectors: of the signal, or of a text."""
        signal = model.family.signal
        if signal is not None and signal.stack == stack and features is not None:
            _refuse_text(model, given, name)
            vectors = signal.vectors(model.config, weights, features)
            return signal.names(model.config, len(vectors)), ExplicitVectors(Matrix(vectors))
        assert embedding is not None  # a stack that reads tokens
        ids = token_ids(known, given.text, given.ids, name, given.is_whole)
        first = model.encoder[0] if stack == "encoder" else model.layers[0]
        if len(ids) > first.position.end:
            fitting = must_be(
                "a text of at most {most:,} tokens, for which {family} has positions",
                most=int(first.position.end),
                family=model.family.title,
            )
            raise FieldError(name, token_count(len(ids)), fitting)
        rows = in_float64(embedding.rows(list(ids))) * around.embedding_scale + added
        return tuple(known.texts[i] for i in ids), ExplicitVectors(Matrix(rows))

    tokens, vectors = sequence("layers", text, "ids")
    if attention_only:
        fields: dict[str, Any] = {"layers": main_layers(_attention_alone(model.layers[0]))}
        fields |= {name: getattr(around, name) for name in ("embedding_norm", "embedding_projection")}
        return Experiment(tokens, vectors, **filled_fields(fields, common))
    fields = {"layers": main_layers(*model.layers)}
    for name in AROUND:
        fields[name] = getattr(around, name)
    if model.encoder:
        fields["memory"] = Memory(*sequence("encoder", memory, "memory_ids"))
        fields["encoder"] = with_weights("encoder", model.encoder)
    else:
        _refuse_text(model, memory, "memory_ids")
    classes = class_head(model.checkpoint)
    has_logits = classes is not None or has_head(model.checkpoint)
    vocabulary = None
    if embedding is not None and (has_logits or model.family.is_tied(model.config)):
        vocabulary = _vocabulary(around, known, embedding, head)
    elif embedding is None and classes is not None:
        vocabulary = Vocabulary(tokens, Matrix(vectors.values.array))  # of this image
    if vocabulary is not None and classes is not None:
        vocabulary = replace(vocabulary, logit_scale=1.0, cap=None, **class_fields(model.checkpoint, classes))
    if vocabulary is not None:
        fields["vocabulary"] = vocabulary
        fields |= {"readout": "vocabulary"} if has_logits else {}
    return Experiment(tokens, vectors, **filled_fields(fields, common))


def _taken(arrays: dict[str, Numbers], beginning: str) -> dict[str, Numbers]:
    """The arrays at places with this beginning, which `arrays` then lacks."""
    return {name: arrays.pop(name) for name in tuple(arrays) if name.startswith(beginning)}


def _refuse_text(model: Blueprint, given: _Text, name: str) -> None:
    """Raise `FieldError` for a text or ids that no stack reads."""
    if given == _Text():
        return
    signal = model.family.signal
    if signal is None:
        needless = must_be("null for {family}, which has no encoder", family=model.family.title)
    else:
        needless = must_be("null for {family}, which reads no text there", family=model.family.title)
    raise FieldError(name, given.text if given.text is not None else given.ids, needless)


def _attention_alone(layer: Layer) -> Layer:
    """A layer without the parts after its attention."""
    layer, block = replace(layer, cross=None), layer.block
    if block is None or block.placement == "post":
        return replace(layer, block=None)
    alone = replace(
        block, placement="pre", residual=False, feed_forward=None, norm_2=None, after_1=None, after_2=None
    )
    return replace(layer, block=alone)


def _arrays(model: Blueprint, attention_only: bool, progress: Progress) -> ArraysOrComputed:
    """The numbers of each layer by path, and under None those in no layer."""
    arrays: ArraysOrComputed = {}
    outside = _outside(model.layers[0])
    read = [one for one in model.planned if not attention_only or _is_in_first_attention(one, outside)]
    done, whole = 0, sum(one.stored.size for one in read)
    for planned in read:
        for place, array in planned.arrays(model.sizes):
            arrays.setdefault((place.stack, place.layer), {})[place.path] = array
        done += planned.stored.size
        progress(done / whole)
    if model.family.prepare is None:
        return arrays
    prepared = {
        key: {path: one.numbers() if isinstance(one, Computed) else one for path, one in below.items()}
        for key, below in arrays.items()
    }
    model.family.prepare(model.config, model.sizes, prepared)
    return {key: dict(below) for key, below in prepared.items()}


ArraysOrComputed = dict[tuple[str, int | None], dict[str, Numbers]]
"""As `Arrays`, with numbers that are computed from a file's at each use."""


def _outside(layer: Layer) -> tuple[str, ...]:
    """Paths of the weights that a layer's attention alone does not use."""
    block = layer.block
    return _OUTSIDE if block is not None and block.placement != "post" else (*_OUTSIDE, "block.")


_OUTSIDE = ("experts.", "block.feed_forward", "block.norm_2", "block.after_", "cross.", "encoder.")
"""Paths in a layer outside its own attention; in a block with post-norms, none of its norms is needed."""


def _is_in_first_attention(planned: Planned, outside: tuple[str, ...]) -> bool:
    """True if a tensor is needed for the first layer's attention."""
    if planned.layer is not None:
        return planned.layer == 0 and not planned.row.places[0].startswith(outside)
    return not planned.row.is_head and not planned.row.places[0].startswith(("final_norm", "encoder"))


def _vocabulary(around: Around, tokens: Tokens, embedding: Matrix, head: Mapping[str, Numbers]) -> Vocabulary:
    """The vocabulary with its embedding and read-out."""
    vocabulary = Vocabulary(
        tokens.texts,
        embedding,
        around.embedding_scale,
        transform=around.transform if head else None,
        logit_scale=around.logit_scale,
        cap=around.logit_cap,
        begin=tokens.begin,
        end=tokens.end,
        pieces=tokens.pieces,
        tokenizer=tokens.tokenizer,
    )
    return filled(vocabulary, {name.removeprefix("vocabulary."): array for name, array in head.items()})


def _tokens(model: Blueprint) -> Tokens:
    return read_tokens(model.checkpoint, model.sizes["vocabulary"])


def _title(model: Blueprint) -> str:
    return model.checkpoint.name

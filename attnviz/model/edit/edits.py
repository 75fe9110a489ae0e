"""Edits: pure functions Experiment -> Experiment, one for each action of a user.

An edit keeps the experiment valid: if a change of heads or tokens leaves a matrix with the wrong shape, the
matrix is cut, or padded with zeros, instead of an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.dims import group_counts
from attnviz.errors import A_TOKEN, FieldError, among, must_be
from attnviz.model.edit.fitting import (
    fitted_attention,
    fitted_differential,
    fitted_norm,
    fitted_projection,
    fitted_vocabulary,
)
from attnviz.model.edit.movement import Moved, moved_by_text, moved_references, with_moved_edits
from attnviz.model.masks import MASK_ORDER, mask_of
from attnviz.model.operands.matrices import embedded, projection_array, token_ids, vectors_array
from attnviz.model.positions import added_rows
from attnviz.model.sites.links import Sequence as Sequence
from attnviz.model.sites.sites import at, places, with_records
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.differential import Differential
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import (
    ROLES,
    Explicit,
    ExplicitVectors,
    Heads,
    Mask,
    Memory,
    Padding,
    Painted,
    Projection,
    Projections,
    Role,
    Rope,
    SeededVectors,
    Vectors,
    vectors_shape,
)
from attnviz.model.spec.pieces import own_tokens
from attnviz.model.spec.positions import Encoding
from attnviz.model.spec.site import Site
from attnviz.model.spec.vocabulary import EmbeddingProjection, Vocabulary
from attnviz.model.text import own_splitting, split_text

Array = NDArray[np.float64]
Encoded = TypeVar("Encoded", bound=Encoding)


# --- tokens and vectors ----------------------------------------------------------------------------


def tokens_of(experiment: Experiment, sequence: Sequence) -> tuple[str, ...]:
    """The tokens of the queries' sequence or of the memory."""
    return experiment.tokens if sequence == "tokens" else _memory(experiment).tokens


def vectors_of(experiment: Experiment, sequence: Sequence) -> Vectors:
    """The vectors of the queries' sequence or of the memory."""
    return experiment.vectors if sequence == "tokens" else _memory(experiment).vectors


def set_vectors(experiment: Experiment, values: Array, sequence: Sequence = "tokens") -> Experiment:
    """Store all vectors of a sequence explicitly; (token, d_model)."""
    vectors = ExplicitVectors(Matrix(values))
    return _with_sequence(experiment, sequence, tokens_of(experiment, sequence), vectors)


def set_vector_cell(
    experiment: Experiment, row: int, column: int, value: float, sequence: Sequence = "tokens"
) -> Experiment:
    """Change one number of a token vector; seeded vectors become explicit ones."""
    old = vectors_of(experiment, sequence)
    vectors = ExplicitVectors(old.matrix().replaced(row, column, value))
    return _with_sequence(experiment, sequence, tokens_of(experiment, sequence), vectors)


def added_position(site: Site, sequence: Sequence, row: int) -> Array:
    """The vector that an additive position adds to one token of a site; zeros without such a position.

    Shape (features of that token's vector,).
    """
    added = None if sequence == "memory" else added_rows(site, np.array([row]))
    if added is None:
        return np.zeros(site.d_keys if sequence == "memory" else site.d_embedding)
    return np.array(added[0])


def reseed_vectors(experiment: Experiment, seed: int, sequence: Sequence = "tokens") -> Experiment:
    """Sample all vectors of a sequence anew."""
    old = vectors_of(experiment, sequence)
    vectors = old.drawn(*old.shape, seed)
    return _with_sequence(experiment, sequence, tokens_of(experiment, sequence), vectors)


def set_tokens(experiment: Experiment, tokens: tuple[str, ...], sequence: Sequence = "tokens") -> Experiment:
    """Replace the text: a token that stays keeps its vector, at its new position.

    A new token has its vector from the vocabulary, or a random one without a vocabulary. If the model stores
    its tokenisation, a text that is no token is cut into tokens.
    """
    if not tokens:
        raise FieldError("tokens", [], A_TOKEN)
    old_tokens, old = tokens_of(experiment, sequence), vectors_of(experiment, sequence)
    vocabulary = read_vocabulary(experiment, sequence)
    if vocabulary is not None:
        tokens = _written(vocabulary, tokens, old_tokens)
    known = _embeddings(experiment, sequence, tokens)
    vectors = _carried_over(old_tokens, old, tokens, known)
    return _with_sequence(experiment, sequence, tokens, vectors, moved_by_text(old_tokens, tokens))


def with_text(experiment: Experiment, text: str) -> Experiment:
    """The experiment with another text, cut by the model's own rule where it has one; see `set_tokens`."""
    return set_tokens(experiment, split_text(experiment, text, own_splitting(experiment), keeps_ends=True))


def set_ids(experiment: Experiment, ids: Iterable[int]) -> Experiment:
    """The experiment with tokens of its vocabulary, by their ids, as its text; it has no references."""
    known, chosen = experiment.vocabulary, tuple(ids)
    assert known is not None
    tokens = tuple(known.tokens[index] for index in chosen)
    vectors = ExplicitVectors(Matrix(embedded(known, chosen)))
    return replace(experiment, tokens=tokens, vectors=vectors, references=())


def rename_token(experiment: Experiment, index: int, text: str, sequence: Sequence = "tokens") -> Experiment:
    """Change the text of one token; its vector stays, unless a vocabulary has one for the new text.

    If the model stores its tokenisation, a text that is no token is replaced by the tokens that write it,
    with their vectors.
    """
    tokens, vectors = tokens_of(experiment, sequence), vectors_of(experiment, sequence)
    vocabulary = read_vocabulary(experiment, sequence)
    written = (text,) if vocabulary is None else own_tokens(vocabulary, text)
    known = _embeddings(experiment, sequence, written)
    if known:
        values = vectors_array(vectors)
        rows = np.array([known[token] for token in written])
        vectors = ExplicitVectors(Matrix(np.vstack([values[:index], rows, values[index + 1 :]])))
    renamed = (*tokens[:index], *written, *tokens[index + 1 :])
    moved = [one if one <= index else one + len(written) - 1 for one in range(len(tokens))]
    return _with_sequence(experiment, sequence, renamed, vectors, moved)


def move_token(experiment: Experiment, source: int, target: int, sequence: Sequence = "tokens") -> Experiment:
    """Move a token, with its vector, to another position."""
    order = list(range(len(tokens_of(experiment, sequence))))
    order.insert(target, order.pop(source))
    return permute_tokens(experiment, tuple(order), sequence)


def permute_tokens(
    experiment: Experiment, order: tuple[int, ...], sequence: Sequence = "tokens"
) -> Experiment:
    """Token i becomes the old token order[i]; vectors move along. Omitted tokens are removed."""
    tokens = tokens_of(experiment, sequence)
    if not order:
        raise FieldError("tokens", [], A_TOKEN)
    values = vectors_array(vectors_of(experiment, sequence))[list(order)]
    texts, places_of = tuple(tokens[i] for i in order), {old: new for new, old in enumerate(order)}
    moved = [places_of.get(index) for index in range(len(tokens))]
    return _with_sequence(experiment, sequence, texts, ExplicitVectors(Matrix(values)), moved)


def remove_token(experiment: Experiment, index: int, sequence: Sequence = "tokens") -> Experiment:
    """Remove a token and its vector."""
    n = len(tokens_of(experiment, sequence))
    return permute_tokens(experiment, tuple(i for i in range(n) if i != index), sequence)


def set_n_tokens(experiment: Experiment, n: int, sequence: Sequence = "tokens") -> Experiment:
    """Cut the sequence, or repeat its tokens with new vectors, to `n` tokens."""
    tokens = tokens_of(experiment, sequence)
    longer = tuple(tokens[i % len(tokens)] for i in range(n))
    old = vectors_of(experiment, sequence)
    known = _embeddings(experiment, sequence, longer)
    vectors = _carried_over(tokens, old, longer, known) if known else _resized(old, n, vectors_shape(old)[1])
    moved = [index if index < n else None for index in range(len(tokens))]
    return _with_sequence(experiment, sequence, longer, vectors, moved)


def set_d_model(experiment: Experiment, d_model: int) -> Experiment:
    """Cut the vectors of all sequences to `d_model` features, or sample new features."""
    resized = {"vectors": _resized(experiment.vectors, experiment.n_queries, d_model)}
    if experiment.memory is not None:
        n = len(experiment.memory.tokens)
        vectors = _resized(experiment.memory.vectors, n, d_model)
        resized["memory"] = Memory(experiment.memory.tokens, vectors)  # type: ignore[assignment]
    return _fitted(experiment, resized)


def set_embedding_projection(experiment: Experiment, widened: EmbeddingProjection | None) -> Experiment:
    """Add, change or remove the projection of token vectors; all layers are fitted to its d_model."""
    return _fitted(experiment, {"embedding_projection": widened})


def change_embedding_projection(experiment: Experiment, **fields: Any) -> Experiment:
    """Change fields of the projection of token vectors. Raises `FieldError` without one."""
    widened = experiment.embedding_projection
    if widened is None:
        raise FieldError("embedding_projection", None, must_be("a projection of the token vectors"))
    return set_embedding_projection(experiment, replace(widened, **fields))


def set_memory(experiment: Experiment, memory: Memory | None) -> Experiment:
    """Add, replace or remove the memory sequence."""
    return _fitted(experiment, {"memory": memory})


def _memory(experiment: Experiment) -> Memory:
    if experiment.memory is None:
        raise FieldError("memory", None, must_be("a memory sequence"))
    return experiment.memory


def _with_sequence(
    experiment: Experiment,
    sequence: Sequence,
    tokens: tuple[str, ...],
    vectors: Vectors,
    moved: Moved | None = None,
) -> Experiment:
    """The experiment with another sequence, its references and edits by hand where tokens have `moved`."""
    if sequence == "memory":
        changed = _fitted(experiment, {"memory": Memory(tokens, vectors)})
    else:
        changes: dict[str, Any] = {"tokens": tokens, "vectors": vectors}
        if moved is not None:
            changes["references"] = moved_references(experiment, tokens, moved)
        changed = _fitted(experiment, changes)
    return changed if moved is None else with_moved_edits(experiment, changed, sequence, moved)


def read_vocabulary(experiment: Experiment, sequence: Sequence) -> Vocabulary | None:
    """The vocabulary of a sequence's tokens; a memory has one if an encoder reads it."""
    known = experiment.vocabulary
    if known is None or sequence == "tokens":
        return known
    memory = experiment.memory
    is_shared = experiment.encoder and memory and vectors_shape(memory.vectors)[1] == known.embedding.shape[1]
    return known if is_shared else None


def _written(vocabulary: Vocabulary, tokens: tuple[str, ...], old: tuple[str, ...]) -> tuple[str, ...]:
    """`tokens`, with each new one that is no token of the model cut into tokens."""
    there, written = Counter(old), list[str]()
    for token in tokens:
        there[token] -= 1
        written += (token,) if there[token] >= 0 else own_tokens(vocabulary, token)
    return tuple(written)


def _embeddings(experiment: Experiment, sequence: Sequence, tokens: tuple[str, ...]) -> dict[str, Array]:
    """The vectors of the vocabulary for these tokens, (d_model,) each."""
    vocabulary = read_vocabulary(experiment, sequence)
    if vocabulary is None:
        return {}
    ids = token_ids(vocabulary)
    known = list(dict.fromkeys(token for token in tokens if token in ids))
    return dict(zip(known, embedded(vocabulary, [ids[token] for token in known]), strict=True))


def _carried_over(
    old_tokens: tuple[str, ...], old: Vectors, tokens: tuple[str, ...], known: dict[str, Array]
) -> Vectors:
    resized = _resized(old, len(tokens), vectors_shape(old)[1])
    free: dict[str, list[int]] = {}
    for index, token in enumerate(old_tokens):
        free.setdefault(token, []).append(index)
    rows: list[int | None] = [free[t].pop(0) if free.get(t) else None for t in tokens]
    unused = sorted(index for indices in free.values() for index in indices)
    same_length = len(tokens) == len(old_tokens)
    for position, row in enumerate(rows):
        if row is None and same_length and position in unused and tokens[position] not in known:
            rows[position] = position  # the token was renamed in place
    values = vectors_array(resized).copy()
    there = vectors_array(old)
    for position, row in enumerate(rows):
        if row is not None:
            values[position] = there[row]
        elif tokens[position] in known:
            values[position] = known[tokens[position]]
    if np.array_equal(values, vectors_array(resized)):
        return resized
    return ExplicitVectors(Matrix(values))


def _resized(vectors: Vectors, n: int, d_model: int) -> Vectors:
    """Vectors of another shape: old numbers stay where they are, new ones are drawn."""
    if vectors.shape == (n, d_model):
        return vectors
    seed = 0
    if isinstance(vectors, SeededVectors):
        if vectors.d_model == d_model:
            return replace(vectors, n=n)
        seed = vectors.seed
    old, values = vectors_array(vectors), vectors_array(SeededVectors(n, d_model, seed)).copy()
    rows, columns = min(n, old.shape[0]), min(d_model, old.shape[1])
    values[:rows, :columns] = old[:rows, :columns]
    return ExplicitVectors(Matrix(values))


def toggle_reference(experiment: Experiment, pronoun: int, name: int) -> Experiment:
    """Let the token at one position refer to that at another, or no longer."""
    old, pair = experiment.references, (pronoun, name)
    kept = tuple(one for one in old if one != pair)
    return replace(experiment, references=kept if pair in old else (*old, pair))


# --- heads and projections -------------------------------------------------------------------------


def set_heads(site: Site, /, **changes: int) -> Site:
    """Change n_heads, n_kv_heads or d_head.

    If every query head has its own key/value head, it keeps one (MHA stays MHA); otherwise n_kv_heads becomes
    the nearest divisor below. Explicit keys and values are repeated for more of these heads, and averaged for
    fewer.
    """
    old = site.heads
    n_heads = changes.get("n_heads", old.n_heads)
    is_shared = site.latent is None and old.n_kv_heads < old.n_heads
    kept = old.n_kv_heads if is_shared else n_heads
    n_kv_heads = min(changes.get("n_kv_heads", kept), n_heads)
    while n_heads % n_kv_heads:
        n_kv_heads -= 1
    off = tuple(head for head in old.off if head < n_heads)
    heads = Heads(n_heads, n_kv_heads, changes.get("d_head", old.d_head), off)
    return site.changed(**fitted_attention(site, site.d_model, site.d_keys, heads))


def set_linked_heads(site: Site, name: Literal["n_heads", "d_head"], wanted: int) -> Site:
    """Change n_heads or d_head, and the other one with it, so that d_model = n_heads · d_head.

    The result is the nearest divisor of d_model in the direction of `wanted` that the site can have. Raises
    `ValueError` if it can have none.
    """
    other = "d_head" if name == "n_heads" else "n_heads"
    present, divisors = getattr(site.heads, name), group_counts(site.d_model)
    above = [n for n in divisors if n >= wanted]
    below = [n for n in reversed(divisors) if n <= wanted]
    refused: ValueError | None = None
    for n in above + below if wanted > present else below + above:
        try:
            return set_heads(site, **{name: n, other: site.d_model // n})
        except ValueError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def toggle_head(site: Site, head: int) -> Site:
    """Switch one query head off, or on again."""
    off = tuple(sorted(set(site.heads.off) ^ {head}))
    return replace(site, heads=replace(site.heads, off=off))


def set_projection(site: Site, role: Role, source: Projection) -> Site:
    """Choose the source of a weight matrix. A matrix tied to one that is now tied itself is unbound."""
    projections = site.projections
    if source.tied_to is not None:
        for other in ROLES:
            if projections.tied_to(other) == role:
                written_out = Explicit(Matrix(projection_array(site, other)))
                projections = replace_role(projections, other, written_out)
    return replace(site, projections=replace_role(projections, role, source))


def replace_role(projections: Projections, role: Role, source: Projection) -> Projections:
    """`projections` with one of the four replaced."""
    return replace(projections, **{role: source})


def _shapes(vectors: Vectors, memory: Memory | None) -> tuple[tuple[int, int], tuple[int, int] | None]:
    return vectors_shape(vectors), None if memory is None else vectors_shape(memory.vectors)


def _fitted(experiment: Experiment, changes: dict[str, Any]) -> Experiment:
    """The experiment with `changes`, and with everything that depends on shapes fitted to them,
    in all layers. Other numbers of the same shapes leave the layers as they are.
    """
    vectors = changes.get("vectors", experiment.vectors)
    memory = changes.get("memory", experiment.memory)
    is_same = changes.get("embedding_projection", experiment.embedding_projection) == (
        experiment.embedding_projection
    )
    if is_same and _shapes(vectors, memory) == _shapes(experiment.vectors, experiment.memory):
        return replace(experiment, **changes)
    d_embedding = vectors_shape(vectors)[1]
    widened = fitted_projection(
        changes.get("embedding_projection", experiment.embedding_projection), d_embedding
    )
    d_model = d_embedding if widened is None else widened.d_model
    d_memory = d_model if memory is None else vectors_shape(memory.vectors)[1]
    reads_memory = memory is not None and not experiment.has_cross
    is_alone = memory is None
    fields = {}
    for place in places(experiment):
        if is_alone and (place.stack == "encoder" or place.is_second):
            continue  # removed with the memory
        site = at(experiment, place.name)
        own = d_memory if place.stack == "encoder" else d_model
        reads = place.stack != "encoder" and (place.is_second or reads_memory)
        before = own if place.stack == "encoder" else d_embedding
        fields[place] = fitted_attention(site, own, d_memory if reads else own, site.heads, before)
        if is_alone:
            fields[place]["cross"] = None
    if is_alone:
        changes |= {"encoder": (), "encoder_norm": None, "encoder_embedding_norm": None}
    around = {"embedding_norm": d_embedding, "final_norm": d_model}
    around |= {"encoder_norm": d_memory, "encoder_embedding_norm": d_memory}
    for name, features in around.items():
        changes.setdefault(name, fitted_norm(getattr(experiment, name), features))
    changes["embedding_projection"] = widened
    changes["vocabulary"] = fitted_vocabulary(experiment.vocabulary, d_embedding, d_model)
    return with_records(experiment, fields, changes)


# --- positions and masks ---------------------------------------------------------------------------


def position_of(site: Site, kind: type[Encoded]) -> Encoded:
    """The position whose numbers are edited; refused where it is of another kind."""
    position: Any = site.position
    if not isinstance(position, kind):
        wanted = among((str(kind.__struct_config__.tag),))
        raise FieldError("position.kind", position.__struct_config__.tag, wanted)
    return position


def set_multiplier(site: Site, pair: int, value: float) -> Site:
    """Set the multiplier of the frequency of one RoPE pair."""
    position = position_of(site, Rope)
    multipliers = list(position.multipliers) + [1.0] * (pair + 1 - len(position.multipliers))
    multipliers[pair] = value
    while multipliers and multipliers[-1] == 1.0:
        multipliers.pop()
    return replace(site, position=replace(position, multipliers=tuple(multipliers)))


def set_mask(site: Site, mask: Mask) -> Site:
    """Add a mask, or replace the one of its kind."""
    others = [m for m in site.masks if type(m) is not type(mask)]
    masks = sorted([*others, mask], key=lambda m: MASK_ORDER.index(type(m)))
    return replace(site, masks=tuple(masks))


def remove_mask(site: Site, kind: type) -> Site:
    """Remove the mask of one kind."""
    return replace(site, masks=tuple(m for m in site.masks if not isinstance(m, kind)))


def set_padding(site: Site, position: int, is_padding: bool) -> Site:
    """Mark one key position as padding, or unmark it."""
    old = mask_of(site, Padding)
    marked = set(old.tokens if old else ()) - {position} | ({position} if is_padding else set())
    if not marked:
        return remove_mask(site, Padding)
    return set_mask(site, Padding(tuple(sorted(marked))))


def paint(site: Site, query: int, key: int, is_blocked: bool) -> Site:
    """Block one (query, key) cell of the map, or unblock it."""
    old, cell = mask_of(site, Painted), (query + site.query_offset, key)
    cells = set(old.cells if old else ()) - {cell} | ({cell} if is_blocked else set())
    if not cells:
        return remove_mask(site, Painted)
    return set_mask(site, Painted(tuple(sorted(cells))))


def set_differential(site: Site, differential: Differential | None) -> Site:
    """Subtract the weights of partner heads, or do not; explicit vectors of λ are fitted.

    Raises `ValueError` for an odd number of heads.
    """
    return replace(site, differential=fitted_differential(differential, site.heads))

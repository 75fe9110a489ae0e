"""The tasks: their answers by a second way, both sides of the split, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.training.tasks import TASK_BY_ID, TASKS, Addition, Copy, Lines, Lookup, Sampler, Texts

TEXT = tuple(tuple((7 * line + at) % 11 for at in range(20)) for line in range(40))
SAMPLERS: dict[str, Sampler] = {
    "copy": Copy(),
    "lookup": Lookup(),
    "addition": Addition(),
    "lines": Lines(TEXT, 11, "", 12),
}


def drawn(sampler: Sampler, count: int = 200, seed: int = 0, *, is_held_out: bool = False) -> Texts:
    return sampler.texts(np.random.default_rng(seed), count, is_held_out=is_held_out)


def asked(texts: Texts) -> np.ndarray:
    """The positions that count."""
    return texts.targets >= 0


def test_each_task_has_a_sampler_here() -> None:
    assert SAMPLERS.keys() == TASK_BY_ID.keys() and len(TASKS) == 4


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("is_held_out", [False, True])
def test_a_batch_has_texts_and_the_tokens_that_follow(name: str, is_held_out: bool) -> None:
    sampler = SAMPLERS[name]
    batch = drawn(sampler, 50, is_held_out=is_held_out)
    assert batch.ids.shape == batch.targets.shape == (50, sampler.n_tokens)
    is_followed = asked(batch)[:, :-1]
    np.testing.assert_array_equal(batch.ids[:, 1:][is_followed], batch.targets[:, :-1][is_followed])
    assert asked(batch).any(axis=1).all()
    assert 0 <= batch.ids.min() and max(batch.ids.max(), batch.targets.max()) < sampler.n_words


@pytest.mark.parametrize("name", SAMPLERS)
def test_equal_seeds_draw_equal_texts(name: str) -> None:
    one, same, other = (drawn(SAMPLERS[name], seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.ids, same.ids)
    assert (one.ids != other.ids).any()


def follower(ids: list[int]) -> int:
    """The token that followed the last one when it was said before."""
    *earlier, last = ids
    return ids[earlier.index(last) + 1]


def test_the_answer_of_a_copy_is_what_followed_before() -> None:
    batch = drawn(Copy())
    for text, targets, is_asked in zip(batch.ids.tolist(), batch.targets.tolist(), asked(batch), strict=True):
        period = next(k for k in range(1, 32) if text[k] == text[0])
        assert 5 <= period <= 16 and len(set(text[:period])) == period
        assert is_asked.tolist() == [at >= period for at in range(32)]
        for at in np.flatnonzero(is_asked).tolist():
            assert targets[at] == follower(text[: at + 1])


def test_every_length_of_list_is_drawn() -> None:
    batch = drawn(Copy(), 400)
    assert {int(row.argmax()) for row in asked(batch)} == set(range(5, 17))


def test_the_answer_of_a_lookup_is_the_value_of_its_key() -> None:
    batch = drawn(Lookup(pairs=5, n_words=20))
    for text, targets, is_asked in zip(batch.ids.tolist(), batch.targets.tolist(), asked(batch), strict=True):
        known = dict(zip(text[:10:2], text[1:10:2], strict=True))
        assert len(known) == 5 and is_asked.tolist() == [False] * 10 + [True]
        assert targets[-1] == known[text[-1]]
        assert max(known) < 10 <= min(known.values())


def test_sums_are_asked_modulo_and_half_of_the_pairs_is_held_out() -> None:
    sampler = Addition(modulus=7)
    sides = []
    for is_held_out in (False, True):
        batch = drawn(sampler, 3000, is_held_out=is_held_out)
        first, second, sign = batch.ids.T
        np.testing.assert_array_equal(batch.targets[:, -1], (first + second) % 7)
        assert (sign == 7).all() and asked(batch).sum() == 3000
        ordered = set(zip(first.tolist(), second.tolist(), strict=True))
        assert ordered == {(b, a) for a, b in ordered}  # both orders
        sides.append({tuple(sorted(pair)) for pair in ordered})
    assert not sides[0] & sides[1] and len(sides[0]) == len(sides[1]) == 14


@pytest.mark.parametrize("sampler", [Copy(), Lookup()])
def test_no_text_is_on_both_sides(sampler: Sampler) -> None:
    start = 5 if isinstance(sampler, Copy) else 12
    trained, held_out = (
        {tuple(text[:start]) for text in drawn(sampler, 2000, is_held_out=side).ids.tolist()}
        for side in (False, True)
    )
    assert not trained & held_out and min(len(trained), len(held_out)) > 500


def test_lines_are_windows_of_one_side() -> None:
    sampler = SAMPLERS["lines"]
    assert isinstance(sampler, Lines)
    held_out = [line for number, line in enumerate(TEXT) if number % 8 == 7]
    assert sampler.sides[1].tolist() == [token for line in held_out for token in line]
    row = ",".join(map(str, sampler.sides[0].tolist()))
    for text in drawn(sampler).ids.tolist():
        assert ",".join(map(str, text)) in row


def test_a_single_line_holds_its_end_out() -> None:
    sampler = Lines((tuple(range(80)),), 80, "", 8)
    assert [side.tolist() for side in sampler.sides] == [list(range(70)), list(range(70, 80))]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Copy(shortest=1), "task.shortest must be a whole number from 2 to 16; got 1"),
        (lambda: Copy(longest=17), "task.longest must be a whole number from 5 to 16; got 17"),
        (lambda: Copy(n_tokens=17), "task.tokens must be a whole number from 18 to 16,384; got 17"),
        (lambda: Lookup(pairs=17), "task.pairs must be a whole number from 2 to 16; got 17"),
        (lambda: Addition(modulus=1), "task.modulus must be a whole number from 2 to 997; got 1"),
        (
            lambda: Lines(((1, 2, 3),), 4, "", 8),
            "text must be a text whose held-out part has more than 8 tokens",
        ),
    ],
)
def test_sizes_that_make_no_text_are_refused(make: object, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        make()  # type: ignore[operator]
    assert sentence in str(error.value)

"""The texts of the corpus: what a split may hold, what a question means, what a seed gives."""

from __future__ import annotations

import re
from itertools import islice
from random import Random

import pytest
from make import corpus
from make.chinese import words as words_chinese
from make.chinese.grammar import CHINESE
from make.english import words as words_english
from make.english.cast import capitalised, listed
from make.english.grammar import ENGLISH
from make.grammar import Language, documents, fill, held_out, pair, questions
from make.tokenizer import load

from attnviz import resources

LANGUAGES = (ENGLISH, CHINESE)
WORDS = {"en": words_english, "zh": words_chinese}


def met(language: Language, text: str) -> set[tuple[int, int]]:
    """The places of the girls and boys that are named in one text, in all pairs."""
    words = WORDS[language.id]

    def named(names: tuple[str, ...]) -> list[int]:
        bounded = (rf"\b{name}\b" if language.id == "en" else name for name in names)
        return [i for i, name in enumerate(bounded) if re.search(name, text)]

    return {(girl, boy) for girl in named(words.GIRLS) for boy in named(words.BOYS)}


def stories(language: Language, split: str, count: int) -> list[str]:
    """Texts in which names are people: in a line to be repeated, any words stand together."""
    drawn = islice(documents((language,), split, 5), count)
    return [document.text for document in drawn if document.kind in ("story", "owners")]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_held_out_pairs_of_names_never_meet_in_training(language: Language) -> None:
    trained = set().union(*(met(language, text) for text in stories(language, "train", 3000)))
    kept = set().union(*(met(language, text) for text in stories(language, "held_out", 3000)))
    assert len(trained) > 300 and len(kept) > 70
    assert not any(held_out(*both) for both in trained)
    assert all(held_out(*both) for both in kept)


def test_a_fifth_of_the_pairs_is_held_out() -> None:
    assert sum(held_out(i, j) for i in range(20) for j in range(20)) == 80


def test_a_split_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="split must be one of train, held_out; got 'dev'"):
        pair(Random(0), 3, 3, "dev")


def test_a_seed_is_a_corpus() -> None:
    first, again, other = (
        [document.text for document in islice(documents(LANGUAGES, "train", seed), 50)] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_the_languages_take_turns() -> None:
    drawn = list(islice(documents(LANGUAGES, "train", 0), 40))
    assert [document.language for document in drawn] == ["en", "zh"] * 20
    for document in drawn:
        if document.kind != "repetition":
            assert bool(re.search("[一-鿿]", document.text)) == (document.language == "zh"), document.text


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_no_bracket_brace_or_double_space_is_left(language: Language) -> None:
    for split in ("train", "held_out"):
        for document in islice(documents((language,), split, 2), 2000):
            if document.kind != "repetition":
                assert not re.search(r"[\[\]{}|]|  |None", document.text), document.text
                assert document.text == document.text.strip()


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_the_shares_of_a_language_sum_to_one(language: Language) -> None:
    assert sum(share for _, share, _ in language.kinds) == pytest.approx(1)


def test_alternatives_nest_and_slots_are_filled_last() -> None:
    drawn = {fill("[a|[b|c]d] {x}", Random(seed), {"x": "[e|f]"}) for seed in range(60)}
    assert drawn == {"a [e|f]", "bd [e|f]", "cd [e|f]"}


def test_sentences_begin_with_a_capital() -> None:
    assert (
        capitalised('she said, "come." he came. "who?" asked Ann.')
        == 'She said, "Come." He came. "Who?" asked Ann.'
    )


def test_a_list_has_its_commas() -> None:
    assert listed(["tea", "jam"]) == "tea and jam"
    assert listed(["tea", "jam", "salt"]) == "tea, jam, and salt"


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_questions_come_from_held_out_pairs(language: Language) -> None:
    for kind in ("pronoun", "coreference", "naming"):
        for question in questions(language, kind, "held_out", 0, 200):
            assert met(language, question.prompt) and all(
                held_out(*both) for both in met(language, question.prompt)
            )


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
@pytest.mark.parametrize("kind", ["pronoun", "coreference", "naming"])
def test_the_pronoun_has_the_gender_of_the_right_name(language: Language, kind: str) -> None:
    girls = WORDS[language.id].GIRLS
    for question in questions(language, kind, "held_out", 0, 200):
        pronoun = (question.right if kind == "pronoun" else question.pronoun).strip().lower()
        assert (question.names[0] in girls) == (pronoun in ("she", "her", "她"))
        assert (question.names[1] in girls) == (pronoun in ("he", "him", "his", "他"))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
@pytest.mark.parametrize("kind", ["coreference", "naming"])
def test_the_right_name_is_as_often_the_nearer_as_the_farther(language: Language, kind: str) -> None:
    asked = questions(language, kind, "held_out", 0, 1000)
    nearer = sum(q.prompt.rindex(q.names[0]) > q.prompt.rindex(q.names[1]) for q in asked)
    assert 450 < nearer < 550


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_the_right_thing_stands_after_its_owner(language: Language) -> None:
    for question in questions(language, "coreference", "held_out", 0, 200):
        owner, other = question.names
        article = {"en": r" an?", "zh": "一."}[language.id]
        assert re.search(f"{owner}((?!{other}).)*{article}{question.right}", question.prompt), question


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_a_pronoun_is_asked_for_where_its_name_must_follow(language: Language) -> None:
    for question in questions(language, "naming", "held_out", 0, 200):
        assert question.prompt.endswith(question.pronoun)
        assert question.right.strip() == question.names[0] and question.wrong.strip() == question.names[1]
        assert all(name in question.prompt for name in question.names)
        assert question.right.strip()[0] != question.wrong.strip()[0] or language.id == "en"


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_each_pronoun_is_said_with_the_name_that_it_stands_for(language: Language) -> None:
    girls, boys = WORDS[language.id].GIRLS, WORDS[language.id].BOYS
    end = {"en": r"(?:Names|Who is who): (.+)\.", "zh": "(?:名字|谁是谁)：(.+)。"}[language.id]
    one = {"en": r"(\w+) (\w+)", "zh": "([她他])(\\w+)"}[language.id]
    lines = [d.text for d in islice(documents((language,), "train", 0, ("naming",)), 200)]
    for line in "\n".join(lines).split("\n"):
        found = re.search(end + "$", line)
        assert found is not None, line
        pairs = re.findall(one, found[1])
        assert pairs and len({pronoun for pronoun, _ in pairs}) == len(pairs)
        for pronoun, name in pairs:
            assert name in (girls if pronoun.lower() in ("she", "her", "她") else boys), line
            assert name in line[: found.start()]


TIMES = {"en": "0123456789", "zh": "零一二三四五六七八九"}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_words_are_counted_right(language: Language) -> None:
    english = language.id == "en"
    form = r"Count: (.+)\. How often: (.+)\." if english else "数一数：(.+)。各几次：(.+)。"
    seen = set()
    for document in islice(documents((language,), "train", 0, ("counting",)), 300):
        found = re.fullmatch(form, document.text)
        assert found is not None, document.text
        row = found[1].split() if english else list(found[1])
        for answer in found[2].split(", " if english else "、"):
            word, count = answer.split() if english else answer
            assert row.count(word) == TIMES[language.id].index(count), document.text
            seen.add(count)
    assert seen == set(TIMES[language.id])


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)
def test_what_is_asked_for_was_counted(language: Language) -> None:
    for question in questions(language, "counting", "held_out", 0, 300):
        (word,) = question.names
        said = re.split(r"[.。]", question.prompt)[0]
        times = len(re.findall(rf" {word}\b" if language.id == "en" else word, said.split("：")[-1]))
        right, wrong = (TIMES[language.id].index(one.strip()) for one in (question.right, question.wrong))
        assert question.prompt.endswith(word) and times == right and abs(right - wrong) == 1


def test_verbs_agree_with_the_subject_not_with_the_noun_beside_them() -> None:
    plurals = {noun.many for noun in words_english.ANIMALS}
    singular = {"is", "has", *(one for _, one in words_english.ACTIONS)}
    for question in questions(ENGLISH, "agreement", "held_out", 0, 300):
        subject = next(word for word in question.prompt.split() if word in plurals or word in _SINGULARS)
        assert (subject in plurals) == (question.right.strip() not in singular), question


_SINGULARS = {noun.one for noun in words_english.ANIMALS}


def test_measure_words_are_those_of_the_noun() -> None:
    measures = {noun.name: noun.measure for noun in words_chinese.THINGS + words_chinese.ANIMALS}
    for question in questions(CHINESE, "agreement", "held_out", 0, 300):
        noun = re.search(r"，(\w+)有.$", question.prompt)
        assert noun is not None
        assert measures[noun[1]] == question.right != question.wrong


def test_a_copy_is_the_line_itself() -> None:
    for language in LANGUAGES:
        for question in questions(language, "repetition", "held_out", 0, 200):
            assert question.right in question.prompt


def test_a_question_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="kind must be one of pronoun.*; got 'riddle'"):
        questions(ENGLISH, "riddle", "held_out", 0, 1)


def test_a_line_of_random_tokens_is_said_again_or_counted() -> None:
    tokenizer = load(resources.path("models", "stories", "tokenizer.json"))
    rng = Random(0)
    line, digits = tokenizer.encode("\n")[0], [tokenizer.encode(f" {count}")[-1] for count in range(10)]
    whole = [one for one in corpus.whole_tokens(tokenizer) if one != line]
    ways = set()
    for _ in range(100):
        ids = corpus.random_line(rng, tokenizer, whole, "repetition")
        assert (ids[0], ids[1], ids[-1]) == (tokenizer.begin, line, tokenizer.end)
        said = ids[2:-1]
        half = len(said) // 2
        assert said[:half] == said[-half:] and len(set(said[:half])) == half
        ways.add("a line end between" if len(said) % 2 else "at once")
        ids = corpus.random_line(rng, tokenizer, whole, "counting")
        assert ids[0] == tokenizer.begin and ids.count(line) == 1
        asked = ids.index(line) + 1
        row = ids[1 : asked - 1]
        for word, count in zip(ids[asked::2], ids[asked + 1 :: 2], strict=True):
            assert row.count(word) == digits.index(count)
    assert ways == {"at once", "a line end between"}

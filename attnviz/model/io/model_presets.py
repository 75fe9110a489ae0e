"""`MODEL_PRESETS`: the prompts for the bundled model; `checkpoints/presets.py` makes their documents."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.i18n import N_
from attnviz.model.io.presets import Preset

MODEL = "stories"
"""The bundled model: `resources/models/stories`."""


@dataclass(frozen=True)
class ModelPreset(Preset):
    """A preset of a model: its prompt, and the selected head and token.

    `model` is a folder under `resources/models`; `query` counts tokens, including the one that begins a text,
    and so do `references`: pairs of a pronoun and a token of the name that it refers to.
    """

    model: str
    prompt: str
    site: str
    head: int
    query: int
    seed: int
    references: tuple[tuple[int, int], ...] = ()


_MODEL = N_("A trained model")

MODEL_PRESETS: tuple[ModelPreset, ...] = (
    ModelPreset(
        "stories-en",
        _MODEL,
        N_("A small model generates a story"),
        N_(
            "Press Space: a trained model continues the story of [Lily](key). Where words return, this head "
            "attends to what followed them before."
        ),
        MODEL,
        "Once upon a time, there was a girl named Lily.",
        site="layers.2.self",
        head=2,
        query=11,
        seed=2,
    ),
    ModelPreset(
        "stories-zh",
        _MODEL,
        N_("A small model generates a story in Chinese"),
        N_(
            "The same model and the same head in another language: where [小](query 13) returns, it attends "
            "to [红](key), which followed it before."
        ),
        MODEL,
        "从前，有一个女孩，名字叫小红。",
        site="layers.2.self",
        head=2,
        query=14,
        seed=3,
    ),
    ModelPreset(
        "stories-name",
        _MODEL,
        N_("Who is she?"),
        N_(
            "Her name must come next: at [she], this head attends to [Lily](key); type [he](type "
            "he for she) instead, and it attends to [Tom](key)."
        ),
        MODEL,
        "By the lake Lily met Tom. Tom was hungry, so he ate some bread. Names: she",
        site="layers.2.self",
        head=2,
        query=20,
        seed=3,
        references=((13, 6), (13, 8), (20, 4)),
    ),
    ModelPreset(
        "stories-name-zh",
        _MODEL,
        N_("Who is she, in Chinese?"),
        N_(
            "The same question, the same head: [她] stands for [佳佳](key 1), and [他](type 他 for 她) "
            "would stand for [大伟](key 6)."
        ),
        MODEL,
        "佳佳看不见大伟，因为他在门后面。名字：她",
        site="layers.2.self",
        head=2,
        query=20,
        seed=4,
        references=((11, 6), (11, 7), (20, 1), (20, 2)),
    ),
    ModelPreset(
        "stories-count",
        _MODEL,
        N_("How many cats?"),
        N_(
            "Earlier copies of the same token: at the last [cat], this head attends to the "
            "[three](key 3) [cats](key 5) being [counted](key 7)."
        ),
        MODEL,
        "Count: cat dog cat fox cat. How often: cat",
        site="layers.2.self",
        head=0,
        query=12,
        seed=50,
    ),
    ModelPreset(
        "stories-induction",
        _MODEL,
        N_("An induction head"),
        N_("Induction: [red] occurred before, and this head attends to [box](key), which followed it then."),
        MODEL,
        'Tom said: "The red box is by the lake." Lily said: "The red',
        site="layers.2.self",
        head=2,
        query=19,
        seed=1,
    ),
    ModelPreset(
        "stories-owner",
        _MODEL,
        N_("Whose flute is old?"),
        N_(
            "At [her], this head attends to what Lily had, the [old](key) flute; type [He](type "
            "He for She) and [his](type his for her) instead, and it attends to Tom's [red](key) "
            "coin."
        ),
        MODEL,
        "Tom had a red coin and Lily had an old flute. She showed us her",
        site="layers.2.self",
        head=2,
        query=16,
        seed=0,
        references=((13, 7), (16, 7)),
    ),
)

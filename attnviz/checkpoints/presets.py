"""All presets of the program: document files, and prompts for the bundled model.

A model preset is read on demand: the files under `resources/models` become a document with the prompt's
tokens, and a decoding continues it.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from attnviz import resources
from attnviz.errors import FieldError, among
from attnviz.i18n import N_
from attnviz.model.io import presets as files
from attnviz.model.io.files import DocumentError
from attnviz.model.io.presets import Preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature, TopP
from attnviz.model.spec.view import View

MODEL = "stories"
"""The bundled model: `resources/models/stories`."""

LENGTH = 100
"""Largest number of tokens generated after a prompt."""

SAMPLING = Sampling((Temperature(0.8), TopP(0.95)), stop=StopConditions(length=LENGTH))
"""Sampling of the next token, without the seed."""


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
            "Her name must come next: at [she], this head attends to [Lily](key); type he instead, "
            "and it attends to [Tom](key)."
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
            "The same question, the same head: [她] stands for [佳佳](key 1), and 他 would stand for "
            "[大伟](key 6)."
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
            "At [her], this head attends to what Lily had, the [old](key) flute; type He and his "
            "instead, and it attends to Tom's [red](key) coin."
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

PRESETS: tuple[Preset, ...] = (*MODEL_PRESETS, *files.PRESETS)


def preset_ids() -> tuple[str, ...]:
    """The ids of all presets, in the order of the menu."""
    return tuple(preset.id for preset in PRESETS)


def grouped_presets() -> tuple[tuple[str, tuple[Preset, ...]], ...]:
    """(group, its presets) in the order of the menu; the name of a group is a message."""
    groups = tuple(dict.fromkeys(preset.group for preset in PRESETS))
    return tuple((group, tuple(one for one in PRESETS if one.group == group)) for group in groups)


def needs_model(preset_id: str) -> bool:
    """True if a preset reads a model, which takes longer than reading a file."""
    return any(preset.id == preset_id for preset in MODEL_PRESETS)


def load_preset(preset_id: str) -> Document:
    """The document of a preset. Its title and caption are messages: `_` translates them where they are shown.

    Raises `DocumentError`: the preset does not exist; the message names the existing ones.
    """
    for preset in MODEL_PRESETS:
        if preset.id == preset_id:
            return _written(preset)
    if preset_id not in files.preset_ids():
        raise DocumentError(FieldError("preset", preset_id, among(preset_ids())).message)
    return files.load_preset(preset_id)


def _written(preset: ModelPreset) -> Document:
    """The document in which a model reads a preset's prompt and continues it."""
    # The checkpoint reader is slow to import; most presets do not need it.
    from attnviz.checkpoints.importing import import_checkpoint

    document = import_checkpoint(resources.path("models", preset.model), text=preset.prompt)
    writing = Writing(replace(SAMPLING, seed=preset.seed))
    experiment = replace(document.experiment, writing=writing, references=preset.references)
    read = experiment.n_queries - 1  # playback begins with the first generated token
    view = View(stage="weights", site=preset.site, head=preset.head, query=preset.query, step=read)
    return Document(experiment, view, preset.title, preset.description)

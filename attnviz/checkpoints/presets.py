"""All presets of the program: document files, and prompts for the bundled model.

A model preset is read on demand: the files under `resources/models` become a document with the prompt's
tokens, and a decoding continues it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from attnviz import resources
from attnviz.errors import FieldError, among
from attnviz.model.first_picture import first_picture
from attnviz.model.io import presets as files
from attnviz.model.io.files import DocumentError
from attnviz.model.io.model_presets import MODEL_PRESETS, ModelPreset
from attnviz.model.io.presets import Preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.sampling import Sampling, StopConditions, Temperature, TopP
from attnviz.model.spec.view import View

LENGTH = 100
"""Largest number of tokens generated after a prompt."""

SAMPLING = Sampling((Temperature(0.8), TopP(0.95)), stop=StopConditions(length=LENGTH))
"""Sampling of the next token, without the seed."""

PRESETS: tuple[Preset, ...] = (*MODEL_PRESETS, *files.PRESETS)


def preset_ids() -> tuple[str, ...]:
    """The ids of all presets, in the order of the menu."""
    return tuple(preset.id for preset in PRESETS)


def is_preset(name: str) -> bool:
    """True for the id of a preset, unless a file has this name."""
    return name in preset_ids() and not Path(name).is_file()


def grouped_presets() -> tuple[tuple[str, tuple[Preset, ...]], ...]:
    """(group, its presets) in the order of the menu; the name of a group is a message."""
    groups = tuple(dict.fromkeys(preset.group for preset in PRESETS))
    return tuple((group, tuple(one for one in PRESETS if one.group == group)) for group in groups)


def needs_model(preset_id: str) -> bool:
    """True if a preset reads a model, which takes longer than reading a file."""
    return any(preset.id == preset_id for preset in MODEL_PRESETS)


def load_preset(preset_id: str) -> Document:
    """The document of a preset. Its title and caption are messages; `model/io/titles.py` translates them.

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
    here = {"site": preset.site, "head": preset.head, "query": preset.query, "step": read}
    view = View(stage="weights", projection="pair", **here)  # type: ignore[arg-type]
    shown = replace(
        document, experiment=experiment, view=view, title=preset.title, caption=preset.description
    )
    return replace(shown, view=replace(view, picture=first_picture(shown)))

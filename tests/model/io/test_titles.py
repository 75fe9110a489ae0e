"""Titles and captions as they are shown: those of presets are translated, nobody's own."""

from __future__ import annotations

import pytest

from attnviz import i18n
from attnviz.checkpoints.presets import PRESETS
from attnviz.model.io.presets import Preset
from attnviz.model.io.titles import as_shown


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_the_texts_of_a_preset_are_translated(preset: Preset) -> None:
    texts = preset.title, preset.description
    i18n.set_language("zh_CN")
    assert tuple(map(as_shown, texts)) == tuple(map(i18n._, texts))


@pytest.mark.parametrize("own", ["model", "weights", "mask", ""])
def test_what_somebody_wrote_stays_though_a_message_reads_the_same(own: str) -> None:
    i18n.set_language("zh_CN")
    assert as_shown(own) == own
    assert not own or i18n._(own) != own

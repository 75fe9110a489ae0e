"""A person looks at the attentions of an encoder and a decoder, from one to the other."""

from __future__ import annotations

import numpy as np
from desk import MakeDesk
from PySide6.QtWidgets import QLabel

import attnviz
from attnviz.gui.widgets.chips import TokenChips
from attnviz.gui.widgets.heat.site_map import SiteMap
from attnviz.model.io.presets import load_preset


def test_from_the_cross_attention_to_the_encoder_and_back_by_a_click(make_desk: MakeDesk) -> None:
    desk = make_desk("encoder-decoder")
    trace = attnviz.run(load_preset("encoder-decoder"))
    desk.bring("architecture")
    desk.settle()
    cross = desk.find(SiteMap, "site_map_decoder.0.cross")
    encoder = desk.find(SiteMap, "site_map_encoder.0.self")
    assert desk.find(QLabel, "architecture_sum").text() == "36 + 16 + 24 = 76 pairs, 70 visible"
    np.testing.assert_array_equal(desk.map.content.values, trace.site("decoder.0.cross")["weights"][0])

    # Pointing at the encoder lights nothing in the stage of another attention, and no token of the target.
    desk.hover(encoder, encoder.cell_center(1, 3))
    assert desk.store.pointer.elsewhere is not None and desk.store.pointer.cell is None
    assert desk.map.highlight.cell is None and not desk.map.highlight.columns
    assert desk.find(TokenChips, "token_chips")._highlight == frozenset()
    assert cross.highlight.columns == {1, 3}

    desk.click(encoder, encoder.cell_center(1, 3))
    np.testing.assert_array_equal(desk.map.content.values, trace.site("encoder.0.self")["weights"][0])
    assert not desk.store.is_modified and not desk.store.can_undo

    # Now it is the selected attention: its cells are those of the stage.
    desk.hover(cross, cross.cell_center(2, 5))
    desk.hover(encoder, encoder.cell_center(4, 2))
    assert desk.map.highlight.cell == (4, 2)
    desk.click(cross, cross.cell_center(0, 0))
    np.testing.assert_array_equal(desk.map.content.values, trace.site("decoder.0.cross")["weights"][0])

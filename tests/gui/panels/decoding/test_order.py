"""The order of the sampling operations: dragged by the rows or by the titles of the bars, or by keys."""

from __future__ import annotations

import pytest
from desk import count_color, picture
from msgspec.structs import replace
from panels import PanelBench
from pointer import drag, move, press, release
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from attnviz.compute.decoding import decode_and_compare
from attnviz.engines.program import never_cancelled
from attnviz.gui.look.theme import LIGHT
from attnviz.gui.panels.decoding.bars import DistributionBars
from attnviz.gui.panels.decoding.operation import OperationList
from attnviz.gui.panels.decoding.sampling import ColumnTitles, SamplingPanel
from attnviz.gui.widgets.grip import Grip, gap_at, place_in
from attnviz.gui.widgets.slider_field import SliderField
from attnviz.gui.widgets.toggle import Toggle
from attnviz.model.edit.generation import remove_operation, set_operation, writing_of
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.sampling import SAMPLING_OPERATIONS

USUAL = ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def bench(qtbot: QtBot) -> PanelBench[SamplingPanel]:
    """All five operations, in the size that the panel has where the window is 1280 × 800."""
    document = load_preset("causal-decode")
    experiment = document.experiment
    for row in SAMPLING_OPERATIONS:
        experiment = set_operation(experiment, row.fresh)
    made = PanelBench(qtbot, SamplingPanel, replace(document, experiment=experiment), 776, 102)
    made.store.set_decoded(decode_and_compare(made.store.experiment, "numpy", "cpu", never_cancelled, 0))
    qtbot.wait(1)
    return made


def order(bench: PanelBench[SamplingPanel]) -> list[str]:
    operations = writing_of(bench.store.experiment).sampling.operations
    return [str(operation.__struct_config__.tag) for operation in operations]


def rows(bench: PanelBench[SamplingPanel]) -> list[str]:
    """The rows as they stand below each other."""
    QApplication.processEvents()  # layouts take their time
    found = [bench.find(QWidget, f"operation_{row.id}") for row in SAMPLING_OPERATIONS]
    return [row.objectName().removeprefix("operation_") for row in sorted(found, key=QWidget.y)]


def undone(bench: PanelBench[SamplingPanel]) -> bool:
    """True if one undo restores the usual order, and no second undo exists."""
    bench.store.undo()
    return order(bench) == rows(bench) == USUAL and not bench.store.can_undo


def grip(bench: PanelBench[SamplingPanel], id_: str) -> Grip:
    return bench.find(Grip, f"grip_{id_}")


def middle(widget: QWidget) -> QPoint:
    return widget.rect().center()


# --- where a drop goes -----------------------------------------------------------------------------


def test_gaps_and_the_places_that_a_drop_in_them_makes() -> None:
    middles = [10.0, 30.0, 50.0]
    assert [gap_at(middles, at) for at in (-5, 9, 11, 31, 49, 51, 900)] == [0, 0, 1, 2, 2, 3, 3]
    letters = ["a", "b", "c"]
    for source in range(3):
        for gap in range(4):
            expected = [*letters[:gap], "*", *letters[gap:]]
            expected.remove(letters[source])
            others = [letter for letter in letters if letter != letters[source]]
            others.insert(place_in(gap, source), "*")
            assert others == expected


# --- the rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id_", "by", "expected"),
    [
        ("top_k", -2, ["top_k", "repetition_penalty", "temperature", "top_p", "min_p"]),
        ("repetition_penalty", 3, ["temperature", "top_k", "top_p", "repetition_penalty", "min_p"]),
        ("temperature", 9, ["repetition_penalty", "top_k", "top_p", "min_p", "temperature"]),
    ],
)
def test_a_row_is_dragged_to_another_place_in_one_step(
    bench: PanelBench[SamplingPanel], id_: str, by: int, expected: list[str]
) -> None:
    height = bench.find(QWidget, "operation_top_k").height()
    # A little past the middle of the row whose place it takes.
    drag(grip(bench, id_), middle(grip(bench, id_)), QPoint(0, by * height + (2 if by > 0 else -2)))
    assert order(bench) == rows(bench) == expected
    assert undone(bench)


def test_a_line_shows_where_a_row_would_stand_while_it_is_dragged(bench: PanelBench[SamplingPanel]) -> None:
    handle, shown = grip(bench, "min_p"), bench.panel.findChild(OperationList)
    assert isinstance(shown, OperationList)
    height = bench.find(QWidget, "operation_top_k").height()

    def line(gap: int) -> int:
        area = QRectF(0, shown.gap_y(gap) - 1, shown.width(), 2)
        return count_color(picture(shown), LIGHT.accent, area)

    assert [line(gap) > shown.width() for gap in range(6)] == [False] * 6
    press(handle, middle(handle))
    move(handle, middle(handle) - QPoint(0, 3 * height + 2))
    assert [line(gap) > shown.width() for gap in range(6)] == [False, True, False, False, False, False]
    assert order(bench) == USUAL and not bench.store.can_undo  # nothing moves before it is dropped
    QTest.keyClick(handle, Qt.Key.Key_Escape)
    assert [line(gap) > shown.width() for gap in range(6)] == [False] * 6
    release(handle, middle(handle) - QPoint(0, 3 * height + 2))
    assert order(bench) == USUAL and not bench.store.can_undo


def test_a_press_that_hardly_moves_and_a_drop_in_its_own_place_change_nothing(
    bench: PanelBench[SamplingPanel],
) -> None:
    handle = grip(bench, "top_k")
    for by in (QPoint(0, 2), QPoint(0, 9), QPoint(0, -9)):
        drag(handle, middle(handle), by)
    assert order(bench) == USUAL and not bench.store.can_undo


def test_only_operations_that_are_applied_have_a_handle(bench: PanelBench[SamplingPanel]) -> None:
    bench.store.edit(remove_operation, SAMPLING_OPERATIONS[0].kind)
    assert rows(bench) == [*USUAL[1:], USUAL[0]]
    assert not grip(bench, "repetition_penalty").isEnabled()
    height = bench.find(QWidget, "operation_top_k").height()
    drag(grip(bench, "temperature"), middle(grip(bench, "temperature")), QPoint(0, 9 * height))
    assert order(bench) == ["top_k", "top_p", "min_p", "temperature"]
    for id_ in ("top_k", "top_p", "min_p"):
        bench.store.edit(remove_operation, next(row.kind for row in SAMPLING_OPERATIONS if row.id == id_))
    assert not grip(bench, "temperature").isEnabled()  # alone it has nowhere to go


def test_alt_with_an_arrow_moves_the_row_wherever_in_it_the_focus_is(
    bench: PanelBench[SamplingPanel],
) -> None:
    slider = bench.find(SliderField, "slider_top_k")
    parts = (slider.track, slider.number, bench.find(Toggle, "switch_top_k"))
    for part in (*parts, bench.find(QToolButton, "earlier_top_k")):
        part.setFocus()
        QTest.keyClick(part, Qt.Key.Key_Up, ALT)
        assert order(bench) == rows(bench) == [USUAL[0], "top_k", USUAL[1], *USUAL[3:]]
        assert part.hasFocus() and slider.value() == 40
        QTest.keyClick(part, Qt.Key.Key_Down, ALT)
        assert order(bench) == USUAL
    for _press in range(7):  # at the end it stays
        QTest.keyClick(slider.track, Qt.Key.Key_Down, ALT)
    assert order(bench) == ["repetition_penalty", "temperature", "top_p", "min_p", "top_k"]
    bench.store.undo()
    assert order(bench) == ["repetition_penalty", "temperature", "top_p", "top_k", "min_p"]
    slider.track.setFocus()
    QTest.keyClick(slider.track, Qt.Key.Key_Up)
    assert slider.value() == 41  # without Alt it is the slider's key


# --- the titles ------------------------------------------------------------------------------------


def titles(bench: PanelBench[SamplingPanel]) -> ColumnTitles:
    return bench.find(ColumnTitles, "decode_columns")


def shown_titles(bench: PanelBench[SamplingPanel]) -> list[str]:
    return [titles(bench).title_text(column) for column in range(len(titles(bench)._columns))]


def centre(bench: PanelBench[SamplingPanel], column: int) -> QPoint:
    return titles(bench).title_rect(column).center().toPoint()


def test_five_operations_have_names_that_fit_where_the_window_is_small(
    bench: PanelBench[SamplingPanel], qtbot: QtBot
) -> None:
    shown = shown_titles(bench)
    assert all("…" not in title for title in shown), shown
    assert shown[1:] == ["rep.", "temp.", "top-k", "top-p", "min-p"]
    bench.panel.resize(1900, 132)
    qtbot.wait(1)
    assert shown_titles(bench)[1:] == [row.title for row in SAMPLING_OPERATIONS]


def test_titles_stand_over_their_bars_and_stay_when_the_bars_are_scrolled(
    bench: PanelBench[SamplingPanel],
) -> None:
    bars = bench.find(DistributionBars, "decode_distributions")
    left = [widget.mapTo(bench.panel, QPoint(0, 0)).x() for widget in (titles(bench), bars)]
    assert abs(left[0] - left[1]) <= 1  # the frame of the scroll area
    for column in range(6):  # a title's text begins three pixels inside its rectangle
        assert titles(bench).title_rect(column).left() + 3 == pytest.approx(bars.bar_rect(0, column).left())
    before = picture(titles(bench))
    area = bars.parentWidget().parentWidget()
    area.verticalScrollBar().setValue(15)  # type: ignore[attr-defined]
    assert bars.y() == -15 and picture(titles(bench)) == before and titles(bench).isVisible()


@pytest.mark.parametrize(("source", "target"), [(1, 4), (5, 1), (3, 2)])
def test_a_title_is_dragged_to_another_place_in_one_step(
    bench: PanelBench[SamplingPanel], source: int, target: int
) -> None:
    expected = [id_ for id_ in USUAL if id_ != USUAL[source - 1]]
    expected.insert(target - 1, USUAL[source - 1])
    past = QPoint(3 if target > source else -3, 0)
    drag(titles(bench), centre(bench, source), centre(bench, target) + past - centre(bench, source))
    assert order(bench) == rows(bench) == expected
    assert undone(bench)


def test_a_line_shows_where_a_title_would_stand_and_escape_gives_up(bench: PanelBench[SamplingPanel]) -> None:
    shown = titles(bench)

    def line(gap: int) -> bool:
        area = QRectF(shown.gap_x(gap) - 1, 2, 2, shown.height() - 4)
        return count_color(picture(shown), LIGHT.accent, area, tolerance=40) >= area.height()

    press(shown, centre(bench, 2))
    move(shown, centre(bench, 4) + QPoint(3, 0))
    assert [line(gap) for gap in range(1, 7)] == [False, False, False, False, True, False]
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    assert not any(line(gap) for gap in range(1, 7))
    release(shown, centre(bench, 4) + QPoint(3, 0))
    assert order(bench) == USUAL and not bench.store.can_undo


def test_the_models_own_distribution_stays_in_front(bench: PanelBench[SamplingPanel]) -> None:
    drag(titles(bench), centre(bench, 0), centre(bench, 4) - centre(bench, 0))
    assert order(bench) == USUAL
    drag(titles(bench), centre(bench, 2), centre(bench, 0) - centre(bench, 2) - QPoint(20, 0))
    assert order(bench) == ["temperature", "repetition_penalty", *USUAL[2:]]
    assert shown_titles(bench)[0] == "model"


def test_titles_are_chosen_and_moved_by_keys(bench: PanelBench[SamplingPanel]) -> None:
    shown = titles(bench)
    shown.setFocus()
    for _press in range(3):
        QTest.keyClick(shown, Qt.Key.Key_Right)
    assert shown.accessibleDescription().startswith("temperature · A temperature below 1 sharpens")
    QTest.keyClick(shown, Qt.Key.Key_Right, ALT)
    assert order(bench) == ["repetition_penalty", "top_k", "temperature", "top_p", "min_p"]
    for _press in range(5):
        QTest.keyClick(shown, Qt.Key.Key_Left, ALT)
    assert order(bench) == ["temperature", "repetition_penalty", "top_k", "top_p", "min_p"]
    for _press in range(3):
        bench.store.undo()
    assert order(bench) == USUAL and not bench.store.can_undo


@pytest.mark.parametrize("width", [540, 900])
def test_a_narrow_panel_puts_the_bars_below_the_controls(
    bench: PanelBench[SamplingPanel], width: int
) -> None:
    panel = bench.panel
    layout = panel.layout()
    assert layout is not None
    layout.setSizeConstraint(layout.SizeConstraint.SetNoConstraint)  # as in a card, which the panel fills
    panel.setMinimumSize(0, 0)
    panel.resize(max(width, panel.minimumSizeHint().width()), 320)
    QApplication.processEvents()
    assert panel.width() == width, "nothing scrolls sideways"
    bars, last = bench.find(DistributionBars, "decode_distributions"), bench.find(QWidget, "decode_length")
    at = bars.mapTo(panel, QPoint(0, 0))
    end = last.mapTo(panel, QPoint(last.width(), last.height()))
    assert at.x() > end.x() if width == 900 else at.y() > end.y()

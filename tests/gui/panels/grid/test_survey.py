"""A survey in the window: chosen in the dialog, measured as by the shell, painted; its texts open."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from desk import Desk, MakeDesk, color_in, picture
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QCheckBox, QDialog, QFileDialog, QLabel, QLineEdit, QPushButton

from attnviz.checkpoints.presets import load_preset
from attnviz.cli.shell import main
from attnviz.compute.budget import human_bytes
from attnviz.core.text import number
from attnviz.gui.dialogs import survey as dialogs
from attnviz.gui.dialogs.survey import SurveyAsked, SurveyDialog
from attnviz.gui.look.colors import LEVELS, cell_colors, inks
from attnviz.gui.panels.grid.survey.survey import HIGHEST, Distribution, SurveyPanel
from attnviz.gui.widgets.combo import Combo
from attnviz.gui.widgets.elided_label import ElidedLabel
from attnviz.gui.widgets.empty_state import EmptyState
from attnviz.gui.widgets.numbers.drag import DragNumber
from attnviz.gui.widgets.segmented import Segmented
from attnviz.model.text import MODEL, split_text
from attnviz.study.survey import running
from attnviz.study.survey.measure import open_model
from attnviz.study.survey.plan import EFFECT, Plan
from attnviz.study.survey.running import memory_needed, survey
from attnviz.study.survey.store import PARTIAL, read_table
from attnviz.study.survey.summary import summary
from attnviz.study.survey.texts import numbered, read_texts

Capture = pytest.CaptureFixture[str]

WORDS = (
    "Lily had a red box. Tom had a blue ball. Lily opened the red box.",
    "The cat sat. The cat ran. The cat slept.",
    "Tom saw a dog. The dog saw Tom.",
    "Lily was happy. She had a flute.",
    "The box was old. The box was red.",
    "Sam ran home.",
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("texts") / "stories.txt"
    file.write_text("\n".join(WORDS), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def whole(texts: Path) -> Path:
    """The result of the shell."""
    out = texts.with_name("shell.parquet")
    assert main(["survey", "stories-en", "--texts", str(texts), "--ablate", "zero", "-o", str(out)]) == 0
    return out


def panel_of(desk: Desk) -> SurveyPanel:
    found = desk.window.panels["survey"]
    assert isinstance(found, SurveyPanel)
    return found


def opened(make_desk: MakeDesk, path: Path) -> tuple[Desk, SurveyPanel]:
    desk = make_desk(load_preset("stories-en"))
    desk.window.open_file(path)
    panel = panel_of(desk)
    desk.qtbot.waitUntil(panel.isVisible)
    assert desk.window.workspaces.present.id == "model" and panel.summary is not None
    return desk, panel


def ask(desk: Desk, monkeypatch: pytest.MonkeyPatch, what: Callable[[SurveyDialog], None]) -> None:
    """Choose the command, and do `what` with the dialog that comes up."""

    def stand(dialog: QDialog) -> int:
        assert isinstance(dialog, SurveyDialog)
        dialog.show()
        what(dialog)
        dialog.hide()
        return dialog.result()

    monkeypatch.setattr(QDialog, "exec", stand)
    desk.window.commands["survey"].trigger()


def button(dialog: SurveyDialog, name: str) -> QPushButton:
    return dialog.findChild(QPushButton, name)  # type: ignore[return-value]


def line(dialog: SurveyDialog, name: str) -> QLineEdit:
    return dialog.findChild(QLineEdit, name)  # type: ignore[return-value]


def test_the_dialog_measures_as_the_shell_does(
    make_desk: MakeDesk, texts: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(load_preset("stories-en"))
    out = texts.with_suffix(".parquet")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_args, **_named: (str(texts), ""))

    def person(dialog: SurveyDialog) -> None:
        begin = button(dialog, "survey_button")
        assert not begin.isEnabled()
        desk.click(button(dialog, "survey_file"))
        assert line(dialog, "survey_output").text() == str(out) and begin.isEnabled()
        for part in ("", "/", "/a", str(texts)):  # as it is typed
            line(dialog, "survey_texts").setText(part)
        assert line(dialog, "survey_output").text() == str(out)
        for field, right, wrong, says in (
            ("texts", texts, "/none.txt", "The texts must be a file or a folder; got no /none.txt."),
            ("output", out, "heads.csv", "The file of the result ends in .parquet."),
            ("output", out, "/none/a.parquet", "The folder of the result must exist; got no /none."),
        ):
            line(dialog, f"survey_{field}").setText(wrong)
            assert not begin.isEnabled()
            assert dialog.findChild(QLabel, "survey_says").text() == says  # type: ignore[union-attr]
            line(dialog, f"survey_{field}").setText(str(right))
            assert begin.isEnabled()
        boxes = dialog.findChildren(QCheckBox)
        for box in boxes:
            desk.click(box)
        says = "At least one score must be chosen; got none."
        assert dialog.findChild(QLabel, "survey_says").text() == says  # type: ignore[union-attr]
        assert not begin.isEnabled()
        for box in boxes:
            if box.objectName() != "survey_score_entropy":
                desk.click(box)
        desk.click(begin)

    ask(desk, monkeypatch, person)
    scores = [name for name in read_table(whole).column_names if name not in ("entropy", EFFECT)]
    assert read_table(out).equals(read_table(whole).select(scores))
    assert desk.said() == "The survey is in stories.parquet"
    panel = panel_of(desk)
    assert panel.summary is not None and panel.summary.n_texts == len(WORDS)

    def again(dialog: SurveyDialog) -> None:
        assert line(dialog, "survey_texts").text() == str(texts)
        assert not dialog.findChild(QCheckBox, "survey_score_entropy").isChecked()  # type: ignore[union-attr]
        assert dialog.findChild(QLabel, "survey_says").text() == "The file exists and will be replaced."  # type: ignore[union-attr]

    ask(desk, monkeypatch, again)


def memory(dialog: SurveyDialog) -> str:
    return dialog.findChild(QLabel, "survey_memory").text()  # type: ignore[union-attr]


def needed(texts: Path, n_tokens: int, ablate: str | None = None) -> int:
    """The bytes that the shell states."""
    plan = Plan("stories-en", ablate=ablate, n_tokens=n_tokens)
    return memory_needed(plan, open_model(plan), read_texts(texts))


def test_the_dialog_states_the_memory_that_the_shell_states(
    make_desk: MakeDesk, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    desk = make_desk(load_preset("stories-en"))
    shell = ["survey", "stories-en", "--texts", str(texts), "-o", str(tmp_path / "a.parquet")]

    def person(dialog: SurveyDialog) -> None:
        assert memory(dialog) == ""
        line(dialog, "survey_texts").setText(str(texts))
        for more in ([], ["--ablate", "zero"]):
            assert main([*shell, *more]) == 0
            stated = capsys.readouterr().err.splitlines()[0]
            assert stated.startswith("Memory of each worker: at most ")
            desk.qtbot.waitUntil(lambda: memory(dialog) == stated)  # noqa: B023 (called at once)
            assert button(dialog, "survey_button").isEnabled()
            dialog.findChild(Segmented, "survey_ablation").step(1)  # type: ignore[union-attr]
            assert memory(dialog) == ""
        line(dialog, "survey_texts").setText(str(tmp_path / "gone.txt"))
        assert memory(dialog) == ""

    ask(desk, monkeypatch, person)


def test_a_survey_that_does_not_fit_is_refused_before_it_begins(
    make_desk: MakeDesk, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    small, large = needed(texts, 2), needed(texts, 128)
    free = (small + large) // 2
    monkeypatch.setattr(running, "available_memory", lambda: free)
    says = f"A survey must fit in {human_bytes(free)}, the free memory; got {human_bytes(large)}."
    out = tmp_path / "out.parquet"
    assert main(["survey", "stories-en", "--texts", str(texts), "-o", str(out)]) == 2
    assert capsys.readouterr().err == f"attnviz: {says}\n"
    desk = make_desk(load_preset("stories-en"))

    def person(dialog: SurveyDialog) -> None:
        line(dialog, "survey_texts").setText(str(texts))
        line(dialog, "survey_output").setText(str(out))
        desk.qtbot.waitUntil(lambda: memory(dialog) == says)
        label = dialog.findChild(QLabel, "survey_memory")
        assert isinstance(label, QLabel)
        desk.qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))
        assert not button(dialog, "survey_button").isEnabled()
        tokens = dialog.findChild(DragNumber, "survey_tokens")
        assert isinstance(tokens, DragNumber)
        tokens.set_value(2)
        tokens.changed.emit(2)
        assert memory(dialog) == "" and button(dialog, "survey_button").isEnabled()
        desk.qtbot.waitUntil(lambda: memory(dialog).startswith("Memory of each worker"))
        assert button(dialog, "survey_button").isEnabled()

    ask(desk, monkeypatch, person)
    desk.window.handlers.surveys.start(SurveyAsked(texts, Plan("x").scores, None, 128, out))
    assert desk.said() == says and not out.exists()


def test_a_result_that_cannot_be_written_is_named(make_desk: MakeDesk, texts: Path) -> None:
    desk = make_desk(load_preset("stories-en"))
    out = texts.parent / "none" / "out.parquet"
    desk.window.handlers.surveys.start(SurveyAsked(texts, Plan("x").scores, None, 128, out))
    assert desk.said() == "out.parquet: No such file or directory"


@pytest.mark.parametrize("score", ["previous", EFFECT])
def test_tiles_have_the_colour_of_the_mean_and_the_bars_of_the_texts(
    make_desk: MakeDesk, whole: Path, score: str
) -> None:
    desk, panel = opened(make_desk, whole)
    combo = desk.find(Combo, "survey_score")
    combo.set_value(score)
    combo.changed.emit(score)
    rows = read_table(whole).to_pydict()
    values: dict[tuple[str, int], list[float]] = {}
    for site, head, value in zip(rows["site"], rows["head"], rows[score], strict=True):
        values.setdefault((site, head), []).append(value)
    means = {at: float(np.mean(own)) for at, own in values.items()}
    most = max(abs(mean) for mean in means.values())
    kind = "diverging" if score == EFFECT else "sequential"
    colors, image = cell_colors(kind, desk.theme), picture(panel.canvas)
    for (site, head), mean in means.items():
        share = (mean / most + 1) / 2 if score == EFFECT else mean / most
        box = panel.canvas.tile_rect((0, int(site.split(".")[1]), head))
        above = QPointF(box.center().x(), box.top() + 2)
        got = np.array(color_in(image, above).getRgb()[:3])
        assert np.abs(got - colors[round(share * (LEVELS - 1))].astype(int)).max() <= 2, (site, head)
    end = max(map(abs, rows[score])) if score == EFFECT else 1.0
    low = -end if score == EFFECT else 0.0
    place = (0, 1, 0)
    drawn = panel.canvas.pictures[place]
    assert isinstance(drawn, Distribution)
    counts = np.histogram(values["layers.1.self", 0], 16, (low, end))[0]
    assert drawn.counts == tuple(counts)
    highest, box = int(np.argmax(counts)), panel.canvas.tile_rect(place)
    assert drawn.bar(highest, box).height() == pytest.approx(HIGHEST * box.height())
    ink, ground = (
        inks(kind, desk.theme)[drawn.level],
        color_in(image, QPointF(box.center().x(), box.top() + 2)),
    )
    inside = color_in(image, drawn.bar(highest, box).center())
    assert (inside.lightness() < ground.lightness()) == (ink == "#000000") and inside != ground
    legend = desk.find(ElidedLabel, "survey_legend").text()
    assert number(most, 2) in legend and number(end, 2) in legend


def test_a_head_names_its_texts_and_a_click_opens_one(make_desk: MakeDesk, whole: Path) -> None:
    desk, panel = opened(make_desk, whole)
    desk.store.look(site="layers.0.self", head=0)
    rows = read_table(whole).to_pydict()
    own = sorted(
        (
            (value, -text)
            for text, site, head, value in zip(
                rows["text"], rows["site"], rows["head"], rows["previous"], strict=True
            )
            if (site, head) == ("layers.2.self", 1)
        ),
        reverse=True,
    )
    wanted = tuple((WORDS[-text], value) for value, text in own[:5])
    tile = panel.canvas.tile_rect((0, 2, 1)).center()
    desk.hover(panel.canvas, tile)
    assert panel.rows.texts == wanted
    said = desk.find(ElidedLabel, "survey_head").text()
    mean = float(np.mean([value for value, _text in own]))
    assert said.startswith(f"Layer 3 · head 2 · mean {number(mean, 3)}")
    desk.click(panel.canvas, tile)
    assert (desk.store.document.site, desk.store.document.view.head) == ("layers.2.self", 1)
    before = desk.store.experiment
    desk.click(panel.rows, panel.rows.row_rect(1).center())
    desk.settle()
    assert desk.store.experiment.tokens == split_text(before, wanted[1][0], MODEL.id)
    desk.store.undo()
    assert desk.store.experiment == before


def test_the_text_that_opens_has_the_score_of_the_survey(make_desk: MakeDesk, whole: Path) -> None:
    from attnviz.analysis import head_scores

    desk, panel = opened(make_desk, whole)
    desk.click(panel.canvas, panel.canvas.tile_rect((0, 1, 3)).center())
    _text, value = panel.rows.texts[0]
    desk.click(panel.rows, panel.rows.row_rect(0).center())
    desk.settle()
    assert desk.store.trace is not None
    assert head_scores(desk.store.trace)["previous"]["layers.1.self"][3] == value


def test_a_cancelled_survey_continues(
    make_desk: MakeDesk, texts: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(load_preset("stories-en"), inline=False)
    out, measured, seen = tmp_path / "out.parquet", running.measure, list[int]()

    def slow(plan: object, model: object, text: object, check: Callable[[], None], reserve: int) -> object:
        seen.append(text.number)  # type: ignore[attr-defined]
        while seen == [0, 1]:
            check()
            time.sleep(0.01)
        return measured(plan, model, text, check, reserve)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "measure", slow)
    asked = SurveyAsked(texts, Plan("x").scores, "zero", 128, out)
    desk.window.handlers.surveys.start(asked)
    desk.qtbot.waitUntil(lambda: seen == [0, 1])
    desk.qtbot.waitUntil(lambda: desk.window.jobs.is_shown)
    assert panel_of(desk).findChildren(EmptyState)[0].accessibleName() == "Measuring every head…"
    desk.store.look(head=2)  # the window is alive
    desk.settle()
    desk.window.jobs.cancel()
    desk.qtbot.waitUntil(lambda: "continues" in desk.said())
    assert out.with_name(out.name + PARTIAL).exists() and not out.exists()
    desk.qtbot.waitUntil(lambda: desk.window.services.schedulers.survey.idle)
    desk.window.handlers.surveys.start(asked)
    desk.qtbot.waitUntil(lambda: panel_of(desk).summary is not None)
    assert seen == [0, 1, 1, 2, 3, 4, 5]
    assert read_table(out).equals(read_table(whole))


def test_a_file_of_numbers_only_names_texts_by_number(
    make_desk: MakeDesk, whole: Path, tmp_path: Path
) -> None:
    import pyarrow.parquet

    table = read_table(whole)
    metadata = {key: value for key, value in table.schema.metadata.items() if key != b"texts"}
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "old.parquet")
    desk, panel = opened(make_desk, tmp_path / "old.parquet")
    desk.store.look(site="layers.0.self", head=0)
    before = desk.store.document
    highest = summary(whole).heads[0].highest[0][0]
    assert panel.rows.texts[0][0] == f"text {highest}"
    desk.click(panel.rows, panel.rows.row_rect(0).center())
    assert desk.store.document == before


def test_what_is_missing_is_one_sentence(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk("toy-attention")
    monkeypatch.setattr(QDialog, "exec", lambda dialog: pytest.fail("no dialog"))
    desk.window.commands["survey"].trigger()
    assert "must be a model with a vocabulary" in desk.said()
    monkeypatch.setattr(dialogs, "find_spec", lambda name: None)
    desk.window.commands["survey"].trigger()
    assert desk.said() == "A survey needs the package pyarrow: pip install 'attnviz[cluster]'."
    asked = SurveyAsked(tmp_path / "gone.txt", ("first",), None, 8, tmp_path / "a.parquet")
    desk.store.open(load_preset("stories-en"))
    desk.window.handlers.surveys.start(asked)
    assert "gone.txt" in desk.said()
    out = survey(Plan("stories-en", ("first",), n_tokens=8), numbered(WORDS[:1]), tmp_path / "a.parquet")
    desk.store.open(load_preset("stories-en"))
    desk.window.open_file(out)
    assert panel_of(desk).summary is not None

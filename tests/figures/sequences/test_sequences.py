"""Sequences: what their frames show, on which colours, and what the written files hold."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from experiments import STACKS, small
from first_layer import stacked
from msgspec.structs import replace
from PIL import Image
from two_layers import COURSE, TASK, model

import attnviz
from attnviz import parts as p
from attnviz.cli import main
from attnviz.core.progress import Progress, never_cancelled
from attnviz.figures.content import content
from attnviz.figures.files import figure_bytes
from attnviz.figures.sequences import OUTPUTS, Sequence, frames, save_sequence
from attnviz.figures.sequences.frames import Engines, Frame
from attnviz.figures.style import Style
from attnviz.figures.subject import Subject
from attnviz.model.io.carriers.record import Record
from attnviz.model.io.presets import load_preset
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.training.file import save_run
from attnviz.training.optimiser import Settings
from attnviz.training.run import Run, train

ENGINES = Engines(
    lambda experiment, check: attnviz.run(experiment, check=check),
    lambda experiment, check: attnviz.decode(experiment, check=check),
)
Capture = pytest.CaptureFixture[str]
FREE = Progress(never_cancelled)
WIDTH_OF_A_COLUMN = 71 * 72 / 25.4
WORDS = stacked(
    ("one", "two", "a longer word"),
    p.SeededVectors(3, 4, seed=0),
    heads=p.Heads(2, 1, 4),
    masks=(p.Causal(),),
    dtype="float64",
)


def made(over: str, experiment: Experiment = WORDS, **chosen: object) -> tuple[Frame, ...]:
    return frames(over, Subject(attnviz.run(experiment), **chosen), ENGINES, FREE)  # type: ignore[arg-type]


def sequence(over: str, experiment: Experiment = WORDS, style: Style = Style(dpi=50)) -> Sequence:  # noqa: B008
    return Sequence(made(over, experiment), "stage", style)


def test_a_decoding_grows_by_a_token_and_has_the_numbers_of_the_cache() -> None:
    shown = made("decode")
    decoding = attnviz.decode(WORDS)
    assert [frame.label for frame in shown] == [
        f"step {step} of 3: {token}" for step, token in enumerate(WORDS.tokens, start=1)
    ]
    for count, frame in enumerate(shown, start=1):
        site = frame.subject.trace.only
        assert site.labels("query") == (*WORDS.tokens[:count], *[""] * (3 - count))
        visible = ~site.hatched("weights")
        np.testing.assert_array_equal(visible, np.tri(3, dtype=bool) & (np.arange(3) < count)[:, None])
        newest = decoding.steps[count - 1].main.weights[:, :count]
        np.testing.assert_allclose(site["weights"][:, count - 1, :count], newest, atol=1e-15)
        assert site.hatched("q")[:, 0].tolist() == [row >= count for row in range(3)]


def test_cells_of_later_tokens_are_empty_and_named_in_the_legend() -> None:
    first, *_others, last = sequence("decode", style=Style(dpi=72)).figures(FREE)
    said = [[text.get_text() for text in figure.axes[0].texts] for figure in (first, last)]
    assert "not yet generated" in said[0] and "masked" not in said[0]  # one token: nothing is masked yet
    assert "masked" in said[1] and "not yet generated" not in said[1]
    with Image.open(io.BytesIO(figure_bytes(first, "png", dpi=144))) as png:
        ground = np.asarray(png.convert("L"))
    plot = next(one for one in first.axes[0].patches if one.get_zorder() == 3)  # the frame of the map
    box = plot.get_window_extent(first.axes[0].figure.canvas.get_renderer())
    scale = ground.shape[0] / first.bbox.height
    top, left = ground.shape[0] - box.y0 * scale, box.x1 * scale
    corner = ground[int(top) - 30 : int(top) - 4, int(left) - 30 : int(left) - 4]
    assert (corner == 255).all()  # neither hatched nor coloured


def test_generated_tokens_come_after_the_whole_prompt() -> None:
    writing = p.Writing(p.Sampling((p.Temperature(0.0),), stop=p.StopConditions(length=3)))
    shown = made("decode", small(masks=(p.Causal(),), writing=writing))
    assert [frame.label.split(":")[0] for frame in shown] == ["step 5 of 7", "step 6 of 7", "step 7 of 7"]


def test_pictures_without_cells_show_the_tokens_of_each_step() -> None:
    shown = frames("decode", Subject(attnviz.run(WORDS)), ENGINES, FREE, "lines")
    whole = frames("decode", Subject(attnviz.run(WORDS)), ENGINES, FREE, "stage")[-1].subject.trace
    for count, frame in enumerate(shown, start=1):
        trace = frame.subject.trace
        assert (trace.experiment.tokens, frame.subject.view.query) == (WORDS.tokens[:count], count - 1)
        np.testing.assert_allclose(trace["weights"], whole["weights"][:, :count, :count], atol=1e-15)


def test_a_sequence_over_layers_has_the_attentions_of_one_kind() -> None:
    shown = made("layers", STACKS["encoder and decoder"], site="decoder.0.cross")
    assert [frame.subject.shown_site.name for frame in shown] == ["decoder.0.cross", "decoder.1.cross"]
    with pytest.raises(ValueError, match="two layers or more"):
        made("layers")


def test_a_sweep_computes_each_value() -> None:
    shown = made("temperature=0.5:2:4")
    assert [frame.label for frame in shown] == [
        "Temperature = 0.5", "Temperature = 1", "Temperature = 1.5", "Temperature = 2",
    ]  # fmt: skip
    scores = np.exp(attnviz.run(WORDS)["scores"][0, 2] / 2 / 1.5)
    np.testing.assert_allclose(shown[2].subject.trace["weights"][0, 2], scores / scores.sum(), atol=1e-14)


def test_labels_of_a_sweep_have_four_digits() -> None:
    shown = made("temperature=1:10000:3:log"), made("temperature=0.05:20:3:log"), made("temperature=1:2:4")
    texts = [[frame.label.partition(" = ")[2] for frame in frames] for frames in shown]
    assert texts == [["1", "100", "10000"], ["0.05", "1", "20"], ["1", "1.333", "1.667", "2"]]


def test_all_frames_have_the_colours_of_the_widest() -> None:
    shown = made("temperature=0.05:5:3", stage="scaled")
    style = Style()

    def ends(frame: Frame) -> tuple[float, float]:
        subject = frame.subject
        scale = content(
            subject.shown_site, subject.view, "scaled", 0, style.shades, shared=subject.shared
        ).scale
        return scale.low, scale.high

    for frame in shown:
        ends(frame)
    largest = max(float(np.abs(frame.subject.trace["scaled"][0]).max()) for frame in shown)
    assert [ends(frame) for frame in shown] == [(-largest, largest)] * 3


def test_a_picture_keeps_its_size_while_a_text_grows() -> None:
    sizes = {tuple(figure.get_size_inches()) for figure in sequence("decode").figures(FREE)}
    assert len(sizes) == 1


def test_titles_have_the_label() -> None:
    titles = [figure.axes[0].texts for figure in sequence("temperature=1:2:2").figures(FREE)]
    found = [text.get_text() for texts in titles for text in texts if "Temperature" in text.get_text()]
    assert found == [f"weights · head 1 of 2 · Temperature = {value}" for value in (1, 2)]


def test_titles_of_a_narrow_sheet_have_their_label_in_a_line_of_its_own_or_none_has() -> None:
    labels = [f"Temperature = {value}" for value in ("0.5", "1", "1.5", "2")]
    for title, shown in ((True, labels), (None, labels), (False, [])):
        style = Style(dpi=50, width=WIDTH_OF_A_COLUMN, title=title)
        figures = list(sequence("temperature=0.5:2:4", style=style).figures(FREE))
        assert len({figure.get_figheight() for figure in figures}) == 1
        found = [text.get_text() for figure in figures for text in figure.axes[0].texts]
        assert [text for text in found if "Temperature" in text] == shown, title
        assert any(text.startswith("weights · head") for text in found) == (title is True)
    large = sequence("position.base=1000:1000000:2", load_preset("yarn").experiment)
    assert [frame.label for frame in large.frames] == ["Base θ = 1000", "Base θ = 1000000"]


def test_one_picture_of_a_sequence_is_the_one_among_all() -> None:
    every = [figure_bytes(figure, "png", dpi=50) for figure in sequence("temperature=1:2:3").figures(FREE)]
    assert figure_bytes(sequence("temperature=1:2:3").figure(1), "png", dpi=50) == every[1]


def test_a_gif_loops_at_its_pace_and_carries_its_document(tmp_path: Path) -> None:
    record = Record.of(Document(WORDS))
    file = save_sequence(sequence("decode"), tmp_path / "x.gif", FREE, fps=5, dpi=50, record=record)
    with Image.open(file) as gif:
        assert (gif.n_frames, gif.info["loop"]) == (3, 0)
        times = []
        for index in range(3):
            gif.seek(index)
            times.append(gif.info["duration"])
    assert times == [200, 200, 600]
    assert attnviz.load(file).experiment == WORDS


def test_a_gif_has_the_colors_of_its_pictures(tmp_path: Path) -> None:
    made = sequence("decode")
    file = save_sequence(made, tmp_path / "x.gif", FREE, dpi=50)
    figure = next(iter(made.figures(FREE)))
    drawn = np.asarray(Image.open(io.BytesIO(figure_bytes(figure, "png", dpi=50))).convert("RGB"), np.int32)
    with Image.open(file) as gif:
        shown = np.asarray(gif.convert("RGB"), np.int32)[: drawn.shape[0], : drawn.shape[1]]
    paper = (drawn == 255).all(axis=-1)
    assert paper.mean() > 0.5 and (shown[paper] == 255).all()
    assert np.abs(shown - drawn).mean() < 0.2  # of 255


def test_a_film_has_a_frame_for_each_picture(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = save_sequence(sequence("temperature=1:2:4"), tmp_path / "x.mp4", FREE, fps=10, dpi=51)
    count, seconds = ffmpeg.count_frames_and_secs(str(file))
    assert (count, round(seconds, 2)) == (6, 0.6)
    reader = ffmpeg.read_frames(str(file))
    width, height = next(reader)["size"]
    first = np.frombuffer(next(reader), np.uint8).reshape(height, width, 3)
    reader.close()
    assert (width % 2, height % 2) == (0, 0)
    assert first[0, 0].min() > 240  # paper


def test_numbered_files_stand_in_a_folder_of_their_own(tmp_path: Path) -> None:
    for suffix in ("png", "svg"):
        folder = save_sequence(sequence("temperature=1:2:10"), tmp_path / f"{suffix}.{suffix}", FREE, dpi=40)
        names = sorted(file.name for file in folder.iterdir())
        assert names == [f"{suffix}-{index:02}.{suffix}" for index in range(1, 11)]
    shorter = save_sequence(sequence("temperature=1:2:2"), tmp_path / "png.png", FREE, dpi=40)
    assert sorted(file.name for file in shorter.iterdir()) == ["png-1.png", "png-2.png"]
    (shorter / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="an empty folder, or one with files such as png-1.png"):
        save_sequence(sequence("temperature=1:2:2"), tmp_path / "png.png", FREE, dpi=40)
    assert (shorter / "notes.txt").exists()


def test_a_pdf_has_a_page_for_each_picture(tmp_path: Path) -> None:
    file = save_sequence(sequence("decode"), tmp_path / "x.pdf", FREE)
    assert file.read_bytes().count(b"/Type /Page\n") + file.read_bytes().count(b"/Type /Page ") == 3


DRAWING, CODING = 2, 5
"""The check that ends a sequence of three pictures: while they are drawn, and while they become a film."""


@pytest.mark.parametrize(
    ("suffix", "last"),
    [*((row.suffix, DRAWING) for row in OUTPUTS), (".gif", CODING), (".mp4", CODING)],
)
def test_nothing_is_left_of_a_sequence_that_was_cancelled(
    suffix: str, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cancelled(Exception):
        pass

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    asked: list[None] = []

    def check() -> None:
        asked.append(None)
        if len(asked) == last:
            raise Cancelled

    with pytest.raises(Cancelled):
        save_sequence(sequence("decode"), tmp_path / f"x{suffix}", Progress(check), dpi=40)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told(tmp_path: Path) -> None:
    shares: list[float] = []
    save_sequence(sequence("decode"), tmp_path / "x.gif", Progress(never_cancelled, shares.append), dpi=40)
    assert shares == pytest.approx([0.0, 0.8 / 3, 1.6 / 3, 0.8, 0.8 + 0.2 / 3, 0.8 + 0.4 / 3])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--over", "nothing", "-o", "x.gif"), "decode, layers or a sweep"),
        (("--over", "temperature=-1:1:3", "-o", "x.gif"), "temperature must be"),
        (("--over", "decode", "-o", "x.txt"), "'.gif', '.mp4'"),
        (("--over", "decode", "-o", "x.gif", "--fps", "0"), "fps must be"),
        (("--over", "decode", "-o", "x.gif", "--kind", "lines", "--stage", "q"), "must be"),
    ],
)
def test_the_command_refuses_in_one_sentence(
    options: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [str(tmp_path / word) if word.startswith("x.") else word for word in options]
    assert main(["animate", "toy-attention", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_for_films_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"attnviz\[video\]"):
        save_sequence(sequence("decode"), tmp_path / "x.mp4", FREE, dpi=40)


def test_the_command_writes_a_gif(tmp_path: Path) -> None:
    file = tmp_path / "x.gif"
    command = ["animate", "toy-attention", "--over", "temperature=0.1:2:3:log", "-o", str(file)]
    assert main([*command, "--dpi", "40", "--fps", "2"]) == 0
    with Image.open(io.BytesIO(file.read_bytes())) as gif:
        assert (gif.n_frames, gif.info["duration"]) == (3, 500)


@pytest.mark.parametrize("width", ["85mm", "174mm"])
def test_the_command_says_that_the_row_sums_have_no_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], width: str
) -> None:
    command = ["animate", "grouped-query", "--stage", "weights", "--head", "0", "--width", width]
    assert main([*command, "--over", "temperature=0.5:2:2", "-o", str(tmp_path / "sums.svg")]) == 0
    files = sorted((tmp_path / "sums").iterdir())
    drawn = [">Σ " in file.read_text(encoding="utf-8") for file in files]
    has_room = width == "174mm"
    assert drawn == [has_room, has_room]
    said = "attnviz: Row sums: from 100 mm on.\n"
    assert capsys.readouterr().err == ("" if has_room else said)


def test_the_command_sweeps_a_gradient_and_refuses_it_of_a_decoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["animate", "toy-attention", "--target", "weights[0,1,2]"]
    folder = tmp_path / "g.svg"
    assert main([*given, "-o", str(folder), "--stage", "scaled", "--over", "temperature=0.5:2:2"]) == 0
    first, second = (file.read_text() for file in sorted((tmp_path / "g").iterdir()))
    assert first != second
    for more in (["--over", "decode"], ["--over", "temperature=0.5:2:2", "--kind", "positions"]):
        assert main([*given, "-o", str(folder), *more]) == 2
        assert "it has no gradients" in capsys.readouterr().err


def test_a_sweep_of_a_gradient_computes_that_of_each_value() -> None:
    target = "weights[0, 2, 0]"

    def run(experiment: Experiment, check: object) -> object:
        return attnviz.backward(experiment, target)

    given = Subject(attnviz.backward(WORDS, target))
    shown = frames("temperature=0.5:2:4", given, Engines(run, ENGINES.decode), FREE)  # type: ignore[arg-type]
    w = attnviz.run(replace(WORDS, layers=(replace(WORDS.layers[0], temperature=1.5),)))["weights"][0, 2]
    np.testing.assert_allclose(shown[2].subject.trace["masked"][0, 2], w[0] * (np.eye(3)[0] - w), atol=1e-14)


@pytest.fixture(scope="module")
def run() -> Run:
    return train(model(), TASK, COURSE, Settings(5e-3, steps=40))


def test_a_training_has_a_picture_of_each_kept_state(run: Run) -> None:
    shown = made("training", run.experiment, run=lambda: run)
    assert [frame.label.partition(" · ")[0] for frame in shown] == [
        f"step {step}" for step in (0, 10, 20, 30, 40)
    ]
    assert shown[2].label.endswith(f" · accuracy {run.curves.measures[1].accuracy:.2f}")
    for frame, step in zip(shown, run.steps, strict=True):
        for site in frame.subject.trace.sites:
            expected = attnviz.run(run.at(step)).site(site)["weights"]
            np.testing.assert_array_equal(frame.subject.trace.site(site)["weights"], expected)


def test_the_colours_of_a_training_are_those_of_all_its_states(run: Run) -> None:
    shown = Sequence(
        made("training", run.experiment, run=lambda: run, stage="scores"), "layers", Style(dpi=50)
    )
    assert shown.without is None  # every picture was measured
    ends = set()
    for frame in shown.frames:
        for site in frame.subject.trace.sites:
            drawn = content(
                frame.subject.trace.site(site), frame.subject.view, "scores", "all", Style().shades,
                shared=frame.subject.shared,
            )  # fmt: skip
            ends.add((drawn.scale.low, drawn.scale.high))
    assert len(ends) == 1
    low, high = ends.pop()
    found = [
        attnviz.run(run.at(step)).site(site)["scores"]
        for step in run.steps
        for site in ("layers.0.self", "layers.1.self")
    ]
    assert max(abs(low), high) == pytest.approx(max(np.abs(one).max() for one in found))


def test_the_shell_animates_all_heads_over_a_training(run: Run, tmp_path: Path, capsys: Capture) -> None:
    file = save_run(Document(run.experiment), run.training.record(), tmp_path / "run.safetensors")
    both = tmp_path / "all.gif", tmp_path / "head.gif"
    assert main(["animate", str(file), "--over", "training", "-o", str(both[0]), "--dpi", "40"]) == 0
    one_head = ["--head", "1", "--site", "layers.1.self", "-o", str(both[1]), "--dpi", "40"]
    assert main(["animate", str(file), "--over", "training", *one_head]) == 0
    sizes = []
    for path in both:
        with Image.open(path) as image:
            assert image.n_frames == 5  # type: ignore[attr-defined]
            sizes.append(image.size)
    assert sizes[0] != sizes[1], "all heads of all layers, and one head"
    by_python = attnviz.animate(run, tmp_path / "python.gif", "training", dpi=40)
    with Image.open(by_python) as image:
        assert image.size == sizes[0] and image.n_frames == 5  # type: ignore[attr-defined]


def test_a_document_without_a_run_has_no_training(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(ValueError, match=r"^A sequence over the training needs a run beside the document\.$"):
        made("training")
    assert main(["animate", "toy-attention", "--over", "training", "-o", str(tmp_path / "a.gif")]) == 2
    assert "The file must have a run beside its document; it has none." in capsys.readouterr().err

"""`training_program`: a run as a PyTorch script, which draws the same texts and takes the same steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from msgspec.structs import replace

from attnviz.core.text import columns
from attnviz.errors import FieldError, Message, must_be
from attnviz.explain.scripts.code import NOTE, WIDTH, Asked, Code, Lines, Written, note
from attnviz.explain.scripts.library import LIBRARY_BY_ID
from attnviz.explain.scripts.script import Part, Program, Storage, about, opening
from attnviz.explain.scripts.sources import explicit, parameter
from attnviz.explain.scripts.stages import stage_code
from attnviz.i18n import N_, _
from attnviz.model.sites.sites import sites
from attnviz.model.sites.stages import site_stages
from attnviz.model.sites.titles import site_title
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.stages import result_of
from attnviz.training.batch import NOT_COUNTED
from attnviz.training.optimiser import OPTIMISER_BY_ID, SCHEDULE_BY_ID, Settings
from attnviz.training.parameters import EMBEDDING, Parameter, parameters_of
from attnviz.training.record import Course
from attnviz.training.run import HELD_OUT, HELD_OUT_TEXTS, Run
from attnviz.training.tasks import Sampler
from attnviz.training.trainable import has_dropout, with_length
from attnviz.training.words import ids_of_words

NUMPY, TORCH = LIBRARY_BY_ID["numpy"], LIBRARY_BY_ID["torch"]
FIRST = "tokens_embedded"
LAST = "logits"
INDENT = "    "
PRINTED = 10
"""The first steps, whose losses are all printed."""


def training_program(document: Document, sampler: Sampler, course: Course, settings: Settings) -> Program:
    """The PyTorch script of a run, which needs neither attnviz nor a seed of PyTorch.

    It prints the losses of the first ten steps and of every measured one. Raises `FieldError` for a document
    that cannot be trained, and for one with dropout, whose draws are attnviz's own.
    """
    experiment = with_length(document.experiment, sampler.n_tokens)
    _check_dropout(experiment)
    known, storage = replace(document, experiment=experiment), Storage()
    sections = (
        (N_("Parameters"), N_("every number that a step changes"), _numbers(experiment, storage)),
        (
            N_("Texts"),
            N_("those of a step, the same whenever they are drawn"),
            _texts(experiment, sampler, course, storage),
        ),
        (
            N_("Model"),
            N_("the scores of the next words after each token of one text"),
            _model(experiment, storage),
        ),
        (N_("Steps"), N_("the losses are those of the texts before each step"), _steps(course, settings)),
    )
    parts = tuple(Part(title, "", _(says), "", "", lines, "") for title, says, lines in sections)
    titles = {title: _(title) for title, _says, _lines in sections}
    return Program(about(known), opening(TORCH), parts, titles, storage)


def program_of_run(document: Document, run: Run) -> tuple[Document, Program]:
    """The document as it was before the first step of its run, and the script that takes its steps."""
    record, begun = run.training.record(), replace(document, experiment=run.at(0))
    return begun, training_program(begun, record.sampler, record.course, record.settings)


def _check_dropout(experiment: Experiment) -> None:
    if has_dropout(experiment):
        none = must_be("null: the script of a training cannot repeat what attnviz drops")
        raise FieldError("dropout", Message("a dropout"), none)


def _numbers(experiment: Experiment, storage: Storage) -> Lines:
    """The definition of `parameters`."""
    standing = {place.name: site for place, site in sites(experiment).items()}
    lines = ["numbers = {}"]
    for one in parameters_of(experiment):
        lines += _initial(experiment, standing, one, storage)
    tensor = "torch.tensor(numbers[name], requires_grad=True)"
    return (*lines, f"parameters = {{name: {tensor} for name in numbers}}")


def _initial(experiment: Experiment, standing: Mapping[str, Site], one: Parameter, storage: Storage) -> Lines:
    """The lines that define the first numbers of a parameter."""
    site = standing.get(one.site) or next(iter(standing.values()))
    asked, symbol = Asked(site, FIRST, site_stages(site), NUMPY, storage.keep), one.symbol.replace(" ", "_")
    if one.name == EMBEDDING:
        assert experiment.vocabulary is not None
        explicit(asked, symbol, experiment.vocabulary.embedding)
    else:
        parameter(asked, one.name.removeprefix(f"{one.site}."), symbol)
    (definition,) = asked.definitions
    own = f"{symbol} = "
    lines = (
        f'numbers["{one.name}"] = {line.removeprefix(own)}' if line.startswith(own) else line
        for line in definition.lines
    )
    return tuple(line if columns(line) <= WIDTH else line.partition(NOTE)[0] for line in lines)


def _texts(experiment: Experiment, sampler: Sampler, course: Course, storage: Storage) -> Lines:
    """The task's `draw`, and `texts`, which has ids of the vocabulary."""
    known = experiment.vocabulary
    assert known is not None
    words = ids_of_words(experiment, sampler.n_words)
    n_all = len(known.tokens)
    marks = sorted(set(range(n_all)) - set(ids_of_words(experiment).tolist()))
    every = f"np.delete(np.arange({n_all}), {marks})" if marks else f"np.arange({n_all})"
    chosen = "" if len(words) + len(marks) == n_all else f"[:{len(words)}]"
    return (
        "",
        "",
        *sampler.code(storage.keep),
        "",
        "",
        f"words = {every}{chosen}{note(IDS)}",
        "",
        "",
        "def texts(step, count, is_held_out=False):",
        f"    rng = np.random.default_rng([{course.seed}, step])",
        "    drawn, asked = draw(rng, count, is_held_out)",
        "    drawn = words[drawn]",
        f"    targets = np.where(asked, drawn[:, 1:], {NOT_COUNTED})",
        "    return torch.from_numpy(drawn[:, :-1]), torch.from_numpy(targets)",
    )


IDS = N_("the ids of the words of the task")


def _model(experiment: Experiment, storage: Storage) -> Lines:
    """The functions of the stages, and `model(ids)`."""
    uses = {
        name: f'parameters["{one.name}"]' + (".T" if is_turned else "")
        for one in parameters_of(experiment)
        for name, is_turned in one.uses
    }
    functions: dict[str, Lines] = {}
    body: list[str] = []
    definitions = Written()
    for place, site in sites(experiment).items():
        stages = site_stages(site)
        body += ["", f"# {site_title(experiment, place.name)}"]
        for stage in stages[: stages.index(LAST) + 1] if LAST in stages else stages:
            code = _code(experiment, site, stage, uses, storage)
            functions |= {one.name: one.lines for one in code.definitions if one.is_function}
            others = tuple(one for one in code.definitions if not one.is_function)
            body += definitions.lines(Code(code.lines, others))
        if LAST not in stages:
            body.append(f"result = {result_of(stages)}")
    return (
        "",
        "",
        *(line for lines in functions.values() for line in (*lines, "")),
        "def model(ids):",
        *(f"{INDENT}{line}" if line else "" for line in body[1:]),
        f"{INDENT}return {LAST}",
    )


def _code(experiment: Experiment, site: Site, stage: str, uses: Mapping[str, str], storage: Storage) -> Code:
    """The code of a stage with the parameters that training changes; the first one looks tokens up."""
    known = experiment.vocabulary
    assert known is not None
    if stage == FIRST:
        scale = "" if known.embedding_scale == 1.0 else f" * {known.embedding_scale!r}"
        return Code((f'{FIRST} = parameters["{EMBEDDING}"][ids]{scale}',))
    prefix = f"{site.place.name}."
    trained = {name.removeprefix(prefix): used for name, used in uses.items() if name.startswith(prefix)}
    return stage_code(site, stage, TORCH, keep=storage.keep, trained=trained)


def _steps(course: Course, settings: Settings) -> Lines:
    """The optimiser, and the loop."""
    return (*_LOSS, *_schedule(settings), *_loop(course, settings))


_LOSS = (
    "",
    "",
    "def loss_and_accuracy(ids, targets):",
    "    logits = torch.vmap(model)(ids)",
    f"    loss = torch.nn.functional.cross_entropy(logits.mT, targets, ignore_index={NOT_COUNTED})",
    "    is_right = logits.argmax(dim=-1) == targets",
    "    return loss, is_right[targets >= 0].double().mean().item()",
    "",
    "",
)


def _schedule(settings: Settings) -> Iterator[str]:
    """The optimiser, and the rate of each step where that changes."""
    if _has_schedule(settings):
        yield f"def share(step):{note(SHARE)}"
        if settings.warmup:
            yield f"    if step < {settings.warmup}:"
            yield f"        return (step + 1) / {settings.warmup}"
        if settings.schedule != Settings.schedule:
            begun = f"(step - {settings.warmup})" if settings.warmup else "step"
            yield f"    progress = min({begun} / {max(settings.steps - settings.warmup, 1)}, 1.0)"
        yield from (f"    return {SCHEDULE_BY_ID[settings.schedule].code}", "", "")
    made = OPTIMISER_BY_ID[settings.optimiser].torch.format(**asdict(settings))
    yield f"optimiser = torch.optim.{made}"
    if _has_schedule(settings):
        yield "schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, share)"


def _loop(course: Course, settings: Settings) -> Iterator[str]:
    """All steps, and the printed losses."""
    yield f"held_out = texts({HELD_OUT}, {HELD_OUT_TEXTS}, is_held_out=True)"
    yield f"for step in range({settings.steps}):"
    yield f"    loss, _accuracy = loss_and_accuracy(*texts(step, {course.batch}))"
    yield f"    if step < {PRINTED} or step % {course.measured} == 0:"
    yield '        print(f"step {step}: loss {loss.item():.6f}")'
    yield f"    if step % {course.measured} == 0:"
    yield "        with torch.no_grad():"
    yield "            measured, accuracy = loss_and_accuracy(*held_out)"
    yield '        print(f"    held out: loss {measured.item():.4f}, accuracy {accuracy:.3f}")'
    yield "    optimiser.zero_grad()"
    yield "    loss.backward()"
    if settings.clip is not None:
        yield f"    torch.nn.utils.clip_grad_norm_(parameters.values(), {settings.clip!r})"
    yield "    optimiser.step()"
    if _has_schedule(settings):
        yield "    schedule.step()"


def _has_schedule(settings: Settings) -> bool:
    """True if the rate changes from step to step."""
    return settings.warmup > 0 or settings.schedule != Settings.schedule


SHARE = N_("of the rate, at a step")

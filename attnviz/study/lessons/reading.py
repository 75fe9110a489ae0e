"""Lesson files: Markdown with a small front matter, read by lines; nothing in one runs.

A file begins with `---`, lines `key: value`, `---`. Each step is a heading `# id` with lines `key: value`
(see `KEYS`), then `## language: title` and the texts in that language. See docs/lessons.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnviz.core.cost.published_models import PUBLISHED_BY_ID
from attnviz.core.text import exposed
from attnviz.errors import FieldError, InputError, Message, among, missing, must_be, quoted, whole_number
from attnviz.i18n import LANGUAGES
from attnviz.model.edit.settings import written_value
from attnviz.model.io.regular_file import read_text
from attnviz.model.spec.field import LONGEST_NAME, LONGEST_TEXT
from attnviz.model.spec.value import check_texts
from attnviz.study.lessons.lesson import Lesson, Scene, Step, Words
from attnviz.study.lessons.training import read_training
from attnviz.study.lessons.window import CURVES, EXPERIMENT, QUANTITIES, SECTIONS, WORKSPACES, PanelNames

VERSION = "1"
LONGEST = 256 * 1024
"""Characters of a lesson file."""
MOST_STEPS = 40

_CODES = tuple(language.code for language in LANGUAGES)
_OTHERS = tuple(code for code in _CODES if code != "en")
_ID = re.compile(r"[a-z0-9][a-z0-9-]*$")
_POINT = re.compile(r"\d+\. +(.*)")

Lines = list[tuple[int, str]]
"""Lines with their numbers."""


def load_lesson(path: Path | str, panels: PanelNames | None = None) -> Lesson:
    """The lesson in a file; see `read_lesson`. Raises `InputError` with the line, and `OSError`."""
    file = Path(path)
    return read_lesson(read_text(file, 4 * LONGEST), file.name.split(".")[0], panels)


def read_lesson(text: str, id_: str = "lesson", panels: PanelNames | None = None) -> Lesson:
    """The lesson in a text, which may name these panels, or any without them.

    Raises `InputError` with the line.
    """
    if len(text) > LONGEST:
        raise InputError(
            Message("A lesson must have at most {most:,} characters; got {n:,}.", most=LONGEST, n=len(text))
        )
    lines = list(enumerate((line.rstrip() for line in text.splitlines()), 1))
    front, rest = _front_matter(lines)
    said = front.pop("lesson", "")
    if said != VERSION:
        raise FieldError("lesson", said, must_be("{version}, which this program reads", version=VERSION))
    titles = _by_language(front, "title")
    if not titles:
        raise missing("title", must_be("the lesson's name"))
    abouts = _by_language(front, "about")
    common: dict[str, str] = {key: front.pop(key) for key in ("preset", "panels") if key in front}
    hides = _names("hides", panels and panels.hidden, front.pop("hides", ""))
    if front:
        known = ("lesson", "title", "about", "preset", "panels", "hides")
        raise FieldError("key", next(iter(front)), among(known))
    steps = tuple(_step(lines, common, panels) for lines in _sections(rest, "# "))
    if not 1 <= len(steps) <= MOST_STEPS:
        raise FieldError("steps", len(steps), whole_number(1, MOST_STEPS))
    ids = [step.id for step in steps]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise FieldError("step", twice, must_be("a name that no other step has"))
    return Lesson(id_, titles, abouts, steps, hides)


def _front_matter(lines: Lines) -> tuple[dict[str, str], Lines]:
    fences = [index for index, (_n, line) in enumerate(lines) if line == "---"]
    if len(fences) < 2 or fences[0] != 0:
        raise InputError(Message("A lesson must begin with lines between two lines of ---."))
    fields: dict[str, str] = {}
    for number, line in lines[1 : fences[1]]:
        if line:
            key, value = _pair(number, line)
            fields[key] = value
    return fields, lines[fences[1] + 1 :]


def _pair(number: int, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon:
        raise InputError(Message("Line {n} must be key: value; got {line}.", n=number, line=quoted(line)))
    return key.strip(), value.strip()


def _by_language(front: dict[str, str], key: str) -> dict[str, str]:
    """Texts of a key by language: `title` (English) and `title.zh_CN`."""
    named = {"en": key} | {code: f"{key}.{code}" for code in _CODES if code != "en"}
    texts = {code: exposed(front.pop(name)) for code, name in named.items() if name in front}
    check_texts(key, texts.values(), LONGEST_NAME)
    return texts


def _sections(lines: Lines, mark: str) -> list[Lines]:
    """The lines from each heading to the next; lines before the first one must be empty."""
    sections: list[Lines] = []
    for number, line in lines:
        if line.startswith(mark):
            sections.append([(number, line)])
        elif sections:
            sections[-1].append((number, line))
        elif line:
            wanted = quoted(mark.strip())
            raise InputError(
                Message(
                    "Line {n} must be a heading with {mark}; got {line}.",
                    n=number,
                    mark=wanted,
                    line=quoted(line),
                )
            )
    return sections


# --- a step ----------------------------------------------------------------------------------------


def _step(lines: Lines, common: dict[str, str], panels: PanelNames | None) -> Step:
    (number, heading), *rest = lines
    id_ = heading[2:].strip()
    if not _ID.match(id_):
        rule = must_be("a name of small letters, digits and hyphens")
        raise InputError(_at(number, FieldError("step", id_, rule).message))
    first = next((i for i, (_n, line) in enumerate(rest) if line.startswith("## ")), len(rest))
    draft: dict[str, Any] = {"look": {}, "beside": panels and panels.beside} | {key: [] for key in _LINES}
    for key, value in common.items():
        KEYS[key](draft, value)
    for number, line in rest[:first]:
        if line:
            _take_key(number, line, draft)
    words = dict(_words(section) for section in _sections(rest[first:], "## "))
    if not words:
        raise InputError(_at(number, Message("A step must have a heading ## language: title.")))
    return _step_of(id_, draft, words, number)


_LINES = (*(f"changes.{code}" for code in _CODES), "changes", "light", "cover", "choose", "holds", "cures")
"""Keys of a draft that take several lines."""


def _take_key(number: int, line: str, draft: dict[str, Any]) -> None:
    key, value = _pair(number, line)
    if key not in KEYS:
        raise InputError(_at(number, FieldError("key", key, among(KEYS)).message))
    try:
        KEYS[key](draft, value)
    except ValueError as error:
        message = getattr(error, "message", None) or FieldError(key, value, _A_VALUE).message
        raise InputError(_at(number, message)) from None


_A_VALUE = must_be("a value of this key")


def _at(number: int, problem: Message) -> Message:
    return Message("Line {n}: {problem}", n=number, problem=problem)


def _step_of(id_: str, draft: dict[str, Any], words: dict[str, Words], number: int) -> Step:
    if "preset" not in draft:
        raise InputError(
            _at(number, missing("preset", must_be("the preset that the step begins with")).message)
        )
    scene = Scene(
        draft["preset"],
        draft.get("text", ""),
        tuple(draft["changes"]),
        tuple((code, *change) for code in _CODES for change in draft[f"changes.{code}"]),
        draft["look"],
        tuple(draft["light"]),
        tuple(draft["cover"]),
        draft.get("lock", ""),
        draft.get("workspace", ""),
        draft.get("panels", ()),
        draft.get("section", ""),
        draft.get("curve", ""),
        draft.get("cost"),
        draft.get("training"),
    )
    asked: dict[str, Any] = {
        key: draft[key] for key in ("predict", "tolerance", "task", "claim") if key in draft
    }
    lists: dict[str, Any] = {key: tuple(draft[key]) for key in ("choose", "holds", "cures")}
    step = Step(id_, scene, words, **asked, **lists)
    for code, text in words.items():
        if len(text.answers) != len(step.choose):
            rule = must_be("{n} answers, one for each line choose", n=len(step.choose))
            field = f"{id_}.{code}.answers"
            raise InputError(_at(number, FieldError(field, len(text.answers), rule).message))
        if bool(text.question) != bool(step.predict or step.choose):
            raise InputError(
                _at(number, Message("A step must have a question ? with predict or choose, and only then."))
            )
        if bool(text.task) != bool(step.task):
            raise InputError(_at(number, Message("A step must have a text > with a task, and only then.")))
        if bool(text.claim) != bool(step.claim):
            raise InputError(_at(number, Message("A step must have a text = with a claim, and only then.")))
        if text.why and not step.claim:
            raise InputError(_at(number, Message("A step must have a text ~ with a claim only.")))
        if bool(text.cure) != bool(step.cures) or (step.cures and not step.claim):
            raise InputError(
                _at(number, Message("A step must have a text + with a claim and its cure, and only then."))
            )
    return step


def _put(key: str) -> Callable[[dict[str, Any], str], None]:
    return lambda draft, value: draft.__setitem__(key, value)


def _add(key: str) -> Callable[[dict[str, Any], str], None]:
    return lambda draft, value: draft[key].append(value)


def _look(key: str, read: Callable[[str], Any]) -> Callable[[dict[str, Any], str], None]:
    return lambda draft, value: draft["look"].__setitem__(key, read(value))


def _change(key: str) -> Callable[[dict[str, Any], str], None]:
    def change(draft: dict[str, Any], value: str) -> None:
        path, equals, written = value.partition("=")
        if not equals:
            raise InputError(Message("A change must be path = value; got {value}.", value=quoted(value)))
        draft[key].append((path.strip(), written_value(written.strip())))

    return change


def _panels(draft: dict[str, Any], value: str) -> None:
    draft["panels"] = _names("panels", draft["beside"], value)


def _known(key: str, known: tuple[str, ...]) -> Callable[[dict[str, Any], str], None]:
    return lambda draft, value: draft.__setitem__(key, _one_of(key, known, value))


def _cost(draft: dict[str, Any], value: str) -> None:
    """A quantity, and a published model; without one the document."""
    quantity, _space, model = value.partition(" ")
    models = (EXPERIMENT, *PUBLISHED_BY_ID)
    draft["cost"] = (
        _one_of("cost", QUANTITIES, quantity),
        _one_of("cost", models, model.strip() or EXPERIMENT),
    )


def _one_of(key: str, known: tuple[str, ...], value: str) -> str:
    """One of the names of `known`. Raises `FieldError`."""
    if value not in known:
        raise FieldError(key, value, among(known))
    return value


def _names(key: str, known: tuple[str, ...] | None, value: str) -> tuple[str, ...]:
    """Names of `known`, or any without it. Raises `FieldError`."""
    names = tuple(value.replace(",", " ").split())
    return names if known is None else tuple(_one_of(key, known, name) for name in names)


KEYS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "preset": _put("preset"),
    "text": _put("text"),
    "set": _change("changes"),
    **{f"set.{code}": _change(f"changes.{code}") for code in _OTHERS},
    "site": _look("site", str),
    "stage": _look("stage", str),
    "head": _look("head", int),
    "query": _look("query", int),
    "step": _look("step", int),
    "train": lambda draft, value: draft.__setitem__("training", read_training(value)),
    "picture": _look("picture", str),
    "orientation": _look("orientation", str),
    "light": _add("light"),
    "cover": _add("cover"),
    "lock": _put("lock"),
    "workspace": _known("workspace", WORKSPACES),
    "panels": _panels,
    "section": _known("section", SECTIONS),
    "curve": _known("curve", CURVES),
    "cost": _cost,
    "predict": _put("predict"),
    "tolerance": lambda draft, value: draft.__setitem__("tolerance", float(value)),
    "choose": _add("choose"),
    "task": _put("task"),
    "holds": _add("holds"),
    "claim": _put("claim"),
    "cure": _change("cures"),
}
"""The keys of a step, and how each is read into its draft."""


# --- texts -----------------------------------------------------------------------------------------


def _words(lines: Lines) -> tuple[str, Words]:
    """(language, texts) below a heading `## language: title`."""
    (number, heading), *rest = lines
    code, title = _pair(number, heading[3:])
    if code not in _CODES:
        raise InputError(_at(number, FieldError("language", code, among(_CODES)).message))
    draft: dict[str, list[str]] = {key: [] for key in (*_LISTS, *_MARKS.values())}
    into: list[str] | None = None
    for _number, line in rest:
        into = _take_line(line.strip(), draft, into)
    texts: dict[str, Any] = {key: " ".join(draft[key]) for key in _MARKS.values()}
    lists: dict[str, Any] = {key: tuple(draft[key]) for key in _LISTS}
    check_texts(f"{code}.title", (title,), LONGEST_NAME)
    for key, said in ({key: (text,) for key, text in texts.items()} | lists).items():
        check_texts(f"{code}.{key}", said, LONGEST_TEXT)
    return code, Words(exposed(title), **texts, **lists)


_MARKS = {"? ": "question", "! ": "reveal", "> ": "task", "= ": "claim", "~ ": "why", "+ ": "cure"}
_LISTS = ("paragraphs", "points", "answers")


def _take_line(line: str, draft: dict[str, list[str]], into: list[str] | None) -> list[str] | None:
    """Put a line where it belongs; a line without a mark continues the text before it."""
    if not line:
        return None
    point = _POINT.match(line)
    if point or line.startswith("- "):
        key, text = ("points", point[1]) if point else ("answers", line[2:])
    elif line[:2] in _MARKS:
        key, text = _MARKS[line[:2]], line[2:]
    elif into is not None:
        into[-1] = _continued(into[-1], line)
        return into
    else:
        key, text = "paragraphs", line
    draft[key].append(text.strip())
    return draft[key]


def _continued(text: str, line: str) -> str:
    """Two lines joined: by a space, but none between Chinese characters or at their signs."""
    last, first = text[-1:], line[:1]
    wide = _is_wide(last), _is_wide(first)
    is_sign = last in _SIGNS or first in _SIGNS or (first in "“”…" and wide[0]) or (last in "“”…" and wide[1])
    return f"{text}{'' if all(wide) or is_sign else ' '}{line}"


_SIGNS = frozenset("、，。；：！？（）《》")


def _is_wide(character: str) -> bool:
    """True for a Chinese character or sign."""
    return "\u2e80" <= character <= "\uffef"

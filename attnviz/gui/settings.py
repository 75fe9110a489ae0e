"""`SETTINGS`: the stored preferences of a user, one row each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings

from attnviz.i18n import LANGUAGES, N_

RECENT_LIMIT = 10

SCALES = (80, 90, 100, 110, 125, 150, 175, 200)
"""Scales of the interface in percent."""


@dataclass(frozen=True)
class Setting:
    """One preference: its key, its type, its default, and its valid values (empty: any)."""

    key: str
    kind: type
    default: Any
    title: str
    choices: tuple[tuple[Any, str], ...] = ()


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "theme",
        str,
        "system",
        N_("Colour theme"),
        (("system", N_("System default")), ("light", N_("Light")), ("dark", N_("Dark"))),
    ),
    Setting(
        "language",
        str,
        "",
        N_("Language"),
        (("", N_("System default")), *((language.code, language.own_name) for language in LANGUAGES)),
    ),
    Setting("engine", str, "numpy", N_("Engine"), (("numpy", "NumPy"), ("torch", "Torch"))),
    Setting(
        "device",
        str,
        "auto",
        N_("Device"),
        (("auto", N_("CUDA if available")), ("cpu", N_("CPU")), ("cuda", "CUDA")),
    ),
    Setting("scale", int, 100, N_("Interface scale"), tuple((scale, f"{scale} %") for scale in SCALES)),
    Setting("motion", bool, True, N_("Transitions")),
    Setting("follow", bool, True, N_("Follow the player")),
    Setting("caption", bool, True, N_("Captions")),
    Setting("start", bool, False, N_("Show start page")),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}


class Settings:
    """The stored preferences. An invalid stored value counts as not stored."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._store = store or QSettings("attnviz", "attnviz")
        self._presumed: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        row = _BY_KEY[key]
        default = self.default(key)
        value = self._store.value(f"preferences/{key}", default, type=row.kind)
        legal = [choice for choice, _title in row.choices]
        return value if not legal or value in legal else default

    def __setitem__(self, key: str, value: Any) -> None:
        self._store.setValue(f"preferences/{_BY_KEY[key].key}", value)

    def default(self, key: str) -> Any:
        """The value of a preference that nobody has chosen."""
        return self._presumed.get(key, _BY_KEY[key].default)

    def presume(self, key: str, value: Any) -> None:
        """Have another default until the program ends: it suits this machine."""
        self._presumed[_BY_KEY[key].key] = value

    def is_chosen(self, key: str) -> bool:
        """True if the preference is stored."""
        return self._store.contains(f"preferences/{_BY_KEY[key].key}")

    def recent(self) -> tuple[Path, ...]:
        """Documents opened or saved lately, the latest first."""
        value = self._store.value("recent", [], type=list)
        assert isinstance(value, list)
        return tuple(Path(str(entry)) for entry in value)[:RECENT_LIMIT]

    def add_recent(self, path: Path) -> None:
        """Put a document first among the recent ones."""
        resolved = path.resolve()
        others = [entry for entry in self.recent() if entry != resolved]
        self._store.setValue("recent", [str(entry) for entry in (resolved, *others)[:RECENT_LIMIT]])

    def folds(self, panel: str) -> str:
        """The sections of a panel that were open, as the panel writes them; empty at first."""
        return str(self._store.value(f"folds/{panel}", ""))

    def set_folds(self, panel: str, text: str) -> None:
        """Remember the open sections of a panel."""
        self._store.setValue(f"folds/{panel}", text)

    def lesson(self, id_: str) -> tuple[int, int]:
        """The step of a lesson that was shown last, and how many were seen; (0, 0) at first."""
        text = str(self._store.value(f"lessons/{id_}", ""))
        step, _slash, seen = text.partition("/")
        return (int(step), int(seen)) if step.isdecimal() and seen.isdecimal() else (0, 0)

    def set_lesson(self, id_: str, step: int, seen: int) -> None:
        """Remember the step of a lesson, and how many were seen."""
        self._store.setValue(f"lessons/{id_}", f"{step}/{seen}")

    def done(self, id_: str) -> frozenset[str]:
        """The steps of a lesson that are done, by name."""
        return frozenset(str(self._store.value(f"lessons_done/{id_}", "")).split())

    def add_done(self, id_: str, step: str) -> None:
        """Remember that a step of a lesson is done."""
        self._store.setValue(f"lessons_done/{id_}", " ".join(sorted(self.done(id_) | {step})))

    def choice(self, name: str, default: str) -> str:
        """The choice that a control of this name had last."""
        return str(self._store.value(f"choices/{name}", default))

    def set_choice(self, name: str, value: str) -> None:
        """Remember the choice of a control."""
        self._store.setValue(f"choices/{name}", value)

    def lines(self, name: str) -> tuple[str, ...]:
        """The texts that a line of this name remembers, the newest last."""
        return tuple(str(self._store.value(f"lines/{name}", "")).splitlines())

    def set_lines(self, name: str, texts: Iterable[str]) -> None:
        """Remember the texts of a line."""
        self._store.setValue(f"lines/{name}", "\n".join(texts))

    def head_names(self, model: str) -> dict[str, str]:
        """The names of a model's heads as they were last set; none if they cannot be read."""
        try:
            stored = json.loads(str(self._store.value(f"heads/{model}", "{}")))
        except ValueError:
            return {}
        return {str(place): str(name) for place, name in stored.items()} if isinstance(stored, dict) else {}

    def set_head_names(self, model: str, names: dict[str, str]) -> None:
        """Remember the names of a model's heads; none forgets the model."""
        if names:
            self._store.setValue(f"heads/{model}", json.dumps(names))
        else:
            self._store.remove(f"heads/{model}")

    def export(self) -> str:
        """The options of the last export, as the dialog writes them; empty at first."""
        return str(self._store.value("export", ""))

    def set_export(self, text: str) -> None:
        """Remember the options of an export."""
        self._store.setValue("export", text)

    def geometry(self) -> bytes:
        """Place and size of the window when it was last closed; empty at first."""
        return self._bytes("window/geometry")

    def set_geometry(self, geometry: bytes) -> None:
        """Remember the window's place and size."""
        self._store.setValue("window/geometry", QByteArray(geometry))

    def document(self) -> str:
        """The document that was shown last: the path of its file, the id of its preset, or empty."""
        return str(self._store.value("window/document", "", type=str))

    def set_document(self, origin: str) -> None:
        """Remember which document is shown."""
        self._store.setValue("window/document", origin)

    def workspace(self) -> str:
        """The id of the workspace that was shown last; empty at first."""
        return str(self._store.value("window/workspace", "", type=str))

    def set_workspace(self, id_: str) -> None:
        """Remember which workspace is shown."""
        self._store.setValue("window/workspace", id_)

    def layout(self, workspace: str) -> bytes:
        """The docks of a workspace as a person arranged them; empty where nobody did."""
        return self._bytes(f"window/layouts/{workspace}")

    def set_layout(self, workspace: str, state: bytes) -> None:
        """Remember the docks of a workspace; an empty state forgets them."""
        self._store.setValue(f"window/layouts/{workspace}", QByteArray(state))

    def _bytes(self, key: str) -> bytes:
        value = self._store.value(key, QByteArray(), type=QByteArray)
        return bytes(value.data()) if isinstance(value, QByteArray) else b""

    def is_first_run(self) -> bool:
        """True the first time that it is requested with these settings."""
        is_first = not self._store.contains("was_run")
        self._store.setValue("was_run", True)
        return is_first

    def sync(self) -> None:
        """Write what has changed to the disk."""
        self._store.sync()

"""The rows of a dropout: that of the weights, or that of a block."""

from __future__ import annotations

from functools import partial
from typing import Any

from attnviz.gui.forms.fields import Choice
from attnviz.gui.forms.paths import row
from attnviz.i18n import N_
from attnviz.model.edit.paths import is_shown, put_at, value_at


def dropout_rows(path: str, **of_rate: Any) -> tuple[Any, ...]:
    """Rate, mode, seed and factor of the dropout at `path`; `of_rate` are settings of the first row."""
    prefix, mode = path.replace(".", "_"), f"{path}.training"
    return (
        row(f"{path}.p", name=f"{prefix}_p_field", **of_rate),
        Choice(
            name=f"{prefix}_mode_segmented",
            path=mode,
            label=N_("Mode"),
            read=lambda e: "train" if value_at(e, mode) else "eval",
            edit=lambda e, chosen: put_at(e, mode, chosen == "train"),
            options=(
                ("train", N_("train"), N_("Drops numbers, as in training")),
                ("eval", N_("eval"), N_("Drops nothing, as in inference")),
            ),
            shown=partial(is_shown, path=mode),
        ),
        row(f"{path}.seed", name=f"{prefix}_seed_field"),
        row(f"{path}.rescale", name=f"{prefix}_rescale_toggle"),
    )

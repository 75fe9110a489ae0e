"""Arrays of many numbers: inside the code as text, or in a file beside it."""

from __future__ import annotations

import base64
import io
import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import FieldError, must_be
from attnviz.explain.scripts.code import in_a_dictionary, note
from attnviz.i18n import N_

MOST_INSIDE = 2**14
"""Numbers that are written inside the code as text; more need a file beside it."""

AS_TEXT = N_("the arrays of many numbers: an NPZ file as text")
WIDTH = 100


class Storage:
    """The arrays that a script reads from `stored`, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def keep(self, name: str, array: NDArray[Any]) -> str:
        """Store an array; returns the expression that reads it."""
        self.arrays[name] = array
        return in_a_dictionary(name, array)

    @property
    def fits_inside(self) -> bool:
        """True if the arrays can be a text in the code."""
        return sum(array.size for array in self.arrays.values()) <= MOST_INSIDE

    def npz(self) -> bytes:
        """The file beside the script, or inside it; deflated where that takes no time."""
        stream = io.BytesIO()
        save = np.savez_compressed if self.fits_inside else np.savez
        save(stream, allow_pickle=False, **self.arrays)
        return stream.getvalue()

    def lines(self, beside: str) -> tuple[str, ...]:
        """Definition of `stored`, from a text or from the file whose path is the expression `beside`.

        Raises `FieldError` for too many numbers without a file.
        """
        if not self.arrays:
            return ()
        if self.fits_inside:
            text = textwrap.wrap(base64.b64encode(self.npz()).decode("ascii"), WIDTH)
            comment = note(AS_TEXT).strip()
            return (comment, 'text = """', *text, '"""', *_read("io.BytesIO(base64.b64decode(text))"))
        if not beside:
            most = must_be(
                "at most {most:,} explicit numbers without a file beside the script", most=MOST_INSIDE
            )
            raise FieldError("experiment", sum(array.size for array in self.arrays.values()), most)
        return _read(beside)


def _read(source: str) -> tuple[str, ...]:
    return (f"arrays = np.load({source})", "stored = {name: arrays[name].astype(float) for name in arrays}")

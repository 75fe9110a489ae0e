"""`Matrix`: the precision its numbers came in is kept, and every conversion is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnviz.model.spec import arrays
from attnviz.model.spec.arrays import BFLOAT16, STORED_DTYPES, Matrix, in_float64, widened

VALUES = np.array([[1.0, -0.5, 65504.0], [2.0**-14, -0.0, 3.25], [0.0, 1024.0, -7.0]])
"""Numbers that every precision but bfloat16 has."""

BRAIN = np.array([[1.0, -3.25, 1e-30], [3e38, -0.0, 7.0]])


def held(stored: str, values: Any = VALUES) -> np.ndarray[Any, Any]:
    """The numbers as a file of that precision has them; bfloat16 is rounded by torch."""
    if stored != "BF16":
        return np.array(values).astype(STORED_DTYPES[stored])
    torch = pytest.importorskip("torch")
    bits = torch.tensor(np.array(values)).to(torch.bfloat16).view(torch.int16).numpy()
    return np.ascontiguousarray(bits).view(np.uint16).view(BFLOAT16)


@pytest.mark.parametrize("stored", STORED_DTYPES)
def test_the_precision_of_an_array_is_kept(stored: str) -> None:
    array = held(stored, BRAIN if stored == "BF16" else VALUES)
    matrix = Matrix(array)
    assert matrix.stored == stored and matrix.nbytes == array.nbytes
    for _ in range(2):  # also once its numbers were read
        assert b"".join(part.tobytes() for part in matrix.parts()) == array.tobytes()
        assert matrix.array.dtype == (np.float64 if stored == "F64" else np.float32)
        assert not matrix.array.flags.writeable and matrix.array.base is None
    assert Matrix(array.tolist() if stored != "BF16" else widened(array).tolist()).stored == "F64"


def test_bfloat16_is_what_torch_makes_of_it() -> None:
    torch = pytest.importorskip("torch")
    bits = np.arange(2**16, dtype=np.uint16)
    finite = bits[(bits & 0x7F80) != 0x7F80].reshape(2, -1)
    wanted = torch.from_numpy(finite.view(np.int16)).view(torch.bfloat16).double().numpy()
    found = Matrix(finite.view(BFLOAT16)).array
    np.testing.assert_array_equal(in_float64(found), wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_every_float16_is_kept_as_it_is() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    finite = bits[(bits & 0x7C00) != 0x7C00].reshape(2, -1).view(np.float16)
    matrix = Matrix(finite)
    np.testing.assert_array_equal(matrix.array, finite.astype(np.float64))
    assert b"".join(part.tobytes() for part in matrix.parts()) == finite.tobytes()


@pytest.mark.parametrize("stored", ["F16", "F32", "F64"])
def test_matrices_are_compared_by_value_whatever_their_precision(stored: str) -> None:
    matrix, wide = Matrix(held(stored)), Matrix(VALUES)
    assert matrix == wide and hash(matrix) == hash(wide)
    assert matrix != wide.replaced(2, 1, 1023.0)


@pytest.mark.parametrize(("stored", "kept", "value"), [
    ("F16", "F16", 0.25), ("F16", "F64", 0.1), ("F16", "F64", 1e9), ("BF16", "BF16", 0.25),
    ("BF16", "F64", 0.1),
    ("F32", "F32", 2.0**-100), ("F32", "F64", 0.1), ("F32", "F64", 1e300), ("F64", "F64", 0.1),
])  # fmt: skip
def test_a_changed_number_is_the_one_that_was_typed(stored: str, kept: str, value: float) -> None:
    array = held(stored)
    changed = Matrix(array).replaced(1, 2, value)
    assert changed.array[1, 2] == value and changed.stored == kept
    wanted = in_float64(array)
    wanted = wanted.copy()
    wanted[1, 2] = value
    np.testing.assert_array_equal(changed.array, wanted)


@pytest.mark.parametrize("stored", STORED_DTYPES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(stored: str, wrong: float) -> None:
    values = VALUES.copy()
    values[1, 2] = wrong
    with pytest.raises(ValueError, match=rf"matrix\[1\]\[2\] must be a finite number; got {wrong}\."):
        Matrix(held(stored, values))


def test_an_array_of_ones_own_is_not_copied() -> None:
    own = np.array(VALUES)
    assert Matrix.taken(own).array is own and not own.flags.writeable
    whole = np.array(VALUES)
    turned = Matrix.taken(whole.T)
    whole[0, 0] = 9.0
    np.testing.assert_array_equal(turned.array, VALUES.T)


@pytest.mark.parametrize("stored", STORED_DTYPES)
@pytest.mark.parametrize("value", [0.25, 0.1])
def test_changed_and_turned_copies_have_the_numbers_of_numpy(stored: str, value: float) -> None:
    """Before they are made, in part, and once they are made: alike in all that is asked of a matrix."""
    array = held(stored)
    wanted = in_float64(array).T.copy()
    wanted[0, 1] = wanted[2, 2] = value

    def copy() -> Matrix:
        return Matrix(array).replaced(1, 0, 7.0).turned().replaced(0, 1, value).replaced(-1, -1, value)

    for made in (copy(), copy()):
        assert made.shape == wanted.shape and hash(made) == hash(Matrix(wanted))
        assert made.rows([2, 0, 2]).tolist() == wanted[[2, 0, 2]].tolist()
        assert made.rows(slice(1, 3)).tolist() == wanted[1:3].tolist()
        assert made.turned().turned() == made == copy() and made != copy().replaced(1, 1, 5.0)
        np.testing.assert_array_equal(made.array, wanted)
        assert made == Matrix(wanted) and made == copy() and not made.array.flags.writeable
        parts = [np.asarray(widened(part), np.float64) for part in made.parts()]
        np.testing.assert_array_equal(np.vstack(parts), wanted)
        assert all(part.flags.c_contiguous for part in made.parts())
    with pytest.raises(IndexError):
        copy().replaced(3, 0, 1.0)


def test_a_change_of_one_number_copies_the_others_once_where_they_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies: list[int] = []
    make = arrays._Copy.numbers
    monkeypatch.setattr(arrays._Copy, "numbers", lambda copy, stored: copies.append(1) or make(copy, stored))
    first = Matrix(np.zeros((300, 200), np.float32))
    changed = first
    for index in range(100):  # a drag
        before, changed = changed, changed.replaced(3, 4, float(index + 1))
        assert changed != before and changed != first and hash(changed) is not None
        assert changed.rows([3])[0, 4] == index + 1 and changed.shape == (300, 200)
        assert changed.nbytes == first.nbytes
    assert not copies
    assert changed.array[3, 4] == 100.0 and changed.array.sum() == 100.0
    assert len(copies) == 1

"""The numbers in cells: as many decimals as fit, in all cells or in none."""

import pytest

from attnviz.gui.widgets.heat.paint import fitting_texts


@pytest.mark.parametrize(
    ("numbers", "characters", "texts"),
    [
        ([-0.0161, -1e-12, 0.123], 5, ["−0.02", "≈0", "0.12"]),
        ([-0.0161, -1e-12, 0.123], 6, ["−0.016", "−1e−12", "0.123"]),
        ([-1e-11, -1e-12, 0.0], 5, ["", "", ""]),  # −1e−12 is no near zero beside −1e−11
        ([-123.4, 0.5], 5, ["", ""]),
        ([float("-inf"), -1e-12, 0.5], 4, ["−∞", "≈0", "0.50"]),
        ([1.0, 0.5], 3, ["1.0", "0.5"]),
        ([], 3, []),
    ],
)
def test_numbers_show_in_all_cells_or_in_none(
    numbers: list[float], characters: int, texts: list[str]
) -> None:
    assert fitting_texts(numbers, characters) == texts

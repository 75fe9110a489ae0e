"""The numbers in cells: as many decimals as fit."""

from attnviz.gui.widgets.heat.paint import fitting_texts


def test_one_long_exponent_costs_the_others_no_decimals() -> None:
    assert fitting_texts([-0.0161, -1e-12, 0.123], 5) == ["−0.02", "", "0.12"]
    assert fitting_texts([-0.0161, -1e-12, 0.123], 6) == ["−0.016", "−1e−12", "0.123"]
    assert fitting_texts([1.0, 0.5], 3) == ["1.0", "0.5"]
    assert fitting_texts([], 3) == []

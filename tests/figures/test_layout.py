"""Nothing in a figure overlaps or leaves the sheet, whatever is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attnviz.figures.layout import BAR, GAP, MARGIN, Sizes, arrange, cell_size, grid_columns

lengths = st.floats(0, 160)


@given(
    n_down=st.integers(1, 2048),
    n_across=st.integers(1, 2048),
    n_maps=st.integers(1, 40),
    down_label=lengths,
    across_label=lengths,
    sum_width=st.sampled_from([0.0, 38.0]),
    sums_below=st.booleans(),
)
def test_everything_lies_on_the_sheet(
    n_down: int,
    n_across: int,
    n_maps: int,
    down_label: float,
    across_label: float,
    sum_width: float,
    sums_below: bool,
) -> None:
    sizes = Sizes(n_down, n_across, n_maps, down_label, across_label, 7.0, sum_width, sums_below, 30.0)
    columns = grid_columns(n_maps)
    sheet = arrange(sizes, columns, *cell_size(n_down, n_across, columns if n_maps > 1 else 0))
    plot_w, plot_h = sheet.plot_size(n_down, n_across)
    assert len(sheet.corners) == n_maps and sheet.bar is not None
    for index, (x, y) in enumerate(sheet.corners):
        assert x >= MARGIN + down_label and y >= 0
        assert x + plot_w < sheet.bar[0] and y + plot_h <= sheet.height
        for other_x, other_y in sheet.corners[:index]:
            assert x >= other_x + plot_w or y >= other_y + plot_h
    assert sheet.bar[0] + BAR + GAP + 30 <= sheet.width - MARGIN
    assert sheet.bar[1] + sheet.bar[3] <= sheet.height
    assert sheet.down_step * sheet.cell_h >= 7.0


def test_grids_are_full_rectangles_where_they_can_be() -> None:
    assert [grid_columns(n) for n in (1, 2, 4, 6, 8, 12, 16, 32)] == [1, 2, 2, 3, 4, 4, 4, 8]

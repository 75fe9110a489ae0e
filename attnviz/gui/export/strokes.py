"""Lines of one width in an SVG from Qt, in programs that scale the width with the coordinates.

Qt marks such lines with `vector-effect`, which librsvg ignores: the curves of a plot, whose axes have
different scales, would become areas. Their points are written in the units of the page instead.
"""

from __future__ import annotations

import re

import numpy as np

_GROUP = re.compile(r"<g\b[^>]*\btransform=\"matrix\(([^)]*)\)\"[^>]*>(.*?)</g>", re.DOTALL)
_LINE = re.compile(r'<(polyline|path)\b([^>]*?) vector-effect="non-scaling-stroke"([^>]*)>')
_POINT = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?),(-?[\d.]+(?:e[+-]?\d+)?)")


def with_plain_strokes(svg: bytes) -> bytes:
    """`svg` with the lines of scaled groups in the units of the page."""
    return _GROUP.sub(_unscaled, svg.decode("utf-8")).encode("utf-8")


def _unscaled(found: re.Match[str]) -> str:
    """A group whose lines undo its scale, after it was applied to their points."""
    a, b, c, d, e, f = (float(number) for number in found[1].split(","))
    matrix = np.array([[a, c, e], [b, d, f], [0.0, 0.0, 1.0]])
    if (a, b, c, d) == (1.0, 0.0, 0.0, 1.0) or abs(np.linalg.det(matrix)) < 1e-12:
        return found[0]
    back = np.linalg.inv(matrix)
    undone = ",".join(f"{number:.12g}" for number in back[:2].T.ravel())

    def moved(point: re.Match[str]) -> str:
        x, y, _one = matrix @ [float(point[1]), float(point[2]), 1.0]
        return f"{x:.6g},{y:.6g}"

    def line(one: re.Match[str]) -> str:
        return f'<{one[1]} transform="matrix({undone})"{_POINT.sub(moved, one[2] + one[3])}>'

    start = found.start(2) - found.start()
    return found[0][:start] + _LINE.sub(line, found[2]) + "</g>"

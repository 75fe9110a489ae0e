"""SVG whose text looks the same everywhere and can be searched, selected and read aloud.

Letters are drawn as outlines, because the viewer may lack the fonts (Chinese above all), and programs
other than browsers ignore embedded ones. The same text lies over each outline as a transparent `<text>`.
"""

from __future__ import annotations

from typing import IO, Any


def write_svg(figure: Any, stream: IO[bytes], image_dpi: float, metadata: dict[str, Any]) -> None:
    """Write a matplotlib `Figure` as SVG, one unit a point."""
    import codecs

    import matplotlib
    from matplotlib.backends.backend_mixed import MixedModeRenderer
    from matplotlib.backends.backend_svg import RendererSVG

    class SearchableSVG(RendererSVG):
        """Draws every text twice: as outlines, and transparently as text."""

        def draw_text(
            self,
            gc: Any,
            x: float,
            y: float,
            s: str,
            prop: Any,
            angle: float,
            ismath: Any = False,
            mtext: Any = None,
        ) -> None:
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            transparent = self.new_gc()
            transparent.copy_properties(gc)
            transparent.set_alpha(0.0)
            with matplotlib.rc_context({"svg.fonttype": "none"}):
                super().draw_text(transparent, x, y, s, prop, angle, ismath, mtext)
            transparent.restore()

    width, height = figure.get_size_inches()
    text = codecs.getwriter("utf-8")(stream)
    kept = figure.dpi
    figure.dpi = 72
    try:
        inner = SearchableSVG(width * 72, height * 72, text, image_dpi=image_dpi, metadata=metadata)
        renderer = MixedModeRenderer(figure, width, height, image_dpi, inner)
        figure.draw(renderer)
        renderer.finalize()
    finally:
        figure.dpi = kept

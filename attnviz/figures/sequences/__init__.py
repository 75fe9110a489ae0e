"""Sequences of pictures: the steps of a decoding, the layers of a stack, the parts of a sum, the states of a
training, a swept number.

`frames` computes them, `save_sequence` writes them as numbered files, pages, a GIF or a video.
"""

from attnviz.figures.sequences.frames import frames
from attnviz.figures.sequences.outputs import OUTPUTS
from attnviz.figures.sequences.sequence import Sequence, save_sequence

__all__ = ["OUTPUTS", "Sequence", "frames", "save_sequence"]

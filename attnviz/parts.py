"""The structs of an `Experiment`, for scripts.

Vectors, heads, projections and masks; positions and their scalings; layers with their blocks, norms and
vocabulary; the generation of text (`Writing`): its sampling, its stop conditions and its cache type. The
modules of closed sets list their public structs in their own `__all__`.
"""

# ruff: noqa: F403

from __future__ import annotations

from attnviz.model.caches import *
from attnviz.model.spec.arrays import Matrix as Matrix
from attnviz.model.spec.attention import Attention as Attention
from attnviz.model.spec.attention import Layer as Layer
from attnviz.model.spec.block import *
from attnviz.model.spec.differential import Differential as Differential
from attnviz.model.spec.edit import Edit as Edit
from attnviz.model.spec.experts import Experts as Experts
from attnviz.model.spec.gate import Gate as Gate
from attnviz.model.spec.generation import Forced as Forced
from attnviz.model.spec.generation import Writing as Writing
from attnviz.model.spec.image import Image as Image
from attnviz.model.spec.latent import Latent as Latent
from attnviz.model.spec.origin import Link as Link
from attnviz.model.spec.parts import *
from attnviz.model.spec.pieces import AddedToken as AddedToken
from attnviz.model.spec.pieces import Pieces as Pieces
from attnviz.model.spec.positions import *
from attnviz.model.spec.rows import *
from attnviz.model.spec.sampling import *
from attnviz.model.spec.scalings import *
from attnviz.model.spec.source import *
from attnviz.model.spec.vocabulary import *

__all__ = sorted(name for name in globals() if name[0].isupper())

"""Experiments by the fields of their first layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from attnviz.model.spec.attention import Layer
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Vectors

if TYPE_CHECKING:
    from attnviz.gui.store import Store


def stacked(
    tokens: tuple[str, ...], vectors: Vectors, memory: Any = None, behind: Any = (), **fields: Any
) -> Experiment:
    """An experiment with these `fields`, of its own or of its first layer, and the layers `behind` that."""
    of_layer = {name: fields.pop(name) for name in Layer.__struct_fields__ if name in fields}
    return Experiment(tokens, vectors, memory, layers=(Layer(**of_layer), *behind), **fields)


def with_fields(experiment: Experiment, **fields: Any) -> Experiment:
    """`experiment` with `fields`, of its own or of its first layer; `behind` are the layers behind that."""
    of_layer = {name: fields.pop(name) for name in Layer.__struct_fields__ if name in fields}
    first, *behind = fields.pop("layers", experiment.layers)
    behind = fields.pop("behind", behind)
    return replace(experiment, layers=(replace(first, **of_layer), *behind), **fields)


def change(store: Store, **fields: Any) -> bool:
    """Edit `fields` of the store's experiment or of its first layer; False if the edit is refused."""
    return store.edit(with_fields, **fields)

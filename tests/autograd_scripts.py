"""The torch script of a document under autograd: an independent forward pass, and torch's own gradients."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnviz.explain.scripts.library import LIBRARY_BY_ID
from attnviz.explain.scripts.script import Wanted, program
from attnviz.model.sites.sites import site_names
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.stages import STAGE_BY_ID

ALL = Wanted(tuple(STAGE_BY_ID))
LETTERS = {
    "W_Q": "projections.query",
    "W_K": "projections.key",
    "W_V": "projections.value",
    "W_O": "projections.output",
    "b_Q": "projections.query_bias",
    "b_K": "projections.key_bias",
    "b_V": "projections.value_bias",
    "b_O": "projections.output_bias",
    "W_DQ": "latent.query_down",
    "W_DKV": "latent.down",
    "W_KR": "latent.rope_key",
    "W_UK": "latent.up_key",
    "W_UV": "latent.up_value",
    "sink": "sinks",
    "W_R": "position.weights",
    "u": "position.u",
    "v_R": "position.v",
    "K_rel": "position.keys",
    "Q_rel": "position.queries",
    "B": "position.table",
    "slope": "position.slopes",
    "W_router": "block.feed_forward.router",
    "b_router": "block.feed_forward.router_bias",
    "W_up": "block.feed_forward.up",
    "b_up": "block.feed_forward.up_bias",
    "W_gate": "block.feed_forward.gate",
    "b_gate": "block.feed_forward.gate_bias",
    "W_down": "block.feed_forward.down",
    "b_down": "block.feed_forward.down_bias",
    "W_T": "vocabulary.transform.weights",
    "W_G": "gate.weights",
    "b_G": "gate.bias",
    **{f"lambda_{name}": f"differential.{name}" for name in ("query_1", "key_1", "query_2", "key_2")},
    "W_X": "embedding_projection.weights",
    "b_X": "embedding_projection.bias",
    "b_T": "vocabulary.transform.bias",
    "W_U": "vocabulary.unembedding",
    "b_U": "vocabulary.bias",
    "gain_Q": "qk_norm.query_gain",
    "gain_K": "qk_norm.key_gain",
    "gain_latent": "latent.norm.gain",
    "bias_q_latent_normed": "latent.query_norm.bias",
    "gain_x_normed": "embedding_norm.gain",
    "gain_norm_1": "block.norm_1.gain",
    "bias_norm_1": "block.norm_1.bias",
    "gain_norm_2": "block.norm_2.gain",
    "bias_ffn_normed": "block.after_2.bias",
    "gain_transform_normed": "vocabulary.transform.norm.gain",
    "bias_transform_normed": "vocabulary.transform.norm.bias",
    "gain_output": "final_norm.gain",
    "bias_output": "final_norm.bias",
}
"""Names of arrays in scripts, and the parameters that they are."""
ENDS = ("embedding_norm", "final_norm", "vocabulary")
"""Parts of a document that only its first or its last layer has."""


class Names(dict[str, Any]):
    """The names that a script binds; `bound` has the tensors since the last stage, by name."""

    def __init__(self, outer: dict[str, Any]) -> None:
        super().__init__()
        self.outer, self.bound = outer, {}

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.outer[name] = value
        if isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad:
            self.bound[name] = value


@contextmanager
def leaves() -> Iterator[None]:
    """Every float tensor that is made from numbers is a leaf; what a script changes in place is a copy."""

    def copied(real: Any) -> Any:
        return lambda *given, **named: real(*given, **named).clone()

    def made(real: Any) -> Any:
        def make(*given: Any, **named: Any) -> Any:
            found = real(*given, **named)
            return found.requires_grad_() if found.is_floating_point() and found.dim() else found

        return make

    with pytest.MonkeyPatch.context() as patch:
        for name in ("tensor", "from_numpy"):
            patch.setattr(torch, name, made(getattr(torch, name)))
        for name in ("softmax", "sigmoid"):
            patch.setattr(torch, name, copied(getattr(torch, name)))
        before = torch.get_default_dtype()
        try:
            yield
        finally:
            torch.set_default_dtype(before)


class Autograd:
    """The stages of a document as tensors with a graph, `site.stage`; and the parameters that have names."""

    def __init__(self, experiment: Experiment) -> None:
        self.stages: dict[str, torch.Tensor] = {}
        self.parameters: dict[str, torch.Tensor] = {}
        only = site_names(experiment)
        outer: dict[str, Any] = {}
        names = Names(outer)

        def keep(name: str, shape: tuple[int, ...], array: torch.Tensor, sep: str) -> None:
            full = name if len(only) > 1 else f"{only[0]}.{name}"
            self.stages[full] = array
            site = full.rpartition(".")[0]
            for letter, tensor in names.bound.items():
                if letter in LETTERS:
                    self.parameters[f"{site}.{LETTERS[letter]}"] = tensor
            names.bound.clear()

        made = program(Document(experiment), LIBRARY_BY_ID["torch"], ALL)
        outer |= {"print": keep, "beside": io.BytesIO(made.storage.npz())}
        with leaves():
            exec(compile(made.text("beside"), "script", "exec"), outer, names)

    def gradients(self, target: torch.Tensor) -> dict[str, NDArray[np.float64]]:
        """By every stage and parameter that the target depends on.

        Of several names of one tensor only the first counts, from which the others are read: torch sums them.
        Of several layers, which may share a tensor, only the parameters of their ends are judged.
        """
        one_site = len({name.rpartition(".")[0] for name in self.stages}) == 1
        judged = (name for name in self.parameters if one_site or name.split(".")[3] in ENDS)
        named = self.stages | {name: self.parameters[name] for name in judged}
        memory = next((tensor for name, tensor in named.items() if name.endswith(".memory")), None)
        named |= {} if memory is None else {"memory.vectors": memory}
        first: dict[int, str] = {}
        for name, tensor in named.items():
            if tensor.requires_grad:
                # A memory without an encoder is a parameter that all layers share.
                first.setdefault(id(tensor), "memory.vectors" if name.endswith(".memory") else name)
        names = list(first.values())
        found = torch.autograd.grad(
            target, [named[name] for name in names], retain_graph=True, allow_unused=True
        )
        return {name: g.numpy() for name, g in zip(names, found, strict=True) if g is not None}

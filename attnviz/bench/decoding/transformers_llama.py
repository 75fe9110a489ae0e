"""The same model in `transformers`, on the CPU: its tokens, and the time of each.

The program does not depend on the package: only the bench imports it.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.checkpoints.exporting import llama_config, llama_tensors
from attnviz.i18n import _
from attnviz.model.spec.experiment import Experiment


def missing() -> str:
    """Reason why `transformers` cannot be used, one sentence; "" if it can."""
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            return _("the package {name} is not installed").format(name=name)
    try:
        importlib.import_module("transformers")
    except Exception as error:  # a broken installation raises anything
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


class TransformersLlama:
    """A `LlamaForCausalLM` with the weights of an experiment, in its dtype.

    `context` is its maximum length. Raises `ValueError` if the experiment is no Llama.
    """

    def __init__(self, experiment: Experiment, context: int) -> None:
        import torch

        transformers = importlib.import_module("transformers")
        tensors = llama_tensors(experiment, context)
        config = llama_config(experiment, context)
        self._torch, self._stopping = torch, transformers.StoppingCriteria
        self._cache = transformers.DynamicCache
        dtype = getattr(torch, experiment.dtype)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config, eos_token_id=None))
        weights = {name: torch.tensor(array, dtype=dtype) for name, array in tensors.items()}
        if config["tie_word_embeddings"]:
            weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
        model = model.to(dtype).eval()
        model.load_state_dict(weights)
        self._model = model

    @property
    def thread_setter(self) -> Any:
        """Reads and sets its number of threads."""
        return self._torch.get_num_threads, self._torch.set_num_threads

    def write(self, ids: Sequence[int], n_new: int, use_cache: bool) -> tuple[list[int], list[float]]:
        """The `n_new` most probable tokens after `ids`, by `generate`, and the time at which each
        appeared.
        """
        moments: list[float] = []

        class Clock(self._stopping):  # type: ignore[name-defined, misc]
            """Never stops the generation; is called after every token."""

            def __call__(self, input_ids: Any, scores: Any, **_others: Any) -> Any:
                moments.append(time.perf_counter())
                return tensor.new_zeros(input_ids.shape[0], dtype=bool_)

        tensor, bool_ = self._torch.tensor([list(ids)]), self._torch.bool
        with self._torch.inference_mode():
            generated = self._model.generate(
                tensor,
                attention_mask=self._torch.ones_like(tensor),
                max_new_tokens=n_new,
                do_sample=False,
                use_cache=use_cache,
                pad_token_id=0,
                stopping_criteria=[Clock()],
            )
        return generated[0, len(ids) :].tolist(), moments

    def logits(self, ids: Sequence[int]) -> NDArray[Any]:
        """The logits after every token, (token, vocabulary)."""
        with self._torch.inference_mode():
            logits = self._model(self._torch.tensor([list(ids)]), use_cache=False).logits[0]
        return np.asarray(logits.numpy())

    def pass_over(self, ids: Sequence[int]) -> Any:
        """One pass over all tokens without a cache, logits of the last one: a step of uncached generation."""
        with self._torch.inference_mode():
            return self._model(self._torch.tensor([list(ids)]), use_cache=False, logits_to_keep=1).logits

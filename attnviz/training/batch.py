"""`Batch`: forward and backward over many sequences at once, by the mechanism of one document.

The axis of the sequences stands in front of every array; the operations are those of a run. All that no
number changes, the plans of the sites with their masks and positions, is made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnviz.core.dims import Array
from attnviz.engines.engine import Engine
from attnviz.errors import NOTHING, FieldError, must_be, size
from attnviz.model.binding import bind
from attnviz.model.sites.sites import at, put, sites
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.site import Site
from attnviz.model.weights import Weight, weights_of
from attnviz.operations.operation import Operation
from attnviz.training.parameters import EMBEDDING, parameters_of
from attnviz.training.site_pass import Gradients, SitePass, SitePlan
from attnviz.training.trainable import with_length

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Parameters = Mapping[str, Array]
"""Numbers of parameters, (rows, columns), by the names of `parameters_of`."""

NOT_COUNTED = -1
"""In place of the id of a target: the loss leaves the position out."""


def next_tokens(ids: Ints, counted: Bools | None = None) -> Ints:
    """The targets (sequence, token) of ids of the same shape: at each position the next token.

    Those that are not `counted`, and the last ones, are `NOT_COUNTED`.
    """
    targets = np.full(ids.shape, NOT_COUNTED, dtype=np.int64)
    targets[:, :-1] = ids[:, 1:]
    if counted is not None:
        targets[~counted] = NOT_COUNTED
    return targets


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a pass: the mean loss of the counted positions, and the gradients by parameters.

    `logits` (sequence, token, vocabulary) are the engine's; `gradients` have the shapes of the parameters.
    """

    loss: float
    logits: Array
    losses: NDArray[Any]
    """−log p of the target of each position, (sequence, token); 0 where none is counted."""
    gradients: Gradients

    def predictions(self, engine: Engine) -> Ints:
        """The most probable next token of each position, (sequence, token)."""
        return np.asarray(engine.to_numpy(self.logits)).argmax(axis=-1)


class Batch:
    """The mechanism of an experiment for sequences of `n` tokens, on an engine.

    Raises `FieldError` for an experiment that a batch cannot run, see `trainable.OBSTACLES`, and for a length
    that it does not allow.
    """

    def __init__(self, engine: Engine, experiment: Experiment, n: int) -> None:
        self.engine, self.experiment, self.n = engine, with_length(experiment, n), n
        known = self.experiment.vocabulary
        assert known is not None
        self._scale, self.n_tokens = known.embedding_scale, len(known.tokens)
        standing = sites(self.experiment).values()
        parameters = parameters_of(self.experiment)
        self._parameters = {one.name: one for one in parameters}
        self._uses = {name: (one.name, is_turned) for one in parameters for name, is_turned in one.uses}
        with engine.active():
            self._sites = tuple(_Bound(SitePlan.of(engine, site), self._uses) for site in standing)

    def parameters(self) -> dict[str, Array]:
        """The parameters of the experiment, which a step may change in place, by name."""
        with self.engine.active():
            asarray = self.engine.xp.asarray
            made = {name: one.numbers() for name, one in self._parameters.items()}
            return {name: asarray(self.engine.asarray(one), copy=True) for name, one in made.items()}

    def owners(self) -> dict[str, str]:
        """The site of each parameter, by name; empty for the vectors of the vocabulary."""
        return {name: one.site for name, one in self._parameters.items()}

    def put(self, experiment: Experiment, parameters: Parameters) -> Experiment:
        """An experiment of the same mechanism with the numbers of `parameters`.

        Its vectors follow the embedding where they are rows of it, and stay where they are not.
        """
        numbers = {name: self.engine.to_numpy(one).astype(np.float64) for name, one in parameters.items()}
        standing = parameters_of(experiment)
        if all(one.name != EMBEDDING for one in standing):
            assert experiment.vocabulary is not None
            known = replace(experiment.vocabulary, embedding=Matrix(numbers[EMBEDDING]))
            experiment = replace(experiment, vocabulary=known)
        by_site = dict[str, Site]()
        for one in standing:
            if one.name not in numbers:
                continue
            if one.weight is None:
                experiment = one.put(experiment, numbers[one.name])
            else:  # all weights of a site at once: an experiment is checked as often as it is made
                site = by_site[one.site] if one.site in by_site else at(experiment, one.site)
                by_site[one.site] = one.weight.put(site, numbers[one.name])
        for site in by_site.values():
            experiment = put(experiment, site)
        return experiment

    def loss_and_gradients(
        self, parameters: Parameters, ids: Ints, targets: Ints, draw: int | None = None
    ) -> Outcome:
        """Mean cross-entropy of the counted targets, and its gradients by all parameters that it depends on.

        `ids` and `targets` are (sequence, token), see `next_tokens`. With `draw`, a number of the step,
        dropout drops other numbers in each step and sequence. Raises `FieldError` for other shapes, for ids
        that the vocabulary lacks, and without a counted target.
        """
        self._check(ids, targets)
        with self.engine.active():
            found: Gradients = {}
            passes, logits = self._forward(parameters, ids, found, draw)
            loss, losses, seed = _cross_entropy(self.engine, logits, targets)
            self._backward(passes, seed)
            by_vectors = passes[0].gradients.pop("tokens_embedded", None)
            gradients = self._gathered(parameters, ids, found, by_vectors)
            self.engine.synchronise()
        return Outcome(loss, logits, losses, gradients)

    def loss(self, parameters: Parameters, ids: Ints, targets: Ints) -> Outcome:
        """The same without gradients."""
        self._check(ids, targets)
        with self.engine.active():
            logits = self._forward(parameters, ids, {}, None)[1]
            loss, losses, _seed = _cross_entropy(self.engine, logits, targets)
        return Outcome(loss, logits, losses, {})

    # --- the pass ----------------------------------------------------------------------------------

    def _forward(
        self, parameters: Parameters, ids: Ints, found: Gradients, draw: int | None
    ) -> tuple[list[SitePass], Array]:
        """All sites over the sequences, and the logits."""
        rows = self.engine.xp.asarray(ids.ravel(), device=self.engine.device)
        x = self.engine.xp.take(parameters[EMBEDDING], rows, axis=0)
        x = x.reshape(*ids.shape, x.shape[-1])
        x = x if self._scale == 1.0 else x * self._scale
        passes, given = [], "tokens_embedded"
        for bound in self._sites:
            site = bound.passing(self.engine, parameters, found, draw)
            x, given = site.forward(given, x), "layer_input"
            passes.append(site)
        return passes, passes[-1].numbers["logits"]

    def _backward(self, passes: list[SitePass], seed: Array) -> None:
        """From the logits to the vectors of the tokens."""
        stage = "logits"
        for index in range(len(passes) - 1, -1, -1):
            passes[index].backward(stage, seed)
            if index:
                seed = passes[index].gradients.pop("layer_input")
                stage = passes[index - 1].plan.result

    def _gathered(
        self, parameters: Parameters, ids: Ints, found: Gradients, by_vectors: Array | None
    ) -> Gradients:
        """The gradients by parameters: each the sum of those by its uses."""
        made: Gradients = {}
        for name, gradient in found.items():
            parameter, is_turned = self._uses[name]
            turned = gradient.T if is_turned else gradient
            turned = turned.reshape(parameters[parameter].shape)
            made[parameter] = turned if parameter not in made else made[parameter] + turned
        if by_vectors is not None:
            if EMBEDDING in made:
                made[EMBEDDING] = self.engine.xp.asarray(made[EMBEDDING], copy=True)
            else:
                made[EMBEDDING] = self.engine.zeros(tuple(parameters[EMBEDDING].shape))
            flat = by_vectors.reshape(-1, by_vectors.shape[-1])
            flat = flat if self._scale == 1.0 else flat * self._scale
            self.engine.add_rows_(made[EMBEDDING], ids.ravel(), flat)
        return made

    def _check(self, ids: Ints, targets: Ints) -> None:
        for name, given in (("ids", ids), ("targets", targets)):
            if given.ndim != 2 or given.shape != (len(ids), self.n):
                shaped = must_be("{shape}: sequences of {n} tokens", shape=size((len(ids), self.n)), n=self.n)
                raise FieldError(name, size(given.shape), shaped)
            most = int(given.max())
            strange = most if most >= self.n_tokens else int(ids.min())
            if not 0 <= strange < self.n_tokens:
                known = must_be("ids of the vocabulary, from 0 to {most}", most=self.n_tokens - 1)
                raise FieldError(name, strange, known)
        if int(targets.max()) < 0:
            raise FieldError("targets", NOTHING, must_be("counted at one position at least"))


class _Bound:
    """The plan of a site with the names of the parameters that its weights are.

    The pass reads `rows` and `matrices` by path; operations hold the `others` themselves.
    """

    def __init__(self, plan: SitePlan, uses: Mapping[str, tuple[str, bool]]) -> None:
        operands, prefix = plan.operands, f"{plan.name}."
        self.plan = plan
        self.rows = {path: uses[prefix + path] for path in operands.rows}
        self.matrices = {path: uses[prefix + path] for path in operands.matrices}
        held = self.rows.keys() | self.matrices.keys()
        self.others: list[tuple[Weight, str]] = [
            (weight, uses[prefix + weight.path][0])
            for weight in weights_of(plan.site)
            if weight.path not in held and prefix + weight.path in uses
        ]

    def passing(self, engine: Engine, parameters: Parameters, found: Gradients, draw: int | None) -> SitePass:
        """A pass with these numbers."""
        rows = {path: parameters[name].reshape(-1) for path, (name, _turned) in self.rows.items()}
        matrices = {
            path: parameters[name].T if is_turned else parameters[name]
            for path, (name, is_turned) in self.matrices.items()
        }
        return SitePass(
            engine, self.plan, self._operations(engine, parameters), (rows, matrices), found, draw
        )

    def _operations(self, engine: Engine, parameters: Parameters) -> Mapping[str, Operation]:
        operations = self.plan.operands.operations
        if not self.others:
            return operations
        numbers = {weight.path: engine.to_numpy(parameters[name]) for weight, name in self.others}
        made, site = dict[str, Operation](), None
        for stage, operation in operations.items():
            changed = operation.with_numbers(numbers)
            if changed is None:
                site = self._site(numbers) if site is None else site
                changed = bind(site, stage)
            made[stage] = changed
        return made

    def _site(self, numbers: Mapping[str, NDArray[Any]]) -> Site:
        """The site with these numbers."""
        site = self.plan.site
        for weight, _name in self.others:
            site = weight.put(site, numbers[weight.path].astype(np.float64))
        return site


def _cross_entropy(engine: Engine, logits: Array, targets: Ints) -> tuple[float, NDArray[Any], Array]:
    """The mean of −log p over the counted positions, each of these, and the gradient by the logits.

    ∂L/∂logits = (p − one-hot) / m in the m counted rows, else 0.
    """
    xp = engine.xp
    rows = np.flatnonzero(targets.ravel() >= 0)
    flat = logits.reshape(-1, logits.shape[-1])
    powers = flat[rows]
    columns, each = targets.ravel()[rows], np.arange(len(rows))
    most, wanted = xp.max(powers, axis=-1), powers[each, columns]
    engine.softmax_(powers)
    own = most - xp.log(xp.max(powers, axis=-1)) - wanted  # the largest p is 1 ÷ Σ exp(l − max l)
    powers[each, columns] -= 1
    powers /= len(rows)
    seed = engine.zeros(tuple(flat.shape))
    seed[rows] = powers
    losses = np.zeros(targets.size)
    losses[rows] = engine.to_numpy(own)
    return float(losses.sum()) / len(rows), losses.reshape(targets.shape), seed.reshape(logits.shape)

"""Reuse of the steps of an earlier decoding: its condition, and the memory of these steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as with_fields

from attnviz.engines.decode.cache import Cache
from attnviz.engines.decode.step import DecodeStep, SiteStep
from attnviz.engines.engine import Engine
from attnviz.engines.features import Features
from attnviz.model.positions import magnitude, rotation
from attnviz.model.scalings import pair_frequencies
from attnviz.model.sites.sites import places, record_at, sites, with_records
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.generation import Writing
from attnviz.model.spec.positions import Rope
from attnviz.model.spec.scalings import NoScaling
from attnviz.model.spec.site import Place


def can_reuse(engine: Engine, experiment: Experiment, made_by: Engine, old: Experiment) -> bool:
    """True if steps of `old` can be reused: everything is equal but the tokens and their choice.

    Rotations are compared by their frequencies, which may depend on the number of tokens.
    """
    same_cache = (old.writing or Writing()).cache == (experiment.writing or Writing()).cache
    before, after = ((made.name, made.device, made.dtype) for made in (made_by, engine))
    # Compared, not replaced: with vectors of another width the old experiment may be invalid.
    if before != after or not same_cache or old.d_model != experiment.d_model:
        return False
    if _frequencies(old) != _frequencies(experiment):
        return False
    return _is_alike(old, experiment) or _is_alike(_unscaled(old), _unscaled(experiment))


def _is_alike(one: Experiment, other: Experiment) -> bool:
    """True if everything is equal but the tokens and their choice."""
    fields = (field for field in Experiment.__struct_fields__ if field not in _MAY_DIFFER)
    return all(getattr(one, field) == getattr(other, field) for field in fields)


def _unscaled(experiment: Experiment) -> Experiment:
    """The experiment without the scalings of RoPE, which only act through `_frequencies`."""
    fields: dict[Place, dict[str, Any]] = {}
    for place in places(experiment):
        position = record_at(experiment, place).position
        if isinstance(position, Rope) and position.scaling != NoScaling():
            fields[place] = {"position": with_fields(position, scaling=NoScaling())}
    return with_records(experiment, fields, {}) if fields else experiment


def _frequencies(experiment: Experiment) -> list[tuple[bytes, float]]:
    """The frequencies of every site that rotates, and the multiplier of its cosines and sines."""
    rotations = [rotation(site) for site in sites(experiment).values() if isinstance(site.position, Rope)]
    known = {one: (pair_frequencies(one).tobytes(), magnitude(one.rope)) for one in set(rotations)}
    return [known[one] for one in rotations]


_MAY_DIFFER = {"tokens", "vectors", "writing"}


def settled(
    engine: Engine, steps: list[DecodeStep], reused: int, caches: Mapping[str, Cache]
) -> list[DecodeStep]:
    """The steps, of which the first `reused` were taken over, all of them in arrays of this decoding.

    Else one step would keep the whole pass that made it, and its cache, and a chain of edits all of them.
    `caches` are those of this decoding, by site.
    """
    if not reused:
        return steps
    own = {
        name: _own(engine, [step.sites[name] for step in steps[:reused]], cache)
        for name, cache in caches.items()
    }
    found = []
    for index, step in enumerate(steps[:reused]):
        sites = {name: made[index] for name, made in own.items()}
        found.append(step.with_sites(sites))
    return [*found, *steps[reused:]]


def _own(engine: Engine, steps: list[SiteStep], cache: Cache) -> list[SiteStep]:
    """The steps of one site, without the rest of the passes that they were part of."""
    last: dict[int, int] = {}
    for step in steps:
        last[id(step.features)] = max(last.get(id(step.features), 0), step.row)
    trimmed: dict[int, Features] = {}
    found = []
    for step in steps:
        key, attended = id(step.features), step.attended
        n_left = last[key] + 1
        if n_left < step.features.n_tokens:
            if key not in trimmed:
                trimmed[key] = step.features.rows(slice(n_left), engine.xp)
            attended = attended.copied(engine.xp)
        found.append(replace(step, features=trimmed.get(key, step.features), attended=attended, cache=cache))
    return found

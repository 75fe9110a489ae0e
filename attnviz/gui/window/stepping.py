"""The next head, attention, stage or preset, or (step −1) the one before."""

from __future__ import annotations

from attnviz.checkpoints.presets import PRESETS
from attnviz.gui.services.documents import Documents
from attnviz.gui.store import Store
from attnviz.model.sites.sites import site_names


def step_head(store: Store, step: int) -> None:
    """Select another head; the first one follows the last."""
    n_heads = store.attention.heads.n_heads
    store.look(head=(min(store.document.view.head, n_heads - 1) + step) % n_heads)


def step_site(store: Store, step: int) -> None:
    """Select another attention; the first and the last one are ends."""
    names = site_names(store.experiment)
    index = names.index(store.document.site) + step
    store.look(site=names[min(max(index, 0), len(names) - 1)])


def step_stage(store: Store, step: int) -> None:
    """Select another stage; the first one follows the last."""
    if store.trace is None:
        return
    stages = store.shown_site.stages
    now = store.document.view.stage
    index = stages.index(now) if now in stages else 0
    store.look(stage=stages[(index + step) % len(stages)])


def step_preset(store: Store, documents: Documents, step: int) -> None:
    """Open the preset after or before the present one, in the order of the menu."""
    title = store.document.title
    titles = [preset.title for preset in PRESETS]
    place = titles.index(title) + step if title in titles else 0 if step > 0 else len(titles) - 1
    if 0 <= place < len(titles):
        documents.open_preset(PRESETS[place].id)

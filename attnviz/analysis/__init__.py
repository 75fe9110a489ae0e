"""The work of a model's heads: scores, logit lens, contributions, ablation, patching.

    document = attnviz.import_checkpoint("SmolLM2-135M", text="The capital of France is")
    target = analysis.Target(" Paris")
    analysis.head_scores(attnviz.run(document))["previous"]["layers.0.self"]    # (head,)
    analysis.logit_lens(document, target).ranks                                 # (layer, token)
    analysis.ablate(document, target).values["layers.3.self"]                   # (head,)

Functions take an `Experiment` or a `Document` and return arrays. None of them changes the document.
"""

from attnviz.analysis.ablation import ablate as ablate
from attnviz.analysis.circuits import circuit as circuit
from attnviz.analysis.contributions import contributions as contributions
from attnviz.analysis.lens import logit_lens as logit_lens
from attnviz.analysis.patching import patch as patch
from attnviz.analysis.scores import head_scores as head_scores
from attnviz.analysis.target import Target as Target
from attnviz.engines.patches import Patch as Patch
from attnviz.model.heads.rollout import attention_flow as attention_flow
from attnviz.model.heads.rollout import rollout as rollout

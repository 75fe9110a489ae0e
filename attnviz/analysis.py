"""The work of a model's heads: scores, logit lens, contributions, ablation, patching.

    document = attnviz.import_checkpoint("SmolLM2-135M", text="The capital of France is")
    target = analysis.Target(" Paris")
    analysis.head_scores(attnviz.run(document))["previous"]["layers.0.self"]    # (head,)
    analysis.logit_lens(document, target).ranks                                 # (layer, token)
    analysis.ablate(document, target).values["layers.3.self"]                   # (head,)

Functions take an `Experiment` or a `Document` and return arrays. None of them changes the document.
"""

from attnviz.engines.patches import Patch as Patch
from attnviz.study.ablation import ablate as ablate
from attnviz.study.circuits import circuit as circuit
from attnviz.study.contributions import contributions as contributions
from attnviz.study.heads.rollout import attention_flow as attention_flow
from attnviz.study.heads.rollout import rollout as rollout
from attnviz.study.heads.scores import head_scores as head_scores
from attnviz.study.lens import logit_lens as logit_lens
from attnviz.study.patching import patch as patch
from attnviz.study.target import Target as Target

"""The public names of version 0.2.0: whatever a script, a command line or a document file uses stays."""

from __future__ import annotations

import argparse
import inspect
import re
from typing import Any

import pytest

import attnviz
from attnviz import analysis, parts
from attnviz.checkpoints.presets import preset_ids
from attnviz.cli.shell import parser
from attnviz.model.stages import STAGE_BY_ID

NAMES = """
    BudgetError CheckpointError DecodeStep Decoding Document EngineError Experiment Gradient SiteTrace
    Trace View __version__ analysis animate backward decode document_schema holds import_checkpoint load
    one_layer parts presets render run save show script
"""
"""Names of `attnviz`."""

PARTS = """
    AddedToken AdditiveMask Alibi AnyOf Attention Block Blocks Causal Classes Deberta Differential Dilated
    Documents DrawnRow DrawnTable Dropout DynamicNtk Edit EmbeddingProjection Experts Explicit
    ExplicitSinks ExplicitVectors FeedForward Forced FullCache Gate Global Heads Identity Image Latent
    Layer Learned LinearScaling Link Llama3Scaling LongRope Matrix Memory MinP NoPosition NoScale
    NoScaling Norm Padding PagedCache Painted Pieces PositionTemperature Prefix Projections QKNorm
    QuantisedCache RepetitionPenalty RestartingCache RingCache Rope Sampling ScaleValue Seeded SeededSinks
    SeededVectors SinkCache Sinusoidal SqrtDHead StopConditions Strided T5Buckets Temperature Tied TopK
    TopP Transform TransformerXl Vocabulary Window Writing WrittenRow WrittenTable Yarn
"""
"""Names of `attnviz.parts`."""

ANALYSIS = """
    Patch Target ablate attention_flow circuit contributions head_scores logit_lens patch rollout
"""
"""Names of `attnviz.analysis`."""

PARAMETERS = """
    animate: given path over stage head site kind fps dpi style engine device check
    backward: experiment target engine device check
    decode: experiment steps engine device check budget
    document_schema:
    holds: claim given engine device
    import_checkpoint: path text ids memory_text memory_ids image features chat dtype attention_only
        ignore_keys progress
    load: path progress checkpoint
    one_layer: tokens vectors fields
    render: given path stage head site theme picture kind dpi style engine device
    run: experiment engine device check budget
    save: document path progress with_weights
    show: given tokens memory_tokens attentions attention encoder_attention decoder_attention
        cross_attention encoder_tokens decoder_tokens stage layer head heads height others
    script: given library stages site
    analysis.ablate: given target part by other engine device check
    analysis.attention_flow: trace token stack check
    analysis.circuit: given site head kind top token engine device check
    analysis.contributions: given target engine device check
    analysis.head_scores: trace
    analysis.logit_lens: given target norm top engine device check
    analysis.patch: clean corrupted target stage each_head engine device check
    analysis.rollout: trace
"""
"""Parameters of each function, in their order."""

OPTIONS = """
    gui: document
    presets:
    run: document --engine --device --dtype --text --edit -o --output --stages --site --backward
    render: document --engine --device --dtype --text --edit -o --output --stage --site --head --kind
        --orientation --range --as --query --key --plane --projection --width --font-size --theme --grey
        --no-title --no-formula --caption --no-sums --no-bar --square --dpi --target --show --step
        --follow --against --against-site --against-head --align
    animate: document --engine --device --dtype --text --edit -o --output --over --fps --stage --site
        --head --kind --orientation --range --as --query --key --plane --projection --width --font-size
        --theme --grey --no-title --no-formula --caption --no-sums --no-bar --square --dpi --target --show
    table: document --engine --device --dtype --text --edit -o --output --stage --site --head --target
        --show --step --follow --against --against-site --against-head --align --digits --format
    script: document -o --output --with --notebook --stages --site --text
    page: document --engine --device --dtype --text --edit -o --output --no-steps
    panel: document --engine --device --dtype --text --edit -o --output --panel --theme --size --against
    import: folder -o --output --text --chat --system --ids --memory-text --memory-ids --image --features
        --dtype --ignore-key --with-weights --download --attention-only
    decode: document --engine --device --dtype --text --edit --new --steps --json
    heads: document --engine --device --dtype --text --edit --score --refers --top --json
    lens: document --engine --device --dtype --text --edit --target --position --top
    ablate: document --engine --device --dtype --text --edit --target --against --position --part --by
        --other-text --top
    patch: document --engine --device --dtype --text --edit --target --against --position --corrupted-text
        --clean-text --stage
    circuits: document --engine --device --dtype --text --edit -o --output --site --head --kind --token
        --top --width --font-size --theme --grey --no-title --no-formula --caption --dpi
    survey: model --texts --scores --ablate --tokens --dtype --engine --device --workers --scheduler
        --insecure -o --output
    lesson: action lesson -o --output --slides
    claims: document --engine --device --dtype --text --edit --claim --json
    bench: subject --json
"""
"""Arguments and options of each command."""

FIELDS = """
    File: format version experiment view title caption claims image trained_length checkpoint
    Experiment: tokens vectors memory embedding_norm layers final_norm encoder encoder_norm vocabulary
        readout writing dtype encoder_embedding_norm embedding_projection references
    ExplicitVectors: values kind=explicit
    SeededVectors: n d_model seed generator kind=seeded
    Memory: tokens vectors
    Norm: kind eps gain bias
    WrittenRow: values kind=explicit
    DrawnRow: seed mean std kind=seeded
    Layer: heads projections latent qk_norm position query_offset scale temperature position_temperature
        cap additive_mask masks mask_placement mask_bias fully_masked_row normaliser sinks dropout
        differential gate block edits cross
    Heads: n_heads n_kv_heads d_head off
    Projections: query key value output query_bias key_bias value_bias output_bias
    Identity: kind=identity
    Seeded: seed kind=seeded
    Explicit: values kind=explicit
    Tied: to kind=tied
    Latent: d_c d_q d_rope norm query_norm down up_key up_value rope_key query_down
    QKNorm: kind eps query_gain key_gain across
    NoPosition: kind=none
    Sinusoidal: base start kind=sinusoidal
    Learned: length start table kind=learned
    DrawnTable: seed std kind=seeded
    WrittenTable: values kind=explicit
    Rope: base pairing start n_rotated multipliers on_values scaling kind=rope
    NoScaling: kind=none
    LinearScaling: factor kind=linear
    DynamicNtk: factor original_length length kind=dynamic_ntk
    Yarn: factor original_length beta_fast beta_slow attention_factor truncate kind=yarn
    Llama3Scaling: factor low_freq_factor high_freq_factor original_length kind=llama3
    LongRope: factor short_factor long_factor original_length attention_factor length kind=longrope
    Alibi: slopes kind=alibi
    T5Buckets: n_buckets max_distance bidirectional table kind=t5
    TransformerXl: base weights u v kind=transformer_xl
    Deberta: span max_distance keys queries kind=deberta
    SqrtDHead: kind=sqrt_d_head
    NoScale: kind=none
    ScaleValue: value kind=value
    PositionTemperature: interval strength
    AdditiveMask: values per_head
    Causal: kind=causal
    Prefix: n kind=prefix
    Padding: tokens kind=padding
    Window: left right kind=window
    Dilated: left right dilation kind=dilated
    Strided: stride kind=strided
    Blocks: size previous kind=blocks
    Global: tokens kind=global
    Documents: starts kind=documents
    Painted: cells kind=painted
    AnyOf: masks kind=any_of
    ExplicitSinks: values kind=explicit
    SeededSinks: seed kind=seeded
    Dropout: p seed rescale training
    Differential: initial query_1 key_1 query_2 key_2 eps
    Gate: per weights bias
    Block: placement residual norm_1 feed_forward norm_2 after_1 after_2 residual_scale dropout
    FeedForward: d_hidden activation gated up gate down up_bias gate_bias down_bias experts router
        router_bias
    Experts: n n_active shares normalised scale n_groups n_active_groups correction d_shared shared_gate
        biased weighted
    Edit: stage position value operation head column
    Attention: heads projections latent qk_norm position query_offset scale temperature
        position_temperature cap additive_mask masks mask_placement mask_bias fully_masked_row normaliser
        sinks dropout differential gate block edits
    Vocabulary: tokens embedding embedding_scale unembedding bias logit_scale cap begin end pieces
        tokenizer transform classes
    Pieces: kind merges whole_words leading_space special added
    AddedToken: token lstrip rstrip single_word normalized
    Transform: weights bias activation norm
    Classes: labels reads distribution
    Writing: sampling cache forced
    Sampling: operations seed stop
    RepetitionPenalty: penalty kind=repetition_penalty
    Temperature: value kind=temperature
    TopK: k kind=top_k
    TopP: p kind=top_p
    MinP: p kind=min_p
    StopConditions: end_token length strings
    FullCache: kind=full
    RingCache: window kind=ring
    SinkCache: n_sinks window kind=sinks
    QuantisedCache: bits kind=quantised
    PagedCache: block kind=paged
    RestartingCache: kind=restarting
    Forced: step token
    EmbeddingProjection: d_model weights bias
    View: stage head query step ranges orientation plane locked site projection keys picture lines target
        quantity grid
    Ranges: scores weights features gradients
    Cell: stage row column head site
    Lines: queries heads
    HeadGrid: frames order token replaced_by
    Image: png rows columns begin
    Link: path size digest attention_only ignored_keys part
"""
"""Keys of each part of a document file, and the kind that names it in a choice."""

STAGES = """
    tokens_embedded layer_input x x_normed x_projected norm_1 memory q_latent q_latent_normed q
    latent_projected latent rope_key k v q_normed k_normed q_rotated q_tempered k_rotated v_rotated scores
    relative scaled capped biased added masked weights dropped combined mixed mixed_normed gate gated
    concatenated attention_output attention_dropped attention_normed residual_1 norm_2 router routing
    ffn_gate ffn_up ffn_gate_routed ffn_up_routed ffn_hidden ffn_routed ffn_output ffn_dropped ffn_normed
    residual_2 output transform transform_hidden transform_normed logits probabilities
"""
"""Names of the stages of a trace."""

PRESETS = """
    stories-en stories-zh stories-name stories-name-zh stories-count stories-induction stories-owner
    toy-attention word-similarity softmax-scores fluffy-blue-creature half-each sigmoid softmax-of-all
    xiaoshenyang causal-decode cross-attention grouped-query differential multi-head-latent tied-query-key
    mask-after-softmax answer-in-sight fully-masked-row added-mask prefix-lm sparse-attention dropout
    attention-sinks dog-bites-man causal-order sinusoidal learned-table rope-pair yarn alibi-window
    t5-buckets transformer-xl deberta position-temperature no-scale-512 three-averages gradient-of-loss
    twelve-layers long-sentence encoder-only decoder-only encoder-decoder experts output-gate
"""
"""Names of the presets."""


def rows(text: str) -> list[tuple[str, list[str]]]:
    """The lines of a table, each a name and what belongs to it; an indented line continues the last one."""
    lines = re.sub(r"\n {8}", " ", text.strip()).split("\n")
    return [(name.strip(), rest.split()) for name, _colon, rest in (line.partition(":") for line in lines)]


@pytest.mark.parametrize(
    ("module", "names", "public"),
    [(attnviz, NAMES, attnviz.__all__), (parts, PARTS, parts.__all__), (analysis, ANALYSIS, dir(analysis))],
)
def test_every_name_is_imported(module: Any, names: str, public: list[str]) -> None:
    assert [name for name in names.split() if name not in public or not hasattr(module, name)] == []


@pytest.mark.parametrize(("function", "names"), rows(PARAMETERS))
def test_every_parameter_is_taken_in_its_order(function: str, names: list[str]) -> None:
    module, _dot, name = function.rpartition(".")
    home = analysis if module else attnviz
    found = inspect.signature(getattr(home, name)).parameters
    assert [parameter for parameter in found if parameter in names] == names


@pytest.mark.parametrize(("command", "names"), rows(OPTIONS))
def test_every_option_is_parsed(command: str, names: list[str]) -> None:
    chosen = next(one for one in parser()._actions if isinstance(one, argparse._SubParsersAction))
    found = {n for one in chosen.choices[command]._actions for n in (*one.option_strings, one.dest)}
    assert set(names) <= found


def test_every_key_of_a_document_is_read() -> None:
    known = attnviz.document_schema()["$defs"]
    for part, names in rows(FIELDS):
        keys = known[part]["properties"]
        kinds = [f"kind={kind}" for kind in keys.get("kind", {}).get("enum", ())]
        assert [name for name in names if name not in keys and name not in kinds] == [], part


def test_every_stage_and_every_preset_is_known() -> None:
    assert set(STAGES.split()) <= set(STAGE_BY_ID)
    assert set(PRESETS.split()) <= set(preset_ids())


def test_an_experiment_refuses_the_fields_of_a_layer_and_names_who_takes_them() -> None:
    """In 0.1 an experiment had the fields of its only layer."""
    tokens, vectors = ("a", "b"), parts.SeededVectors(2, 4)
    fields: dict[str, Any] = {"heads": parts.Heads(2, 2, 2), "temperature": 2.0}
    says = r"attnviz\.one_layer\(tokens, vectors, heads=…, temperature=…\)"
    with pytest.raises(TypeError, match=says):
        attnviz.Experiment(tokens, vectors, **fields)
    assert attnviz.one_layer(tokens, vectors, **fields).layers == (parts.Layer(**fields),)
    with pytest.raises(TypeError, match="Unexpected keyword argument 'head'"):
        attnviz.Experiment(tokens, vectors, head=1)  # type: ignore[call-arg]

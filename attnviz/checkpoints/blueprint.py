"""A checkpoint on paper: its family, the values of its configuration, its layers without weights.

Quantised weights, told by the types and the names of their tensors, are refused here, and so are keys of the
configuration that may change numbers in an unknown way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnviz.checkpoints.families.family import Around, Config, Family, Sizes
from attnviz.checkpoints.families.refusals import refusal
from attnviz.checkpoints.families.table import FAMILIES
from attnviz.checkpoints.kin import nearest
from attnviz.checkpoints.plan import FLOATS, Planned, architecture, plan
from attnviz.checkpoints.reader import CONFIG, Checkpoint, CheckpointError, StoredTensor, tensor_error
from attnviz.errors import FieldError, Message, about, message_of, must_be, verbatim
from attnviz.model.spec.attention import Layer

NO_NUMBERS = frozenset(
    # Names, versions, storage:
    "_commit_hash _model_name_or_path _name_or_path _num_labels architectures auto_map dtype finetuning_task "
    "model_type tokenizer_class torch_dtype torchscript transformers.js_config transformers_version "
    # Tokens with a meaning, and how text is generated:
    "bos_token_id cache_implementation cls_token_id decoder_start_token_id do_sample early_stopping "
    "eos_token_id max_length min_length num_beams pad_token_id prefix repetition_penalty sep_token_id "
    "task_specific_params temperature top_k top_p unk_token_id use_cache "
    "bad_words_ids begin_suppress_tokens diversity_penalty encoder_no_repeat_ngram_size "
    "exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty "
    "no_repeat_ngram_size num_beam_groups num_return_sequences output_scores remove_invalid_values "
    "suppress_tokens typical_p "
    # What a call returns:
    "keys_to_ignore_at_inference output_attentions output_hidden_states output_router_logits return_dict "
    "return_dict_in_generate "
    # Training: initialisation, dropout, terms of the loss:
    "attention_dropout attention_probs_dropout_prob attn_pdrop classifier_dropout dropout dropout_rate "
    "embd_pdrop embed_dropout gradient_checkpointing hidden_dropout hidden_dropout_prob init_std "
    "initializer_factor initializer_range layerdrop qa_dropout resid_dropout resid_pdrop "
    "router_aux_loss_coef seq_classif_dropout "
    # Heads for classes and summaries, which are not imported:
    "id2label label2id num_labels predict_special_tokens problem_type summary_activation "
    "summary_first_dropout summary_proj_to_labels summary_type summary_use_proj "
    # The order of sums, and keys that repeat others:
    "_attn_implementation _attn_implementation_autoset _flash_attn_2_enabled attn_implementation "
    "chunk_size_feed_forward experts_per_token initial_context_length is_encoder_decoder n_ctx "
    "pretraining_tp "
    # Left over by other programs and older versions:
    "output_past tf_legacy_loss unsloth_fixed unsloth_version use_bfloat16 xla_device".split()
)
"""Configuration keys that do not affect a forward pass."""

UNUSED = (("add_cross_attention", False), ("tie_encoder_decoder", False), ("is_decoder", False))
"""Keys that do not affect a forward pass with this value."""


@dataclass(frozen=True)
class Blueprint:
    """The state after the configuration is read and every tensor is assigned; layers have no weights yet."""

    checkpoint: Checkpoint
    family: Family
    config: Config
    sizes: Sizes
    layers: tuple[Layer, ...]
    encoder: tuple[Layer, ...]
    around: Around
    planned: tuple[Planned, ...]


def family_of(config: Mapping[str, Any], tensors: Mapping[str, StoredTensor] | None = None) -> Family:
    """The family of a configuration's model type.

    Raises `CheckpointError` for a type without one: the part that is missing, and the nearest type by the
    names of the `tensors`.
    """
    wanted, there = config.get("model_type"), tensors or {}
    for family in FAMILIES:
        named = not family.architectures or architecture(config) in family.architectures
        if wanted in family.model_types and named:
            return family

    def fits(family: Family) -> bool:
        checkpoint = Checkpoint(Path(), dict(config), dict(there))
        try:
            _blueprint_as(family, checkpoint, tuple(unknown_keys(family, config)))
        except CheckpointError:
            return False
        return True

    error = refusal(config, there, lambda: nearest(config, there, fits))
    raise CheckpointError(about(CONFIG, error.message))


def read_config(
    family: Family, values: Mapping[str, Any], ignored: Sequence[str] = (), file: str = CONFIG
) -> Config:
    """Every key of the family's table with its value. Raises `CheckpointError` for one it does not know.

    Keys that the family does not know are passed over if they are `ignored`.
    """
    try:
        read = {key.name: key.read(values) for key in family.keys}
        for name, value in unknown_keys(family, values, ignored).items():
            of_family = must_be("a key of {family}, since it may change numbers", family=family.title)
            raise FieldError(name, value, of_family)
    except FieldError as error:
        raise CheckpointError(about(file, error.message)) from error
    return read


def unknown_keys(family: Family, values: Mapping[str, Any], ignored: Sequence[str] = ()) -> dict[str, Any]:
    """The keys of a configuration that may change numbers in a way that this program does not know.

    Keys of the family's table, those without an effect, empty values, and `ignored` keys are left out.
    """
    known = NO_NUMBERS | {key.name for key in family.keys} | set(ignored)

    def is_dead(name: str, value: Any) -> bool:
        return value is None or value in ({}, [], "") or (name, value) in UNUSED

    return {name: value for name, value in values.items() if name not in known and not is_dead(name, value)}


def checked_family(checkpoint: Checkpoint) -> Family:
    """The family of a checkpoint in full precision. Raises `CheckpointError` for another one."""
    family = family_of(checkpoint.config, checkpoint.tensors)
    check_full_precision(checkpoint)
    return family


def blueprint(checkpoint: Checkpoint, ignored: Sequence[str] = ()) -> Blueprint:
    """Read the configuration and assign every tensor. Raises `CheckpointError` for what is not supported."""
    return _blueprint_as(checked_family(checkpoint), checkpoint, ignored)


def _blueprint_as(family: Family, checkpoint: Checkpoint, ignored: Sequence[str]) -> Blueprint:
    config = read_config(family, checkpoint.config, ignored, checkpoint.config_name)
    try:
        sizes = family.sizes(config)
        _check_layers(sizes, checkpoint)
        layers = tuple(family.layer(config, index) for index in range(sizes["layers"]))
        encoder: tuple[Layer, ...] = ()
        if family.encoder_layer is not None:
            encoder = tuple(family.encoder_layer(config, index) for index in range(sizes["encoder_layers"]))
        around = family.around(config)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(about(checkpoint.config_name, message_of(error))) from error
    planned = plan(family, config, sizes, checkpoint)
    return Blueprint(checkpoint, family, config, sizes, layers, encoder, around, planned)


def _check_layers(sizes: Sizes, checkpoint: Checkpoint) -> None:
    """Refuse more layers than the file has tensors, before any is created."""
    count, there = sizes["layers"] + sizes.get("encoder_layers", 0), len(checkpoint.tensors)
    if count > there:
        at_most = must_be(
            "at most {most:,}, the number of tensors in {file}", most=there, file=checkpoint.weights_name
        )
        raise FieldError("num_hidden_layers", count, at_most)


QUANTISATION_KEYS = ("quantization_config", "quantization")
"""The configuration's keys that describe a quantisation; MLX writes the second one."""

METHOD_TITLES = {"gptq": "GPTQ", "awq": "AWQ", "fp8": "FP8", "mxfp4": "MXFP4", "hqq": "HQQ", "aqlm": "AQLM"}
"""The titles of methods whose names are abbreviations."""

_FULL_OR_TABLE = (*FLOATS, "BOOL", "I64")
"""Types of weights in full precision, and of tables beside them."""

_QUANTISED_PARTS = re.compile(r"\.(qweight|qzeros|absmax|weight_packed)$")
"""Ends of the names of what quantised weights consist of."""


def check_full_precision(checkpoint: Checkpoint) -> None:
    """Raise `CheckpointError` for quantised weights: the method, and what is read instead."""
    tensors = checkpoint.tensors.values()
    key = next((one for one in QUANTISATION_KEYS if checkpoint.config.get(one)), None)
    if key is not None and any(one.dtype not in _FULL_OR_TABLE for one in tensors):
        value = checkpoint.config[key]
        missing = must_be(
            "missing: weights quantised by {method} are not read, those in 16 or 32 bits and GGUF files are",
            method=_method(value),
        )
        raise CheckpointError(about(checkpoint.config_name, FieldError(key, value, missing).message))
    quantised = next((one for one in tensors if _is_part(one)), None)
    if quantised is not None:
        full = must_be("part of weights in 16 or 32 bits: quantised ones are read from GGUF files alone")
        raise tensor_error(quantised.file, quantised.name, verbatim(quantised.dtype), full)


def _is_part(tensor: StoredTensor) -> bool:
    return bool(_QUANTISED_PARTS.search(tensor.name)) or tensor.dtype.startswith(("F8", "F4"))


def _method(value: Any) -> Message:
    named = value.get("quant_method") if isinstance(value, dict) else None
    method = named if isinstance(named, str) else "MLX"
    return verbatim(METHOD_TITLES.get(method, method)[:40])

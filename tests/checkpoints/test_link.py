"""A document of an imported model points at it, and has its own edits alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder
from msgspec.structs import replace

import attnviz
from attnviz.checkpoints.importing import import_checkpoint
from attnviz.checkpoints.link import matrices_of
from attnviz.checkpoints.stories import load, record_of
from attnviz.model.edit import edits
from attnviz.model.io.files import DocumentError, link_of, save
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.origin import CheckpointMissing
from attnviz.model.spec.parts import Explicit

IDS = [1, 2, 3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    write_folder(made, llama_arrays(), LLAMA_CONFIG)
    return made


def edited(document: Document) -> Document:
    """Another number in one matrix, and another token."""
    first, *rest = document.experiment.layers
    query = first.projections.query
    assert isinstance(query, Explicit)
    projections = replace(first.projections, query=Explicit(query.values.replaced(0, 0, 0.25)))
    layers = (replace(first, projections=projections), *rest)
    experiment = replace(document.experiment, layers=layers)
    return replace(document, experiment=edits.permute_tokens(experiment, (2, 0, 1), "tokens"))


def test_a_saved_document_points_and_opens_as_it_was(folder: Path, tmp_path: Path) -> None:
    document = edited(import_checkpoint(folder, ids=IDS))
    file = attnviz.save(document, tmp_path / "made")
    assert file.suffix == ".json" and file.stat().st_size < 12_000
    text = file.read_text()
    assert text.count('{"checkpoint": ') > 10 and str(folder) in text
    assert load(file) == document
    again = load(file)
    assert attnviz.save(again, tmp_path / "again").read_text() == text
    query = again.experiment.layers[0].projections.query
    assert isinstance(query, Explicit) and query.values.origin is None


def test_a_document_with_weights_needs_no_checkpoint(folder: Path, tmp_path: Path) -> None:
    document = edited(import_checkpoint(folder, ids=IDS))
    file = attnviz.save(document, tmp_path / "packed.safetensors", with_weights=True)
    shutil.rmtree(folder)
    assert load(file) == document
    assert link_of(load(file).experiment) is None


def test_a_moved_checkpoint_is_found_beside_the_document_or_where_somebody_says(
    folder: Path, tmp_path: Path
) -> None:
    document = import_checkpoint(folder, ids=IDS)
    file = save(document, tmp_path / "made.json")
    away = tmp_path / "away"
    away.mkdir()
    folder.rename(away / "model")
    with pytest.raises(
        DocumentError, match=r"^made\.json: The checkpoint of the document must be in .*model;"
    ) as caught:
        load(file)
    assert isinstance(caught.value.__cause__, CheckpointMissing)
    assert load(file, checkpoint=away / "model") == document
    moved = Path(shutil.copy(file, away / "made.json"))
    assert load(moved) == document


def test_another_checkpoint_in_its_place_is_noticed(folder: Path, tmp_path: Path) -> None:
    file = save(import_checkpoint(folder, ids=IDS), tmp_path / "made.json")
    write_folder(folder, {name: array + 1 for name, array in llama_arrays().items()}, LLAMA_CONFIG)
    with pytest.raises(
        DocumentError, match=r"must be the one that the document was imported from; got another"
    ):
        load(file)


def test_another_configuration_is_another_checkpoint(folder: Path, tmp_path: Path) -> None:
    file = save(import_checkpoint(folder, ids=IDS), tmp_path / "made.json")
    write_folder(folder, llama_arrays(), {**LLAMA_CONFIG, "rms_norm_eps": 1e-3})
    with pytest.raises(DocumentError, match="got another one"):
        load(file)


def test_a_first_attention_alone_is_found_again(folder: Path, tmp_path: Path) -> None:
    document = import_checkpoint(folder, ids=IDS, attention_only=True)
    assert load(save(document, tmp_path / "made.json")) == document


def test_a_figure_carries_the_link(folder: Path) -> None:
    document = import_checkpoint(folder, ids=IDS)
    record = record_of(document)
    assert record.document and record.restored(dict, matrices_of) == document


def test_a_name_that_the_checkpoint_lacks_is_refused(folder: Path, tmp_path: Path) -> None:
    file = save(import_checkpoint(folder, ids=IDS), tmp_path / "made.json")
    file.write_text(
        file.read_text().replace('{"checkpoint": "final_norm.gain"}', '{"checkpoint": "nothing"}')
    )
    with pytest.raises(DocumentError, match=r"checkpoint must be a matrix of the checkpoint; got 'nothing'"):
        load(file)


def test_a_matrix_edited_back_is_no_longer_the_checkpoints(folder: Path) -> None:
    matrix = import_checkpoint(folder, ids=IDS).experiment.vocabulary.embedding  # type: ignore[union-attr]
    assert matrix.origin is not None
    copy = Matrix(np.array(matrix.array))
    assert copy == matrix and copy.origin is None

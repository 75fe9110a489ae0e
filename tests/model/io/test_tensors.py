"""Large documents: the arrays beside the JSON, and every damaged header refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import explicit
from first_layer import stacked
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file

from attnviz.checkpoints.presets import load_preset
from attnviz.model.io.files import DocumentError, dumps, load, save
from attnviz.model.spec.arrays import Matrix
from attnviz.model.spec.document import Document
from attnviz.model.spec.experiment import Experiment
from attnviz.model.spec.parts import Explicit, ExplicitVectors, Heads, Memory, Projections


def test_large_arrays_live_in_a_safetensors_file(tmp_path: Path) -> None:
    document = explicit(128, 129)
    path = save(document, tmp_path / "large")
    assert path.name == "large.safetensors"
    assert load(path) == document
    assert_array_equal(load_file(path)["vectors"], document.experiment.vectors.values.array)  # type: ignore[union-attr]
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    carried = json.loads(header["__metadata__"]["attnviz"])
    assert carried["experiment"]["vectors"] == {"kind": "explicit", "values": {"tensor": "vectors"}}
    assert carried["format"] == "attnviz"


def test_the_limit_of_json_counts_all_arrays_together(tmp_path: Path) -> None:
    assert save(explicit(128, 128), tmp_path / "fits").name == "fits.json"
    document = explicit(128, 129)
    with pytest.raises(
        DocumentError,
        match=r"d\.json: A \.json document must have at most 16,384 numbers; got 16,512\. "
        r"Save it as \.safetensors instead\.",
    ):
        save(document, tmp_path / "d.json")
    assert not (tmp_path / "d.json").exists()
    wide = explicit(100, 100).experiment
    memory = Memory(wide.tokens, wide.vectors)
    assert save(stacked(wide.tokens, wide.vectors, memory), tmp_path / "two").suffix == ".safetensors"


def test_all_arrays_have_their_place_and_equal_ones_are_stored_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weight = Explicit(rng.standard_normal((6, 4)))
    experiment = stacked(
        ("a", "b"),
        ExplicitVectors(rng.standard_normal((2, 6))),
        Memory(("m",), ExplicitVectors(rng.standard_normal((1, 6)))),
        heads=Heads(1, 1, 4),
        projections=Projections(
            weight, weight, Explicit(rng.standard_normal((6, 4))), Explicit(rng.standard_normal((4, 6)))
        ),
    )
    path = save(experiment, tmp_path / "all.safetensors")
    names = {"vectors", "memory.vectors"}
    names |= {f"layers[0].projections.{role}" for role in ("query", "value", "output")}
    assert set(load_file(path)) == names
    assert load(path).experiment == experiment


def header_of(document: Document) -> str:
    """The JSON that a safetensors file of this document carries, with its vectors as a tensor."""
    data = json.loads(dumps(document))
    data["experiment"]["vectors"]["values"] = {"tensor": "vectors"}
    return json.dumps(data)


def test_floats_of_every_width_are_read_and_whole_numbers_are_not(tmp_path: Path) -> None:
    document = explicit(2, 3)
    values = document.experiment.vectors.values.array  # type: ignore[union-attr]
    for dtype, legal in ((np.float32, True), (np.float16, True), (np.int64, False)):
        path = tmp_path / f"{np.dtype(dtype).name}.safetensors"
        save_file({"vectors": values.astype(dtype)}, path, metadata={"attnviz": header_of(document)})
        if legal:
            loaded = load(path).experiment.vectors
            assert_array_equal(loaded.values.array, values.astype(dtype))  # type: ignore[union-attr]
        else:
            with pytest.raises(
                DocumentError,
                match=r"tensor 'vectors' must have a dtype of F16, BF16, F32, F64; got 'I64'\.",
            ):
                load(path)


def test_tensors_without_a_document_or_not_referred_to_are_refused(tmp_path: Path) -> None:
    document = explicit(2, 3)
    values = document.experiment.vectors.values.array  # type: ignore[union-attr]
    save_file({"vectors": values}, tmp_path / "plain.safetensors")
    with pytest.raises(
        DocumentError,
        match=r"plain\.safetensors: The metadata must contain 'attnviz', an attnviz document; got "
        r"tensors alone\.",
    ):
        load(tmp_path / "plain.safetensors")
    save_file(
        {"vectors": values, "more": values},
        tmp_path / "more.safetensors",
        metadata={"attnviz": header_of(document)},
    )
    with pytest.raises(
        DocumentError,
        match=r"more\.safetensors: Every tensor must belong to the document; got 'more', which it "
        r"does not mention\.",
    ):
        load(tmp_path / "more.safetensors")
    save_file({"x": values}, tmp_path / "x.safetensors", metadata={"attnviz": header_of(document)})
    with pytest.raises(
        DocumentError,
        match=r"x\.safetensors: \$\.experiment\.vectors\.values\.tensor must be one of 'x'; got "
        r"'vectors'\.",
    ):
        load(tmp_path / "x.safetensors")


def test_not_finite_tensors_are_refused(tmp_path: Path) -> None:
    document = explicit(2, 3)
    values = np.array([[1, 2, 3], [4, np.nan, 6]])
    save_file({"vectors": values}, tmp_path / "n.safetensors", metadata={"attnviz": header_of(document)})
    with pytest.raises(
        DocumentError,
        match=r"n\.safetensors: \$\.experiment\.vectors\.values\[1\]\[1\] must be a finite number; got nan\.",
    ):
        load(tmp_path / "n.safetensors")


def raw_file(path: Path, entry: dict[str, Any], payload: bytes = bytes(48)) -> Path:
    """A safetensors file made by hand: whatever header entry, whatever bytes."""
    header = json.dumps({"__metadata__": {"attnviz": header_of(explicit(2, 3))}, "vectors": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + payload)
    return path


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}, ""),
        (
            {"dtype": "F64", "shape": [10**9, 10**9], "data_offsets": [0, 8 * 10**18]},
            "The arrays must have at most 17,179,869,184 numbers; got 1,000,000,000,000,000,000.",
        ),
        (
            {"dtype": "F64", "shape": [1000, 1000], "data_offsets": [0, 8_000_000]},
            "h.safetensors: The file must have 8,000,000 bytes of numbers, as its header says; got 48.",
        ),
        ({"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 40]}, "must have data_offsets 48 bytes apart"),
        (
            {"dtype": "F64", "shape": [2, 3], "data_offsets": [8, 56]},
            "h.safetensors: tensor 'vectors' must begin at byte 0, without a gap; got 8.",
        ),
        ({"dtype": "F64", "shape": [2, 3], "data_offsets": [-48, 0]}, "got [-48, 0]"),
        (
            {"dtype": "F64", "shape": [6], "data_offsets": [0, 48]},
            "must have a shape of [rows, columns], both at least 1; got [",
        ),
        (
            {"dtype": "F64", "shape": [0, 3], "data_offsets": [0, 0]},
            "must have a shape of [rows, columns], both at least 1; got [",
        ),
        (
            {"dtype": "F64", "shape": [True, 6], "data_offsets": [0, 48]},
            "must have a shape of [rows, columns], both at least 1; got [",
        ),
        ({"dtype": "F64", "shape": [2, 3]}, "must be an object with dtype, shape and data_offsets"),
        (
            {"dtype": ["F64"], "shape": [2, 3], "data_offsets": [0, 48]},
            "must have a dtype of F16, BF16, F32, F64; got ['F64'].",
        ),
    ],
)
def test_a_header_is_checked_before_anything_is_read(
    tmp_path: Path, entry: dict[str, Any], expected: str
) -> None:
    path = raw_file(tmp_path / "h.safetensors", entry)
    if not expected:
        assert load(path).experiment.n_queries == 2
        return
    with pytest.raises(DocumentError) as caught:
        load(path)
    assert str(caught.value).startswith("h.safetensors: ") and expected in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"1234567", struct.pack("<Q", 2**63), struct.pack("<Q", 4) + b"null", b"\xff" * 64]
)
def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(
        DocumentError,
        match=r"^x\.safetensors: The (header of a|file must be a complete) safetensors file",
    ):
        load(tmp_path / "x.safetensors")


def test_every_truncation_of_a_safetensors_file_is_refused(tmp_path: Path) -> None:
    whole = save(explicit(2, 3), tmp_path / "w.safetensors").read_bytes()
    for length in range(0, len(whole), 37):
        (tmp_path / "t.safetensors").write_bytes(whole[:length])
        with pytest.raises(DocumentError):
            load(tmp_path / "t.safetensors")


# --- precision, progress, damage -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_saved_array_has_the_precision_that_it_came_in(tmp_path: Path, dtype: Any) -> None:
    values = np.random.default_rng(0).standard_normal((130, 140)).astype(dtype)
    experiment = Experiment(tuple(map(str, range(130))), ExplicitVectors(Matrix(values)))
    path = save(experiment, tmp_path / "d")
    again = save(load(path), tmp_path / "again")
    for file in (path, again):
        found = load_file(file)["vectors"]
        assert found.dtype == dtype
        assert_array_equal(found, values)
    assert path.read_bytes() == again.read_bytes()
    assert path.stat().st_size < values.nbytes + 8000


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = save(explicit(20, 30), tmp_path / "d.safetensors")
    whole = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(start, len(whole), 101):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(
            DocumentError,
            match=r"d\.safetensors: "
            r"\$\.experiment\.vectors\.values\.tensor 'vectors' must have the numbers that were saved, "
            r"by its checksum; got other numbers\.",
        ):
            load(path)


def test_a_file_without_checksums_is_read(tmp_path: Path) -> None:
    document = explicit(2, 3)
    values = document.experiment.vectors.values.array  # type: ignore[union-attr]
    save_file({"vectors": values}, tmp_path / "d.safetensors", metadata={"attnviz": header_of(document)})
    assert load(tmp_path / "d.safetensors") == document


@pytest.mark.parametrize("checksums", ["[]", "{", '{"vectors": 3}', '{"vectors": "xyz"}'])
def test_broken_checksums_are_refused(tmp_path: Path, checksums: str) -> None:
    document = explicit(2, 3)
    values = document.experiment.vectors.values.array  # type: ignore[union-attr]
    metadata = {"attnviz": header_of(document), "crc32": checksums}
    save_file({"vectors": values}, tmp_path / "d.safetensors", metadata=metadata)
    with pytest.raises(
        DocumentError,
        match=r"^d\.safetensors: crc32 must be an object with the CRC-32 of each tensor; got ",
    ):
        load(tmp_path / "d.safetensors")


class Stopped(Exception):
    """The error of a person who cancels."""


def test_saving_tells_its_progress_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.model.spec.arrays.PART_NUMBERS", 1000)
    shares: list[float] = []
    path = save(explicit(128, 129), tmp_path / "d.safetensors", shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 20
    before = path.read_bytes()
    for share in (0.1, 0.9):

        def stop(done: float, share: float = share) -> None:
            if done >= share:
                raise Stopped

        with pytest.raises(Stopped):
            save(explicit(128, 130), path, stop)
        assert path.read_bytes() == before and not list(tmp_path.glob(".*"))


def test_a_reference_to_none_of_very_many_tensors_is_refused_shortly(tmp_path: Path) -> None:
    values = np.ones((1, 1))
    document = json.loads(header_of(explicit(1, 1)))
    document["experiment"]["vectors"]["values"] = {"tensor": "absent"}
    many = {f"t{index}": values for index in range(5000)}
    save_file(many, tmp_path / "d.safetensors", metadata={"attnviz": json.dumps(document)})
    with pytest.raises(
        DocumentError, match=r"values\.tensor must be one of 't0', .*, …; got 'absent'\.$"
    ) as caught:
        load(tmp_path / "d.safetensors")
    assert len(str(caught.value)) < 300


def test_reading_reports_its_progress_and_can_be_stopped(tmp_path: Path) -> None:
    path = save(load_preset("stories-en"), tmp_path / "d.safetensors")
    shares: list[float] = []
    document = load(path, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 20
    assert document == load(path)

    def stop(share: float) -> None:
        if share > 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        load(path, stop)

"""The public module: what a script sees, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from first_layer import stacked

import attnviz
from attnviz import parts as p


def toy(**changes: object) -> attnviz.Experiment:
    vectors = p.SeededVectors(4, 3, seed=0, generator="mt19937")
    return stacked(("a", "b", "c", "d"), vectors, heads=p.Heads(1, 1, 3), **changes)  # type: ignore[arg-type]


def test_every_public_name_is_there() -> None:
    missing = [name for name in attnviz.__all__ if getattr(attnviz, name, None) is None]
    assert missing == []
    assert set(attnviz.__all__) <= set(dir(attnviz))


def test_whatever_an_experiment_is_made_of_is_among_its_parts() -> None:
    from attnviz.model.spec.value import Value

    def kinds(kind: type) -> set[type]:
        return {kind}.union(*map(kinds, kind.__subclasses__()))

    attnviz.Document, attnviz.View  # noqa: B018  (imported, so that all kinds are known)
    others = {"Value", "Document", "Experiment", "View", "Cell", "Ranges", "Lines", "FirstToken", "HeadGrid"}
    others |= {
        "Site",
        "Place",
        "Inputs",
        "Surroundings",
        "Mixer",
        "Encoding",
        "Stretch",
        "Source",
        "Relative",
        "MaskKind",
        "CacheKind",
        "Written",
    }  # derived and never stored; bases of kinds
    there = {kind.__name__ for kind in kinds(Value) if kind.__module__.startswith("attnviz.")}
    assert {"Writing", "Sampling", "StopConditions", "RingCache", "PagedCache", "Block"} <= there - others
    assert set(p.__all__) == there - others | {"Matrix"}
    assert all(getattr(p, name).__name__ == name for name in p.__all__)


def test_writing_is_said_with_the_parts() -> None:
    sampling = p.Sampling((p.Temperature(0.0),), stop=p.StopConditions(length=3))
    experiment = toy(writing=p.Writing(sampling, p.FullCache()))
    assert len(attnviz.decode(experiment).steps) == 6  # the third new token is sampled, and not computed


def test_the_schema_of_documents_names_their_fields() -> None:
    schema = attnviz.document_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    assert "n_kv_heads" in schema["$defs"]["Heads"]["properties"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'attend'"):
        attnviz.attend  # noqa: B018


def test_run_takes_an_experiment_or_a_document() -> None:
    expected = [0.439654, 0.332075, 0.091669, 0.136602]
    for given in (toy(), attnviz.Document(toy())):
        trace = attnviz.run(given)
        assert trace.sites == ("layers.0.self",)
        np.testing.assert_allclose(trace["weights"][0, 0], expected, atol=5e-7)
        np.testing.assert_array_equal(trace.site("layers.0.self")["weights"], trace["weights"])


def test_the_causal_and_the_unscaled_numbers_of_the_text() -> None:
    causal = attnviz.run(toy(masks=(p.Causal(),), dtype="float64"))
    np.testing.assert_allclose(causal["weights"][0, 2], [0.333324, 0.427953, 0.238722, 0], atol=5e-7)
    np.testing.assert_allclose(causal["attention_output"][1], [2.223977, 1.815500, -0.907886], atol=5e-7)
    late = attnviz.run(toy(masks=(p.Causal(),), mask_placement="after_softmax", dtype="float64"))
    np.testing.assert_allclose(late["weights"][0].sum(-1), [0.439654, 0.984110, 0.863776, 1], atol=5e-7)
    unscaled = attnviz.run(toy(scale=p.NoScale(), dtype="float64"))
    np.testing.assert_allclose(unscaled["weights"][0, 0], [0.551494, 0.339192, 0.036493, 0.072821], atol=5e-7)


def test_decode_takes_an_experiment_or_a_document() -> None:
    causal = attnviz.run(toy(masks=(p.Causal(),)))
    for given in (toy(), attnviz.Document(toy())):
        decoding = attnviz.decode(given, steps=6)
        assert len(decoding.steps) == 6
        np.testing.assert_allclose(decoding.steps[2].weights, causal["weights"][:, 2, :3], atol=1e-6)


def test_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"experiment must be an Experiment or a Document; got a str\."):
        attnviz.run("toy-attention")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import attnviz", ("numpy", "msgspec", "torch", "PySide6", "matplotlib")),
        (
            "import attnviz; e = attnviz.Experiment(('a',), attnviz.parts.SeededVectors(1, 4));"
            " attnviz.run(e); attnviz.decode(e, 3)",
            ("torch", "PySide6", "matplotlib"),
        ),
        ("from attnviz.engines.table import ENGINES; [k.unavailable() for k in ENGINES]", ("torch",)),
    ],
)
def test_heavy_packages_wait_until_they_are_needed(program: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; {program}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_script_writes_a_program_that_prints_the_weights(capsys: pytest.CaptureFixture[str]) -> None:
    text = attnviz.script(toy(dtype="float64"), stages=("weights",))
    exec(compile(text, "script", "exec"), {})
    assert "0.4397 0.3321 0.0917 0.1366" in capsys.readouterr().out
    with pytest.raises(ValueError, match="library must be one of"):
        attnviz.script(toy(), "jax")  # type: ignore[arg-type]


def test_animate_writes_a_sequence_that_carries_its_document(tmp_path: Path) -> None:
    document = attnviz.Document(toy())
    file = attnviz.animate(document, tmp_path / "hot.gif", "temperature=1:2:2", dpi=40)
    assert attnviz.load(file) == document

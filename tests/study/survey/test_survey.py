"""A survey: the numbers of each text, an interruption, workers, and the summary."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from first_layer import with_fields

import attnviz
from attnviz.analysis import Target, ablate, head_scores
from attnviz.checkpoints.presets import load_preset
from attnviz.cli.shell import main
from attnviz.core.head_scores import SCORES_OF_TEXT
from attnviz.core.progress import Progress
from attnviz.errors import FieldError, InputError
from attnviz.model.edit.edits import set_tokens
from attnviz.model.text import MODEL, split_text
from attnviz.study.survey import running, store
from attnviz.study.survey.cluster import Where
from attnviz.study.survey.measure import with_text
from attnviz.study.survey.plan import EFFECT, Plan
from attnviz.study.survey.running import CHARACTERS, survey
from attnviz.study.survey.store import PARTIAL, read_table
from attnviz.study.survey.summary import summary
from attnviz.study.survey.texts import LONGEST, numbered, read_texts

WORDS = (
    "Lily had a red box. Tom had a blue ball. Lily opened the red box.",
    "The cat sat. The cat ran. The cat slept.",
    "Tom saw a dog. The dog saw Tom.",
    "Lily was happy. She had a flute.",
    "The box was old. The box was red.",
)
TEXTS = numbered(WORDS)
PLAN = Plan("stories-en")


class Stopped(Exception):
    """The person pressed Cancel."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return survey(PLAN, TEXTS, tmp_path_factory.mktemp("survey") / "whole.parquet")


def test_every_number_is_that_of_the_text_alone(whole: Path) -> None:
    table = read_table(whole).to_pydict()
    model = load_preset("stories-en").experiment
    for text in TEXTS:
        tokens = split_text(model, text.text, MODEL.id)
        scores = head_scores(attnviz.run(set_tokens(model, tokens)))
        rows = [row for row, number in enumerate(table["text"]) if number == text.number]
        assert len(rows) == sum(len(values) for values in scores["first"].values())
        for row in rows:
            assert table["n_tokens"][row] == len(tokens) and table["key"][row] == text.key
            for score in SCORES_OF_TEXT:
                wanted = scores[score.id][table["site"][row]][table["head"][row]]
                found = table[score.id][row]
                assert found is None if np.isnan(wanted) else found == wanted


def test_the_effect_is_that_of_an_ablation_of_the_likeliest_token(tmp_path: Path) -> None:
    plan = Plan("stories-en", scores=("first",), ablate="zero")
    table = read_table(survey(plan, TEXTS[:1], tmp_path / "a.parquet")).to_pydict()
    model = load_preset("stories-en").experiment
    experiment = set_tokens(model, split_text(model, WORDS[0], MODEL.id))
    logits = attnviz.run(experiment).site("layers.3.self")["logits"][-1]
    assert model.vocabulary is not None
    effects = ablate(experiment, Target(model.vocabulary.tokens[int(np.argmax(logits))]))
    for site, head, effect in zip(table["site"], table["head"], table[EFFECT], strict=True):
        assert effect == effects.values[site][head]


def test_an_open_model_has_the_numbers_of_its_file(whole: Path, tmp_path: Path) -> None:
    model = set_tokens(load_preset("stories-en").experiment, ("Lily", " had"))
    shares: list[float] = []
    plan = Plan("my story", dtype=model.dtype)
    out = survey(
        plan, TEXTS, tmp_path / "a.parquet", check=Progress(lambda: None, shares.append), model=model
    )
    assert read_table(out).equals(read_table(whole))  # all rows; the record of the model differs
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0) and len(shares) > len(TEXTS)
    other = set_tokens(model, ("Tom",))
    assert plan.record(with_text(other, "a", 128)) == plan.record(with_text(model, "a", 128))
    assert plan.record(with_fields(model, temperature=2.0)) != plan.record(model)


def test_an_effect_has_intervals_on_both_sides_of_zero(tmp_path: Path) -> None:
    plan = Plan("stories-en", scores=("first",), ablate="zero", n_tokens=8)
    out = survey(plan, TEXTS[:2], tmp_path / "a.parquet")
    found, values = summary(out, EFFECT), read_table(out)[EFFECT].to_numpy()
    assert found.edges[-1] == -found.edges[0] == np.abs(values).max()
    assert sum(sum(one.counts) for one in found.heads) == len(values)
    assert sum(sum(one.counts[:8]) for one in found.heads) == (values < 0).sum()
    for one in found.heads:
        sizes = [abs(value) for _text, value in one.highest]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == 2
    assert any(value < 0 for one in found.heads for _text, value in one.highest[:1])


def test_a_file_keeps_the_beginning_of_long_texts(tmp_path: Path) -> None:
    plan = Plan("stories-en", scores=("first",), n_tokens=2)
    out = survey(plan, numbered(["Lily had " * 100]), tmp_path / "a.parquet")
    assert summary(out).texts == {0: ("Lily had " * 100)[: 2 * CHARACTERS]}


def test_an_interrupted_survey_goes_on_and_counts_no_text_twice(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, calls = tmp_path / "out.parquet", []
    measured = running.measure

    def counted(plan: Plan, model: object, text: object, *more: object) -> object:
        rows = measured(plan, model, text, *more)  # type: ignore[arg-type]
        calls.append(text)
        return rows

    def check() -> None:
        if len(calls) == 2:
            raise Stopped

    monkeypatch.setattr(running, "measure", counted)
    with pytest.raises(Stopped):
        survey(PLAN, TEXTS, out, check=check)
    journal = out.with_name(out.name + PARTIAL)
    assert journal.exists() and not out.exists() and len(calls) == 2
    with journal.open("ab") as file:
        file.write(b"\x10\0\0\0\0\0\0\0half of an entry")  # the power went while the third was written
    survey(PLAN, TEXTS, out)
    assert [text.number for text in calls] == [0, 1, 2, 3, 4]  # type: ignore[attr-defined]
    assert out.read_bytes() == whole.read_bytes() and not journal.exists()


def test_a_journal_of_another_survey_is_refused_with_its_option(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    store.Store(out, PLAN).close()
    begun = r"^output must be a new file, as the survey in it was begun with n_tokens 128; got "
    with pytest.raises(InputError, match=begun):
        survey(replace(PLAN, n_tokens=8), TEXTS, out)
    other = load_preset("toy-attention").experiment
    with pytest.raises(InputError, match="a new file, as the survey in it is of another model; got "):
        store.Store(out, PLAN, other)
    out.with_name(out.name + PARTIAL).write_bytes(b"written by something else")
    with pytest.raises(InputError, match="a new file, as the one beside it is no survey of attnviz; got "):
        store.Store(out, PLAN)


def test_a_second_survey_of_the_same_file_is_refused_and_the_first_counts_each_text_once(
    whole: Path, tmp_path: Path
) -> None:
    out, second = tmp_path / "out.parquet", []
    (tmp_path / "texts.txt").write_text("\n".join(WORDS), encoding="utf-8")

    def check() -> None:
        if not second:  # the first is under way
            second.append(
                attnviz_survey("stories-en", "--texts", "texts.txt", "-o", "out.parquet", cwd=tmp_path)
            )

    survey(PLAN, TEXTS, out, check=check)
    (done,) = second
    says = "attnviz: output must be a file that no other survey is writing; got 'out.parquet'."
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, says)
    assert out.read_bytes() == whole.read_bytes()
    assert {file.name for file in tmp_path.iterdir()} == {"out.parquet", "texts.txt"}


KILLED = """
import os, signal, sys
from attnviz.study.survey.plan import Plan
from attnviz.study.survey.store import Store
Store(sys.argv[1], Plan("stories-en"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_killed_survey_leaves_no_lock(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    subprocess.run([sys.executable, "-c", KILLED, str(out)], check=False, timeout=100)
    journal = out.with_name(out.name + PARTIAL)
    assert journal.exists()
    journal.write_bytes(journal.read_bytes()[:50])  # the plan itself was cut
    assert survey(PLAN, TEXTS, out).read_bytes() == whole.read_bytes()
    journal.write_bytes(b"")
    assert survey(PLAN, TEXTS, out).read_bytes() == whole.read_bytes()
    assert list(tmp_path.iterdir()) == [out]


def attnviz_survey(*options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    shell = [sys.executable, "-m", "attnviz", "--language", "en", "survey", *options]
    return subprocess.run(shell, capture_output=True, text=True, timeout=100, cwd=cwd)


def test_two_workers_write_the_same_bytes_and_state_their_memory(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(WORDS), encoding="utf-8")
    done = attnviz_survey(
        "stories-en", "--texts", "texts.txt", "--workers", "2", "-o", "two.parquet", cwd=tmp_path
    )
    assert done.returncode == 0 and done.stderr.startswith("Memory of each worker: at most "), done.stderr
    assert (tmp_path / "two.parquet").read_bytes() == whole.read_bytes()


def test_workers_that_do_not_fit_are_refused_with_the_number_that_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "available_memory", lambda: 5 * 2**30)
    running.check_memory(2**31, 2)
    says = "workers must be at most 2: each worker needs 2.0 GiB and 5.0 GiB are free; got 3."
    with pytest.raises(FieldError, match=re.escape(says)):
        running.check_memory(2**31, 3)


LOST = """
import os, sys
from pathlib import Path
from distributed import Client, LocalCluster
from attnviz.study.survey import cluster
from attnviz.study.survey.cluster import Where
from attnviz.study.survey.plan import Plan
from attnviz.study.survey.running import survey
from attnviz.study.survey.texts import read_texts

def die_once(marker):
    if not os.path.exists(marker):
        open(marker, "x").close()
        os._exit(1)

if __name__ == "__main__":
    out = Path(sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as local:
        with Client(local, set_as_default=False) as client:
            lost = client.submit(die_once, str(out) + ".died", pure=False, retries=3)
            cluster.BATCH = 1
            survey(Plan("stories-en"), read_texts(sys.argv[2]), out, Where(scheduler=local.scheduler_address))
            lost.result()
    assert os.path.exists(str(out) + ".died")
"""


def test_a_lost_worker_loses_nothing(whole: Path, tmp_path: Path) -> None:
    script, texts, out = tmp_path / "lost.py", tmp_path / "texts.txt", tmp_path / "out.parquet"
    script.write_text(LOST, encoding="utf-8")
    texts.write_text("\n".join(WORDS), encoding="utf-8")
    subprocess.run([sys.executable, str(script), str(out), str(texts)], check=True, timeout=100)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tcp://cluster.example.org:8786"])
def test_a_scheduler_elsewhere_needs_tls_or_consent(address: str) -> None:
    with pytest.raises(InputError, match="--insecure"):
        Where(scheduler=address)
    Where(scheduler=address, is_insecure=True)
    Where(scheduler=address.replace("tcp", "tls"))
    for here in ("tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786"):
        Where(scheduler=here)
    with pytest.raises(InputError, match="must be an address"):
        Where(scheduler="http://10.1.2.3")


def test_a_scheduler_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a", encoding="utf-8")
    options = ("stories-en", "--texts", "texts.txt", "-o", "x.parquet")
    done = attnviz_survey(*options, "--scheduler", "tcp://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("attnviz: The scheduler tcp://127.0.0.1:9 must answer")


def test_a_tls_scheduler_without_certificates_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs certificates, which distributed\.comm\.tls of Dask's"):
        survey(PLAN, TEXTS, tmp_path / "a.parquet", Where(scheduler="tls://127.0.0.1:9"))
    for address in ("tls://host:99999", "tcp://[::1"):
        with pytest.raises(InputError, match="must be an address such as"):
            Where(scheduler=address)


def test_the_summary_has_the_distribution_and_the_highest_texts(whole: Path) -> None:
    table = read_table(whole).to_pydict()
    found = summary(whole, "induction")
    assert found.n_texts == len(TEXTS) and found.columns == PLAN.columns
    for one in found.heads:
        values = {
            number: value
            for number, site, head, value in zip(
                table["text"], table["site"], table["head"], table["induction"], strict=True
            )
            if (site, head) == (one.site, one.head) and value is not None
        }
        assert one.n_texts == len(values) and one.mean == pytest.approx(np.mean(list(values.values())))
        assert one.quantiles[2] == pytest.approx(np.median(list(values.values())))
        assert one.highest[0][0] == max(values, key=lambda number: values[number])
        sixteenths = [min(int(16 * value), 15) for value in values.values()]
        assert one.counts == tuple(sixteenths.count(at) for at in range(16))
    assert found.edges == tuple(at / 16 for at in range(17))
    assert (found.model, found.most_tokens) == ("stories-en", PLAN.n_tokens)
    assert found.texts == dict(enumerate(WORDS))  # every text is among the five highest of some head
    with pytest.raises(InputError, match="must be one of"):
        summary(whole, "effect")


def test_the_shell_sums_a_survey_up(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--language", "en", "survey", str(whole), "--scores", "induction"]) == 0
    head, first, *_rest = capsys.readouterr().out.splitlines()
    assert "induction: mean" in head and first.startswith("layers.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-o", "nodir/a.parquet"], "nodir/a.parquet: No such file or directory"),
        (["-o", "a.parquet", "--scores", ""], "scores must be one of 'previous', 'same', "),
    ],
)
def test_the_shell_refuses_in_one_sentence(
    options: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("Lily saw a cat.", encoding="utf-8")
    assert main(["--language", "en", "survey", "stories-en", "--texts", "texts.txt", *options]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"attnviz: {sentence}")
    assert [file.name for file in tmp_path.iterdir()] == ["texts.txt"]


def test_the_file_names_the_program_the_model_and_the_options(tmp_path: Path) -> None:
    model = attnviz.save(load_preset("stories-en"), tmp_path / "model.safetensors")
    out = survey(Plan(str(model), scores=("first",), n_tokens=8), TEXTS[:1], tmp_path / "a.parquet")
    made = json.loads(read_table(out).schema.metadata[b"attnviz"])
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    assert made["attnviz"] == attnviz.__version__ and made["model"] == str(model)
    assert made["files"] == [["model.safetensors", model.stat().st_size, digest]]
    assert (made["scores"], made["n_tokens"], made["dtype"]) == (["first"], 8, "float32")


# --- texts -----------------------------------------------------------------------------------------


def test_texts_are_lines_records_or_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n  \ntwo\n", encoding="utf-8")
    records = [{"text": "one"}, {"text": "two", "more": 1}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("1.txt", "2.txt"):
        (folder / name).write_text({"1": "one", "2": "two"}[name[0]], encoding="utf-8")
    for place in ("a.txt", "a.jsonl", "folder"):
        assert [text.text for text in read_texts(tmp_path / place)] == ["one", "two"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_the_end_of_a_line_ends_a_text(tmp_path: Path, inside: str, end: str) -> None:
    wanted = [f"one{inside}two", "three"]
    (tmp_path / "a.txt").write_bytes(end.join(wanted).encode())
    records = (json.dumps({"text": text}, ensure_ascii=False) for text in wanted)
    (tmp_path / "a.jsonl").write_bytes(end.join(records).encode())
    for place in ("a.txt", "a.jsonl"):
        assert [text.text for text in read_texts(tmp_path / place)] == wanted


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"words": 1}', "Line 2 must be an object"),
        ("a.jsonl", b"[" * 5000, "Line 1 must be an object"),
        ("a.txt", b"\n\n", "must be at least one text"),
        ("a.txt", b"\xff\xfe\xff", "must be in UTF-8"),
        ("a.txt", b"a\n" + b"b" * (LONGEST + 1), r"^Line 2 must have at most 1,048,576 characters\.$"),
    ],
)
def test_bad_texts_are_one_sentence(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_texts(tmp_path / name)


def test_a_bad_file_of_a_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\rthree")
    assert [text.text for text in read_texts(tmp_path)] == ["one\ntwo\nthree"]
    (tmp_path / "b.txt").write_bytes(b"b\xff")
    options = ["--texts", str(tmp_path), "-o", str(tmp_path / "a.parquet")]
    assert main(["--language", "en", "survey", "stories-en", *options]) == 2
    assert capsys.readouterr().err == f"attnviz: {tmp_path}: b.txt: The text must be UTF-8; byte 1 is not.\n"


def test_a_damaged_survey_is_one_sentence(whole: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    table = read_table(whole)
    n, kept = len(table), table.schema.metadata
    made = {
        **{f"without {name}": table.drop([name]) for name in store.COLUMNS},
        "without scores": table.select(list(store.COLUMNS)),
        "a text as a head": table.set_column(4, "head", pa.array(["a"] * n)),
        "a large head": table.set_column(4, "head", pa.array([2**40] * n)),
        "a negative head": table.set_column(4, "head", pa.array([-5] * n, pa.int16())),
        "no head": table.set_column(4, "head", pa.array([None] * n, pa.int16())),
        "a number as a site": table.set_column(3, "site", pa.array([1] * n)),
        "a text as a score": table.set_column(5, "same", pa.array(["a"] * n)),
        "twice a column": pa.table([*table.columns, table["text"]], [*table.column_names, "text"]),
    }
    for text in (b"nope", b"[]", b"{}", b"\xff", b'{"model": 5, "n_tokens": 8}'):
        made[f"plan {text!r}"] = table.replace_schema_metadata({**kept, store.RECORD: text})
    for text in (b"[]", b'{"a": "b"}', b'{"1": 5}', b"[" * 100_000):
        made[f"texts {text[:9]!r}"] = table.replace_schema_metadata({**kept, store.TEXTS: text})
    path = tmp_path / "a.parquet"
    for name, one in made.items():
        pyarrow.parquet.write_table(
            one.replace_schema_metadata({**kept, **(one.schema.metadata or {})}), path
        )
        with pytest.raises(InputError, match=r"^The file must be a survey of attnviz; got 'a\.parquet'\.$"):
            raise AssertionError(name, summary(path))
    path.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(InputError, match="must be a survey of attnviz"):
        summary(path)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"scores": ("luck",)}, "scores must be one of"),
        ({"scores": ("reference",)}, "scores must be one of"),
        ({"ablate": "other"}, "ablate must be one of 'zero', 'mean'"),
        ({"n_tokens": 1}, "n_tokens must be a whole number from 2"),
    ],
)
def test_bad_plans_are_one_sentence(plan: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Plan("stories-en", **plan)  # type: ignore[arg-type]


def test_a_model_without_a_vocabulary_and_a_file_that_is_no_survey_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a model with a vocabulary"):
        survey(Plan("toy-attention"), TEXTS, tmp_path / "x.parquet")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(InputError, match="must be a survey of attnviz"):
        summary(tmp_path / "no.parquet")
    with pytest.raises(InputError, match=r"\.parquet"):
        survey(PLAN, TEXTS, tmp_path / "x.csv")

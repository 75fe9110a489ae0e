"""The process for what a file makes libraries do: its limits, its life, and one sentence for each fault."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import monotonic, sleep
from typing import Any

import pytest

from attnviz.model.sandbox import process as sandbox
from attnviz.model.sandbox.process import Exceeded, TaskError, by_ps, end_all, kept_process
from attnviz.model.spec.tokenizer_file import TokenizerFile

jinja2 = pytest.importorskip("jinja2")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and processes of POSIX")

LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


@pytest.fixture(autouse=True)
def short_process() -> Iterator[None]:
    """A process of its own, with less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sandbox.SECONDS, "render", 3.0)
        end_all()
        yield
        end_all()


def rendered(template: str, **variables: Any) -> Any:
    with kept_process() as process:
        return process.ask("render", template=template, variables=variables)


def pid() -> int:
    with kept_process() as process:
        return process._popen.pid


def ends(done: Callable[[], bool], seconds: float = 30.0) -> bool:
    until = monotonic() + seconds
    while not done() and monotonic() < until:
        sleep(0.02)
    return done()


def lives(one: int) -> bool:
    """True for a process that runs; one that nobody waited for has ended."""
    try:
        return Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_process_answers_all_and_is_replaced_when_it_was_ended() -> None:
    first = pid()
    assert rendered("{{ 1 + 1 }}") == "2" and pid() == first
    with pytest.raises(TaskError, match="division by zero"):
        rendered("{{ 1 / 0 }}")
    assert pid() == first
    began = monotonic()
    with pytest.raises(Exceeded, match="more than 3 seconds or 2 GB of memory"):
        rendered(LOOP)
    assert monotonic() - began < 30  # of a busy machine
    assert pid() != first and rendered("{{ 3 }}") == "3"


@posix
def test_a_process_that_somebody_killed_is_replaced() -> None:
    first = pid()
    os.kill(first, signal.SIGKILL)
    assert ends(lambda: not lives(first))
    assert rendered("{{ 4 }}") == "4" and pid() != first


@posix
def test_a_process_that_does_not_answer_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "GRACE_SECONDS", 0.5)
    assert rendered("{{ 1 }}") == "1"
    first = pid()
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(Exceeded):
        rendered("{{ x | length }}", x="x" * 5_000_000)  # more than the channel takes
    assert rendered("{{ 3 }}") == "3" and pid() != first


@posix
def test_ctrl_c_is_not_for_the_process() -> None:
    assert rendered("{{ 5 }}") == "5"
    first = pid()
    os.kill(first, signal.SIGINT)
    assert rendered("{{ 6 }}") == "6" and pid() == first


PROGRAM = """
import sys, time
from attnviz.model.sandbox.process import kept_process
with kept_process() as process:
    process.ask("render", template={template!r}, variables={{}})
    print(process._popen.pid, flush=True)
{then}
"""


@posix
@pytest.mark.parametrize("how", ["killed", "ended", "killed within a task"])
def test_it_ends_with_its_program(how: str) -> None:
    """Started by `python -c`, which has no main module to import again."""
    then = {
        "killed": "time.sleep(60)",
        "ended": "",
        "killed within a task": "with kept_process() as p: p.ask('render', template=LOOP, variables={})",
    }[how]
    code = f"import attnviz.model.sandbox.process as p; p.SECONDS['render'] = 3.0; LOOP = {LOOP!r}\n"
    program = subprocess.Popen(
        [sys.executable, "-c", code + PROGRAM.format(template="{{ 1 }}", then=then)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None and program.stderr is not None
    worker = int(program.stdout.readline())
    if how == "ended":
        program.wait(60)
        assert (program.returncode, program.stderr.read()) == (0, "")
    else:
        assert lives(worker)
        sleep(0.2)
        program.kill()
        program.wait(60)
    assert ends(lambda: not lives(worker))
    program.stdout.close()
    program.stderr.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the files of a process, in /proc")
def test_it_loads_neither_qt_nor_torch() -> None:
    pytest.importorskip("tokenizers")
    rendered("{{ 1 }}")
    with kept_process() as process:
        process.ask("load", key="k", text=words({"a": 0}))
    loaded = Path(f"/proc/{pid()}/maps").read_text()
    assert "tokenizers" in loaded
    assert not [name for name in ("Qt6", "PySide6", "libtorch", "numpy") if name in loaded]


def test_two_threads_at_once_have_a_process_each_and_one_is_kept() -> None:
    both = Barrier(2, timeout=60)

    def ask(number: int) -> tuple[str, int]:
        with kept_process() as process:
            both.wait()
            return process.ask("render", template="{{ n }}", variables={"n": number}), process._popen.pid

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask, (7, 8)))
    assert [text for text, _pid in answers] == ["7", "8"]
    pids = {one for _text, one in answers}
    assert len(pids) == 2 and pid() in pids and len(sandbox._kept) == 1


@posix
def test_a_copy_of_the_program_has_its_own() -> None:
    first = pid()
    child = os.fork()
    if not child:
        is_own = rendered("{{ 9 }}") == "9" and pid() != first
        end_all()
        os._exit(0 if is_own else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert rendered("{{ 10 }}") == "10" and pid() == first


def test_where_the_system_sets_no_limit_the_size_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [2**20]
    monkeypatch.setattr(sandbox, "SIZES", {sys.platform: lambda pid: sizes[-1]})
    assert rendered("{{ 1 }}") == "1"
    first = pid()
    sizes.append(2**31 + 1)
    with pytest.raises(Exceeded):
        rendered(LOOP)
    sizes.append(2**20)
    assert rendered("{{ 2 }}") == "2" and pid() != first


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the size of a process, in /proc")
def test_the_size_of_a_process_is_that_of_the_system() -> None:
    rendered("{{ 1 }}")
    first = pid()
    resident = int(Path(f"/proc/{first}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert by_ps(first) == pytest.approx(resident, rel=0.2)
    assert by_ps(2**22 + 1) == 0


@pytest.mark.parametrize("executable", ["", "/nowhere/python"])
def test_without_an_interpreter_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(ValueError, match="needs a Python interpreter of its own, which could not be started"):
        rendered("{{ 1 }}")


BUILT = """#!{python}
import runpy, sys
sys.frozen = True
sys.path[:] = {path!r}
runpy.run_module("attnviz", run_name="__main__", alter_sys=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits of a process, in /proc")
def test_a_program_that_carries_its_python_is_the_process_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As PyInstaller builds it: `sys.executable` is the program, which starts at `attnviz/__main__.py`."""
    program = tmp_path / "attnviz"
    program.write_text(BUILT.format(python=sys.executable, path=sandbox._paths()))
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert rendered("{{ 1 + 1 }}") == "2"
    first = pid()
    assert str(program) in Path(f"/proc/{first}/cmdline").read_text()
    limits = dict(
        re.findall(r"^Max (\w+ \w+) +(\d+)", Path(f"/proc/{first}/limits").read_text(), re.MULTILINE)
    )
    assert limits["address space"] == str(2 * 2**30)
    with pytest.raises(Exceeded, match="more than 3 seconds or 2 GB of memory"):
        rendered(LOOP)
    assert ends(lambda: not lives(first))
    with pytest.raises(Exceeded):
        rendered("{{ 'x' * 3000000000 }}")
    sourced = subprocess.run([program, "-c", "print(6 * 7)"], capture_output=True, text=True)
    assert (sourced.returncode, sourced.stdout, sourced.stderr) == (0, "42\n", "")
    asked = subprocess.run([program, "presets"], capture_output=True, text=True)
    assert asked.returncode == 0 and "toy-attention" in asked.stdout


# --- tokenizers ------------------------------------------------------------------------------------


def tokenizer(model: dict[str, Any], **parts: Any) -> str:
    pytest.importorskip("tokenizers")
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return json.dumps({"version": "1.0", "added_tokens": [], **dict.fromkeys(names), **parts, "model": model})


def words(vocabulary: dict[str, int], unknown: str = "a") -> str:
    return tokenizer({"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown})


def pairs(**parts: Any) -> str:
    return tokenizer({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, **parts)


HUNDREDFOLD = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
FAULTS = {
    "expansion": (pairs(normalizer={"type": "Sequence", "normalizers": [HUNDREDFOLD] * 5}), "needs more"),
    "pattern": (
        pairs(
            pre_tokenizer={
                "type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False
            }
        ),
        "it says: Onig: Regex search error",
    ),
    "word without its unknown token": (
        tokenizer(
            {
                "type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[UNK]",
                "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            }
        ),
        r"it says: WordPiece error: Missing \[UNK\] token",
    ),
    "no model": (tokenizer({"type": "BPE", "vocab": {"a": "b"}, "merges": []}), "must be a tokenizer as the"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), FAULTS.values(), ids=FAULTS)
def test_a_tokenizer_that_fails_gets_one_sentence(
    text: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        TokenizerFile(("a", "b"), text).encode("a" * 40 + "!")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert TokenizerFile(("a", "b"), words({"a": 0, "b": 1})).encode("b") == [1]


def test_a_tokenizer_that_exceeded_the_limits_is_refused_at_once() -> None:
    """The window reads the text at every key; a process that starts again each time would hold it."""
    again = TokenizerFile(("a",), FAULTS["expansion"][0].replace('"a"', '"a"', 1))
    for _time in range(2):
        with pytest.raises(ValueError, match="needs more than 10 seconds or 2 GB of memory for this text"):
            again.encode("a" * 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox.Process, "ask", None)  # nothing is computed
        with pytest.raises(ValueError, match="needs more than"):
            again.encode("a")


def test_a_tokenizer_is_loaded_once_by_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = sandbox.Process.ask

    def listening(process: sandbox.Process, task: str, **given: Any) -> Any:
        asked.append(task)
        return ask(process, task, **given)

    monkeypatch.setattr(sandbox.Process, "ask", listening)
    one, other = (TokenizerFile(("a", "b"), words({"a": 0, "b": 1}, unknown)) for unknown in "ab")
    assert [one.encode(text) for text in ("a", "b", "x")] == [[0], [1], [0]]
    assert other.encode("x") == [1] and one.encode("x") == [0]
    assert asked.count("load") == 2
    end_all()
    assert one.encode("x") == [0] and asked.count("load") == 3

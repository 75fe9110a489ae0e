"""Try the program that `build.py` has built: `python packaging/check.py DIR`.

The attnviz that is installed beside this Python computes the same, and both must give the same bits. The
window opens in Xvfb where it is installed, else without a display.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from attnviz import resources

PRESETS = ("toy-attention", "encoder-decoder", "stories-en")
SENTENCE = "Tom saw a fox"
TEMPLATE = "{% for message in messages %}{{ message.content | trim }}{% endfor %}"
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
FILLING = "{{ 'x' * 3000000000 }}"
WINDOW_S = 15.0
"""Seconds for which the window stays open, where no picture can be taken."""
PATIENCE_S = 180.0
PAINTED = 100_000
"""Bytes of a picture of the screen that shows a map with numbers; empty panels have a fifth."""
EXTENSIONS = """
import importlib, pathlib, sys
root = pathlib.Path(sys._MEIPASS)
inside = [file.relative_to(root) for end in ("*.so", "*.pyd") for file in root.rglob(end)]
for file in inside:
    name = file.name.split(".")[0]
    if "libs" in str(file.parent) or name.startswith("lib") or "plugins" in file.parts or "Qt" in file.parts:
        continue
    folders = () if file.parts[0].startswith("python3") else file.parts[:-1]
    importlib.import_module(".".join((*folders, name)))
import huggingface_hub, matplotlib.projections
assert huggingface_hub.snapshot_download
print("all")
"""
"""Imports every module of the folder that is a shared library: linkers and strip can break one."""
INSTALLED = (sys.executable, "-c", "import sys; sys.modules['numba'] = None; import attnviz.__main__")
"""The installed attnviz without numba, which the packed program lacks: numba adds the terms of products in
another order, so the last bits would differ.
"""


def main() -> int:
    """Run every check; the first fault ends with its reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --out of build.py")
    program = _program(parser.parse_args().folder.resolve())
    with tempfile.TemporaryDirectory() as home, _display() as display:
        places = dict.fromkeys(("HOME", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), home)
        os.environ.update({**places, **display, "MPLCONFIGDIR": home})
        os.chdir(home)
        for check in (modules, numbers, pictures, models, limits, window):
            began = time.monotonic()
            check(program)
            print(f"{check.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    return 0


def _program(folder: Path) -> str:
    names = ("attnviz/attnviz", "attnviz/attnviz.exe", "attnviz.app/Contents/MacOS/attnviz")
    (program,) = (folder / name for name in names if (folder / name).is_file())
    return str(program)


@contextmanager
def _display() -> Iterator[dict[str, str]]:
    """The environment in which a window opens."""
    if sys.platform != "linux":
        yield {}
    elif shutil.which("Xvfb") is None:
        print("no Xvfb: the window opens without a display")
        yield {"QT_QPA_PLATFORM": "offscreen"}
    else:
        reader, writer = os.pipe()
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1400x900x24", "-nolisten", "tcp"]
        server = subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL)
        os.close(writer)
        try:
            with open(reader) as told:
                yield {"DISPLAY": f":{told.readline().strip()}", "QT_QPA_PLATFORM": "xcb"}
        finally:
            server.terminate()
            server.wait()


def said(*command: str, code: int = 0, seconds: float = 300) -> str:
    """Standard output of a command, its standard error for another exit code than 0."""
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=seconds)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if code else done.stdout


def modules(program: str) -> None:
    """Every shared library among the modules loads, and the resources are inside."""
    assert said(program, "-c", EXTENSIONS) == "all\n"
    assert "toy-attention" in said(program, "presets")


def _same(program: str, *arguments: str) -> None:
    """The arrays of `run` are those of the installed attnviz, bit by bit."""
    for command, file in (((program,), "built.npz"), (INSTALLED, "installed.npz")):
        said(*command, "run", *arguments, "-o", file)
    with np.load("built.npz") as built, np.load("installed.npz") as installed:
        assert set(built) == set(installed) and len(built) > 5, arguments
        for name in built:
            assert built[name].dtype == installed[name].dtype, name
            assert built[name].tobytes() == installed[name].tobytes(), f"{arguments}: {name} differs"


def numbers(program: str) -> None:
    """Presets give the same stages and gradients."""
    for preset in PRESETS:
        _same(program, preset)
    _same(program, "decoder-only", "--backward", "loss")


def pictures(program: str) -> None:
    """A figure, a panel of the window, a film as GIF, a page."""
    for file, start, arguments in (
        ("figure.svg", b"<?xml", ["render", "fluffy-blue-creature", "--head", "all"]),
        ("figure.pdf", b"%PDF", ["render", "xiaoshenyang", "--stage", "weights"]),
        ("figure.png", b"\x89PNG", ["render", "stories-name", "--as", "lines"]),
        ("panel.svg", b"<?xml", ["panel", "yarn", "--panel", "positions"]),
        ("film.gif", b"GIF89a", ["animate", "toy-attention", "--over", "temperature=0.5:2:3"]),
        ("page.html", b"<!DOCTYPE html>", ["page", "stories-induction"]),
    ):
        assert said(program, *arguments, "-o", file) == ""
        assert Path(file).read_bytes().lower().startswith(start.lower()), file


def _model(folder: str, template: str) -> str:
    """The model that ships, as a folder of `transformers` with a chat template."""
    Path(folder).mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(resources.path("models", "stories", name), folder)
    settings = json.dumps({"chat_template": template})
    Path(folder, "tokenizer_config.json").write_text(settings, encoding="utf-8")
    return folder


def models(program: str) -> None:
    """A trained model is imported with a text and through its chat template, and gives the same numbers."""
    folder = _model("model", TEMPLATE)
    for file, option in (("text.safetensors", "--text"), ("chat.safetensors", "--chat")):
        said(program, "import", folder, option, SENTENCE, "-o", file)
        _same(program, file)
    assert said(program, "decode", "stories-en", "--text", SENTENCE, "--new", "3")


def limits(program: str) -> None:
    """A chat template that takes all time or all memory ends with one sentence."""
    for folder, template in (("endless", ENDLESS), ("filling", FILLING)):
        command = [program, "import", _model(folder, template), "--chat", SENTENCE, "-o", "no.safetensors"]
        sentence = said(*command, code=2)
        assert "more than 10 seconds or 2 GB of memory" in sentence and sentence.count("\n") == 1, sentence


def window(program: str) -> None:
    """A window opens a preset and shows every workspace; the program ends when the system tells it to.

    With `import` of ImageMagick, DIR/window.png is a picture of its screen.
    """
    shown = json.loads(said(program, "-m", "attnviz.gui.timing", "switches", "1", seconds=600))
    assert len(shown) == 5 and all(len(times["seconds"]) == 1 for times in shown.values()), shown
    started = subprocess.Popen([program, "stories-en"], stderr=subprocess.PIPE, text=True)
    try:
        if os.environ.get("QT_QPA_PLATFORM") == "xcb" and shutil.which("import"):
            picture = Path(program).parents[1] / "window.png"
            picture.unlink(missing_ok=True)  # that of an earlier check
            until = time.monotonic() + PATIENCE_S
            while not picture.exists() or picture.stat().st_size < PAINTED:
                assert time.monotonic() < until, "the window is not painted"
                assert started.poll() is None, started.communicate()[1]
                time.sleep(2)
                said("import", "-window", "root", str(picture))
        else:
            time.sleep(WINDOW_S)
            assert started.poll() is None, started.communicate()[1]
    finally:
        started.send_signal(signal.SIGTERM)
        _out, complaints = started.communicate(timeout=60)
    assert complaints == "", complaints
    assert started.returncode in (0, 1, 128 + signal.SIGTERM), started.returncode


if __name__ == "__main__":
    sys.exit(main())

"""Draws the pictures of the gallery: runs every command of its page in its folder."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

HERE = Path(__file__).resolve().parent


def commands(page: Path) -> list[list[str]]:
    """The commands of a page, as arguments of `attnviz`; its comments are left out."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = (shlex.split(line, comments=True) for block in blocks for line in block.splitlines())
    return [words[1:] for words in found if words[:1] == ["attnviz"]]


def main() -> None:
    """Run the commands one after the other."""
    from attnviz.cli import main as run

    os.chdir(HERE)
    for command in commands(HERE / "README.md"):
        run(["--language", "en", *command] if "--language" not in command else command)


if __name__ == "__main__":
    main()

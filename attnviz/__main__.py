"""`python -m attnviz`: the same as `attnviz`; and the start of the program that carries its own Python.

There, `sys.executable` is the program itself: like an interpreter, it runs a module with `-m` and source with
`-c`, by which it starts processes of its own.
"""

from __future__ import annotations

import runpy
import sys


def _start() -> int:
    if getattr(sys, "frozen", False) and sys.argv[1:2] == ["-m"]:
        del sys.argv[1]
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
        return 0
    if getattr(sys, "frozen", False) and sys.argv[1:2] == ["-c"]:
        exec(sys.argv[2], {"__name__": "__main__"})
        return 0
    from attnviz.cli import main

    return main()


sys.exit(_start())

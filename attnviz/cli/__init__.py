"""The shell: `attnviz` opens the window; its commands compute and draw without one.

`shell.py` reads the command line; each command is a module of `commands/` and a row of `COMMANDS`.
Every user error is one line on standard error that names the fault, with exit code 2.
"""

from attnviz.cli.shell import main as main
from attnviz.cli.shell import main_gui as main_gui

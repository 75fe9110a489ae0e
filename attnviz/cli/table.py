"""`COMMANDS`: the commands of the shell, in the order of its help."""

from attnviz.cli.command import Command
from attnviz.cli.commands import bench, decode, gui, import_model, presets, render, run

COMMANDS: tuple[Command, ...] = (
    gui.COMMAND,
    presets.COMMAND,
    run.COMMAND,
    render.COMMAND,
    import_model.COMMAND,
    decode.COMMAND,
    bench.COMMAND,
)

"""`COMMANDS`: the commands of the shell, in the order of its help."""

from attnviz.cli.command import Command
from attnviz.cli.commands import (
    ablate,
    animate,
    bench,
    claims,
    decode,
    gui,
    heads,
    import_model,
    lens,
    lesson,
    page,
    patch,
    presets,
    render,
    run,
    script,
    survey,
    table,
)

COMMANDS: tuple[Command, ...] = (
    gui.COMMAND,
    presets.COMMAND,
    run.COMMAND,
    render.COMMAND,
    animate.COMMAND,
    table.COMMAND,
    script.COMMAND,
    page.COMMAND,
    import_model.COMMAND,
    decode.COMMAND,
    heads.COMMAND,
    lens.COMMAND,
    ablate.COMMAND,
    patch.COMMAND,
    survey.COMMAND,
    lesson.COMMAND,
    claims.COMMAND,
    bench.COMMAND,
)

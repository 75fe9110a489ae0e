"""One measurement, as JSON on stdout."""

import json
import sys

from attnviz.gui.interpreter import tune_interpreter


def main(kind: str, *numbers: str) -> None:
    """Print what `kind` measures."""
    tune_interpreter()
    if kind == "edits":
        from attnviz.gui.timing.edits import measure_edits

        times = measure_edits(*map(int, numbers))
    elif kind == "switches":
        from attnviz.gui.timing.switches import measure_switches

        times = measure_switches(*map(int, numbers))
    else:
        from attnviz.gui.timing.start import measure_start

        times = measure_start()
    print(json.dumps(times))


main(*sys.argv[1:])

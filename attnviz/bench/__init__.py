"""`attnviz bench`: the speed of this machine, measured in one run beside its bounds.

Machines are noisy, so contenders take turns, and only ratios within one run count.
"""

from __future__ import annotations

import json as json_
from typing import Any


def main(json: bool = False, quick: bool = False, window: bool = True) -> int:
    """Measure engines and window; print a table, or JSON with every single time. Returns the exit code.

    `quick` runs the two smallest sizes and few rounds, for tests; without `window` no window opens.
    """
    from attnviz.bench.causal import measure_causal
    from attnviz.bench.engines import measure_engines
    from attnviz.bench.gradients import measure_gradients
    from attnviz.bench.machine import machine
    from attnviz.bench.report import print_report
    from attnviz.bench.window import measure_window

    report: dict[str, Any] = {
        "format": "attnviz-bench",
        "version": 1,
        "machine": machine(),
        "engines": measure_engines(quick),
        "causal": measure_causal(quick),
        "gradients": measure_gradients(quick),
        "window": measure_window(quick) if window else None,
    }
    if json:
        print(json_.dumps(report, allow_nan=False))
    else:
        print_report(report)
    return 0

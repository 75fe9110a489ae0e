"""The end of the process with a job at work: no hang, no crash, the exit code that was meant."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref

from attnviz.compute.scheduler import Scheduler

WAIT_S = 20.0


def run_program(program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment
    )


def test_the_process_ends_during_a_product_that_does_not() -> None:
    # Left to an ordinary exit this hangs in OpenBLAS or crashes, more often than not.
    done = run_program("""
import threading
import numpy as np
from attnviz.compute.scheduler import Scheduler, end_process
began = threading.Event()
a = np.ones((1500, 1500))
def forever(token):
    while True:
        began.set()
        a @ a
scheduler = Scheduler(lambda call: None)
scheduler.submit(forever, print, print)
began.wait()
ended = scheduler.close(0.05)
print("saved", ended)
end_process(7)
""")
    assert (done.stdout, done.stderr, done.returncode) == ("saved False\n", "", 7)


def test_a_program_that_forgets_to_close_ends_cleanly() -> None:
    done = run_program("""
import sys
import threading
import numpy as np
from attnviz.compute.scheduler import Scheduler
began = threading.Event()
a = np.ones((500, 500))
def stages(token):
    while True:
        began.set()
        token.check()
        a @ a
Scheduler(lambda call: None).submit(stages, print, print)
began.wait()
sys.exit(7)
""")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 7)


def test_a_closed_scheduler_is_not_kept_alive() -> None:
    scheduler = Scheduler(lambda _call: None)
    scheduler.submit(lambda _token: None, print, print)
    assert scheduler.wait(WAIT_S)
    assert scheduler.close(WAIT_S)
    reference = weakref.ref(scheduler)
    del scheduler
    gc.collect()
    assert reference() is None

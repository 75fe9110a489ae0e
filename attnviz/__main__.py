"""`python -m attnviz`: the same as `attnviz`."""

from __future__ import annotations

import sys

from attnviz.cli import main

sys.exit(main())
